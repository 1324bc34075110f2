// The classes of the accuracy suite.
#include "check/accuracy/inputs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kw::check {
namespace {

using Element = AccuracyElement;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
// A stream of its own for what both operands have in common.
constexpr auto shared_operand = static_cast<Operand>(4);

std::int64_t index_of(const Element& e) { return (e.outer << 32) + e.p; }

std::uint64_t bits_of(const Element& e) {
  return random_bits(e.seed, e.operand, static_cast<std::uint64_t>(index_of(e)));
}

std::uint64_t shared_bits(const Element& e, std::int64_t index) {
  return random_bits(e.seed, shared_operand, static_cast<std::uint64_t>(index));
}

// +-[1, 2), from bits 0 to 22 and 63.
float mantissa(std::uint64_t bits) {
  const auto sign = static_cast<std::uint32_t>(bits >> 32) & 0x80000000u;
  const auto fraction = static_cast<std::uint32_t>(bits) & 0x007FFFFFu;
  return std::bit_cast<float>(sign | 0x3F800000u | fraction);
}

// 0 .. count - 1, from bits 24 to 55.
std::int64_t pick(std::uint64_t bits, std::int64_t count) {
  return static_cast<std::int64_t>((bits >> 24) & 0xFFFFFFFFu) % count;
}

int exponent(std::uint64_t bits, int least, int most) {
  return least + static_cast<int>(pick(bits, most - least + 1));
}

float with_exponent(const Element& e, int least, int most) {
  const std::uint64_t bits = bits_of(e);
  return std::ldexp(mantissa(bits), exponent(bits, least, most));
}

template <Input input>
float plain(const Element& e) {
  return input_value({input, e.seed, e.operand}, index_of(e));
}
constexpr auto uniform = plain<Input::uniform>;

float near_one(const Element& e) { return 1.0f + 1e-3f * plain<Input::unit>(e); }

template <int range>
float exponents(const Element& e) {
  return with_exponent(e, -range, range);
}

// A D and D^-1 B: the product is that of `uniform`, no row or column is of one size.
template <int range>
float graded(const Element& e) {
  const int d = exponent(shared_bits(e, e.p), -range, range);
  return std::ldexp(uniform(e), e.operand == Operand::b ? -d : d);
}

enum class Where { row, element };

template <Operand operand, Where where>
bool is_chosen(const Element& e) {
  if (e.operand != operand || e.outer != pick(shared_bits(e, 0), e.outers)) return false;
  return where == Where::row || e.p == pick(shared_bits(e, 1), e.k);
}

template <Operand operand, Where where>
float huge(const Element& e) {
  return is_chosen<operand, where>(e) ? uniform(e) * 0x1p60f : uniform(e);
}

enum class Special { infinite, not_a_number };

template <Operand operand, Special special>
float one(const Element& e) {
  if (!is_chosen<operand, Where::element>(e)) return uniform(e);
  return special == Special::not_a_number ? nan : infinity;
}

// The second half of k is minus the first, its A off by up to 2^-12.
float cancelling(const Element& e) {
  const std::int64_t half = e.k / 2;
  if (half == 0 || e.p < half) return uniform(e);
  Element first = e;
  first.p = e.p - half;
  if (e.operand == Operand::b) return uniform(first);
  return -uniform(first) * (1.0f + 0x1p-12f * uniform(e));
}

// As large as sums below 2^24 allow, which are exact in any order; up to 11 bits.
float integers(const Element& e) {
  const double deepest = static_cast<double>(std::max<std::int64_t>(e.k, 1));
  const auto most = static_cast<std::int64_t>(std::min(2047.0, std::sqrt(0x1p24 / deepest)));
  return static_cast<float>(pick(bits_of(e), 2 * most + 1) - most);
}

float full_mantissa(const Element& e) { return mantissa(bits_of(e) | 1); }

float tiny_or_large(const Element& e, bool is_tiny) {
  return is_tiny ? with_exponent(e, -149, -100) : with_exponent(e, 80, 120);
}
float tiny_a(const Element& e) { return tiny_or_large(e, e.operand == Operand::a); }
float tiny_mixed(const Element& e) {
  return tiny_or_large(e, (e.operand == Operand::a) == (e.p % 2 == 0));
}

// A up to FLT_MAX, sums of |A||B| below 2^127.
float near_max(const Element& e) {
  const auto deepest = static_cast<std::uint64_t>(std::max<std::int64_t>(e.k, 1));
  const int most =
      e.operand == Operand::b ? -2 - static_cast<int>(std::bit_width(deepest - 1)) : 127;
  return with_exponent(e, most, most);
}

// Terms of a row have one sign, so that no order of summation changes what overflows: every
// product; the sum of 8 or more, upward; likewise downward; nothing.
float overflow(const Element& e) {
  const float size = std::fabs(mantissa(bits_of(e)));
  if (e.operand != Operand::a) return size * 0x1p61f;
  constexpr float scale[] = {0x1p67f, 0x1p64f, -0x1p64f, 0x1p40f};
  return size * scale[e.outer % 4];
}

float either_zero(std::uint64_t bits) { return bits >> 63 != 0 ? -0.0f : 0.0f; }

// Every second element is a zero of either sign.
float zeros(const Element& e) {
  const std::uint64_t bits = bits_of(e);
  return pick(bits, 2) == 0 ? either_zero(bits) : uniform(e);
}

// Few enough infinities that a part of the results is finite.
float infinities_and_zeros(const Element& e) {
  const std::uint64_t bits = bits_of(e);
  if (pick(bits, 2 * e.k) == 0) return bits >> 63 != 0 ? -infinity : infinity;
  return (bits >> 56) % 4 == 0 ? either_zero(bits) : uniform(e);
}

float any_special(std::uint64_t bits) {
  constexpr float special[] = {infinity, -infinity, nan, 0.0f, -0.0f};
  return special[(bits >> 56) % 5];
}

float mixed(const Element& e) {
  const std::uint64_t bits = bits_of(e);
  return pick(bits, 2 * e.k) == 0 ? any_special(bits) : uniform(e);
}

float non_finite_c(const Element& e) {
  const std::uint64_t bits = bits_of(e);
  return e.operand == Operand::c && pick(bits, 4) == 0 ? any_special(bits) : uniform(e);
}

AccuracyClass odd(const char* name, const char* about, Op op_a, Op op_b) {
  return {.name = name,
          .about = about,
          .demand = Demand::no_worse,
          .value = plain<Input::normal>,
          .alpha = 1,
          .beta = 0,
          .op_a = op_a,
          .op_b = op_b,
          .odd = true};
}

}  // namespace

