// An array as every owner can describe it: an address, sizes and strides, in elements.
#pragma once

#include <array>
#include <cstdint>

namespace kw::python {

constexpr int most_dimensions = 16;

struct Strided {
  void* data = nullptr;
  int dimensions = 0;
  // The first `dimensions` count, and the others are not written: a call has many of these.
  std::array<std::int64_t, most_dimensions> size;
  std::array<std::int64_t, most_dimensions> stride;

  Strided() = default;
  Strided(const Strided& other) { *this = other; }
  Strided& operator=(const Strided& other) {
    if (this == &other) return *this;
    data = other.data;
    dimensions = other.dimensions;
    for (int i = 0; i < dimensions; ++i) {
      size[i] = other.size[i];
      stride[i] = other.stride[i];
    }
    return *this;
  }

  bool has_sizes_of(const Strided& other) const {
    bool same = dimensions == other.dimensions;
    for (int i = 0; same && i < dimensions; ++i) same = size[i] == other.size[i];
    return same;
  }
  bool has_strides_of(const Strided& other) const {
    bool same = dimensions == other.dimensions;
    for (int i = 0; same && i < dimensions; ++i) same = stride[i] == other.stride[i];
    return same;
  }
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= size[i];
    return product;
  }
  void append(std::int64_t length, std::int64_t step) {
    size[dimensions] = length;
    stride[dimensions] = step;
    ++dimensions;
  }
  // Strides of an array without gaps, last index fastest.
  void make_dense() {
    std::int64_t step = 1;
    for (int i = dimensions - 1; i >= 0; --i) {
      stride[i] = step;
      step *= size[i] > 0 ? size[i] : 1;
    }
  }
  bool is_dense() const {
    std::int64_t step = 1;
    for (int i = dimensions - 1; i >= 0; --i) {
      if (size[i] == 0) return true;
      if (size[i] != 1 && stride[i] != step) return false;
      step *= size[i];
    }
    return true;
  }
};

// Puts neighbouring dimensions together where one stride serves both, and leaves out those of
// length 1. No element: one dimension of length 0.
Strided coalesced(const Strided& array);

}  // namespace kw::python
