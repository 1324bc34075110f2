// What a check knows after looking at some elements, and how two such findings become one. The same
// code runs in a GPU block and on the CPU.
#pragma once

#include <cstdint>

#include "host_device.hpp"

namespace kw::check {

// An aggregate without initialisers, so that it can live in GPU shared memory.
struct Partial {
  double max;         // largest |error|, in units of u times the element's magnitude
  double sum;         // of the signed errors
  double sum_square;  // of the errors
  std::int64_t count;
  std::int64_t failures;
  std::int64_t first_failure;  // smallest failing index; no_failure where there is none

  static constexpr std::int64_t no_failure = INT64_MAX;
};

KW_HOST_DEVICE constexpr Partial empty_partial() { return {0, 0, 0, 0, 0, Partial::no_failure}; }

KW_HOST_DEVICE constexpr void add_failure(Partial& into, std::int64_t index) {
  ++into.failures;
  if (index < into.first_failure) into.first_failure = index;
}

// `error` is signed. One that is not a number or infinite counts as an infinite maximum.
KW_HOST_DEVICE constexpr void add_error(Partial& into, double error) {
  ++into.count;
  const double size = error < 0 ? -error : error;
  if (!(size <= 1e300)) {
    into.max = __builtin_huge_val();
    return;
  }
  if (size > into.max) into.max = size;
  into.sum += error;
  into.sum_square += error * error;
}

KW_HOST_DEVICE constexpr void merge(Partial& into, const Partial& from) {
  if (from.max > into.max) into.max = from.max;
  into.sum += from.sum;
  into.sum_square += from.sum_square;
  into.count += from.count;
  into.failures += from.failures;
  if (from.first_failure < into.first_failure) into.first_failure = from.first_failure;
}

}  // namespace kw::check
