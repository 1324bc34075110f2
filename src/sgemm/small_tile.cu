// small_tile: products whose tiles are done before a ring with producers has begun: batches of 8 to
// 128 squared, k up to some 500, sides of 17 to 200.
//
// Idea    A block computes one tile of one product and is done. There are many blocks, and while
//         some of an SM wait for their operands or store, others multiply. Operands lie in shared
//         memory as they lie in memory, and the way a thread reads its fragments follows the
//         transposes: four k at a time take the same number of 16-byte loads either way. Tiles
//         for products of many blocks turn operands that lie along k as they are copied, float by
//         float. A thread then reads its fragments k by k, which takes fewer registers, and
//         FFMAs wait less for those: of four k that are loaded at once, every second lies in the
//         register bank of the sum it is added to.
//         Neighbouring threads store neighbours wherever rows of C start (small_operand.hpp).
//         Where tiles are too few to fill the SMs, warps share a tile along k: they multiply larger
//         fragments of it, each every few steps. Stages are long there: a warp that is alone on
//         its scheduler waits while it starts the copies of a stage.
// Limits  The bandwidth of C where k is short. Else loads from shared memory: a thread's 8 x 4
//         outputs take 12 floats for 32 FFMAs, of which an SM does 128 while 32 floats a warp
//         arrive.
// Order   One accumulator per output and part of k, k ascending, then the parts: the same bits for
//         the same inputs and sizes.
#include <optional>

#include "device/blocks_per_sm.hpp"
#include "device/overlap.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/lanes.hpp"
#include "sgemm/production.hpp"
#include "sgemm/small_operand.hpp"
#include "sgemm/small_plan.hpp"
#include "sgemm/start_by_ops.hpp"
#include "sgemm/tile.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

template <SmallTileConfig tile, Op op_a, Op op_b>
struct Stage {
  static constexpr int lanes_m = tile.bm / tile.tm, lanes_n = tile.bn / tile.tn;
  static constexpr bool a_along_k = op_a == Op::none, b_along_k = op_b != Op::none;
  SmallOperand<tile.bm, tile.bk, tile.lies_along_k(a_along_k), lanes_m> a;
  SmallOperand<tile.bn, tile.bk, tile.lies_along_k(b_along_k), lanes_n> b;

  // Rows of A stay where they are. Columns of B lie so that threads store fours or neighbours.
  static constexpr bool a_in_fours = !tile.lies_along_k(a_along_k);

  using CopiesOfA =
      std::conditional_t<tile.turns && a_along_k,
                         SmallTurnedCopies<tile.threads(), tile.bm, tile.bk, lanes_m, true>,
                         SmallCopies<tile.threads(), tile.bm, tile.bk, a_along_k, lanes_m>>;
  using CopiesOfB =
      std::conditional_t<tile.turns && b_along_k,
                         SmallTurnedCopies<tile.threads(), tile.bn, tile.bk, lanes_n, false>,
                         SmallCopies<tile.threads(), tile.bn, tile.bk, b_along_k, lanes_n>>;
};

// Who a thread is: its part of k, and its place in the tile.
template <SmallTileConfig tile>
struct Place {
  static constexpr int lanes_n = tile.bn / tile.tn, warp_n = lanes_n < 32 ? lanes_n : 32;
  static constexpr int warps_n = lanes_n / warp_n, warp_m = 32 / warp_n;
  using OfWarp = Lanes<warp_m, warp_n>;
  static_assert(tile.threads_of_part() % 32 == 0);
  const int of_part = static_cast<int>(threadIdx.x % tile.threads_of_part());
  const int part = static_cast<int>(threadIdx.x / tile.threads_of_part());
  const int warp = of_part / 32, lane = of_part % 32;
  const int m = warp / warps_n * warp_m + OfWarp::row(lane);
  const int n = warp % warps_n * warp_n + OfWarp::col(lane);
};

// The part of C that a block computes.
struct Outputs {
  std::int64_t row, col;
  unsigned rows, cols;
  // Each four of a row lies either inside or outside of C, and is aligned.
  bool in_fours;
};

// Which tile a block computes.
struct Position {
  unsigned entry, tile_row, tile_col;  // of the batch, of C