const std::vector<AccuracyClass>& accuracy_classes() {
  constexpr Demand no_worse = Demand::no_worse, exact = Demand::exact, pattern = Demand::pattern;
  constexpr Operand a = Operand::a, b = Operand::b;
  static const std::vector<AccuracyClass> classes = {
      {"unit", "U[0, 1)", no_worse, plain<Input::unit>},
      {"uniform", "U[-1, 1)", no_worse, uniform},
      {"normal", "N(0, 1)", no_worse, plain<Input::normal>},
      {"near_one", "1 + 0.001 U[0, 1)", no_worse, near_one},
      {"exponents_8", "exponents within 8 of 0", no_worse, exponents<8>},
      {"exponents_20", "exponents within 20 of 0", no_worse, exponents<20>},
      {"exponents_60", "exponents within 60 of 0", no_worse, exponents<60>},
      {"graded_10", "A D and D^-1 B, D up to 2^10", no_worse, graded<10>},
      {"graded_20", "A D and D^-1 B, D up to 2^20", no_worse, graded<20>},
      {"graded_60", "A D and D^-1 B, D up to 2^60", no_worse, graded<60>},
      {"huge_row", "one row of A times 2^60", no_worse, huge<a, Where::row>},
      {"huge_column", "one column of B times 2^60", no_worse, huge<b, Where::row>},
      {"huge_element", "one element of A times 2^60", no_worse, huge<a, Where::element>},
      {"cancelling", "the second half of k nearly undoes the first", no_worse, cancelling},
      {"integers", "integers whose sums stay below 2^24", exact, integers},
      {"full_mantissa", "24 bits, the last one set", no_worse, full_mantissa},
      {"tiny_a", "A from 2^-149 to 2^-100, B large", no_worse, tiny_a},
      {"tiny_mixed", "tiny against large, in turn along k", no_worse, tiny_mixed},
      {"near_max", "A up to FLT_MAX", no_worse, near_max},
      {"overflow", "products and sums beyond FLT_MAX", pattern, overflow},
      {"one_inf_a", "one infinity in A", pattern, one<a, Special::infinite>},
      {"one_inf_b", "one infinity in B", pattern, one<b, Special::infinite>},
      {"one_nan_a", "one NaN in A", pattern, one<a, Special::not_a_number>},
      {"one_nan_b", "one NaN in B", pattern, one<b, Special::not_a_number>},
      {"zeros", "zeros of both signs", no_worse, zeros},
      {"infinities_and_zeros", "infinities and zeros of both signs", pattern, infinities_and_zeros},
      {"mixed", "infinities, NaN and zeros", pattern, mixed},
      {"scaled", "alpha = -1.7, NaN in C", no_worse, plain<Input::normal>, -1.7f},
      {"scaled_added", "alpha = 0.3, beta = -1.1", no_worse, plain<Input::normal>, 0.3f, -1.1f},
      {"non_finite_c", "infinities and NaN in C, beta = 1", pattern, non_finite_c, 1, 1},
      odd("odd_nn", "sizes that no tile divides, padded", Op::none, Op::none),
      odd("odd_nt", "the same, B transposed", Op::none, Op::transpose),
      odd("odd_tn", "the same, A transposed", Op::transpose, Op::none),
      odd("odd_tt", "the same, both transposed", Op::transpose, Op::transpose),
      {.name = "empty_added",
       .about = "k = 0, beta = 0.5",
       .demand = exact,
       .value = uniform,
       .beta = 0.5f,
       .empty_k = true},
      {.name = "empty",
       .about = "k = 0, NaN in C",
       .demand = exact,
       .value = uniform,
       .empty_k = true},
  };
  return classes;
}

SgemmCase accuracy_case(const AccuracyClass& of, std::int64_t size, std::int64_t k,
                        std::uint64_t seed) {
  SgemmCase c;
  c.m = c.n = size;
  c.k = of.empty_k ? 0 : k;
  c.op_a = of.op_a;
  c.op_b = of.op_b;
  c.alpha = of.alpha;
  c.beta = of.beta;
  c.seed = seed;
  if (of.odd) {
    c.m = std::max<std::int64_t>(size - 3, 1);
    c.n = std::max<std::int64_t>(size - 7, 1);
    c.k = std::max<std::int64_t>(k - 1, 1);
    c.lda_pad = 3;
    c.ldb_pad = 1;
    c.ldc_pad = 5;
  }
  return c;
}

}  // namespace kw::check
