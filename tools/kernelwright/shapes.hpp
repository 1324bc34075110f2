// Problem sizes and transposes from the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernelwright/matrix.hpp"

namespace kw {

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;

  bool operator==(const Shape&) const = default;
};

// What a product does with A and B before it uses them.
struct OpPair {
  Op a = Op::none, b = Op::none;

  bool operator==(const OpPair&) const = default;
};

// "nn,NT": throws UsageError naming what is no pair of letters n and t.
std::vector<OpPair> parse_ops(const std::string& text);

std::vector<std::string> split(const std::string& text, char separator);

// One part of a list of shapes: its numbers, and how it was typed.
struct Extents {
  std::vector<std::int64_t> values;
  std::string typed;
};

// "4096,2^20,129x65x33": parts of one number or of `dimensions`, powers of two as such. Throws
// UsageError naming what cannot be read and the forms that can; no number may be below `smallest`.
std::vector<Extents> parse_extents(const std::string& text, int dimensions, std::int64_t smallest,
                                   const char* forms);

// "4096,129x65x33": a single number is a cube. With `dimensions` 2, "8192,100x200": k is 0. Throws
// UsageError naming what cannot be read; no dimension may be below `smallest`.
std::vector<Shape> parse_shapes(const std::string& text, int dimensions, std::int64_t smallest);

// The names of the sweeps of shapes, for help texts and messages.
const char* sweep_names();

// One of these; throws UsageError for another, naming those that are known.
std::vector<Shape> sweep(const std::string& name, const std::string& known = sweep_names());

}  // namespace kw
