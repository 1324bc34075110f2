// The complex stream tiles: products of complex matrices as they are stored, for sides of hundreds.
//
// Idea        Some warps of a block only copy (producers), the others only multiply (consumers); a
//             ring of stages lies between them, as in sgemm's stream_tile. A thread has 8 x 8
//             outputs: 256 FFMAs for 32 floats of shared memory, where a real product of twice the
//             sides needs 48; in small tiles 4 x 8 or, by two groups of warps, 4 x 16. Each block
//             takes the same number of whole tiles of C; the iterations of the remaining ones are
//             cut into equal shares (sgemm/stream/schedule.hpp), and the last block to arrive at a
//             tile adds up its parts.
// Prediction  One consumer warp a scheduler at 85 % of the FFMA peak, as stream_tile's: 1024 cubed
//             in 160 us.
// Limits      Whole matrices; sums up to longest_complex_sum where there is workspace.
// Order       k ascending within a part, parts ascending: the same bits for the same call.
#include <algorithm>
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/production.hpp"
#include "cgemm/stream/operands_of.hpp"
#include "cgemm/stream/plan.hpp"
#include "cgemm/stream/work.hpp"
#include "device/overlap.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/stream/fixup.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace complex_stream {
namespace {

struct Params {
  Cgemm problem;
  Operands operands;
  StreamSchedule schedule;
  Workspace workspace;
};

// How a thread leaves its pairs of a tile in C.
template <ComplexStreamConfig config>
class Store {
  using Own = OwnOutputs<config>;
  using S = Shape<config>;

 public:
  __device__ __forceinline__ Store(const Params& params, const StreamTileIndex& tile)
      : p_(params.problem), finish_(params.problem) {
    const std::int64_t row0 = tile.row * std::int64_t{S::BM}, col0 = tile.col * std::int64_t{S::BN};
    rows_ = left(p_.m - row0, S::BM);
    cols_ = left(p_.n - col0, S::BN);
    in_pairs_ = params.operands.c16 && (p_.n % 2 == 0 || col0 + S::BN <= p_.n);
    c_ = c_of(p_, tile.entry) + row0 * p_.ldc + col0;
  }

  // All of them, by every thread of a warp. Most products are multiplied by a real number and
  // stored over what was there.
  __device__ __forceinline__ void all(Shared<config>& shared, const Pairs<config>& out) const {
    const Factor alpha(finish_.alpha), beta(finish_.beta);
    if (!alpha.is_real || !is_zero(finish_.beta)) {
      each_row(out, [&](const float* x, Complex* to, int cols) {
        const bool reads = !is_zero(finish_.beta);
#pragma unroll
        for (int next = 0; next < 2; ++next) {
          if (next >= cols) continue;
          Complex value = alpha.times({x[next], of_im(x[2 + next])});
          if (reads) {
            const Complex added = beta.times(to[next]);
            value.re += added.re, value.im += added.im;
          }
          to[next] = value;
        }
      });
    } else if (in_pairs_) {
      each_row(out, [&](const float* x, Complex* to, int cols) {
        const float re = finish_.alpha.re, im = of_im(re);
        if (cols > 0)
          *reinterpret_cast<float4*>(to) = make_float4(x[0] * re, x[2] * im, x[1] * re, x[3] * im);
      });
    } else if constexpr (config.staged) {
      each_row_of_warp(shared, out);
    } else {
      each_row(out, [&](const float* x, Complex* to, int cols) {
        const float re = finish_.alpha.re, im = of_im(re);
        if (cols > 0) to[0] = {x[0] * re, x[2] * im};
        if (cols > 1) to[1] = {x[1] * re, x[3] * im};
      });
    }
  }
  // One of them.
  __device__ __forceinline__ void one(int v, const float (&sums)[4]) const {
    const First first;
    const int row = first.row + Own::row_step(v / of_row);
    const int col = first.col + Own::col_step(v % of_row * 2);
    if (row >= rows_) return;
    Complex* const to = c_ + row * p_.ldc + col;
    const auto value = [&](int next) {
      return finish_.element(to + next, make_float2(sums[next], sums[2 + next]), p_.conj_b);
    };
    if (in_pairs_ && col < cols_) {
      const Complex x = value(0), y = value(1);
      *reinterpret_cast<float4*>(to) = make_float4(x.re, x.im, y.re, y.im);
      return;
    }
    if (col < cols_) to[0] = value(0);
    if (col + 1 < cols_) to[1] = value(1);
  }

