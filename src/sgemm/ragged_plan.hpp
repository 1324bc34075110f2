// How `ragged` cuts a product: the tiles, and the few rows and columns beyond them. Made on the
// host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sgemm/problem.hpp"

namespace kw {

// Where a product is cut into tiles and the few rows and columns beyond them (ragged.cu).
struct RaggedTuning {
  int tile;               // tiles have multiples of it
  int max_left;           // rows or columns that `thin` computes
  double min_flops;       // of smaller products the launches cost more than the tiles
  std::int64_t max_size;  // of rows and columns: `thin` has a block per 32 of them, and `tickets`
  int tickets;
};
inline constexpr RaggedTuning ragged_tuning = {
    .tile = 32, .max_left = 8, .min_flops = 2e8, .max_size = 1 << 17, .tickets = 1 << 12};

// Rows or columns beyond the last tile, where they are few.
inline std::int64_t ragged_left_over(std::int64_t size) {
  const std::int64_t left = size % ragged_tuning.tile;
  return size > ragged_tuning.tile && left <= ragged_tuning.max_left ? left : 0;
}

inline bool is_ragged(const Sgemm& p) {
  return p.batch == 1 && p.a_array == nullptr && p.loop_k() > 0 && p.is_full() &&
         std::max(p.m, p.n) <= ragged_tuning.max_size &&
         (ragged_left_over(p.m) > 0 || ragged_left_over(p.n) > 0);
}

// Whether rows and columns beyond the tiles are cut off.
struct RaggedCut {
  bool rows = true, columns = true;
};

// Calls consider(cut) for each way to cut a product that is ragged. Where both sides have something
// left over, one of them may stay with the tiles: the other operand is not read once more then.
template <class Consider>
void each_ragged_cut(const Sgemm& p, const Consider& consider) {
  const bool rows = ragged_left_over(p.m) > 0, columns = ragged_left_over(p.n) > 0;
  consider(RaggedCut{rows, columns});
  if (!rows || !columns) return;
  consider(RaggedCut{true, false});
  consider(RaggedCut{false, true});
}

// The tiles come first, since they take longest. The parts run concurrently, so each has tickets of
// its own.
struct RaggedParts {
  Sgemm part[3];
  int count = 0;

  RaggedParts(const Sgemm& p, RaggedCut cut) {
    const std::int64_t m = p.m - (cut.rows ? ragged_left_over(p.m) : 0);
    const std::int64_t n = p.n - (cut.columns ? ragged_left_over(p.n) : 0);
    const Sgemm above = some_rows(p, 0, m);
    part[count++] = some_columns(above, 0, n);
    if (n < p.n) part[count++] = some_columns(above, n, p.n - n);
    if (m < p.m) part[count++] = some_rows(p, m, p.m - m);
    for (int i = 0; i < count; ++i) {
      part[i].overlaps_previous = i > 0;
      part[i].next_overlaps = i + 1 < count;
    }
  }

  // The tiles' part has the tickets from the first one on, the other parts have the last ones.
  static std::size_t first_ticket(int i) {
    return i == 0 ? 0 : ticket_count - static_cast<std::size_t>(i * ragged_tuning.tickets);
  }
};

}  // namespace kw