  template <SmallTileConfig tile>
  __device__ __forceinline__ Outputs outputs(const Sgemm& p) const {
    const std::int64_t row = tile_row * std::int64_t{tile.bm};
    const std::int64_t col = tile_col * std::int64_t{tile.bn};
    return {.row = row,
            .col = col,
            .rows = static_cast<unsigned>(p.m - row < tile.bm ? p.m - row : tile.bm),
            .cols = static_cast<unsigned>(p.n - col < tile.bn ? p.n - col : tile.bn),
            .in_fours = rows_aligned_16(p.c, p.ldc) && p.n % 4 == 0};
  }
  // outputs() is calculated anew after that, so that the loop along k keeps no registers for it.
  __device__ __forceinline__ void forget_outputs() {
    compute_now(entry), compute_now(tile_row), compute_now(tile_col);
  }
};

// The ring of a tile's stages: all but one are filled ahead.
template <SmallTileConfig tile, Op op_a, Op op_b>
class Ring {
  using S = Stage<tile, op_a, op_b>;

 public:
  __device__ __forceinline__ Ring(S* stages, const Sgemm& p, const Outputs& out)
      : stages_(stages),
        a_(p.a + (op_a == Op::none ? out.row * p.lda : out.row), p.lda, rows_aligned_16(p.a, p.lda),
           out.rows, S::a_in_fours),
        b_(p.b + (op_b == Op::none ? out.col : out.col * p.ldb), p.ldb, rows_aligned_16(p.b, p.ldb),
           out.cols, out.in_fours),
        count_(static_cast<int>(ceil_div(p.k, tile.bk))),
        last_depth_(static_cast<int>(p.k - (count_ - 1) * std::int64_t{tile.bk})) {}

  // The next stage, once it is here, and nobody reads the last one any more. That one is refilled;
  // before the first stage, all others are filled.
  __device__ __forceinline__ const S& next() {
#pragma unroll 1
    do {
      if (step_ >= 0) {
        async_wait<tile.stages - 2>();
        __syncthreads();  // this stage is here, and nobody reads the last one any more
      }
      const int to_fill = step_ + ahead;
      if (to_fill < count_) {
        S& stage = stages_[at_];
        const unsigned depth = depth_of(to_fill);
        a_.start(stage.a, depth);
        b_.start(stage.b, depth);
      }
      async_commit();
      at_ = at_ + 1 < tile.stages ? at_ + 1 : 0;
    } while (step_++ < 0);
    return stages_[at_];
  }
  __device__ bool has_next() const { return step_ < count_; }
  // k of the stage that next() gave.
  __device__ int depth() const { return depth_of(step_ - 1); }

 private:
  static constexpr int ahead = tile.stages - 1;

  __device__ int depth_of(int step) const { return step == count_ - 1 ? last_depth_ : tile.bk; }

  S* const stages_;
  typename S::CopiesOfA a_;
  typename S::CopiesOfB b_;
  const int count_, last_depth_;
  int step_ = -ahead;  // the stage that is asked for next, or how many are still to be filled first
  int at_ = 0;         // the slot to fill; once all others are full, the one last read
};

// Adds the products of four k of a stage, from k on.
template <SmallTileConfig tile, Op op_a, Op op_b>
__device__ __forceinline__ void multiply(float (&acc)[tile.tm][tile.tn],
                                         const Stage<tile, op_a, op_b>& stage,
                                         const Place<tile>& place, int k) {
  SmallFragment<tile.tm> a;
  SmallFragment<tile.tn> b;
  a.load(stage.a, place.m, k);
  b.load(stage.b, place.n, k);
#pragma unroll
  for (int q = 0; q < 4; ++q)
#pragma unroll
    for (int i = 0; i < tile.tm; ++i)
#pragma unroll
      for (int j = 0; j < tile.tn; ++j) {
        // Row by row, back and forth: two neighbouring FFMAs share an element of a or of b.
        const int col = i % 2 == 0 ? j : tile.tn - 1 - j;
        acc[i][col] = fmaf(a.x[q][i], b.x[q][col], acc[i][col]);
      }
}