 private:
  static constexpr int of_row = S::TN / 2;

  // This thread's first output in the tile that it stores. Whoever needs it computes it, since the
  // loops before have no register for it.
  struct First {
    int row, col, warp, lane;

    __device__ __forceinline__ First() {
      const Own own;
      row = own.row + Own::row_step(own.group * S::rows);
      col = own.col;
      warp = own.tid / 32, lane = own.tid % 32;
    }
  };

  __device__ __forceinline__ static int left(std::int64_t extent, int tile) {
    return extent < tile ? static_cast<int>(extent) : tile;
  }
  __device__ __forceinline__ float of_im(float x) const { return p_.conj_b ? -x : x; }

  // From the thread's row i to the next one. The empty asm keeps ptxas from computing all addresses
  // in advance, for which there are no registers.
  __device__ __forceinline__ void next_row(Complex*& to, int i) const {
    if (i + 1 < S::rows) to += (Own::row_step(i + 1) - Own::row_step(i)) * p_.ldc;
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(to));
#endif
  }

  // take(pair, where its first element lies in C, columns of the matrix from there on) for each of
  // the thread's pairs in the matrix's rows.
  template <class Take>
  __device__ __forceinline__ void each_row(const Pairs<config>& out, const Take& take) const {
    const First first;
    const int rows = rows_ - first.row, cols = cols_ - first.col;
    Complex* to = c_ + first.row * p_.ldc + first.col;
#pragma unroll
    for (int i = 0; i < S::rows; ++i) {
      if (Own::row_step(i) < rows)
#pragma unroll
        for (int j = 0; j < of_row; ++j)
          take(&out[4 * (i * of_row + j)], to + Own::col_step(2 * j), cols - Own::col_step(2 * j));
      next_row(to, i);
    }
  }

  // 32 neighbours of a row at a time, by way of the warp's own part of shared memory: halves of
  // sectors that each thread stores for itself take twice as long.
  __device__ __forceinline__ void each_row_of_warp(Shared<config>& shared,
                                                   const Pairs<config>& out) const {
    if constexpr (S::warps_k > 1) sync_consumers<config>();  // nobody reads sums any more
    const First first;
    const int lane_m = first.row % S::WM / 2 % S::lanes_m, lane_n = first.col % S::WN / 2;
    float4* const staged = &shared.scratch[first.warp * S::staged];
    float4* const own = staged + lane_m * S::staged_pitch + lane_n;
    // Of the quad that has this lane's column.
    const float* const from = &staged[first.lane / 2].x + (1 - first.lane % 2);
    const int rows = rows_ - (first.row - 2 * lane_m);
    const int first_col = first.col - 2 * lane_n + first.lane, cols = cols_ - first_col;
    Complex* line = c_ + (first.row - 2 * lane_m) * p_.ldc + first_col;
#pragma unroll
    for (int i = 0; i < S::rows; ++i) {
#pragma unroll
      for (int j = 0; j < of_row; j += S::staged_pairs) {
        __syncwarp();  // nobody reads what was left there before
#pragma unroll
        for (int next = 0; next < S::staged_pairs; ++next)
          own[next * S::lanes_n] = quad_of(&out[4 * (i * of_row + j + next)]);
        __syncwarp();
        const int inside = Own::col_step(2 * j) < cols ? rows - Own::row_step(i) : 0;
        some_rows(from, line + Own::col_step(2 * j), inside);
      }
      next_row(line, i);
    }
  }
  // An element of each row, every other one of the tile's, of which `inside` rows lie in C.
  __device__ __forceinline__ void some_rows(const float* from, Complex* to, int inside) const {
    const float re = finish_.alpha.re, im = of_im(re);
    constexpr int together = 4;
#pragma unroll 1
    for (int r = 0; r < S::lanes_m; r += together) {
      float2 sum[together];
#pragma unroll
      for (int q = 0; q < together; ++q, from += 4 * S::staged_pitch)
        sum[q] = make_float2(from[0], from[2]);
#pragma unroll
      for (int q = 0; q < together; ++q, to += 2 * p_.ldc)
        if (2 * (r + q) < inside) *to = {sum[q].x * re, sum[q].y * im};
    }
  }

  const Cgemm& p_;
  const Finish finish_;
  int rows_, cols_;  // of the tile that lie in C
  bool in_pairs_;    // C is aligned, and no pair crosses its edge
  Complex* c_;       // the tile
};

