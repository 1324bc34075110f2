// The fuzzer's cases as tables: one row a property of a distribution.
#include "check/accuracy/fuzz_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace kw::check {
namespace {

constexpr std::array<const char*, body_count> body_names = {"uniform",   "normal",   "longtail",
                                                            "exponents", "near_one", "near_whole"};
constexpr std::array<const char*, pick_count> pick_names = {"element", "row", "k"};

enum class Values { numbers, bodies, picks };

// A property of an operand; `least` to `most`, 0 where it is absent.
struct OperandProperty {
  const char* name;
  const char* about;
  int DrawnOperand::*value;
  int least, most;
  Values values = Values::numbers;
};
constexpr int million = 1'000'000;
constexpr OperandProperty operand_properties[] = {
    {"body", "uniform [-1, 1), normal, longtail, exponents, near_one, near_whole",
     &DrawnOperand::body, 0, body_count - 1, Values::bodies},
    {"spread",
     "longtail: exp(N(0, 1) spread / 4); exponents: within it; near_one, near_whole: +- 2^-spread",
     &DrawnOperand::spread, 0, 60},
    {"one_sign", "1: absolute values", &DrawnOperand::one_sign, 0, 1},
    {"outliers", "so many in a million are multiplied by 2^outlier_size", &DrawnOperand::outliers,
     0, million},
    {"outlier_size", "negative: they are smaller than the others", &DrawnOperand::outlier_size, -60,
     60},
    {"outlier_pick", "element, row (of A; column of B) or k: what becomes one as a whole",
     &DrawnOperand::outlier_pick, 0, pick_count - 1, Values::picks},
    {"zeros", "so many in a million are 0", &DrawnOperand::zeros, 0, million},
    {"zero_pick", "element, row or k", &DrawnOperand::zero_pick, 0, pick_count - 1, Values::picks},
    {"row_range", "each row of A, column of B, times 2^e, e within it", &DrawnOperand::row_range, 0,
     60},
    {"k_range", "each place of k times 2^e, e within it", &DrawnOperand::k_range, 0, 60},
    {"subnormals", "so many in a million are from 2^-149 to 2^-127", &DrawnOperand::subnormals, 0,
     million},
    {"diagonal", "row i's (column j's) element at place i (j) of k is multiplied by 2^diagonal",
     &DrawnOperand::diagonal, 0, 60},
};

struct SharedProperty {
  const char* name;
  const char* about;
  int Distribution::*value;
  int most;
};
constexpr SharedProperty shared_properties[] = {
    {"graded", "A D and D^-1 B, D a diagonal of powers of two up to 2^graded",
     &Distribution::graded, 60},
    {"cancelling", "the second half of k is minus the first, its A off by up to 2^-cancelling",
     &Distribution::cancelling, 60},
    {"met", "at so many places of k in a million A's and B's elements are both multiplied",
     &Distribution::met, million},
    {"met_size", "by 2^met_size", &Distribution::met_size, 30},
};

constexpr struct {
  const char* prefix;
  DrawnOperand Distribution::*operand;
} operands[] = {{"a.", &Distribution::a}, {"b.", &Distribution::b}};

template <class Names>
std::string value_text(const Names& names, int value) {
  return names[static_cast<std::size_t>(value)];
}
std::string value_text(const OperandProperty& property, int value) {
  switch (property.values) {
    case Values::bodies: return value_text(body_names, value);
    case Values::picks: return value_text(pick_names, value);
    case Values::numbers: break;
  }
  return fmt::format("{}", value);
}

int parse_number(std::string_view name, std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  throw std::invalid_argument(
      fmt::format("{}: \"{}\" is not a whole number from {} to {}", name, text, least, most));
}
template <class Names>
int parse_name(std::string_view name, std::string_view text, const Names& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  throw std::invalid_argument(
      fmt::format("{}: \"{}\" is not one of {}", name, text, fmt::join(names, ", ")));
}
int parse_value(const OperandProperty& property, std::string_view name, std::string_view text) {
  switch (property.values) {
    case Values::bodies: return parse_name(name, text, body_names);
    case Values::picks: return parse_name(name, text, pick_names);
    case Values::numbers: break;
  }
  return parse_number(name, text, property.least, property.most);
}

void set(Distribution& data, std::string_view name, std::string_view text) {
  for (const auto& [prefix, operand] : operands) {
    if (name.substr(0, 2) != prefix) continue;
    for (const OperandProperty& property : operand_properties) {
      if (name.substr(2) != property.name) continue;
      (data.*operand).*property.value = parse_value(property, name, text);
      return;
    }
  }
  for (const SharedProperty& property : shared_properties) {
    if (name != property.name) continue;
    data.*property.value = parse_number(name, text, 0, property.most);
    return;
  }
  throw std::invalid_argument(fmt::format("no property of data is called \"{}\"", name));
}

// --- drawing

class Dice {
 public:
  explicit Dice(std::uint64_t state) : state_(mix(state)) {}

