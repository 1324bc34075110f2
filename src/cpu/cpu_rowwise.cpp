// cpu_rowwise: a row a thread, sums in double.
#include <cmath>
#include <limits>

#include "cpu/kernels.hpp"
#include "reduce/numbers/element.hpp"

namespace kw::cpu {

namespace {

// A row's values, computed when they are asked for, so that no row is too long.
template <class T>
class RowValues {
 public:
  RowValues(const Rowwise& p, std::int64_t row) : p_(p) {
    const std::int64_t x = p.index != nullptr ? p.index[row] : row;
    is_there_ = p.index == nullptr || (x >= 0 && x < p.x_rows);
    if (is_there_) x_ = static_cast<const T*>(p.x) + x * p.ldx;
    if (p.residual != nullptr) {
      const std::int64_t r =
          p.residual_index != nullptr ? p.residual_index[row] : row % p.residual_rows;
      const bool is_within = r >= 0 && r < p.residual_rows;
      if (is_within) residual_ = static_cast<const T*>(p.residual) + r * p.ld_residual;
      is_there_ = is_there_ && is_within;
    }
  }

  float operator[](std::int64_t j) const {
    if (!is_there_) return std::numeric_limits<float>::quiet_NaN();
    float v = to_value(x_[j * p_.step_x]);
    if (p_.bias != nullptr) v += to_value(static_cast<const T*>(p_.bias)[j]);
    if (residual_ != nullptr) v += to_value(residual_[j]);
    return v;
  }

 private:
  const Rowwise& p_;
  const T* x_ = nullptr;
  const T* residual_ = nullptr;
  bool is_there_ = true;
};

float row_activated(RowActivation activation, float x) {
  constexpr float sqrt_half = 0.70710678118654752440f;
  constexpr float two_sqrt_2_over_pi = 1.59576912160573071175f;
  switch (activation) {
    case RowActivation::none: return x;
    case RowActivation::relu: return x < 0 ? 0.0f : x;
    case RowActivation::gelu_tanh:
      return x / (1 + std::exp(-two_sqrt_2_over_pi * std::fma(0.044715f * x * x, x, x)));
    case RowActivation::gelu_erf: return 0.5f * x * (1 + std::erf(sqrt_half * x));
    case RowActivation::silu: break;
  }
  return x / (1 + std::exp(-x));
}

// Writes f(v) of each element, and v itself where it is wanted. Each element is read before it is
// written.
template <class T, class F>
void write_row(const Rowwise& p, std::int64_t row, const RowValues<T>& v, const F& f) {
  T* const y = static_cast<T*>(p.y) + row * p.ldy;
  T* const sum = p.sum != nullptr ? static_cast<T*>(p.sum) + row * p.ld_sum : nullptr;
  for (std::int64_t j = 0; j < p.cols; ++j) {
    const float value = v[j];
    if (sum != nullptr) sum[j] = from_value<T>(value);
    y[j * p.step_y] = from_value<T>(f(value, j));
  }
}

template <class T>
void softmax_row(const Rowwise& p, std::int64_t row, const RowValues<T>& v) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < p.cols; ++j) largest = std::fmax(largest, v[j]);
  double sum = 0;
  for (std::int64_t j = 0; j < p.cols; ++j) sum += static_cast<double>(std::exp(v[j] - largest));
  if (p.op == RowwiseOp::log_softmax) {
    const auto log_sum = static_cast<float>(std::log(sum));
    return write_row<T>(p, row, v, [=](float x, std::int64_t) { return (x - largest) - log_sum; });
  }
  const auto by = static_cast<float>(1 / sum);
  write_row<T>(p, row, v, [=](float x, std::int64_t) { return std::exp(x - largest) * by; });
}

template <class T>
void norm_row(const Rowwise& p, std::int64_t row, const RowValues<T>& v) {
  const auto count = static_cast<double>(p.cols);
  double mean = 0;
  if (p.op == RowwiseOp::layer_norm) {
    for (std::int64_t j = 0; j < p.cols; ++j) mean += static_cast<double>(v[j]);
    mean /= count;
  }
  double squares = 0;
  for (std::int64_t j = 0; j < p.cols; ++j) {
    const double d = static_cast<double>(v[j]) - mean;
    squares += d * d;
  }
  const double scale = 1 / std::sqrt(squares / count + static_cast<double>(p.epsilon));
  const auto* gamma = static_cast<const T*>(p.gamma);
  const auto* beta = static_cast<const T*>(p.beta);
  write_row<T>(p, row, v, [=](float x, std::int64_t j) {
    auto y = static_cast<float>((static_cast<double>(x) - mean) * scale);
    if (gamma != nullptr) y *= to_value(gamma[j]);
    if (beta != nullptr) y += to_value(beta[j]);
    return y;
  });
}

template <class T>
void compute_rows(const Rowwise& p) {
#pragma omp parallel for schedule(static) if (p.elements() > 1e4)
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const RowValues<T> v(p, row);
    if (is_softmax(p.op)) {
      softmax_row<T>(p, row, v);
    } else if (is_norm(p.op)) {
      norm_row<T>(p, row, v);
    } else {
      write_row<T>(p, row, v,
                   [&](float x, std::int64_t) { return row_activated(p.activation, x); });
    }
  }
}

}  // namespace

Status cpu_rowwise(const Rowwise& p, const Device&, Workspace, Stream) {
  if (p.type == DataType::float32) {
    compute_rows<float>(p);
  } else if (p.type == DataType::float16) {
    compute_rows<float16>(p);
  } else {
    compute_rows<bfloat16>(p);
  }
  return Status::success();
}

}  // namespace kw::cpu
