// How cgemm_ragged cuts a product: rows and columns beyond the tiles, and pieces of k. Made on the
// host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "arithmetic.hpp"
#include "cgemm/assembled.hpp"
#include "cgemm/problem.hpp"
#include "cgemm/stream/plan.hpp"

namespace kw {

// NVIDIA H200.
struct ComplexRaggedTuning {
  double min_flops;          // of smaller products the launches cost more than the tiles
  std::int64_t least_k;      // those with a shorter k wait for C
  std::array<int, 2> tiles;  // extents have multiples of one of them
  double most_left;          // beyond them, of a tile
  std::int64_t depth_step;   // pieces of k are multiples of it
  double part_us;            // what a part takes longer behind another
};
inline constexpr ComplexRaggedTuning complex_ragged_tuning = {.min_flops = 4e9,
                                                              .least_k = 32,
                                                              .tiles = {128, 64},
                                                              .most_left = 0.75,
                                                              .depth_step = 32,
                                                              .part_us = 4};

// The first part's rows and columns of C, and the k of each of its pieces.
struct ComplexRaggedCut {
  std::int64_t rows = 0, columns = 0, depth = 0;

  constexpr bool is_whole(const Cgemm& p) const {
    return rows == p.m && columns == p.n && depth == p.k;
  }
  constexpr std::int64_t pieces(const Cgemm& p) const { return ceil_div(p.k, depth); }
  // The products of which this one is made.
  constexpr std::int64_t parts(const Cgemm& p) const {
    return pieces(p) + (columns < p.n ? 1 : 0) + (rows < p.m ? 1 : 0);
  }

  // Calls visit(Cgemm) with each of them until one fails.
  template <class Visit>
  Status each_part(const Cgemm& p, const Visit& visit) const {
    const Cgemm above = some_rows(p, 0, rows), tiles = some_columns(above, 0, columns);
    for (std::int64_t first = 0; first < p.k; first += depth) {
      Status status = visit(some_depth(tiles, first, std::min(depth, p.k - first)));
      if (!status.ok()) return status;
    }
    if (columns < p.n) {
      Status status = visit(some_columns(above, columns, p.n - columns));
      if (!status.ok()) return status;
    }
    return rows < p.m ? visit(some_rows(p, rows, p.m - rows)) : Status::success();
  }
};

inline constexpr std::int64_t complex_ragged_most_parts = 10;

// A few choices, one after the other.
template <std::size_t most>
class FewExtents {
 public:
  void add(std::int64_t extent) {
    if (std::find(begin(), end(), extent) == end()) all_[count_++] = extent;
  }
  const std::int64_t* begin() const { return all_.data(); }
  const std::int64_t* end() const { return all_.data() + count_; }

 private:
  std::array<std::int64_t, most> all_{};
  std::size_t count_ = 0;
};

// What one extent of the first part may be: all, or as much as whole tiles have.
inline auto ragged_extents(std::int64_t all) {
  FewExtents<1 + complex_ragged_tuning.tiles.size()> extents;
  extents.add(all);
  for (const int tile : complex_ragged_tuning.tiles) {
    const std::int64_t left = all % tile;
    if (left < all && static_cast<double>(left) <= complex_ragged_tuning.most_left * tile)
      extents.add(all - left);
  }
  return extents;
}

// The k of pieces: all, or, where that is too long for one sum, as little as no sum is too long in.
inline auto ragged_depths(const Cgemm& p) {
  const std::int64_t pieces = ceil_div(p.k, longest_complex_sum(p));
  const std::int64_t step = complex_ragged_tuning.depth_step;
  FewExtents<2> depths;
  depths.add(p.k);
  depths.add(std::min(p.k, ceil_div(ceil_div(p.k, pieces), step) * step));
  return depths;
}

// Calls consider(cut) for each way to cut the product that leaves it not as it is.
template <class Consider>
void each_complex_ragged_cut(const Cgemm& p, const Consider& consider) {
  const auto rows = ragged_extents(p.m), columns = ragged_extents(p.n);
  for (const std::int64_t depth : ragged_depths(p))
    for (const std::int64_t of_rows : rows)
      for (const std::int64_t of_columns : columns) {
        const ComplexRaggedCut cut{of_rows, of_columns, depth};
        if (!cut.is_whole(p) && cut.parts(p) <= complex_ragged_most_parts) consider(cut);
      }
}

inline bool is_ragged(const Cgemm& p) {
  bool is_cut = false;
  if (can_be_assembled(p)) each_complex_ragged_cut(p, [&](const auto&) { is_cut = true; });
  return is_cut;
}

}  // namespace kw
