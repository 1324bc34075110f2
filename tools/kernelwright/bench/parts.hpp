// What each case of a list is expected to take, for the estimate of what is left.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "bench/problems.hpp"
#include "estimate.hpp"

namespace kw::bench {

// `fixed_s` and `least_work` are what every case takes, however small.
template <class Case>
std::vector<Estimate::Part> parts_of(const std::vector<Case>& cases, double fixed_s = 0,
                                     double least_work = 0) {
  std::vector<Estimate::Part> parts;
  parts.reserve(cases.size());
  std::transform(cases.begin(), cases.end(), std::back_inserter(parts), [&](const Case& c) {
    return Estimate::Part{fixed_s, least_work + work(c)};
  });
  return parts;
}

}  // namespace kw::bench
