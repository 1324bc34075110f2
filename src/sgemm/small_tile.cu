// small_tile: products so small that many of them keep an SM busy: batches of 8 to 128 squared.
//
// Idea    A block computes one tile of one product, so a batch of thousands is thousands of blocks
//         of one or two warps. They need no ring and no producers: some blocks of an SM wait for
//         their operands while others multiply. Both operands lie in shared memory as they lie in
//         memory, copied by 16 bytes; only the way a thread reads its fragments follows the
//         transposes. Four k at a time take the same number of 16-byte loads either way.
// Limits  Memory bandwidth below 64 squared: 32 squared has 5 flops per byte. Shared memory above:
// 8
//         x 8 outputs per thread take 16 loads for 256 FFMAs. No split along k.
// Order   One accumulator per output, k ascending: the same bits for the same inputs and sizes.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "sgemm/production.hpp"
#include "sgemm/small_tuning.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET {
namespace {

// An operand's tile in shared memory: `extent` rows or columns of it by bk. Along k: [extent][bk],
// else [bk][extent]; four floats of padding put neighbouring lines in different banks.
template <int extent, int bk, bool along_k>
struct OperandTile {
  static constexpr int lines = along_k ? extent : bk, length = along_k ? bk : extent;
  static constexpr int pitch = length + 4;
  float x[lines][pitch];

  // Starts the copy of the tile at first_row of `rows` and k of all_k; beyond them are zeros.
  template <int threads>
  __device__ __forceinline__ void copy(const float* data, std::int64_t ld, std::int64_t first_row,
                                       std::int64_t rows, std::int64_t k, std::int64_t all_k) {
    const std::int64_t line = along_k ? first_row : k, all_lines = along_k ? rows : all_k;
    const std::int64_t first = along_k ? k : first_row, all_length = along_k ? all_k : rows;
    const int l = static_cast<int>(all_lines - line < lines ? all_lines - line : lines);
    const int n = static_cast<int>(all_length - first < length ? all_length - first : length);
    const float* const from = data + line * ld + first;
    if (!rows_aligned_16(data, ld) || all_length % 4 != 0)
      start<threads, 1, false>(from, ld, l, n);
    else if (l == lines && n == length)
      start<threads, 4, true>(from, ld, l, n);
    else
      start<threads, 4, false>(from, ld, l, n);
  }

 private:
  // The block's threads, width floats each, lie along a line first.
  template <int threads, int width, bool whole>
  __device__ __forceinline__ void start(const float* from, std::int64_t ld, int lines_here,
                                        int length_here) {
    constexpr int across = length / width < threads ? length / width : threads;
    constexpr int down = threads / across;
    const int tid = static_cast<int>(threadIdx.x);
    const int line = tid / across, at = tid % across * width;
    from += line * ld + at;
#pragma unroll 8
    for (int i = 0; i < lines; i += down, from += down * ld)
#pragma unroll
      for (int j = 0; j < length; j += across * width) {
        const bool here = whole || (line + i < lines_here && at + j < length_here);
        async_copy<4 * width>(&x[line + i][at + j], from + j, here ? 4 * width : 0);
      }
  }
};

// Which rows (or columns) of a tile a thread has, and its share of four k of them. `lanes` threads
// lie side by side along the tile.
template <int count, int lanes, bool along_k>
struct Fragment {
  float x[4][count];  // [k][row]

  // Along k neighbouring threads have neighbouring rows, so that a load of four k meets different
  // banks; else a thread has groups of four rows, which a load brings.
  __device__ static constexpr int row(int thread, int i) {
    return along_k ? thread + i * lanes : 4 * thread + i % 4 + i / 4 * 4 * lanes;
  }
  template <class Tile>
  __device__ __forceinline__ void load(const Tile& tile, int thread, int k) {
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const auto four = *reinterpret_cast<const float4*>(&tile.x[row(thread, i)][k]);
        x[0][i] = four.x, x[1][i] = four.y, x[2][i] = four.z, x[3][i] = four.w;
      }
    } else {
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
#pragma unroll
        for (int i = 0; i < count; i += 4)
          *reinterpret_cast<float4*>(&x[kk][i]) =
              *reinterpret_cast<const float4*>(&tile.x[k + kk][row(thread, i)]);
    }
  }
};

