// A matrix in device memory with canaries (NaN) before it, after it and in the padding of its rows:
// a kernel that reads one spoils its result, one that writes one is found out.
#pragma once

#include <cstdint>
#include <string>

#include "check/workbench.hpp"

namespace kw::check {

class GuardedMatrix {
 public:
  // `guard` words on either side; with 0 the allocation ends at the last element, where an address
  // sanitizer sees the next one. `misalign` words between the guard and the matrix.
  GuardedMatrix(Workbench& bench, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                std::int64_t guard, std::int64_t misalign);

  float* data() const { return buffer_.as<float>() + place_.offset; }
  std::int64_t ld() const { return place_.ld; }

  // Writes canaries everywhere, then the values over the matrix itself unless nothing may read it.
  void fill(const InputStream& values, bool readable);
  // Empty where no word changed since `fill` (of an output: none outside of the matrix), else a
  // sentence that says which did.
  std::string find_change(const char* name, bool is_output);

  static Placement placement(std::int64_t rows, std::int64_t cols, std::int64_t ld,
                             std::int64_t guard, std::int64_t misalign);

 private:
  Workbench& bench_;
  Placement place_;
  DeviceBuffer buffer_;
  FillMatrix filled_{};
};

}  // namespace kw::check
