// Kinds of data that the accuracy fuzzer draws: a body and features on top of it, each a whole
// number that is 0 where the feature is absent. Any value is a pure function of seed, operand and
// place, with the same bits on the CPU and in a GPU kernel.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "check/input.hpp"
#include "check/normal.hpp"
#include "host_device.hpp"

namespace kw::check {

enum class Body : int {
  uniform,     // U[-1, 1)
  normal,      // N(0, 1)
  longtail,    // +-exp(N(0, 1) * spread / 4)
  exponents,   // +-[1, 2) * 2^e, e from -spread to spread
  near_one,    // 1 + U[-1, 1) * 2^-spread
  near_whole,  // +-(1 to 8) + U[-1, 1) * 2^-spread
};
constexpr int body_count = 6;

// What a feature chooses: elements one by one, whole rows of A or columns of B, whole places of k.
enum class Pick : int { element, row, k };
constexpr int pick_count = 3;

struct DrawnOperand {
  int body = 0;
  int spread = 0;
  int one_sign = 0;  // 1: absolute values
  int outliers = 0;  // a million; multiplied by 2^outlier_size
  int outlier_size = 0;
  int outlier_pick = 0;
  int zeros = 0;  // a million
  int zero_pick = 0;
  int row_range = 0;   // each row times 2^e, e within +-row_range
  int k_range = 0;     // each place of k likewise
  int subnormals = 0;  // a million: 2^-149 to 2^-127
  int diagonal = 0;    // elements whose place along k is their row's number, times 2^diagonal
};

struct Distribution {
  DrawnOperand a, b;
  int graded = 0;      // A D and D^-1 B, D up to 2^graded
  int cancelling = 0;  // the second half of k is minus the first, its A off by up to 2^-cancelling
  int met = 0;         // so many places of k in a million: there A's and B's elements are both
  int met_size = 0;    // multiplied by 2^met_size
};

// One element of op(A) or op(B): `outer` is the row of op(A) or the column of op(B).
struct DrawnElement {
  std::uint64_t seed;
  Operand operand;
  std::int64_t outer, p, k;
};

// 2^x to seven digits, -120 <= x <= 120.
KW_HOST_DEVICE inline float reproducible_exp2(double x) {
  const double whole = floor(x), t = (x - whole) * 0.69314718055994531;
  double series = 1.0 / 40320.0;
  series = fma(series, t, 1.0 / 5040.0);
  series = fma(series, t, 1.0 / 720.0);
  series = fma(series, t, 1.0 / 120.0);
  series = fma(series, t, 1.0 / 24.0);
  series = fma(series, t, 1.0 / 6.0);
  series = fma(series, t, 0.5);
  series = fma(series, t, 1.0);
  series = fma(series, t, 1.0);
  const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(whole + 1023.0) << 52);
  return static_cast<float>(series * power);
}

class DrawnValue {
 public:
  KW_HOST_DEVICE DrawnValue(const Distribution& of, const DrawnElement& e)
      : all_(of), own_(e.operand == Operand::a ? of.a : of.b), e_(e) {}

  KW_HOST_DEVICE float value() {
    if (all_.cancelling == 0 || e_.k < 2) return plain();
    const std::int64_t half = e_.k / 2;
    if (e_.p < half) return plain();
    const std::uint64_t off = bits(8, e_.outer, e_.p);
    e_.p -= half;
    if (e_.operand == Operand::b) return plain();
    const double by = all_.cancelling;
    return -plain() * static_cast<float>(fma(signed_unit(off), reproducible_exp2(-by), 1.0));
  }

