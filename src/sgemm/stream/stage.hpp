// What producers and consumers of stream_tile share: the shape of a configuration and the stages in
// shared memory.
#pragma once

#include <cstddef>

#include "device/async_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/thread_index.hpp"
#include "sgemm/lanes.hpp"
#include "sgemm/stream/schedule.hpp"
#include "sgemm/stream/tuning.hpp"
#include "sgemm/stream/turned_lines.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::stream_tile {

// How an operand lies in memory, which decides how it is copied. `i` runs along m or n.
enum class AccessPattern {
  along_i16,  // x[kk * ld + i], 16-byte aligned rows: 16 bytes a copy
  along_i4,   // the same with any alignment: 4 bytes a copy
  along_k4,   // x[i * ld + kk]: transposed on the way, 4 bytes a copy
};

struct Operands {
  AccessPattern a, b;
  bool c16;  // rows of C are 16-byte aligned
  // Of an operand that is symmetric and stored as a triangle: on the other side of its diagonal.
  AccessPattern mirrored = AccessPattern::along_k4;
};

template <StreamTileConfig config>
struct Shape {
  static constexpr int BM = config.bm, BN = config.bn, BK = config.bk;
  // Of a stage; copies go by sixteens. What lies beyond the tile are zeros that nobody reads.
  static constexpr int copied_m = (BM + 15) / 16 * 16, copied_n = (BN + 15) / 16 * 16;
  static constexpr int WM = config.wm, WN = config.wn, TM = config.tm, TN = config.tn;
  static constexpr int warps_m = BM / WM, warps_n = BN / WN, warps_k = config.warps_k;
  static constexpr int lanes_n = WN / TN, lanes_m = WM / TM;
  using Lanes = kw::Lanes<lanes_m, lanes_n, config.lanes_in_pairs>;
  static constexpr int consumers = warps_m * warps_n * warps_k * 32;
  static constexpr int producers = 128;
  static constexpr int stages = config.stages;
  // Warps along k whose sums have a place in shared memory.
  static constexpr int sum_places = config.sums_folded ? warps_k / 2 : warps_k;
  static_assert(!config.sums_folded || warps_k % 2 == 0);
  static constexpr int steps = BK / warps_k;  // along k, of a warp in a stage
  static_assert(lanes_n * lanes_m == 32 && TM % 4 == 0 && TN % 4 == 0 && steps % 2 == 0);
  // setmaxnreg waits for all four warps of a group.
  static_assert(!config.moves_registers() || consumers % 128 == 0);
  // The same of a stage that has only so many of k; and the k that all warps then read, behind
  // which nothing needs to be there.
  __device__ static constexpr int steps_of(int k_here) {
    return config.whole_stages() ? steps : (k_here + 2 * warps_k - 1) / (2 * warps_k) * 2;
  }
  __device__ static constexpr int read_of(int k_here) { return steps_of(k_here) * warps_k; }
  // Only where both operands lie along k in memory (turned_lines.hpp): warps that share a tile
  // along k take eights of a whole stage's k by turns; or a stage has two halves.
  static constexpr bool swaps = config.along_k && warps_k > 1 && (steps == 8 || steps == 16);
  static constexpr bool halves = config.along_k && warps_k == 1;
  static constexpr bool by_32 = swaps && warps_k % 4 == 0 && !config.sums_folded;
  static constexpr int turned_along = by_32 ? 32 : swaps || halves ? 16 : 8;
  using Turned = TurnedLines<turned_along, halves, warps_k>;
  // Of a warp's two steps at a time, the second, and how far the next two are, in a whole stage.
  static constexpr int second_step = halves ? BK / 2 : swaps && steps == 16 ? 8 * warps_k : 1;
  static constexpr int two_steps = second_step > 1 ? 1 : 2;
  // Outputs of a thread once the warps along k have added theirs up.
  static constexpr int outputs = BM * BN / consumers;
  static_assert(outputs % 4 == 0);
  // Of a tile's outputs, 32 vectors each (cluster_fixup.hpp).
  static constexpr int pieces = BM * BN / 128;
};

// Four floats of padding put the 8 k x 4 i that a warp transposes at a time in 32 banks.
template <int BK, int Extent>
using OperandTile = float[BK][Extent + 4];

template <StreamTileConfig config>
struct Stage {
  OperandTile<config.bk, Shape<config>::copied_m> as;  // [k][m]
  OperandTile<config.bk, Shape<config>::copied_n> bs;  // [k][n]
};

template <StreamTileConfig config>
struct Shared {
  using S = Shape<config>;
  Stage<config> stage[S::stages];
  // The sums of warps that share a tile along k.
  float4 sums[S::warps_k > 1 ? S::sum_places : 1][S::warps_k > 1 ? S::BM* S::BN / 4 : 1];
  Mbarrier received;  // what other blocks of a cluster send
  Mbarrier full[S::stages], free[S::stages];
  // Where each warp has its own tile: some rows of it, on their way to rows of C that are not
  // aligned. With the padding, eight lanes store 16 bytes each of two rows in 32 banks.
  alignas(16) float rows[S::warps_k > 1 ? 1 : S::consumers / 32][S::warps_k > 1 ? 1 : S::lanes_m]
                        [S::WN + 4];
  alignas(
      16) float idle[S::WM > S::WN ? S::WM : S::WN];  // read behind the last stage, and not used
  bool is_last;  // whether this block arrived last at a shared tile
  // Only in clusters, and so the last: the parts of the pieces that this block adds up. Elsewhere
  // the memory is the L1 cache's.
  float4 parts[config.clusters ? S::pieces + stream_cluster_parts - 1 : 1]
              [config.clusters ? 32 : 1];
};

// The shared memory of a block.
template <StreamTileConfig config>
constexpr std::size_t shared_bytes(bool in_clusters) {
  return in_clusters ? sizeof(Shared<config>) : offsetof(Shared<config>, parts);
}

}  // namespace KW_TARGET::stream_tile
