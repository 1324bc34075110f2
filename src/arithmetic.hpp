// Arithmetic on sizes that plans, kernels and host code share.
#pragma once

#include <type_traits>

#include "host_device.hpp"

namespace kw {

// How many tiles of `tile` cover `size`; both are of integer types, and size is not negative.
template <class Size, class Tile>
KW_HOST_DEVICE constexpr std::common_type_t<Size, Tile> ceil_div(Size size, Tile tile) {
  return (size + tile - 1) / tile;
}

}  // namespace kw
