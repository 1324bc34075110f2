// A matrix of any element type in device memory, with canaries before it, after it and in the
// padding of its rows: what guarded_matrix.hpp is for floats.
#pragma once

#include <cstdint>
#include <string>

#include "check/reduce/tools.hpp"
#include "check/workbench.hpp"

namespace kw::check {

class GuardedArray {
 public:
  // `guard` elements on either side; with 0 the allocation ends at the last element, where an
  // address sanitizer sees the next one. `misalign` elements between the guard and the matrix.
  GuardedArray(Workbench& bench, const ElementStream& values, std::int64_t rows, std::int64_t cols,
               std::int64_t ld, std::int64_t guard, std::int64_t misalign);

  void* data() const;
  std::int64_t ld() const { return place_.ld; }

  // An input: canaries that spoil a sum (NaN for floating-point types), then the values.
  void fill_input();
  // An output: bytes that are no result everywhere.
  void fill_output();
  // Empty where nothing changed since it was filled (of an output: nothing outside of the matrix),
  // else a sentence that says what did. An output that was filled as an input has an input's
  // canaries.
  std::string find_change(const char* name, bool is_output, bool was_input = false);

  // As a text, exactly, and as the nearest double.
  std::string text_at(std::int64_t element) const;
  double value_at(std::int64_t element) const;

  static double bytes(DataType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                      std::int64_t guard);

 private:
  unsigned char input_canary() const;
  void fill_bytes(unsigned char canary);
  template <class T>
  T read(std::int64_t element) const;

  Workbench& bench_;
  ElementStream values_;
  Placement place_;
  DeviceBuffer buffer_;
};

}  // namespace kw::check
