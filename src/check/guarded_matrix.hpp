// A matrix in device memory, or several of one shape, with canaries (NaN) before, after, between
// and in the padding of rows: a kernel that reads one spoils its result, one that writes one is
// found out.
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
  // Any number of matrices, with canaries between them too.
  GuardedMatrix(Workbench& bench, const Placement& place);

  float* data(std::int64_t entry = 0) const {
    return buffer_.as<float>() + place_.offset + entry * place_.stride;
  }
  std::int64_t ld() const { return place_.ld; }
  std::int64_t entries() const { return place_.entries; }
  std::int64_t stride() const { return place_.stride; }
  // What `fill` has written.
  const FillMatrix& filled() const { return filled_; }

  // Writes canaries everywhere, then the values over the matrix itself unless nothing may read it.
  void fill(const InputStream& values, bool readable, Region region = {}, float beside_diagonal = 0,
            Condition condition = Condition::good, bool is_symmetric = false);
  // Empty where no word changed since `fill` (of an output: none outside of the matrix), else a
  // sentence that says which did.
  std::string find_change(const char* name, bool is_output);

  // `gap` words between the end of a matrix and the beginning of the next.
  static Placement placement(std::int64_t rows, std::int64_t cols, std::int64_t ld,
                             std::int64_t guard, std::int64_t misalign, std::int64_t entries = 1,
                             std::int64_t gap = 0);
  // The words of such an allocation. A double, which no size that can be typed overflows.
  static double words(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t guard,
                      std::int64_t misalign, std::int64_t entries = 1, std::int64_t gap = 0);

 private:
  std::string entry_text(std::int64_t entry) const;

  Workbench& bench_;
  Placement place_;
  DeviceBuffer buffer_;
  FillMatrix filled_{};
};

}  // namespace kw::check
