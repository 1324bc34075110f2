// How long the sums along k may be, so that plain FP32's error is no larger than the vendor's. The
// error of a sum that is cut into equal pieces falls with the root of their number. The vendor cuts
// k where C's tiles would leave multiprocessors idle; how often was measured by its error
// (results/h200/explored-sum-lengths.txt). Shorter sums than that would cost time only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "sgemm/problem.hpp"

namespace kw {

// Into how many pieces k is cut where C has up to so many of the vendor's tiles.
struct SumPieces {
  std::int64_t tiles;
  int pieces;
};

struct SumLengthTuning {
  std::int64_t long_k;  // below it no sum is cut
  // The vendor's tile, either way round.
  int tile_long, tile_short;
  // One or two tiles, of which all multiprocessors take a part: sums of per_root_k * sqrt(k).
  std::int64_t fewest_tiles;
  double per_root_k;
  SumPieces pieces[4];
  // More tiles than those: as few pieces as fill rounds of blocks so well, or at least nearly so;
  // and as many tiles as this have so many pieces, from very_long_k on.
  int most_pieces;
  double well_filled, nearly_filled;
  std::int64_t many_tiles, very_long_k;
  int pieces_of_many;
  // Of more than few_tiles, sums are no shorter than this; and of fewer outputs no longer.
  std::int64_t few_tiles, shortest, longest, many_outputs;
  // Sums that much longer are not worth a cut.
  double tolerance;
};
inline constexpr SumLengthTuning sum_length_tuning = {
    .long_k = 2048,
    .tile_long = 256,
    .tile_short = 128,
    .fewest_tiles = 2,
    .per_root_k = 2.4,
    .pieces = {{4, 20}, {8, 16}, {140, 8}, {400, 5}},
    .most_pieces = 4,
    .well_filled = 0.945,
    .nearly_filled = 0.9,
    .many_tiles = 1000,
    .very_long_k = 8192,
    .pieces_of_many = 4,
    .few_tiles = 8,
    .shortest = 600,
    .longest = 2048,
    .many_outputs = std::int64_t{1} << 22,
    .tolerance = 1.1};

namespace detail {

// Tiles of a C of m x n; of those that no int holds, as many as one does.
inline std::int64_t vendor_tiles(std::int64_t m, std::int64_t n) {
  constexpr SumLengthTuning t = sum_length_tuning;
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const auto tiles = [&](int tile_m, int tile_n) {
    const std::int64_t rows = ceil_div(m, tile_m), columns = ceil_div(n, tile_n);
    return rows > most / columns ? most : rows * columns;
  };
  return std::min(tiles(t.tile_long, t.tile_short), tiles(t.tile_short, t.tile_long));
}

inline int pieces_that_fill(std::int64_t tiles, int sms) {
  constexpr SumLengthTuning t = sum_length_tuning;
  const auto filled = [&](int pieces) {
    const std::int64_t blocks = tiles * pieces;
    return static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, sms) * sms);
  };
  for (const double enough : {t.well_filled, t.nearly_filled})
    for (int pieces = 1; pieces <= t.most_pieces; ++pieces)
      if (filled(pieces) >= enough) return pieces;
  return 1;
}

inline int pieces_of_sum(std::int64_t tiles, std::int64_t k, int sms) {
  constexpr SumLengthTuning t = sum_length_tuning;
  for (const SumPieces& row : t.pieces)
    if (tiles <= row.tiles) return row.pieces;
  const int pieces = pieces_that_fill(tiles, sms);
  return tiles >= t.many_tiles && k >= t.very_long_k ? std::max(pieces, t.pieces_of_many) : pieces;
}

}  // namespace detail

// Elements along k that one accumulator is to add up at most. Of batches, which the vendor does not
// cut, and of short products: all.
inline std::int64_t longest_sum(const Sgemm& p, int sms) {
  constexpr SumLengthTuning t = sum_length_tuning;
  const std::int64_t k = p.loop_k();
  if (k < t.long_k || p.batch > 1) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t tiles = detail::vendor_tiles(p.m, p.n);
  if (tiles <= t.fewest_tiles)
    return static_cast<std::int64_t>(t.per_root_k * std::sqrt(static_cast<double>(k)));
  const std::int64_t sum = ceil_div(k, detail::pieces_of_sum(tiles, k, sms));
  if (tiles <= t.few_tiles) return sum;
  const bool is_small = p.m <= t.many_outputs / p.n;
  return std::max(t.shortest, is_small ? std::min(sum, t.longest) : sum);
}

}  // namespace kw