template <SmallTileConfig tile, Op op_a, Op op_b>
struct Stage {
  static constexpr bool a_along_k = op_a == Op::none, b_along_k = op_b != Op::none;
  OperandTile<tile.bm, tile.bk, a_along_k> a;
  OperandTile<tile.bn, tile.bk, b_along_k> b;
};

template <SmallTileConfig tile, Op op_a, Op op_b>
__device__ __forceinline__ void multiply(float (&acc)[tile.tm][tile.tn],
                                         Stage<tile, op_a, op_b>* stages, const Sgemm& p,
                                         const TileOrigin& at) {
  using S = Stage<tile, op_a, op_b>;
  constexpr int lanes_n = tile.bn / tile.tn, lanes_m = tile.bm / tile.tm;
  const int tid = static_cast<int>(threadIdx.x);
  const auto start = [&](std::int64_t k) {
    S& stage = stages[k / tile.bk % 2];
    stage.a.template copy<tile.threads()>(p.a, p.lda, at.row, p.m, k, p.k);
    stage.b.template copy<tile.threads()>(p.b, p.ldb, at.col, p.n, k, p.k);
    async_commit();
  };
  start(0);
  for (std::int64_t k = 0; k < p.k; k += tile.bk) {
    async_wait<0>();
    __syncthreads();  // this stage is here, and nobody reads the other one any more
    if (k + tile.bk < p.k) start(k + tile.bk);
    const S& stage = stages[k / tile.bk % 2];
    const int k_here = p.k - k < tile.bk ? static_cast<int>(p.k - k) : tile.bk;
#pragma unroll 2
    for (int kk = 0; kk < k_here; kk += 4) {
      Fragment<tile.tm, lanes_m, S::a_along_k> a;
      Fragment<tile.tn, lanes_n, S::b_along_k> b;
      a.load(stage.a, tid / lanes_n, kk);
      b.load(stage.b, tid % lanes_n, kk);
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int i = 0; i < tile.tm; ++i)
#pragma unroll
          for (int j = 0; j < tile.tn; ++j) acc[i][j] = fmaf(a.x[q][i], b.x[q][j], acc[i][j]);
    }
  }
}

template <SmallTileConfig tile, Op op_a, Op op_b>
__device__ __forceinline__ void store(const Sgemm& p, const TileOrigin& at,
                                      const float (&acc)[tile.tm][tile.tn]) {
  using S = Stage<tile, op_a, op_b>;
  constexpr int lanes_n = tile.bn / tile.tn, lanes_m = tile.bm / tile.tm;
  const int tid = static_cast<int>(threadIdx.x);
  // Each vector of four lies either inside or outside of C, and is aligned.
  const bool in_fours = rows_aligned_16(p.c, p.ldc) && p.n % 4 == 0;
#pragma unroll
  for (int i = 0; i < tile.tm; ++i) {
    const std::int64_t row =
        at.row + Fragment<tile.tm, lanes_m, S::a_along_k>::row(tid / lanes_n, i);
    const auto col = [&](int j) {
      return at.col + Fragment<tile.tn, lanes_n, S::b_along_k>::row(tid % lanes_n, j);
    };
    if (row >= p.m) continue;
    if (S::b_along_k || !in_fours) {
#pragma unroll
      for (int j = 0; j < tile.tn; ++j)
        if (col(j) < p.n) store1<false>(p, row, col(j), acc[i][j]);
    } else {
#pragma unroll
      for (int j = 0; j < tile.tn; j += 4)
        if (col(j) < p.n) store_row<false, 4, true>(p, row, col(j), &acc[i][j]);
    }
  }
}

