// level3_tile: products with a triangle, and updates of one, in one launch that reads every operand
// where it lies: no copy of a triangle, no second product of syr2k that reads and writes C again.
//
// Idea        A block computes a square tile of C from stages that cp.async brings, both operands
//             k-major. What is beside a triangle, zeros or its mirror image, becomes of the copies
//             (tile_operand.hpp); tiles beside C's triangle have no block, and a tile has the k in
//             which there are no zeros, the longest first. The second product of syr2k is more k.
//             Sums go through shared memory, so that warps store neighbours wherever rows begin.
// Prediction  ssyr2k of 5681 with k = 15: C's triangle is 65 MB, 20 us; as two products that each
//             write it and one of which reads it, 188. A triangle of 72 in 4 us, a copy before it
//             takes 2 more.
// Limits      4-byte copies where an operand lies along k, and one block a tile: the product's
//             kernels are faster where there is much to multiply. Sums of up to 2048.
// Order       k ascending, the parts of a block in their order: the same bits for the same call.
#include <optional>

#include "device/overlap.hpp"
#include "device/quad.hpp"
#include "level3/production.hpp"
#include "level3/tile_operand.hpp"
#include "level3/tile_plan.hpp"
#include "sgemm/shape.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {
namespace level3_tile {

template <int index>
struct Block {
  static constexpr Level3TileConfig config = level3_tiles[index].config;
  static constexpr int side = config.side, BK = config.bk, pitch = config.pitch();
  static constexpr int TM = config.tm, TN = config.tn;
  static constexpr int parts_k = config.parts_k, threads = config.threads();
  static constexpr int threads_m = side / TM, threads_n = side / TN;
  static constexpr int warp_m = 8, warp_n = 4;
  static constexpr int ring_bytes = config.ring_bytes();
  static_assert(threads_m % warp_m == 0 && threads_n % warp_n == 0 && TM % 4 == 0 && TN % 4 == 0);
  static_assert(BK % parts_k == 0 && BK % 8 == 0 && threads % side == 0 && threads >= side);

  struct Stage {
    // The loop loads a step ahead, behind the last one, too.
    float a[BK][pitch], b[BK + parts_k][pitch];
  };
  static_assert(config.stages * sizeof(Stage) == ring_bytes);
};

// The sums of C, as products of operands along C's rows and along its columns: one, or two of
// syr2k, one behind the other along k.
struct Params {
  Level3 problem;
  TileOperand rows[2], cols[2];
  int products;
};

// Where a block's tile lies, and its part of k.
struct Place {
  std::int64_t row0, col0, begin, end;
};

template <class T>
__device__ __forceinline__ Place place_of_block(const Params& params) {
  const Level3& p = params.problem;
  const int at = static_cast<int>(blockIdx.x);
  const int tiles_m = static_cast<int>(ceil_div(p.m, std::int64_t{T::side}));
  const int tiles_n = static_cast<int>(ceil_div(p.n, std::int64_t{T::side}));
  if (p.updates_triangle()) {
    const int row = triangle_row(at), col = at - triangle_tiles(row);
    const bool lower = p.triangle == Triangle::lower;
    return {(lower ? row : col) * std::int64_t{T::side},
            (lower ? col : row) * std::int64_t{T::side}, 0, p.k};
  }
  const bool by_row = p.on_left;
  const int lines = by_row ? tiles_m : tiles_n, others = by_row ? tiles_n : tiles_m;
  int line = at / others;
  const int other = at - line * others;
  const StoredPart part = p.routine != Routine::trmm ? StoredPart::all
                          : by_row                   ? params.rows[0].part
                                                     : params.cols[0].part;
  if (part == StoredPart::to_own) line = lines - 1 - line;  // the longest first
  const std::int64_t own = line * std::int64_t{T::side};
  const std::int64_t last = own + T::side < p.k ? own + T::side : p.k;
  return {by_row ? own : other * std::int64_t{T::side},
          by_row ? other * std::int64_t{T::side} : own, part == StoredPart::from_own ? own : 0,
          part == StoredPart::to_own ? last : p.k};
}

// Four neighbours each, `lanes` x 4 apart.
template <int count, int lanes>
__device__ __forceinline__ void load_fours(float (&x)[count], const float* from) {
#pragma unroll
  for (int i = 0; i < count; i += 4)
    *reinterpret_cast<float4*>(&x[i]) = *reinterpret_cast<const float4*>(from + i * lanes);
}

// What a thread reads of a stage at one k.
template <class T>
struct Fragments {
  __align__(16) float a[T::TM], b[T::TN];

