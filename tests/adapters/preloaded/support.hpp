// What the tests with the adapter loaded share: the log of the last call, problems, results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "abi.hpp"
#include "forms.hpp"
#include "stand_in.hpp"
#include "stand_in_loops.hpp"
#include "symbols.hpp"

#define KW_DECLARE(symbol, form, integer, library)         \
  namespace kw::cublas {                                   \
  extern "C" Status symbol(KW_PARAMETERS_##form(integer)); \
  }
KW_SYMBOLS(KW_DECLARE)
#undef KW_DECLARE

extern "C" long stand_in_lt_calls();

namespace kw::cublas {

inline constexpr Status invalid_value = 7, not_supported = 15;  // of cuBLAS

// The last call in the adapter's log of this process.
std::string last_line();
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
inline bool was_taken() { return contains(last_line(), ", taken, "); }

// A product with random operands, as BLAS knows it.
struct Problem {
  Problem(Enum a_op, Enum b_op, int rows, int cols, int depth, int entries = 1, unsigned seed = 1)
      : op_a(a_op), op_b(b_op), m(rows), n(cols), k(depth), batch(entries) {
    lda = (op_a == op_n ? m : k) + 1;
    ldb = (op_b == op_n ? k : n) + 2;
    ldc = m + 3;
    stride_a = lda * (op_a == op_n ? k : m);
    stride_b = ldb * (op_b == op_n ? n : k);
    stride_c = ldc * n;
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::vector<float>* data : {&a, &b, &c}) {
      data->resize(static_cast<std::size_t>(batch * (data == &a   ? stride_a
                                                     : data == &b ? stride_b
                                                                  : stride_c)));
      for (float& value : *data) value = uniform(random);
    }
    expected = c;
    for (int entry = 0; entry < batch; ++entry) {
      float* const into = expected.data() + entry * stride_c;
      stand_in::multiply(
          m, n, k, alpha,
          {a.data() + entry * stride_a, op_a == op_n ? 1 : lda, op_a == op_n ? lda : 1},
          {b.data() + entry * stride_b, op_b == op_n ? 1 : ldb, op_b == op_n ? ldb : 1}, beta,
          {into, 1, ldc}, into);
    }
    for (int entry = 0; entry < batch; ++entry) {
      a_array.push_back(a.data() + entry * stride_a);
      b_array.push_back(b.data() + entry * stride_b);
      c_array.push_back(c.data() + entry * stride_c);
    }
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // Every element of the allocation: what lies between the lines must be as it was.
  double largest_error() const {
    double largest = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double error = std::abs(static_cast<double>(c[i]) - static_cast<double>(expected[i]));
      largest = std::isnan(error) ? 1e30 : std::max(largest, error);
    }
    return largest;
  }
  bool is_right() const { return largest_error() < 1e-5 * static_cast<double>(k + 4); }

  Enum op_a, op_b;
  std::int64_t m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c;
  float alpha = 0.75f, beta = -0.5f;
  std::vector<float> a, b, c, expected;
  std::vector<const float*> a_array, b_array;
  std::vector<float*> c_array;
};

// A handle for a test, and the counts of the stand-in at nought.
class Adapter : public testing::Test {
 protected:
  Adapter() {
    EXPECT_EQ(cublasCreate_v2(&handle_), status_success);
    stand_in_reset();
  }
  ~Adapter() override { EXPECT_EQ(cublasDestroy_v2(handle_), status_success); }
  Status sgemm(Problem& p) { return sgemm(p, handle_); }
  static Status sgemm(Problem& p, void* handle) {
    return cublasSgemm_v2_64(handle, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.data(), p.lda,
                             p.b.data(), p.ldb, &p.beta, p.c.data(), p.ldc);
  }
  void* handle_ = nullptr;
};

// A program under the adapter.
struct Outcome {
  int exit_code = -1;
  std::string out, log;
};
// The client in that way; `environment` as assignments, which come after the tests' own.
Outcome run_client(const std::string& arguments, const std::string& environment = {});
Outcome run_shell(const std::string& command);
std::string temporary(const std::string& name);
std::string read_file(const std::string& path);

}  // namespace kw::cublas
