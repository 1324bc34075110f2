// What producers and consumers of the complex stream tiles share: the shape of a configuration, the
// stages in shared memory and the ring of them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cgemm/problem.hpp"
#include "cgemm/stream/tuning.hpp"
#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "device/thread_index.hpp"
#include "sgemm/stream/schedule.hpp"

namespace KW_TARGET::complex_stream {

template <ComplexStreamConfig config>
struct Shape {
  static constexpr int BM = config.bm, BN = config.bn, BK = config.bk;
  static constexpr int WM = config.wm, WN = config.wn, TM = config.tm, TN = config.tn;
  static constexpr int warps_m = BM / WM, warps_n = BN / WN, warps_k = config.warps_k;
  static constexpr int lanes_m = WM / TM, lanes_n = WN / TN;
  static constexpr int consumers = config.consumers(), producers = 128;
  // At a stage that is full: of each producer, when its copies have landed, and of each warp of
  // them, for what it stored.
  static constexpr int arrivals = producers + (config.b_by_registers ? producers / 32 : 0);
  // Of b in a producer's registers (pair_copy.hpp).
  static constexpr int most_pairs = config.producer_registers >= 56 ? 8 : 4;
  static constexpr int stages = config.stages, steps = config.steps();
  // The steps of a stage that has only so many of k: two at a time.
  __device__ static constexpr int steps_of(int k_here) {
    return (k_here + 2 * warps_k - 1) / (2 * warps_k) * 2;
  }
  static constexpr int pitch_a = 2 * BM + 4, pitch_b = 2 * BN + 4;  // floats
  // Consumers of a group along k. Of its outputs a thread adds up some rows over the groups and
  // stores them, or some columns where the rows are no even number for each group: so many rows,
  // of each so many pairs of neighbours, 16 bytes each.
  static constexpr int of_group = consumers / warps_k;
  static constexpr bool by_columns = TM % (2 * warps_k) != 0 && TM > warps_k;
  static constexpr int rows = by_columns ? TM : TM / warps_k;
  static constexpr int of_row = by_columns ? TN / 2 / warps_k : TN / 2, pairs = rows * of_row;
  // Of a tile's pairs, 32 each (cluster_sums.hpp).
  static constexpr int pieces = BM * BN / 64;
  // What groups of warps that share a tile leave for one of them; or pairs that each warp leaves
  // for itself on the way to C, 32 columns of some of its rows at a time, and padding.
  static constexpr int sums = warps_k > 1 ? consumers* pairs : 0;
  static constexpr int staged_pairs = 16 / lanes_n;  // of a thread
  static constexpr int staged_pitch = 16 + 1;
  static constexpr int staged = lanes_m * staged_pitch;  // of a warp
  static constexpr int scratch = std::max({1, sums, config.staged ? consumers / 32 * staged : 0});
  static_assert(lanes_m * lanes_n == 32 && lanes_m >= 4 && lanes_n >= 4);
  static_assert((rows == 1 || rows % 2 == 0) && TN % 2 == 0 && steps % 2 == 0);
  static_assert(pairs * warps_k == TM * TN / 2);
  static_assert(consumers % 128 == 0, "setmaxnreg waits for all four warps of a group");
};

// Both operands lie k-major. Of two neighbours of b the real parts lie side by side, then the
// imaginary parts, so that neither meets the register bank of its accumulators. Four floats of
// padding let the copies that turn an operand write to all banks.
template <ComplexStreamConfig config>
struct Stage {
  float a[config.bk][2 * config.bm + 4];
  float b[config.bk][2 * config.bn + 4];
};

template <ComplexStreamConfig config>
struct Shared {
  using S = Shape<config>;
  Stage<config> stage[S::stages];
  float4 scratch[S::scratch];
  alignas(16) float idle[2 * (S::WM > S::WN ? S::WM : S::WN)];  // read behind the last stage
  Mbarrier full[S::stages], free[S::stages];
  Mbarrier received;  // what other blocks of a cluster send
  bool is_last;       // whether this block arrived last at a shared tile
  // Only in clusters, and so the last: the parts of the pieces that this block adds up.
  alignas(16) float4
      parts[config.clusters ? S::pieces + stream_cluster_parts - 1 : 1][config.clusters ? 32 : 1];
};

// The shared memory of a block.
template <ComplexStreamConfig config>
constexpr std::size_t shared_bytes(bool in_clusters) {
  return in_clusters && config.clusters ? sizeof(Shared<config>) : offsetof(Shared<config>, parts);
}

// All consumers of the block meet.
template <ComplexStreamConfig config>
__device__ __forceinline__ void sync_consumers() {
  sync_some_threads<1, Shape<config>::consumers>();
}

// A lane's place among its warp's pairs of outputs. A load of 16 bytes takes half as long where
// neighbouring lanes want the same: of b those that differ in bit 1, of a in bit 0.
template <int lanes_m, int lanes_n>
struct LanePlace {
  int m, n;

  __device__ __forceinline__ explicit LanePlace(int lane)
      : m((lane >> 1 & 1) | (lane >> 2 & 2)), n((lane & 1) | (lane >> 1 & 2)) {
    if constexpr (lanes_m == 8) m |= lane >> 2 & 4;
    if constexpr (lanes_n == 8) n |= lane >> 2 & 4;
  }
};

// Which outputs of a tile a consumer computes: pairs of rows, lanes_m pairs apart, and of columns.
template <ComplexStreamConfig config>
struct OwnOutputs {
  using S = Shape<config>;

  int tid;       // among the consumers
  int row, col;  // of its first output in the tile
  int group;     // along k

  __device__ __forceinline__ OwnOutputs() : OwnOutputs(reread_thread_index() - S::producers) {}
  __device__ __forceinline__ explicit OwnOutputs(int consumer) : tid(consumer) {
    const int warp = tid / 32;
    const LanePlace<S::lanes_m, S::lanes_n> lane(tid % 32);
    row = warp / S::warps_n % S::warps_m * S::WM + lane.m * 2;
    col = warp % S::warps_n * S::WN + lane.n * 2;
    group = S::warps_k == 1 ? 0 : warp / (S::warps_n * S::warps_m);
  }
  // Of the pairs that this thread stores, the first one's row and column.
  __device__ __forceinline__ int first_row() const {
    return S::by_columns ? row : row + row_step(group * S::rows);
  }
  __device__ __forceinline__ int first_col() const {
    return S::by_columns ? col + col_step(2 * group * S::of_row) : col;
  }
  __device__ __forceinline__ static int row_step(int i) { return i / 2 * (2 * S::lanes_m) + i % 2; }
  __device__ __forceinline__ static int col_step(int j) { return j / 2 * (2 * S::lanes_n); }
};

}  // namespace KW_TARGET::complex_stream