  __device__ __forceinline__ void load(const float* at_a, const float* at_b) {
    load_fours<T::TN, T::threads_n>(b, at_b);
    load_fours<T::TM, T::threads_m>(a, at_a);
  }
};

// acc += a b, row by row, back and forth: an FFMA reads a's element from the reuse cache, and b's
// and the accumulator from two register banks, which leave_sums arranges.
template <class T>
__device__ __forceinline__ void add_products(float (&acc)[T::TM][T::TN], const Fragments<T>& f) {
#pragma unroll
  for (int i = 0; i < T::TM; ++i)
#pragma unroll
    for (int step = 0; step < T::TN; ++step) {
      const int j = i % 2 == 0 ? step : T::TN - 1 - step;
      acc[i][j] = fmaf(f.a[i], f.b[j], acc[i][j]);
    }
}

// The thread's part of the first `here` of k of a stage; two steps at a time, since ptxas moves
// accumulators from register to register, and so from bank to bank, where more are side by side.
// What lies behind the last k is zeros.
template <class T>
__device__ __forceinline__ void multiply_stage(float (&acc)[T::TM][T::TN],
                                               const typename T::Stage& s, int here, int row,
                                               int col, int part) {
  constexpr int step = T::parts_k * T::pitch;
  const float *a = &s.a[part][row], *b = &s.b[part][col];
  Fragments<T> f[2];
  f[0].load(a, b);
#pragma unroll 1
  for (int kk = part; kk < here; kk += 2 * T::parts_k) {
    f[1].load(a + step, b + step);
    add_products<T>(acc, f[0]);
    a += 2 * step, b += 2 * step;
    f[0].load(a, b);
    add_products<T>(acc, f[1]);
  }
}

template <class T>
__device__ __forceinline__ void multiply(float (&acc)[T::TM][T::TN], const Params& params,
                                         const Place& place, int row, int col, int part) {
  using Copy = OperandCopy<T::side, T::BK, T::pitch, T::threads>;
  constexpr int stages = T::config.stages;
  auto* const stage = gpu::dynamic_shared<typename T::Stage>();
  const Level3& p = params.problem;
  int product = 0;
  std::int64_t filled = place.begin;  // of k, of this product
  Copy a(params.rows[0], place.row0, p.m, filled), b(params.cols[0], place.col0, p.n, filled);
  const auto of_product = static_cast<int>(ceil_div(place.end - place.begin, std::int64_t{T::BK}));
  const int count = of_product * params.products;
  const int last = static_cast<int>(place.end - place.begin - (of_product - 1) * T::BK);
  // One group of copies per stage, empty ones at the end included, since async_wait counts groups.
  const auto fill = [&](int at, int slot) {
    if (at < count) {
      if (params.products == 2 && at == of_product) {
        product = 1;
        filled = place.begin;
        a = Copy(params.rows[1], place.row0, p.m, filled);
        b = Copy(params.cols[1], place.col0, p.n, filled);
      }
      const int here = place.end - filled < T::BK ? last : T::BK;
      a.next(stage[slot].a, params.rows[product], here);
      b.next(stage[slot].b, params.cols[product], here);
      filled += T::BK;
    }
    async_commit();
  };
#pragma unroll 1
  for (int s = 0; s < stages - 1; ++s) fill(s, s);
  int now = 0, ahead = stages - 1;
#pragma unroll 1
  for (int at = 0; at < count; ++at) {
    async_wait<stages - 2>();
    __syncthreads();
    fill(at + stages - 1, ahead);
    const bool is_last = at + 1 == of_product || at + 1 == count;
    multiply_stage<T>(acc, stage[now], is_last ? last : T::BK, row, col, part);
    now = now + 1 < stages ? now + 1 : 0;
    ahead = ahead + 1 < stages ? ahead + 1 : 0;
  }
  async_wait<0>();
}

// Leaves a thread's sums in shared memory, in quads.
template <class T>
__device__ __forceinline__ void leave_sums(const float (&acc)[T::TM][T::TN], float* sums, int row,
                                           int col) {
#pragma unroll
  for (int i = 0; i < T::TM; ++i)
#pragma unroll
    for (int j = 0; j < T::TN; j += 4) {
      const int r = row + i % 4 + i / 4 * 4 * T::threads_m, c = col + j * T::threads_n;
      *reinterpret_cast<float4*>(&sums[r * T::pitch + c]) = quad_of(&acc[i][j]);
    }
}

// The sum of an element, of all parts of the block.
template <class T>
__device__ __forceinline__ float sum_at(const float* sums, int r, int c) {
  const float* const at = sums + r * T::pitch + (c ^ 1);
  float sum = *at;
#pragma unroll
  for (int part = 1; part < T::parts_k; ++part) sum += at[part * T::side * T::pitch];
  return sum;
}

// A warp stores neighbours of a row of C.
template <class T, bool adds>
__device__ __forceinline__ void store_tile(const Level3& p, const Place& place, const float* sums,
                                           float alpha, float beta) {
  constexpr int warps = T::threads / 32, across = T::side / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int rows = p.m - place.row0 < T::side ? static_cast<int>(p.m - place.row0) : T::side;
  const int cols = p.n - place.col0 < T::side ? static_cast<int>(p.n - place.col0) : T::side;
  const bool at_diagonal = p.updates_triangle() && place.row0 == place.col0;
  const bool lower = p.triangle == Triangle::lower;
  float* to = p.c + (place.row0 + warp) * p.ldc + place.col0 + lane;
  const std::int64_t step = warps * p.ldc;
  constexpr int together = 4;
  static_assert(T::side / warps % together == 0);
#pragma unroll 1
  for (int i = 0; i < T::side / warps; i += together, to += together * step) {
    const auto each = [&](const auto& take) {
#pragma unroll
      for (int q = 0; q < together; ++q) {
        const int r = warp + (i + q) * warps;
        // Of this row, columns from the first to before the last.
        const int first = at_diagonal && !lower ? r : 0, last = at_diagonal && lower ? r + 1 : cols;
#pragma unroll
        for (int j = 0; j < across; ++j) {
          const int c = lane + j * 32;
          if (r < rows && c >= first && c < last) take(q, j, r, c, to[q * step + j * 32]);
        }
      }
    };
    // All that is read of C before any of it is written: else one load would wait for the next.
    float before[together][across] = {};
    if constexpr (adds) each([&](int q, int j, int, int, float c) { before[q][j] = c; });
    each([&](int q, int j, int r, int c, float& at) {
      const float product = alpha * sum_at<T>(sums, r, c);
      at = adds ? fmaf(beta, before[q][j], product) : product;
    });
  }
}

template <int index>
__global__ void __launch_bounds__(Block<index>::threads, Block<index>::config.blocks_per_sm)
    level3_tile_kernel(__grid_constant__ const Params params) {
  using T = Block<index>;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Level3& p = params.problem;
  constexpr int of_part = T::config.threads_of_part();
  const int part = static_cast<int>(threadIdx.x) / of_part;
  const int thread = static_cast<int>(threadIdx.x) % of_part;
  const int warp = thread / 32, lane = thread % 32;
  constexpr int warps_n = T::threads_n / T::warp_n;
  const int row = (warp / warps_n * T::warp_m + lane / T::warp_n) * 4;
  const int col = (warp % warps_n * T::warp_n + lane % T::warp_n) * 4;
  const Place place = place_of_block<T>(params);
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  float acc[T::TM][T::TN] = {};
  if (alpha != 0) multiply<T>(acc, params, place, row, col, part);
  __syncthreads();  // nobody reads operands any more
  auto* const sums = gpu::dynamic_shared<float>();
  leave_sums<T>(acc, sums + part * T::side * T::pitch, row, col);
  __syncthreads();
  const float beta = p.routine == Routine::trmm ? 0.0f : p.beta_at != nullptr ? *p.beta_at : p.beta;
  beta == 0 ? store_tile<T, false>(p, place, sums, alpha, beta)
            : store_tile<T, true>(p, place, sums, alpha, beta);
}

// --- the operands of a call

Params operands_of(const Level3& p) {
  Params params{.problem = p, .rows = {}, .cols = {}, .products = 1};
  if (p.updates_triangle()) {
    // C = X Y^T: Y's rows lie along C's columns.
    const bool has_b = p.reads_b();
    const float* const y = has_b ? p.b : p.a;
    const std::int64_t ldy = has_b ? p.ldb : p.lda;
    const Op op_y = has_b ? p.op_b : p.op_a;
    params.rows[0] = params.cols[1] = along_rows(p.a, p.lda, p.op_a);
    params.cols[0] = params.rows[1] = along_rows(y, ldy, op_y);
    if (p.routine == Routine::syr2k) params.products = 2;
    return params;
  }
  const bool is_symm = p.routine == Routine::symm;
  const Op op_a = is_symm ? Op::none : p.op_a;
  TileOperand a = p.on_left ? along_rows(p.a, p.lda, op_a) : along_cols(p.a, p.lda, op_a);
  const bool lower = is_symm ? p.triangle == Triangle::lower : p.is_lower();
  a.part = lower == p.on_left ? StoredPart::to_own : StoredPart::from_own;
  a.mirrored = is_symm;
  a.unit = !is_symm && p.unit_diagonal;
  const TileOperand b = p.on_left ? along_cols(p.b, p.ldb, p.op_b) : along_rows(p.b, p.ldb, p.op_b);
  params.rows[0] = p.on_left ? a : b;
  params.cols[0] = p.on_left ? b : a;
  return params;
}

// --- the rows of the registry

template <int index>
struct Row {
  static constexpr Level3Tile tile = level3_tiles[index];

  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!level3_tile_supports(tile.config, p)) return std::nullopt;
    Plan<Level3> plan;
    plan.time_us = plan.cost = predict_level3_tile_us(tile, p, device);
    plan.min_workspace_bytes = 0;
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>&, Workspace,
                            Stream stream) {
    if (p.m == 0 || p.n == 0) return Status::success();
    const auto blocks = static_cast<unsigned>(level3_tile_count(tile.config, p).all);
    return gpu::launch(level3_tile_kernel<index>,
                       {.grid = dim3(blocks),
                        .block = dim3(static_cast<unsigned>(tile.config.threads())),
                        .shared_bytes = level3_tile_shared_bytes(tile.config, p, device),
                        .stream = stream,
                        .overlap = true},
                       operands_of(p));
  }
  static Kernel<Level3> kernel() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace level3_tile
}  // namespace

KernelList<Level3> level3_tile_rows() {
  return kernels_of<level3_tiles>([](auto row) { return level3_tile::Row<row>::kernel(); });
}

}  // namespace KW_TARGET