  std::uint64_t bits() { return mix(state_ += golden_gamma); }
  int from(int least, int most) {
    return least + static_cast<int>((bits() >> 20) % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(int times) { return from(1, times) == 1; }
  // With a probability as 1 / x.
  std::int64_t spread_out(double least, double most) {
    const double share = static_cast<double>(bits() >> 11) * 0x1p-53;
    return static_cast<std::int64_t>(least * std::pow(most / least, share));
  }

 private:
  std::uint64_t state_;
};

// The exponents that a distribution reaches, away from 0.
int reach(const DrawnOperand& x) {
  const auto body = static_cast<Body>(x.body);
  const int of_body = body == Body::exponents  ? x.spread
                      : body == Body::longtail ? 2 * x.spread
                                               : 2;
  return of_body + std::abs(x.outlier_size) + x.row_range + x.k_range + x.diagonal;
}

DrawnOperand draw_operand(Dice& dice) {
  DrawnOperand x;
  x.body = dice.from(0, static_cast<int>(Body::near_one));  // near_whole comes with peaks
  switch (static_cast<Body>(x.body)) {
    case Body::longtail: x.spread = static_cast<int>(dice.spread_out(1, 24)); break;
    case Body::exponents: x.spread = static_cast<int>(dice.spread_out(1, 40)); break;
    case Body::near_one: x.spread = dice.from(1, 20); break;
    default: break;
  }
  x.one_sign = dice.one_in(3) ? 1 : 0;
  if (dice.one_in(3)) {
    x.outliers = static_cast<int>(dice.spread_out(1, 300'000));
    x.outlier_size = static_cast<int>(dice.spread_out(1, 55)) * (dice.one_in(4) ? -1 : 1);
    x.outlier_pick = std::max(dice.from(-2, 2), 0);
  }
  if (dice.one_in(3)) {
    const auto present = static_cast<int>(dice.spread_out(3'000, million - 1));
    x.zeros = dice.one_in(2) ? present : million - present;
    x.zero_pick = std::max(dice.from(-2, 2), 0);
  }
  if (dice.one_in(6)) x.row_range = static_cast<int>(dice.spread_out(1, 25));
  if (dice.one_in(6)) x.k_range = static_cast<int>(dice.spread_out(1, 25));
  if (dice.one_in(20)) x.subnormals = static_cast<int>(dice.spread_out(1, 100'000));
  // Sums of products must stay far below the largest float.
  for (int DrawnOperand::*range : {&DrawnOperand::row_range, &DrawnOperand::k_range})
    if (reach(x) > 55) x.*range = 0;
  if (reach(x) > 55) x.outliers = x.outlier_size = x.outlier_pick = 0;
  return x;
}

// As Gram, covariance and kernel matrices have it.
void draw_diagonal(Dice& dice, DrawnOperand& x) {
  if (!dice.one_in(5)) return;
  x.diagonal = static_cast<int>(dice.spread_out(1, 32));
  if (reach(x) > 55) x.diagonal = 0;
}

// Elements near whole numbers, of which FP32's sums lose little beside a few that are far larger,
// on the diagonal, anywhere or at the same places of k in both operands: there an error that other
// data hide is the largest.
void draw_peaks(Dice& dice, Distribution& data) {
  if (!dice.one_in(8)) return;
  DrawnOperand x;
  x.body = static_cast<int>(dice.one_in(2) ? Body::near_one : Body::near_whole);
  x.spread = dice.from(2, 24);
  x.one_sign = dice.one_in(3) ? 0 : 1;
  data = {x, x};
  enum { on_diagonal, elsewhere, met };
  const int where = dice.from(on_diagonal, met);
  if (where == met) {
    data.met = static_cast<int>(dice.spread_out(30, 30'000));
    data.met_size = dice.from(2, 27);
    return;
  }
  const int peaks_of = dice.from(1, 3);  // A, B, both
  for (DrawnOperand* operand : {&data.a, &data.b}) {
    if (operand == &data.a ? peaks_of == 2 : peaks_of == 1) continue;
    const int size = dice.from(4, 27);
    if (where == on_diagonal) {
      operand->diagonal = size;
    } else {
      operand->outliers = static_cast<int>(dice.spread_out(30, 30'000));
      operand->outlier_size = size;
    }
  }
}

// Numbers near whole ones, of one sign: high pieces all lie to one side of what they stand for, and
// sums of windows all leave nearly the same remainder beside the sum so far. What each addition
// then rounds away grows with their number, and shows the more the longer k is; most where some
// outliers make the sum so large that FP32 hardly rounds the others' products.
bool draw_whole(Dice& dice, Distribution& data) {
  if (!dice.one_in(8)) return false;
  DrawnOperand x;
  x.body = static_cast<int>(dice.one_in(3) ? Body::near_one : Body::near_whole);
  x.spread = dice.from(5, 13);
  x.one_sign = 1;
  data = {x, x};
  if (dice.one_in(3)) return true;
  data.b.outliers = static_cast<int>(dice.spread_out(100, 60'000));
  data.b.outlier_size = dice.from(1, 16);
  return true;
}

std::int64_t draw_k(Dice& dice, double least, double most) {
  const std::int64_t k = dice.spread_out(least, most);
  return dice.one_in(3) ? k : k / 32 * 32;
}

}  // namespace

FuzzCase draw_case(std::uint64_t seed, std::int64_t number, FuzzShapes shapes) {
  Dice dice(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  FuzzCase c;
  c.data.a = draw_operand(dice);
  c.data.b = dice.one_in(2) ? c.data.a : draw_operand(dice);
  if (dice.one_in(12)) c.data.graded = static_cast<int>(dice.spread_out(1, 40));
  if (dice.one_in(12)) c.data.cancelling = dice.from(1, 24);
  c.seed = dice.bits() % million;
  if (shapes == FuzzShapes::small) {
    c.m = dice.from(33, 96);
    c.n = dice.from(33, 96);
    c.k = draw_k(dice, 64, 800);
  } else {
    // Half of them so large that the library takes its widest tiles.
    const bool is_wide = dice.one_in(2);
    c.m = is_wide ? dice.from(1480, 1600) : dice.spread_out(128, 1200);
    c.n = is_wide ? dice.from(1480, 1600) : dice.spread_out(128, 1200);
    c.k = draw_k(dice, 64, is_wide ? 4096 : 16384);
  }
  draw_diagonal(dice, c.data.a);
  draw_diagonal(dice, c.data.b);
  draw_peaks(dice, c.data);
  if (draw_whole(dice, c.data) && shapes != FuzzShapes::small)
    c.k = draw_k(dice, 2048, c.m > 1200 ? 12288 : 32768);
  return c;
}

std::string to_text(const Distribution& data) {
  std::string text;
  const auto add = [&](std::string_view prefix, const char* name, const std::string& value) {
    text += fmt::format("{}{}{}={}", text.empty() ? "" : ",", prefix, name, value);
  };
  for (const auto& [prefix, operand] : operands) {
    for (const OperandProperty& property : operand_properties) {
      const int value = (data.*operand).*property.value;
      if (value != 0) add(prefix, property.name, value_text(property, value));
    }
  }
  for (const SharedProperty& property : shared_properties)
    if (data.*property.value != 0) add("", property.name, fmt::format("{}", data.*property.value));
  return text.empty() ? "a.body=uniform" : text;
}

Distribution parse_distribution(std::string_view text) {
  Distribution data;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      throw std::invalid_argument(fmt::format("\"{}\" is not NAME=VALUE", part));
    set(data, part.substr(0, equals), part.substr(equals + 1));
    if (comma == std::string_view::npos) return data;
    text.remove_prefix(comma + 1);
  }
}

std::string distribution_help() {
  std::string text;
  for (const OperandProperty& property : operand_properties)
    text += fmt::format("  a.{0:13} b.{0:13} {1}\n", property.name, property.about);
  for (const SharedProperty& property : shared_properties)
    text += fmt::format("  {:31} {}\n", property.name, property.about);
  return text;
}

std::vector<FuzzCase> simpler_cases(const FuzzCase& from) {
  std::vector<FuzzCase> simpler;
  const auto try_value = [&](auto&& access, int value) {
    FuzzCase next = from;
    if (access(next) == value) return;
    access(next) = value;
    simpler.push_back(next);
  };
  const auto try_smaller = [&](auto&& access) {
    FuzzCase own = from;
    const int value = access(own);
    for (const int to : {0, value / 2, value * 3 / 4}) try_value(access, to);
    if (std::abs(value) <= 20) try_value(access, value - (value > 0 ? 1 : value < 0 ? -1 : 0));
  };
  if (to_text(from.data).find("b.") != std::string::npos) {
    FuzzCase next = from;
    next.data.b = {};
    simpler.push_back(next);
  }
  for (const SharedProperty& property : shared_properties)
    try_smaller([&](FuzzCase& c) -> int& { return c.data.*property.value; });
  for (const auto& [prefix, operand] : operands) {
    const auto of = operand;
    for (const OperandProperty& property : operand_properties) {
      const auto access = [&](FuzzCase& c) -> int& { return (c.data.*of).*property.value; };
      if (property.values == Values::numbers)
        try_smaller(access);
      else
        try_value(access, 0);
    }
  }
  const auto try_extent = [&](std::int64_t FuzzCase::*extent, std::int64_t least) {
    for (const std::int64_t to : {from.*extent / 2, from.*extent * 3 / 4}) {
      if (to < least) continue;
      FuzzCase next = from;
      next.*extent = to;
      simpler.push_back(next);
    }
  };
  try_extent(&FuzzCase::k, 1);
  try_extent(&FuzzCase::m, 32);
  try_extent(&FuzzCase::n, 32);
  return simpler;
}

}  // namespace kw::check