 private:
  // A stream of random numbers for each purpose.
  KW_HOST_DEVICE std::uint64_t bits(std::uint64_t purpose, std::int64_t outer,
                                    std::int64_t p) const {
    return random_bits(mix(e_.seed * 16 + purpose), e_.operand,
                       (static_cast<std::uint64_t>(outer) << 32) + static_cast<std::uint64_t>(p));
  }
  KW_HOST_DEVICE static double unit(std::uint64_t bits) {  // (0, 1), symmetric about 1/2
    return static_cast<double>(static_cast<std::int64_t>((bits >> 11) | 1)) * 0x1p-53;
  }
  KW_HOST_DEVICE static double signed_unit(std::uint64_t bits) {
    return fma(2.0, unit(bits), -1.0);
  }
  KW_HOST_DEVICE static int within(std::uint64_t bits, int range) {
    return static_cast<int>((bits >> 24) % static_cast<std::uint64_t>(2 * range + 1)) - range;
  }
  KW_HOST_DEVICE static float mantissa(std::uint64_t bits) {  // +-[1, 2)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32 & 0x80000000u) | 0x3F800000u |
                                static_cast<std::uint32_t>(bits & 0x7FFFFFu));
  }
  KW_HOST_DEVICE bool picks(std::uint64_t purpose, int per_million, int pick) const {
    if (per_million == 0) return false;
    const std::uint64_t drawn = bits(purpose, pick == static_cast<int>(Pick::k) ? -1 : e_.outer,
                                     pick == static_cast<int>(Pick::row) ? -1 : e_.p);
    return static_cast<int>((drawn >> 20) % 1000000) < per_million;
  }

  // A place of k, the same of both operands.
  KW_HOST_DEVICE bool is_met() const {
    if (all_.met == 0) return false;
    const std::uint64_t drawn =
        mix(e_.seed + 0x3E7u + golden_gamma * static_cast<std::uint64_t>(e_.p));
    return static_cast<int>((drawn >> 20) % 1000000) < all_.met;
  }

  KW_HOST_DEVICE float body(std::uint64_t drawn) const {
    switch (static_cast<Body>(own_.body)) {
      case Body::uniform: return static_cast<float>(signed_unit(drawn));
      case Body::normal: return static_cast<float>(normal_quantile(unit(drawn)));
      case Body::longtail: {
        const double power =
            normal_quantile(unit(drawn)) * own_.spread * (0.25 / 0.6931471805599453);
        const float size = reproducible_exp2(power < -100 ? -100 : power > 100 ? 100 : power);
        return (mix(drawn) & 1) != 0 ? -size : size;
      }
      case Body::exponents:
        return mantissa(drawn) * reproducible_exp2(within(mix(drawn), own_.spread));
      case Body::near_one:
        return static_cast<float>(fma(signed_unit(drawn), reproducible_exp2(-own_.spread), 1.0));
      case Body::near_whole: {
        const std::uint64_t other = mix(drawn);
        const double whole = static_cast<double>(1 + (other >> 8 & 7));
        return static_cast<float>(fma(signed_unit(drawn), reproducible_exp2(-own_.spread),
                                      (other & 1) != 0 ? -whole : whole));
      }
    }
    return 0;
  }

  KW_HOST_DEVICE float plain() const {
    if (picks(1, own_.zeros, own_.zero_pick)) return 0;
    const std::uint64_t drawn = bits(0, e_.outer, e_.p);
    float x;
    if (picks(2, own_.subnormals, 0)) {
      x = mantissa(drawn) * 0x1p-100f * reproducible_exp2(within(mix(drawn), 11) - 38);
    } else {
      int exponent = 0;
      if (own_.row_range > 0) exponent += within(bits(3, e_.outer, 0), own_.row_range);
      if (own_.k_range > 0) exponent += within(bits(4, 0, e_.p), own_.k_range);
      if (all_.graded > 0) {
        const int d = within(
            mix(e_.seed + 0x5EEDu + golden_gamma * static_cast<std::uint64_t>(e_.p)), all_.graded);
        exponent += e_.operand == Operand::a ? d : -d;
      }
      if (picks(5, own_.outliers, own_.outlier_pick)) exponent += own_.outlier_size;
      if (e_.p == e_.outer) exponent += own_.diagonal;
      if (is_met()) exponent += all_.met_size;
      x = body(drawn) * reproducible_exp2(exponent);
    }
    return own_.one_sign != 0 && x < 0 ? -x : x;
  }

  const Distribution& all_;
  const DrawnOperand& own_;
  DrawnElement e_;
};

KW_HOST_DEVICE inline float drawn_value(const Distribution& of, const DrawnElement& e) {
  return DrawnValue(of, e).value();
}

}  // namespace kw::check