// Adds up the thread's part of the products along k.
template <SmallTileConfig tile, Op op_a, Op op_b>
__device__ __forceinline__ void multiply_all(float (&acc)[tile.tm][tile.tn],
                                             Stage<tile, op_a, op_b>* stages, const Sgemm& p,
                                             const Outputs& out) {
  // A whole stage of few steps is a straight line of instructions.
  constexpr bool are_short = tile.parts_k == 1 && 4 * tile.unroll == tile.bk;
  const Place<tile> place;
  Ring<tile, op_a, op_b> ring(stages, p, out);
  while (ring.has_next()) {
    const Stage<tile, op_a, op_b>& stage = ring.next();
    const int depth = ring.depth();
    if (are_short && depth == tile.bk) {
#pragma unroll
      for (int k = 0; k < tile.bk; k += 4) multiply(acc, stage, place, k);
    } else {
#pragma unroll are_short ? 1 : tile.unroll
      for (int k = 4 * place.part; k < depth; k += 4 * tile.parts_k) multiply(acc, stage, place, k);
    }
  }
}

// The sums over the parts of k, in their order: each part's threads get those of as many rows.
template <SmallTileConfig tile>
__device__ __forceinline__ void add_parts(const float (&acc)[tile.tm][tile.tn], float4* shared,
                                          float (&sums)[tile.rows_of_part()][tile.tn]) {
  constexpr int threads = tile.threads_of_part(), row_fours = tile.tn / 4;
  constexpr int part_fours = tile.tm * row_fours;  // of a thread
  const Place<tile> place;
  __syncthreads();  // nobody reads operands any more
#pragma unroll
  for (int i = 0; i < tile.tm; ++i)
#pragma unroll
    for (int j = 0; j < row_fours; ++j)
      shared[(place.part * part_fours + i * row_fours + j) * threads + place.of_part] =
          make_float4(acc[i][4 * j], acc[i][4 * j + 1], acc[i][4 * j + 2], acc[i][4 * j + 3]);
  __syncthreads();  // all parts' sums are here
  const int first = place.part * tile.rows_of_part();
#pragma unroll
  for (int i = 0; i < tile.rows_of_part(); ++i)
#pragma unroll
    for (int j = 0; j < row_fours; ++j) {
      float* const sum = &sums[i][4 * j];
#pragma unroll
      for (int part = 0; part < tile.parts_k; ++part) {
        const float4 x =
            shared[(part * part_fours + (first + i) * row_fours + j) * threads + place.of_part];
        if (part == 0)
          sum[0] = x.x, sum[1] = x.y, sum[2] = x.z, sum[3] = x.w;
        else
          sum[0] += x.x, sum[1] += x.y, sum[2] += x.z, sum[3] += x.w;
      }
    }
}

// Stores as many of the thread's rows as `sums` has, which lie one behind the other. Neighbouring
// threads store neighbours: fours of them, or one by one.
template <SmallTileConfig tile, Op op_a, Op op_b, bool in_fours, bool adds>
__device__ __forceinline__ void store(const Sgemm& p, const Outputs& out,
                                      const float (&sums)[tile.rows_of_part()][tile.tn]) {
  using S = Stage<tile, op_a, op_b>;
  constexpr int width = in_fours ? 4 : 1;
  using Vector = std::conditional_t<in_fours, float4, float>;
  union Elements {
    Vector vector;
    float element[width];
  };
  const auto row = [](int thread, int i) { return decltype(S::a)::row(thread, i, S::a_in_fours); };
  const Place<tile> place;
  const int first = row(place.m, place.part * tile.rows_of_part()), n = place.n * width;
  const int rows = static_cast<int>(out.rows) - first, cols = static_cast<int>(out.cols) - n;
  const auto for_each = [&](auto&& what) {
    float* c = p.c + (out.row + first) * p.ldc + out.col + n;
#pragma unroll
    for (int i = 0; i < tile.rows_of_part(); c += (row(0, i + 1) - row(0, i)) * p.ldc, ++i) {
      if (row(0, i) >= rows) break;
#pragma unroll
      for (int j = 0; j < tile.tn; j += width)
        if (j * S::lanes_n < cols) what(i, j, *reinterpret_cast<Vector*>(c + j * S::lanes_n));
    }
  };
  Elements x[tile.rows_of_part()][tile.tn / width];
  // All are on their way before the first is waited for.
  if (adds) for_each([&](int i, int j, const Vector& from) { x[i][j / width].vector = from; });
  for_each([&](int i, int j, Vector& to) {
    Elements& here = x[i][j / width];
#pragma unroll
    for (int e = 0; e < width; ++e)
      here.element[e] = adds ? add_scaled(p.alpha, sums[i][j + e], p.beta, here.element[e])
                             : p.alpha * sums[i][j + e];
    to = here.vector;
  });
}
template <SmallTileConfig tile, Op op_a, Op op_b>
__device__ __forceinline__ void store(const Sgemm& p, const Outputs& out,
                                      const float (&sums)[tile.rows_of_part()][tile.tn]) {
  if (out.in_fours)
    p.beta == 0 ? store<tile, op_a, op_b, true, false>(p, out, sums)
                : store<tile, op_a, op_b, true, true>(p, out, sums);
  else
    p.beta == 0 ? store<tile, op_a, op_b, false, false>(p, out, sums)
                : store<tile, op_a, op_b, false, true>(p, out, sums);
}