template <ComplexStreamConfig config>
__device__ __forceinline__ void consume(Shared<config>& shared, const Params& params) {
  const StreamSchedule& schedule = params.schedule;
  const Cgemm& p = params.problem;
  const Way way{schedule};
  if (p.alpha_at != nullptr) wait_for_previous_kernel();  // for the scalars
  const bool reads = Finish(p).has_sum;
  Consumer<config> consumer(shared);
  for (StreamWork work = way.first(); work.valid(); work = way.next(work)) {
    Pairs<config> out;
    sum_of_work<config>(shared, consumer, p, work, reads, out);
    const Store<config> store(params, schedule.place(work.tile));
    if constexpr (config.clusters) {
      if (schedule.in_clusters())
        return ClusterSums<config>::add(shared, schedule.cluster, out,
                                        [&](int v, const float(&sums)[4]) { store.one(v, sums); });
    }
    if (!schedule.whole(work)) {
      const int tid = reread_thread_index() - Shape<config>::producers;
      const StreamParts parts = schedule.parts(work, static_cast<int>(blockIdx.x));
      if (!stream_tile::add_parts<Shape<config>::consumers, true>(
              params.workspace, schedule, parts, tid, shared.is_last,
              [] { sync_consumers<config>(); }, out))
        continue;
    }
    store.all(shared, out);
  }
}

// `row` of tuning.hpp's table.
template <int row>
__global__ void __launch_bounds__(complex_stream_tiles[row].config.threads(),
                                  complex_stream_tiles[row].config.compiled_blocks())
    complex_stream([[maybe_unused]] __grid_constant__ const Params params) {
  if constexpr (runs_here()) {
    constexpr ComplexStreamConfig config = complex_stream_tiles[row].config;
    auto& shared = *gpu::dynamic_shared<Shared<config>>();
    const bool in_clusters = config.clusters && params.schedule.in_clusters();
    init_ring(shared.full, shared.free, Shape<config>::producers, Shape<config>::consumers / 32);
    if (in_clusters) open_to_cluster(shared.received);
    __syncthreads();
    if (threadIdx.x < Shape<config>::producers) {
      setmaxnreg_dealloc<config.producer_registers>();
      produce<config>(shared, params.problem, params.operands, params.schedule);
      if (in_clusters) wait_for_cluster();
    } else {
      setmaxnreg_alloc<config.consumer_registers>();
      consume<config>(shared, params);
    }
  }
}

// --- the rows of the registry

template <int row>
struct Row {
  static constexpr ComplexStreamTile tile = complex_stream_tiles[row];
  static constexpr ComplexStreamConfig config = tile.config;

  static std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
    if (!has_stream_instructions(device) ||
        device.shared_bytes_per_block_optin < shared_bytes<config>(true))
      return std::nullopt;
    const std::optional<ComplexStreamPlan> planned = plan_complex_stream(tile, p, device);
    if (!planned) return std::nullopt;
    Plan<Cgemm> plan;
    plan.time_us = plan.cost = planned->us;
    plan.workspace_bytes = complex_stream_workspace_bytes(config, planned->schedule);
    plan.min_workspace_bytes = 0;  // all tiles whole, with longer sums
    plan.data.set(planned->schedule);
    return plan;
  }
  static Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                            Workspace workspace, Stream stream) {
    auto schedule = plan.data.get<StreamSchedule>();
    if (workspace.bytes < complex_stream_workspace_bytes(config, schedule))
      schedule = without_shares(schedule);
    const std::size_t bytes = shared_bytes_that_spread(
        schedule.blocks, shared_bytes<config>(schedule.in_clusters()), device);
    return gpu::launch(complex_stream<row>,
                       {.grid = dim3(static_cast<unsigned>(schedule.blocks)),
                        .block = dim3(static_cast<unsigned>(config.threads())),
                        .shared_bytes = bytes,
                        .stream = stream,
                        .overlap = true,
                        .cluster = std::max(1, schedule.cluster)},
                       Params{p, stream_operands_of(p), schedule, workspace});
  }
  static Kernel<Cgemm> kernel() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace
}  // namespace complex_stream

KernelList<Cgemm> cgemm_stream_rows() {
  return kernels_of<complex_stream_tiles>(
      [](auto row) { return complex_stream::Row<row>::kernel(); });
}

}  // namespace KW_TARGET
