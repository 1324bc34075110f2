// The oracle and the judge of a row-wise operation, as function objects (each.hpp): float64, from
// the data's own formula, since a call may write over what it read.
#pragma once

#include <cmath>
#include <cstdint>

#include "check/elementwise.hpp"
#include "check/reduce/data.hpp"
#include "rowwise/problem.hpp"

namespace kw::check {

KW_HOST_DEVICE inline float float_element(const ElementStream& stream, std::int64_t index) {
  if (stream.type == DataType::float16) return to_value(element<float16>(stream, index));
  if (stream.type == DataType::bfloat16) return to_value(element<bfloat16>(stream, index));
  return element<float>(stream, index);
}
KW_HOST_DEVICE inline float stored_element(DataType type, const void* data, std::int64_t index) {
  if (type == DataType::float16) return to_value(static_cast<const float16*>(data)[index]);
  if (type == DataType::bfloat16) return to_value(static_cast<const bfloat16*>(data)[index]);
  return static_cast<const float*>(data)[index];
}
KW_HOST_DEVICE inline std::uint32_t drawn_bits(const ElementStream& stream, std::int64_t index) {
  if (stream.type == DataType::float16) return element<float16>(stream, index).bits;
  if (stream.type == DataType::bfloat16) return element<bfloat16>(stream, index).bits;
  return std::bit_cast<std::uint32_t>(element<float>(stream, index));
}
KW_HOST_DEVICE inline std::uint32_t stored_bits(DataType type, const void* data,
                                                std::int64_t index) {
  if (type == DataType::float32) return static_cast<const std::uint32_t*>(data)[index];
  return static_cast<const std::uint16_t*>(data)[index];
}
// A float as the type keeps it.
KW_HOST_DEVICE inline float kept_as(DataType type, float x) {
  if (type == DataType::float16) return to_value(from_value<float16>(x));
  if (type == DataType::bfloat16) return to_value(from_value<bfloat16>(x));
  return from_value<float>(x);
}

// What the arrays of a problem hold; element (i, j) of x is number i * x_width + j * step_x.
struct RowwiseData {
  Rowwise p;
  ElementStream x, bias, residual, gamma, beta;
  std::int64_t x_width = 0;

  // x + bias + residual in float32, as every kernel has it.
  KW_HOST_DEVICE float v(std::int64_t i, std::int64_t j) const {
    const std::int64_t row = p.index != nullptr ? p.index[i] : i;
    if (p.index != nullptr && (row < 0 || row >= p.x_rows))
      return std::bit_cast<float>(0x7FC00000u);
    float sum = float_element(x, row * x_width + j * p.step_x);
    if (p.bias != nullptr) sum += float_element(bias, j);
    if (p.residual == nullptr) return sum;
    const std::int64_t r = p.residual_index != nullptr ? p.residual_index[i] : i % p.residual_rows;
    if (r < 0 || r >= p.residual_rows) return std::bit_cast<float>(0x7FC00000u);
    return sum + float_element(residual, r * p.cols + j);
  }
};

// Of each row: first its largest value (softmax) or its mean (0 of rms_norm), then the sum of
// exponentials or the variance. Rows are looked at in pieces.
struct RowwiseOracle {
  RowwiseData data;
  std::int64_t pieces = 1, piece = 0;  // of a row; elements of one
  double* scratch = nullptr;           // rows x pieces
  double* stats = nullptr;             // rows x 2
  int phase = 0;                       // 0, 2: a piece each; 1, 3: a row each

