// How a product is cut into tiles that fit a device, and in which order they are computed: which
// tile of A and B is loaded into which slot, and which product must have ended before. A pure
// function of numbers, the same for whoever executes or tests it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernelwright/math.hpp"

namespace kw::distributed {

struct Tiling {
  std::int64_t m = 0, n = 0, k = 0;                 // of the product
  std::int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // at most
  int slots_a = 2, slots_b = 2;                     // of C there are two
  std::size_t workspace_bytes = 0;

  double bytes() const;      // of the device
  double bytes_in() const;   // from the host, without C
  double bytes_out() const;  // to the host
};

// The quickest by predicted time among those that fit; none where not even the smallest does.
std::optional<Tiling> choose_tiling(std::int64_t m, std::int64_t n, std::int64_t k, Math math,
                                    double device_bytes);

// A tile in a slot; loaded first where `is_load`, once the product of step `after` has ended (-1:
// at once).
struct Placed {
  int slot = 0;
  bool is_load = false;
  int after = -1;
};

struct TileStep {
  std::int64_t i = 0, j = 0, p = 0;  // first row, column and k
  std::int64_t m = 0, n = 0, k = 0;
  Placed a, b;
  int tile = 0;  // of C, in the order in which they are computed; its slot is tile % 2
  bool is_first = false, is_last = false;  // of its tile of C
};

std::vector<TileStep> make_steps(const Tiling& tiling);

}  // namespace kw::distributed
