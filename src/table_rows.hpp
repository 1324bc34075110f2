// Tables of configurations: a kernel family has one constexpr array, whose rows are its kernels'
// template arguments.
#pragma once

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace kw {

// The number of a row, as a template argument.
template <int row>
using RowNumber = std::integral_constant<int, row>;

// make(RowNumber<0>()), make(RowNumber<1>()), ...: what is made of each row of the table.
template <const auto& table, class Make>
constexpr auto of_each_row(const Make& make) {
  return [&]<int... row>(std::integer_sequence<int, row...>) {
    return std::array{make(RowNumber<row>())...};
  }
  (std::make_integer_sequence<int, static_cast<int>(std::size(table))>());
}

// The same of kernels, as the registry takes them.
template <const auto& table, class KernelOf>
auto kernels_of(const KernelOf& kernel_of) {
  const auto all = of_each_row<table>(kernel_of);
  return std::vector(all.begin(), all.end());
}

}  // namespace kw
