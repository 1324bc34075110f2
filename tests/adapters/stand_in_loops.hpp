// The product of the stand-ins, and of the tests that judge results: plain loops, sums in double;
// and GELU by tanh.
#pragma once

#include <cmath>
#include <cstdint>

namespace stand_in {

// An operand after its op: element (i, j) at data[i * row + j * col].
struct Steps {
  const float* data;
  std::int64_t row, col;
  float at(std::int64_t i, std::int64_t j) const { return data[i * row + j * col]; }
};

// `into` has the steps of `c`, which is what is read with beta.
inline void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Steps a, Steps b,
                     float beta, Steps c, float* into) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(a.at(i, l)) * static_cast<double>(b.at(l, j));
      }
      double value = static_cast<double>(alpha) * sum;
      if (beta != 0) value += static_cast<double>(beta) * static_cast<double>(c.at(i, j));
      into[i * c.row + j * c.col] = static_cast<float>(value);
    }
  }
}

inline float gelu(float value) {
  const auto x = static_cast<double>(value);
  const double y = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  return static_cast<float>(x / 2 * (1 + std::tanh(y)));
}

}  // namespace stand_in
