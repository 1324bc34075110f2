// What the command line chose: cases, and what a sweep says of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/roofline.hpp"
#include "bench/row.hpp"

namespace kw {

template <class Case>
struct Chosen {
  std::vector<Case> cases;
  std::vector<bench::SweepRow> labels;  // of a sweep that draws, or lists, whole problems
  std::string left_out;                 // a line on those that take this device too long
};

// A random sweep's cases that fits(), with their labels: a case keeps its number where others are
// left out.
template <class Case, class Fits, class ThirdOf>
Chosen<Case> labelled(const std::vector<Case>& drawn, std::uint64_t seed, const Fits& fits,
                      const ThirdOf& third_of) {
  Chosen<Case> chosen;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (!fits(drawn[i])) continue;
    chosen.cases.push_back(drawn[i]);
    bench::SweepRow& label = chosen.labels.emplace_back();
    label.sweep = "random";
    label.seed = seed;
    label.number = static_cast<std::int64_t>(i);
    label.third = bench::to_string(third_of(drawn[i]));
  }
  return chosen;
}

}  // namespace kw
