// Parsing of shapes and transposes, and the named sweeps.
#include "shapes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "program.hpp"

namespace kw {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

namespace {

std::int64_t parse_dimension(const std::string& text, const std::string& shape,
                             std::int64_t smallest, const char* forms) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  const bool power = text.starts_with("2^");
  const char* begin = text.data() + (power ? 2 : 0);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format(
        "--shape: \"{}\" in \"{}\" is not a whole number; write {}, for example 1000 or "
        "2^20",
        text, shape, forms));
  }
  if (power) value = value >= 0 && value <= 40 ? std::int64_t{1} << value : -1;
  if (value < smallest || value > largest) {
    throw UsageError(fmt::format("--shape: {} in \"{}\" is outside of {} to {}", text, shape,
                                 smallest, largest));
  }
  return value;
}

std::vector<Shape> cubes(std::initializer_list<std::int64_t> edges) {
  std::vector<Shape> shapes;
  for (const std::int64_t edge : edges) shapes.push_back({edge, edge, edge});
  return shapes;
}

const std::map<std::string, std::vector<Shape>>& sweeps() {
  static const std::map<std::string, std::vector<Shape>> known = {
      {"classic", cubes({128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
                         12288, 16384})},
      {"skinny",
       {{1, 8192, 8192},
        {16, 4096, 4096},
        {64, 8192, 8192},
        {8192, 64, 8192},
        {4096, 32, 4096},
        {128, 128, 65536},
        {64, 64, 262144},
        {256, 16384, 256},
        {16384, 16384, 64},
        {8192, 8192, 128}}},
      {"odd",
       {{4097, 4095, 4099},
        {1000, 1000, 1000},
        {3000, 500, 7000},
        {511, 513, 2047},
        {1537, 1537, 1537},
        {3001, 3001, 3001}}},
      // A product of each kind that calls differ by: one launch or several, one kernel or another.
      {"mixed",
       {{16, 16, 16},
        {64, 64, 64},
        {128, 128, 128},
        {256, 256, 256},
        {512, 512, 512},
        {1024, 1024, 1024},
        {1536, 1536, 1536},
        {2048, 2048, 2048},
        {4096, 4096, 4096},
        {4097, 4097, 4097},
        {8192, 8192, 8192},
        {1, 4096, 4096},
        {4096, 16, 4096},
        {100, 100, 20000},
        {1537, 1025, 777}}},
      {"small",
       {{16, 16, 16},
        {32, 32, 32},
        {64, 64, 64},
        {96, 96, 96},
        {128, 128, 128},
        {192, 192, 192},
        {256, 256, 256},
        {127, 65, 33},
        {129, 255, 257}}},
      {"sustained", cubes({2048, 4096, 8192, 16384})},
      {"batched",
       {{32, 32, 32, 4096}, {64, 64, 64, 1024}, {128, 128, 128, 256}, {512, 512, 512, 64}}},
  };
  return known;
}

}  // namespace

std::vector<Extents> parse_extents(const std::string& text, int dimensions, std::int64_t smallest,
                                   const char* forms) {
  std::vector<Extents> parsed;
  const std::vector<std::string> parts = split(text, ',');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part.empty()) {
      throw UsageError(
          fmt::format("--shape: item {} of {} in \"{}\" is empty; write {} between commas", i + 1,
                      parts.size(), text, forms));
    }
    const std::vector<std::string> numbers = split(part, 'x');
    if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(dimensions)) {
      throw UsageError(fmt::format("--shape: \"{}\" has {} dimensions, want 1 or {}: {}", part,
                                   numbers.size(), dimensions, forms));
    }
    Extents& extents = parsed.emplace_back();
    extents.typed = part;
    for (const std::string& number : numbers) {
      extents.values.push_back(parse_dimension(number, part, smallest, forms));
    }
  }
  return parsed;
}

std::vector<Shape> parse_shapes(const std::string& text, int dimensions, std::int64_t smallest) {
  std::vector<Shape> shapes;
  const char* forms = dimensions == 3 ? "N or MxNxK" : "N or ROWSxCOLS";
  for (const Extents& extents : parse_extents(text, dimensions, smallest, forms)) {
    std::vector<std::int64_t> values = extents.values;
    if (values.size() == 1) values.resize(3, values[0]);
    shapes.push_back({values[0], values[1], dimensions == 3 ? values[2] : 0});
  }
  return shapes;
}

std::vector<OpPair> parse_ops(const std::string& text) {
  std::vector<OpPair> pairs;
  for (const std::string& part : split(text, ',')) {
    if (part.size() != 2 || part.find_first_not_of("nNtT") != std::string::npos) {
      throw UsageError(fmt::format(
          "--ops: \"{}\" is not one of nn, nt, tn, tt (n: as stored, t: transposed; A, then B)",
          part));
    }
    const auto op = [](char letter) {
      return letter == 't' || letter == 'T' ? Op::transpose : Op::none;
    };
    pairs.push_back({op(part[0]), op(part[1])});
  }
  return pairs;
}

std::vector<Shape> sweep(const std::string& name, const std::string& known) {
  const auto found = sweeps().find(name);
  if (found == sweeps().end()) {
    throw UsageError(fmt::format("--sweep: \"{}\" is not one of {}", name, known));
  }
  return found->second;
}

const char* sweep_names() { return "classic, skinny, odd, small, mixed, batched"; }

}  // namespace kw