  KW_HOST_DEVICE std::int64_t size() const {
    return phase % 2 == 0 ? data.p.rows * pieces : data.p.rows;
  }
  KW_HOST_DEVICE bool softmax() const { return is_softmax(data.p.op); }
  KW_HOST_DEVICE double term(std::int64_t i, std::int64_t j) const {
    const double v = data.v(i, j);
    if (phase == 0) return v;
    const double d = v - stats[2 * i];
    return softmax() ? exp(d) : d * d;
  }
  KW_HOST_DEVICE double nothing() const {
    return phase < 2 && softmax() ? -__builtin_huge_val() : 0.0;
  }
  KW_HOST_DEVICE double together(double a, double b) const {
    return phase < 2 && softmax() ? fmax(a, b) : a + b;
  }
  KW_HOST_DEVICE void operator()(std::int64_t item) const {
    double found = nothing();
    if (phase % 2 == 0) {
      const std::int64_t i = item / pieces, begin = item % pieces * piece;
      const std::int64_t end = begin + piece < data.p.cols ? begin + piece : data.p.cols;
      for (std::int64_t j = begin; j < end; ++j) found = together(found, term(i, j));
      scratch[item] = found;
      return;
    }
    for (std::int64_t k = 0; k < pieces; ++k) found = together(found, scratch[item * pieces + k]);
    if (!softmax()) found /= static_cast<double>(data.p.cols);
    if (phase == 1 && data.p.op == RowwiseOp::rms_norm) found = 0;
    stats[2 * item + phase / 2] = found;
  }
};

KW_HOST_DEVICE inline double activated(RowActivation activation, double x) {
  constexpr double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
  switch (activation) {
    case RowActivation::none: return x;
    case RowActivation::relu: return x < 0 ? 0 : x;
    case RowActivation::gelu_tanh:
      return x / (1 + exp(-2 * sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    case RowActivation::gelu_erf: return 0.5 * x * (1 + erf(sqrt_half * x));
    case RowActivation::silu: break;
  }
  return x / (1 + exp(-x));
}

// y, the sum, and what lies between y's elements.
struct JudgeRowwise {
  RowwiseData data;
  const double* stats = nullptr;
  bool gaps_are_canaries = false;
  unsigned canary = 0;   // a byte
  bool is_copy = false;  // y is x's rows, bit for bit

  struct Wanted {
    double value, tolerance;
  };
  KW_HOST_DEVICE Wanted wanted(std::int64_t i, std::int64_t j) const {
    const Rowwise& p = data.p;
    const double v = data.v(i, j), first = stats[2 * i], second = stats[2 * i + 1];
    constexpr double u = unit_roundoff;
    switch (p.op) {
      case RowwiseOp::softmax: {
        const double y = exp(v - first) / second;
        return {y, (y > 0 ? (8 + 2 * (first - v)) * u * y : 0) + 0x1p-126};
      }
      case RowwiseOp::log_softmax: {
        const double log_sum = log(second);
        return {v - first - log_sum, (8 + 2 * (first - v) + 2 * fabs(log_sum)) * u};
      }
      case RowwiseOp::map: return {activated(p.activation, v), 8 * u * fabs(v)};
      default: break;
    }
    const double z = (v - first) / sqrt(second + static_cast<double>(p.epsilon));
    const double gamma = p.gamma != nullptr ? float_element(data.gamma, j) : 1.0;
    const double beta = p.beta != nullptr ? float_element(data.beta, j) : 0.0;
    return {z * gamma + beta, 8 * u * (fabs(gamma) * (1 + fabs(z)) + fabs(beta)) + 0x1p-126};
  }

  // Half a unit in the last place of the type, and where it overflows.
  KW_HOST_DEVICE double rounding(double y) const {
    if (data.p.type == DataType::float16) return fmax(0x1p-11 * fabs(y), 0x1p-25);
    if (data.p.type == DataType::bfloat16) return fmax(0x1p-8 * fabs(y), 0x1p-133);
    return 0;  // within the tolerance
  }
  KW_HOST_DEVICE double overflow() const {
    return data.p.type == DataType::float16 ? 65520.0 : 0x1.ffp127;
  }

  KW_HOST_DEVICE std::int64_t width() const { return (data.p.cols - 1) * data.p.step_y + 1; }
  KW_HOST_DEVICE std::int64_t size() const { return data.p.cols == 0 ? 0 : data.p.rows * width(); }
  KW_HOST_DEVICE void operator()(std::int64_t at, Partial& found) const {
    const Rowwise& p = data.p;
    const std::int64_t i = at / width(), place = at % width(), j = place / p.step_y;
    const std::int64_t in_y = i * p.ldy + place;
    if (place % p.step_y != 0) {
      if (gaps_are_canaries && !is_canary(in_y)) add_failure(found, at);
      return;
    }
    if (is_copy) {
      if (stored_bits(p.type, p.y, in_y) != drawn_bits(data.x, i * data.x_width + j))
        add_failure(found, at);
      return;
    }
    const double got = stored_element(p.type, p.y, in_y);
    const Wanted want = wanted(i, j);
    if (p.sum != nullptr) judge_sum(i, j, at, found);
    if (is_not_a_number(want.value)) {
      if (!is_not_a_number(got)) add_failure(found, at);
      return;
    }
    const double tolerance = want.tolerance + rounding(fabs(want.value) + want.tolerance);
    const bool overflows =
        is_infinite(got) && got * want.value > 0 && fabs(want.value) + tolerance >= overflow();
    const double error = got == want.value || overflows ? 0 : got - want.value;
    add_error(found, error == 0 ? 0 : 8 * error / tolerance);
    if (!(fabs(error) <= tolerance)) add_failure(found, at);
  }

 private:
  KW_HOST_DEVICE bool is_canary(std::int64_t in_y) const {
    if (p_is_float()) {
      return static_cast<const std::uint32_t*>(data.p.y)[in_y] == canary * 0x01010101u;
    }
    return static_cast<const std::uint16_t*>(data.p.y)[in_y] == (canary * 0x0101u & 0xFFFFu);
  }
  KW_HOST_DEVICE bool p_is_float() const { return data.p.type == DataType::float32; }
  KW_HOST_DEVICE void judge_sum(std::int64_t i, std::int64_t j, std::int64_t at,
                                Partial& found) const {
    const float got = stored_element(data.p.type, data.p.sum, i * data.p.ld_sum + j);
    const float want = kept_as(data.p.type, data.v(i, j));
    if (got != want && !(is_nan(got) && is_nan(want))) add_failure(found, at);
  }
};

}  // namespace kw::check