template <int row, Op op_a, Op op_b>
__global__ void __launch_bounds__(small_tiles[row].config.threads(),
                                  small_tiles[row].config.blocks_per_sm)
    small_tile(__grid_constant__ const Sgemm all) {
  constexpr SmallTileConfig tile = small_tiles[row].config;
  auto* const stages = gpu::dynamic_shared<Stage<tile, op_a, op_b>>();
  wait_for_previous_kernel();
  if (exits_early(all)) return;
  const auto tiles_n = static_cast<unsigned>(ceil_div(all.n, tile.bn));
  const unsigned tiles = tiles_n * static_cast<unsigned>(ceil_div(all.m, tile.bm));
  const unsigned at = blockIdx.x % tiles;
  const TileOrigin origin{at / tiles_n * std::int64_t{tile.bm},
                          at % tiles_n * std::int64_t{tile.bn}};
  const Sgemm p = entry_of(all, blockIdx.x / tiles);
  float acc[tile.tm][tile.tn] = {};
  if (p.k > 0) multiply<tile, op_a, op_b>(acc, stages, p, origin);
  let_next_kernel_start();
  store<tile, op_a, op_b>(p, origin, acc);
}

template <int row>
struct Row {
  static constexpr SmallTileConfig tile = small_tiles[row].config;

  static std::int64_t blocks(const Sgemm& p) {
    return ceil_div(p.m, tile.bm) * ceil_div(p.n, tile.bn);
  }
  static bool supports(const Sgemm& p) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    return blocks(p) <= most && p.batch <= most / std::max<std::int64_t>(1, blocks(p));
  }
  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!supports(p)) return std::nullopt;
    const double us = predicted_us(p, device);
    return Plan<Sgemm>{.time_us = us, .cost = us};
  }
  static double predicted_us(const Sgemm& p, const Device& device) {
    constexpr SmallTileTimes times = small_tiles[row].times;
    const double chunks = static_cast<double>(p.loop_k()) / tile.bk;
    if (chunks > small_max_chunks) return std::numeric_limits<double>::infinity();
    const double blocks_on_sm = static_cast<double>(blocks(p)) * static_cast<double>(p.batch) /
                                std::max(1, device.sm_count);
    return std::max(
        times.first_us + chunks * times.chunk_us,
        small_launch_us + blocks_on_sm * (times.block_us + chunks * times.busy_chunk_us));
  }

  template <Op op_a, Op op_b>
  static Status start(const Sgemm& p, Stream stream) {
    const std::size_t buffers = p.k > tile.bk ? 2 : 1;
    return gpu::launch(small_tile<row, op_a, op_b>,
                       {.grid = dim3(static_cast<unsigned>(blocks(p) * p.batch)),
                        .block = dim3(static_cast<unsigned>(tile.threads())),
                        .shared_bytes = buffers * sizeof(Stage<tile, op_a, op_b>),
                        .stream = stream,
                        .overlap = true},
                       p);
  }
  static Status launch_plan(const Sgemm& p, const Device&, const Plan<Sgemm>&, Workspace,
                            Stream stream) {
    if (p.m == 0 || p.n == 0 || p.batch == 0) return Status::success();
    if (p.op_a == Op::none)
      return p.op_b == Op::none ? start<Op::none, Op::none>(p, stream)
                                : start<Op::none, Op::transpose>(p, stream);
    return p.op_b == Op::none ? start<Op::transpose, Op::none>(p, stream)
                              : start<Op::transpose, Op::transpose>(p, stream);
  }
  static Kernel<Sgemm> kernel() {
    return {.name = small_tiles[row].name,
            .parent = nullptr,
            .idea = small_tiles[row].idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Sgemm> small_tile_rows() {
  return []<int... row>(std::integer_sequence<int, row...>) {
    return KernelList<Sgemm>{Row<row>::kernel()...};
  }
  (std::make_integer_sequence<int, static_cast<int>(std::size(small_tiles))>());
}

}  // namespace KW_TARGET
