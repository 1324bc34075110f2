// The sums of wgmma in 32-bit integers, a row of the product at a time, so that compilers make
// vectors of them. See wgmma_arithmetic.hpp.
#include "host_simt/wgmma_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kw::host_simt {
namespace {

constexpr int fraction_bits = 25;   // of an aligned term
constexpr int no_exponent = -1000;  // of zeros: below all others
constexpr int columns = 16;         // that are computed together
constexpr float nan_result = std::bit_cast<float>(0x7FFFFFFFu);

struct Format {
  int fraction;  // bits
  int bias;
  int top;  // exponent field of Inf and NaN
};
constexpr Format bf16_format{7, 127, 255};
constexpr Format fp16_format{10, 15, 31};

using Row = std::array<std::uint16_t, wgmma_depth>;

Row load_row(const WgmmaOperand& operand, int row) {
  Row elements;
  const auto* core = static_cast<const char*>(operand.start) +
                     static_cast<std::size_t>(row / 8) * operand.row_stride +
                     static_cast<std::size_t>(row % 8) * 16;
  std::memcpy(elements.data(), core, 16);
  std::memcpy(elements.data() + 8, core + operand.k_stride, 16);
  return elements;
}

// Of exponents that a normal double has.
double power_of_2(int exponent) {
  return std::bit_cast<double>(static_cast<std::int64_t>(exponent + 1023) << 52);
}

double to_double(std::uint16_t bits, Format format) {
  const int field = bits >> format.fraction & format.top;
  const int fraction = bits & ((1 << format.fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (field == format.top) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  const int significand = fraction | (field != 0 ? 1 << format.fraction : 0);
  return sign * significand * power_of_2(std::max(field, 1) - format.bias - format.fraction);
}

// significand * 2^(exponent - fraction bits) each.
template <std::size_t count>
struct Decoded {
  std::array<int, count> significand, exponent;
  bool finite;  // all of them; those that are not are zeros here
};

template <std::size_t count>
void decode(const std::array<std::uint16_t, count>& from, Format format, Decoded<count>* to) {
  int special = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int bits = from[i];
    const int field = bits >> format.fraction & format.top;
    const int hidden = field != 0 ? 1 << format.fraction : 0;
    const int all = (bits & ((1 << format.fraction) - 1)) | hidden;
    const int magnitude = field == format.top ? 0 : all;
    special |= field == format.top ? 1 : 0;
    to->significand[i] = bits >= 0x8000 ? -magnitude : magnitude;
    to->exponent[i] = magnitude != 0 ? std::max(field, 1) - format.bias : no_exponent;
  }
  to->finite = special == 0;
}

// Some rows of B, turned, so that what is computed together lies side by side.
struct Columns {
  std::array<Row, columns> raw;
  std::array<Decoded<columns>, wgmma_depth> at;
  bool finite;
};

void load_columns(const WgmmaOperand& b, int first, Format format, Columns* out) {
  std::array<std::array<std::uint16_t, columns>, wgmma_depth> turned;
  for (std::size_t j = 0; j < columns; ++j) {
    out->raw[j] = load_row(b, first + static_cast<int>(j));
    for (std::size_t k = 0; k < wgmma_depth; ++k) turned[k][j] = out->raw[j][k];
  }
  out->finite = true;
  for (std::size_t k = 0; k < wgmma_depth; ++k) {
    decode(turned[k], format, &out->at[k]);
    out->finite &= out->at[k].finite;
  }
}

// Towards zero, but for what is too large for a float.
float cut_to_float(double x) {
  const auto near = static_cast<float>(x);
  const bool away = std::fabs(static_cast<double>(near)) > std::fabs(x) && std::fabs(x) < 0x1p128;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) - (away ? 1 : 0));
}

// value * 2^-distance, cut towards zero.
int aligned(int value, int distance) {
  const int sign = value >> 31;
  const auto magnitude = static_cast<unsigned>((value ^ sign) - sign);
  const auto cut = static_cast<int>(magnitude >> std::min(distance, 31));
  return (cut ^ sign) - sign;
}

