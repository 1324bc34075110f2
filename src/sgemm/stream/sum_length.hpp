// How long the sums along k may be, so that plain FP32's error is no larger than the vendor's. The
// error of a sum that is cut into equal pieces falls with the root of their number. The vendor cuts
// k where C's tiles would leave multiprocessors idle; how often was measured by its error
// (results/h200/explored-sum-lengths.txt). For some products it cuts it more often than for others
// of as many tiles: sums are to be shorter where that takes little time (wanted_sum).
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
  // A wave of blocks is full with such a part of it.
  double one_wave;
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
    .one_wave = 0.965,
    .tolerance = 1.1};

// Shorter sums than those, as short as the shortest that the vendor was seen to have for so many
// tiles (results/h200/explored-sum-pieces.txt; no rule was found for which products it has them):
// per_root_k * sqrt(k), but no shorter than `shortest`, and no more than `most_pieces` of them.
struct ShortSums {
  std::int64_t tiles;
  double shortest, per_root_k, most_pieces;
};

struct ShortSumTuning {
  ShortSums sums[6];
  // Of more tiles: from k = many_k on so many pieces; one more up to so many tiles, and one more
  // from very_long_k on.
  std::int64_t many_k;
  int pieces;
  std::int64_t one_more_tiles;
  // They are taken as far as cuts beside those for longest_sum take this share of the predicted
  // time: each so long for an output of the tile, with two blocks a multiprocessor and with one,
  // and longer by so much where sums meet in shared memory.
  double most_time;
  double output_us, output_alone_us, shared_us;
};
inline constexpr ShortSumTuning short_sum_tuning = {.sums = {{3, 0, 2.0, 250},
                                                             {8, 0, 2.5, 34},
                                                             {16, 0, 2.9, 30},
                                                             {32, 400, 3.7, 31},
                                                             {200, 400, 6, 16},
                                                             {400, 560, 10, 12}},
                                                    .many_k = 4500,
                                                    .pieces = 3,
                                                    .one_more_tiles = 800,
                                                    .most_time = 0.0185,
                                                    .output_us = 2e-4,
                                                    .output_alone_us = 1.5e-4,
                                                    .shared_us = 0.35};

namespace detail {

// Tiles of a C of m x n, the vendor's lying one way or the other; of those that no int holds, as
// many as one does.
struct VendorTiles {
  std::int64_t tall, wide;
  std::int64_t fewest() const { return std::min(tall, wide); }
};
inline VendorTiles vendor_tiles(std::int64_t m, std::int64_t n) {
  constexpr SumLengthTuning t = sum_length_tuning;
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const auto tiles = [&](int tile_m, int tile_n) {
    const std::int64_t rows = ceil_div(m, tile_m), columns = ceil_div(n, tile_n);
    return rows > most / columns ? most : rows * columns;
  };
  return {tiles(t.tile_long, t.tile_short), tiles(t.tile_short, t.tile_long)};
}

// Whether C's tiles fill one wave of blocks, whichever way they lie, and operands are aligned: of
// such products the vendor cut none, however long k is (results/h200/explored-squares.txt).
inline bool is_one_wave(const Sgemm& p, int sms) {
  const VendorTiles tiles = vendor_tiles(p.m, p.n);
  return tiles.tall == tiles.wide && tiles.tall <= sms &&
         static_cast<double>(tiles.tall) >= sum_length_tuning.one_wave * sms &&
         !rows_by_4(p, p.lda, p.stride_a) && !rows_by_4(p, p.ldb, p.stride_b);
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
  const std::int64_t tiles = detail::vendor_tiles(p.m, p.n).fewest();
  if (tiles <= t.fewest_tiles)
    return static_cast<std::int64_t>(t.per_root_k * std::sqrt(static_cast<double>(k)));
  const std::int64_t sum =
      detail::is_one_wave(p, sms) ? k : ceil_div(k, detail::pieces_of_sum(tiles, k, sms));
  if (tiles <= t.few_tiles) return sum;
  const bool is_small = p.m <= t.many_outputs / p.n;
  return std::max(t.shortest, is_small ? std::min(sum, t.longest) : sum);
}

// How short sums are to be where that takes little time: at most `longest`, which is longest_sum's.
inline std::int64_t wanted_sum(const Sgemm& p, std::int64_t longest, int sms) {
  constexpr ShortSumTuning t = short_sum_tuning;
  const std::int64_t k = p.loop_k();
  if (longest > k) return longest;  // not cut at all
  if (detail::is_one_wave(p, sms)) return longest;
  const std::int64_t tiles = detail::vendor_tiles(p.m, p.n).fewest();
  const auto all = static_cast<double>(k);
  for (const ShortSums& row : t.sums)
    if (tiles <= row.tiles)
      return std::min(longest,
                      static_cast<std::int64_t>(std::max(
                          {row.shortest, row.per_root_k * std::sqrt(all), all / row.most_pieces})));
  if (k < t.many_k) return longest;
  const int pieces =
      t.pieces + (tiles <= t.one_more_tiles ? 1 : 0) + (k >= sum_length_tuning.very_long_k ? 1 : 0);
  return std::min(longest, ceil_div(k, pieces));
}

}  // namespace kw