template <int row, Op op_a, Op op_b>
__global__ void __launch_bounds__(small_tiles[row].config.threads(),
                                  blocks_per_sm_within(small_tiles[row].config.threads(),
                                                       small_tiles[row].config.blocks_per_sm))
    small_tile(__grid_constant__ const Sgemm all) {
  constexpr SmallTileConfig tile = small_tiles[row].config;
  auto* const shared = gpu::dynamic_shared<Stage<tile, op_a, op_b>>();
  const auto tiles_n = static_cast<unsigned>(ceil_div(all.n, tile.bn));
  const unsigned tiles = tiles_n * static_cast<unsigned>(ceil_div(all.m, tile.bm));
  const unsigned entry = all.batch == 1 ? 0 : blockIdx.x / tiles, at = blockIdx.x - entry * tiles;
  Position position{entry, at / tiles_n, at % tiles_n};
  wait_for_previous_kernel();
  let_next_kernel_start();
  if (exits_early(all)) return;
  float acc[tile.tm][tile.tn] = {};
  {
    const Sgemm p = entry_of(all, entry);
    if (p.k > 0) multiply_all<tile, op_a, op_b>(acc, shared, p, position.outputs<tile>(p));
  }
  position.forget_outputs();
  const Sgemm p = stored_first(entry_of(all, position.entry));
  const Outputs out = position.outputs<tile>(p);
  if constexpr (tile.parts_k == 1) {
    store<tile, op_a, op_b>(p, out, acc);
  } else {
    float sums[tile.rows_of_part()][tile.tn];
    add_parts<tile>(acc, reinterpret_cast<float4*>(shared), sums);
    store<tile, op_a, op_b>(p, out, sums);
  }
  if (!all.epilogue.any()) return;
  __syncthreads();  // all is stored
  finish_stored<4>(all,
                   {position.entry, position.tile_row * std::int64_t{tile.bm},
                    position.tile_col * std::int64_t{tile.bn}, tile.bm, tile.bn},
                   static_cast<int>(threadIdx.x), tile.threads());
}

template <int row>
struct Row {
  static constexpr SmallTileConfig tile = small_tiles[row].config;

  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!small_tile_supports(tile, p, device)) return std::nullopt;
    const double us = predict_small_us(small_tiles[row], p, device);
    return Plan<Sgemm>{.time_us = us, .cost = us};
  }

  template <Op op_a, Op op_b>
  static Status start(const Sgemm& p, const Device& device, Stream stream) {
    static_assert(sizeof(Stage<tile, op_a, op_b>) == small_stage_bytes(tile, op_a, op_b));
    static_assert(tile.parts_k == 1 || 4 % tile.rows_of_part() == 0 || tile.rows_of_part() % 4 == 0,
                  "the rows that a thread stores lie one behind the other");
    return gpu::launch(small_tile<row, op_a, op_b>,
                       {.grid = dim3(static_cast<unsigned>(small_tile_count(tile, p) * p.batch)),
                        .block = dim3(static_cast<unsigned>(tile.threads())),
                        .shared_bytes = small_shared_bytes_asked(tile, p, device),
                        .stream = stream,
                        .overlap = true},
                       p);
  }
  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>&, Workspace,
                            Stream stream) {
    return start_by_ops<Row>(p, device, stream);
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
  return kernels_of<small_tiles>([](auto row) { return Row<row>::kernel(); });
}

}  // namespace KW_TARGET
