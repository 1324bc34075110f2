// What level 3 and complex triangular systems have in common on the command line: sizes or a sweep
// at random, and which triangles, sides and diagonals are meant.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bench/problems.hpp"
#include "bench/roofline.hpp"
#include "bench/row.hpp"
#include "commands/commands.hpp"
#include "commands/product_options.hpp"
#include "sweeps/draws.hpp"

namespace kw {

// As typed.
struct FormChoice {
  std::string shape, sweep;
  std::string uplo = "lower", side = "left", trans = "n", diag = "n";
  std::optional<std::int64_t> count;

  // `shapes` and `operations` describe --shape and --trans; `things` are what a sweep draws.
  void add_form_options(CLI::App& to, const char* shapes, const char* things,
                        std::int64_t default_count, const char* operations);
  bool is_random() const { return sweep == "random"; }
  std::vector<Triangle> triangles() const;
  std::vector<bool> on_left() const;
  std::vector<bool> unit_diagonals() const;
};

// Draws until there are so many cases that are wanted(), each of the third that is its turn.
// finish() adds what is not drawn; a case that takes the device too long is left out, and keeps its
// number.
template <class Draw, class Wanted, class Finish>
auto forms_at_random(std::uint64_t seed, std::int64_t count, const char* things,
                     const Device& device, const Draw& draw, const Wanted& wanted,
                     const Finish& finish) {
  const auto third_of = [](const auto& c) { return bench::third_of_us(bench::roofline_us(c)); };
  const auto drawn = drawn_cases(seed, count, draw, [&](const auto& c, std::size_t number) {
    return wanted(c) && third_of(c) == static_cast<bench::Third>(number % bench::thirds);
  });
  auto chosen = labelled(
      drawn, seed, [&](const auto& c) { return bench::work(c) <= default_max_work(device); },
      third_of);
  if (chosen.cases.size() < drawn.size())
    chosen.left_out = std::string(things) + " that take this device long are left out";
  for (auto& c : chosen.cases) finish(c);
  return chosen;
}

}  // namespace kw