// A row of the product, `columns` of it, where all is finite.
void add_row(const Decoded<wgmma_depth>& a, const Columns& b, Format format, float* acc) {
  std::array<int, columns> most, low{}, high{}, own_significand, own_exponent;
  for (std::size_t j = 0; j < columns; ++j) {
    const auto bits = std::bit_cast<std::int32_t>(acc[j]);
    const int field = bits >> 23 & 0xFF;
    const int magnitude = (bits & 0x7FFFFF) | (field != 0 ? 1 << 23 : 0);
    own_significand[j] = bits < 0 ? -magnitude : magnitude;
    own_exponent[j] = most[j] = std::max(field, 1) - 127;
  }
  for (std::size_t k = 0; k < wgmma_depth; ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      most[j] = std::max(most[j], a.exponent[k] + b.at[k].exponent[j]);
    }
  }
  // Two sums of eight terms below 2^27 each: one of sixteen could overflow.
  const int scale = 1 << (fraction_bits - 2 * format.fraction);
  const auto add_terms = [&](std::size_t first, std::array<int, columns>& sum) {
    for (std::size_t k = first; k < first + wgmma_depth / 2; ++k) {
      const int significand = a.significand[k] * scale, exponent = a.exponent[k];
      for (std::size_t j = 0; j < columns; ++j) {
        sum[j] += aligned(significand * b.at[k].significand[j],
                          most[j] - (exponent + b.at[k].exponent[j]));
      }
    }
  };
  add_terms(0, low);
  add_terms(wgmma_depth / 2, high);
  for (std::size_t j = 0; j < columns; ++j) {
    const int own =
        aligned(own_significand[j] * (1 << (fraction_bits - 23)), most[j] - own_exponent[j]);
    const double sum = static_cast<double>(low[j]) + high[j] + own;  // exact
    acc[j] = cut_to_float(sum * power_of_2(most[j] - fraction_bits));
  }
}

// An element where something is Inf or NaN: so is the result.
float add_special(const Row& a, const Row& b, Format format, float acc) {
  double sum = acc;
  for (std::size_t k = 0; k < wgmma_depth; ++k) {
    sum += to_double(a[k], format) * to_double(b[k], format);
  }
  return std::isnan(sum) ? nan_result : static_cast<float>(sum);
}

bool is_finite(const Row& row, Format format) {
  return std::none_of(row.begin(), row.end(), [&](std::uint16_t bits) {
    return (bits >> format.fraction & format.top) == format.top;
  });
}

bool all_finite(const float* values) {
  int special = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    special |= (std::bit_cast<std::uint32_t>(values[j]) & 0x7F800000) == 0x7F800000 ? 1 : 0;
  }
  return special == 0;
}

}  // namespace

void add_wgmma_rows(bool bf16, int n, const WgmmaOperand& a, int first_row, const WgmmaOperand& b,
                    bool add, float* acc) {
  const Format format = bf16 ? bf16_format : fp16_format;
  if (!add) std::fill(acc, acc + wgmma_warp_rows * n, 0.0f);
  std::array<Row, wgmma_warp_rows> rows;
  std::array<Decoded<wgmma_depth>, wgmma_warp_rows> decoded;
  for (std::size_t i = 0; i < wgmma_warp_rows; ++i) {
    rows[i] = load_row(a, first_row + static_cast<int>(i));
    decode(rows[i], format, &decoded[i]);
  }
  Columns part;
  for (int first = 0; first < n; first += columns) {
    load_columns(b, first, format, &part);
    for (std::size_t i = 0; i < wgmma_warp_rows; ++i) {
      float* const to = acc + i * static_cast<std::size_t>(n) + first;
      if (decoded[i].finite && part.finite && all_finite(to)) {
        add_row(decoded[i], part, format, to);
        continue;
      }
      std::array<float, columns> before;
      std::copy_n(to, columns, before.begin());
      add_row(decoded[i], part, format, to);
      for (std::size_t j = 0; j < columns; ++j) {
        if (decoded[i].finite && is_finite(part.raw[j], format) && std::isfinite(before[j])) {
          continue;
        }
        to[j] = add_special(rows[i], part.raw[j], format, before[j]);
      }
    }
  }
}

}  // namespace kw::host_simt
