// cgemm_lean: complex products with a k of some dozens to some hundreds, whose tiles fill the SMs a
// few times.
//
// Idea        A block computes one tile and is done: while some of an SM's blocks wait for operands
//             or store, others multiply. One short loop does for every layout, and one way to store
//             serves all calls, so that little code waits to be fetched. In the largest tile the
//             way to the next stage lies among the products of a stage's last steps; and where at
//             most half of it lies in C, a block computes half a tile. Those blocks come last.
//             Tiles that are left over when all SMs are full are cut along k (sgemm/tile_cut.hpp).
// Prediction  477 x 5227 with a k of 165 in 75 us, where the stream tiles take 89: it takes 87, for
//             beside 256 FFMAs are 17 other instructions, 31 waits for banks, and 150 a stage.
// Limits      Whole matrices; one sum per output and part.
// Order       k ascending, parts in order: the same bits for the same call.
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/halves.hpp"
#include "cgemm/lean_feed.hpp"
#include "cgemm/lean_plan.hpp"
#include "cgemm/production.hpp"
#include "cgemm/stream/sums.hpp"
#include "device/overlap.hpp"
#include "sgemm/cut_sums.hpp"
#include "sgemm/spread_blocks.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace complex_lean {
namespace {

// The part of C that a block computes.
struct Outputs {
  std::int64_t row, col;
  int rows, cols;

  __device__ __forceinline__ Outputs(const Cgemm& p, int bm, int bn, unsigned tile_row,
                                     unsigned tile_col)
      : row(tile_row * std::int64_t{bm}), col(tile_col * std::int64_t{bn}) {
    rows = static_cast<int>(p.m - row < bm ? p.m - row : bm);
    cols = static_cast<int>(p.n - col < bn ? p.n - col : bn);
  }
};

// A thread's place in it: pairs of rows lanes_m pairs apart, and so of columns.
template <ComplexLeanConfig tile>
struct Place {
  int warp, lane, row0, col0, row, col, group;

  __device__ __forceinline__ Place() {
    const int thread = reread_thread_index();
    warp = thread / 32, lane = thread % 32;
    group = tile.groups == 1 ? 0 : warp / (tile.warps_m * tile.warps_n);
    row0 = warp / tile.warps_n % tile.warps_m * tile.warp_m();
    col0 = warp % tile.warps_n * tile.warp_n();
    const complex_stream::LanePlace<tile.lanes_m, tile.lanes_n> at(lane);
    row = row0 + 2 * at.m, col = col0 + 2 * at.n;
  }
};

template <ComplexLeanConfig tile>
using Sums = float[tile.tm][2 * tile.tn];

struct Params {
  Cgemm product;
  TileCut cut;
  Workspace workspace;
};

// What a block has to do, computed anew where it is asked for: kept, it would take registers.
__device__ __forceinline__ CutWork work_of_block(const Params& params) {
  int block = static_cast<int>(blockIdx.x);
  compute_now(block);
  return {params.cut, block};
}

// Two stages lie in shared memory: while one is multiplied, the next one is loaded to registers,
// and left in the other's place at the end.
template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k>
class Stages {
  static constexpr int b_at = tile.bk() * tile.pitch_a();

 public:
  const float *a, *b;  // this thread's operands at the next steps along k
  int stages;          // from this one on
  int left;            // iterations of this one

  // Of the first stage the groups take equal parts.
  __device__ __forceinline__ Stages(float* shared, const Cgemm& p, std::int64_t entry,
                                    const Outputs& out, const PartOfK& depth)
      : feed_a_(a_of(p, entry) +
                    (a_along_k ? out.row * p.lda + depth.first : out.row + depth.first * p.lda),
                p.lda, out.rows),
        feed_b_(b_of(p, entry) +
                    (b_along_k ? out.col * p.ldb + depth.first : out.col + depth.first * p.ldb),
                p.ldb, out.cols) {
    const int k = depth.count, first = (k - 1) % tile.bk() + 1;
    feed_a_.find_now(), feed_b_.find_now();
    wait_for_previous_kernel();
    let_next_kernel_start();
    feed_a_.load_first(p.lda, first), feed_b_.load_first(p.ldb, first);
    feed_a_.leave(shared), feed_b_.leave(shared + b_at);
    __syncthreads();
    stages = ceil_div(k, tile.bk()), left = ceil_div(first, tile.steps * tile.groups);
    if (stages > 1) load(p);
    enter(shared);
    next_ = shared + tile.stage();
  }
  __device__ __forceinline__ void load(const Cgemm& p) { feed_a_.load(p.lda), feed_b_.load(p.ldb); }
  // The same without a branch.
  __device__ __forceinline__ void load_or_end(bool wanted, const Cgemm& p) {
    feed_a_.load_or_end(wanted, p.lda), feed_b_.load_or_end(wanted, p.ldb);
  }
  __device__ __forceinline__ void leave() const {
    feed_a_.leave(next_), feed_b_.leave(next_ + b_at);
  }
  // The next stage is here, and nobody reads this one any more.
  __device__ __forceinline__ void go_to_next() {
    __syncthreads();
    left = tile.group_k / tile.steps;
    enter(next_);
    next_ += step_, step_ = -step_;
  }

 private:
  __device__ __forceinline__ void enter(const float* stage) {
    const int k0 = place_.group * (left * tile.steps);
    a = stage + k0 * tile.pitch_a() + 2 * place_.row;
    b = stage + b_at + k0 * tile.pitch_b() + 2 * place_.col;
  }

  const Place<tile> place_;
  Feed<tile.threads(), tile.bm(), tile.bk(), false, a_along_k> feed_a_;
  Feed<tile.threads(), tile.bn(), tile.bk(), true, b_along_k> feed_b_;
  float* next_;
  int step_ = -tile.stage();  // from there to the other place
};

template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k, bool differ>
__device__ __forceinline__ void multiply(Sums<tile>& acc, float* shared, const Cgemm& p,
                                         std::int64_t entry, const Outputs& out,
                                         const PartOfK& depth) {
  Stages<tile, a_along_k, b_along_k> s(shared, p, entry, out, depth);
  complex_stream::Fragments<tile.tm, tile.tn, tile.lanes_m, tile.lanes_n> f[2];
  f[0].load(s.a, s.b);
  const auto all_steps_but_last = [&] {
#pragma unroll
    for (int i = 1; i < tile.steps; ++i) {
      f[i % 2].load(s.a + i * tile.pitch_a(), s.b + i * tile.pitch_b());
      complex_stream::add_products<differ>(acc, f[1 - i % 2].a, f[1 - i % 2].b);
    }
    s.a += tile.steps * tile.pitch_a(), s.b += tile.steps * tile.pitch_b();
  };
  const auto last_step = [&] {
    f[0].load(s.a, s.b);  // behind the last stage what lies there
    complex_stream::add_products<differ>(acc, f[1].a, f[1].b);
  };
#pragma unroll 1
  do {
    if constexpr (tile.ends_apart) {
#pragma unroll 1
      for (; s.left > 1; --s.left) all_steps_but_last(), last_step();
      all_steps_but_last();
      if (s.stages > 1) s.leave();
      s.go_to_next();
      s.load_or_end(s.stages > 2, p);
      --s.stages;
    } else {
      all_steps_but_last();
      if (--s.left == 0) {
        if (--s.stages > 0) s.leave();
        s.go_to_next();
        if (s.stages > 1) s.load(p);
      }
    }
    last_step();
  } while (s.stages > 0);
}

template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k>
__device__ __forceinline__ void compute(Sums<tile>& acc, float* shared, const Cgemm& p,
                                        std::int64_t entry, const Outputs& out,
                                        const PartOfK& depth) {
  const auto by = [&]<bool differ>() {
    multiply<tile, a_along_k, b_along_k, differ>(acc, shared, p, entry, out, depth);
  };
  if (p.conj_a == p.conj_b)
    by.template operator()<false>();
  else
    by.template operator()<true>();
}

// A warp puts pairs of its rows into shared memory, and its lanes store neighbours of a row.
template <ComplexLeanConfig tile>
__device__ __forceinline__ void store(const Sums<tile>& acc, float* shared, const Cgemm& p,
                                      std::int64_t entry, const Outputs& out) {
  constexpr int width = tile.warp_n(), across = width % 32 == 0 ? 32 : width % 16 == 0 ? 16 : 8;
  constexpr int down = 32 / across, pitch = tile.staged_pitch(), rows = 2 * tile.lanes_m;
  static_assert(width % across == 0);
  const Place<tile> place;
  const Finish finish(p);
  const bool is_plain = finish.is_plain(p);
  const float re = finish.alpha.re, im = p.conj_b ? -re : re;
  float* const staged = shared + place.warp * (rows * pitch);
  const int lane_n = place.lane % across, lane_m = place.lane / across;
  const int col = place.col0 + lane_n;
  // A pair as it lies there: real parts, then imaginary ones, of the second neighbour first.
  const float* const own = staged + lane_m * pitch + lane_n / 2 * 4 + (1 - lane_n % 2);
  Complex* line = c_of(p, entry) + (out.row + place.row0 + lane_m) * p.ldc + out.col + col;
#pragma unroll
  for (int group = 0; group < tile.tm; group += 2, line += rows * p.ldc) {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < tile.tn; j += 2)
        *reinterpret_cast<float4*>(staged + (place.row - place.row0 + i) * pitch +
                                   2 * (place.col - place.col0) + 2 * j * tile.lanes_n) =
            quad_of(&acc[group + i][2 * j]);
    __syncwarp();
    const int here = out.rows - (place.row0 + group * tile.lanes_m + lane_m);
#pragma unroll
    for (int at = 0; at < width; at += across) {
      if (col + at >= out.cols) break;
      const float* from = own + 2 * at;
      Complex* to = line + at;
#pragma unroll 4
      for (int i = 0; i < rows; i += down, from += down * pitch, to += down * p.ldc)
        if (i < here) {
          const float2 sum = make_float2(from[0], from[2]);
          if (is_plain)
            *to = {sum.x * re, sum.y * im};
          else
            *to = finish.element(to, sum, p.conj_b);
        }
    }
  }
}

// The sums of the groups come together: each leaves its own in shared memory, and a warp adds up
// and stores rows of C.
template <ComplexLeanConfig tile>
__device__ __forceinline__ void store_groups(const Sums<tile>& acc, float* shared, const Cgemm& p,
                                             std::int64_t entry, const Outputs& out) {
  constexpr int pitch = tile.staged_pitch(), of_group = tile.bm() * pitch;
  const Place<tile> place;
#pragma unroll
  for (int i = 0; i < tile.tm; ++i)
#pragma unroll
    for (int j = 0; j < tile.tn; j += 2)
      *reinterpret_cast<float4*>(shared + place.group * of_group +
                                 (place.row + i / 2 * 2 * tile.lanes_m + i % 2) * pitch +
                                 2 * place.col + 2 * j * tile.lanes_n) = quad_of(&acc[i][2 * j]);
  __syncthreads();
  const Finish finish(p);
  const bool is_plain = finish.is_plain(p);
  const float re = finish.alpha.re, im = p.conj_b ? -re : re;
#pragma unroll
  for (int at = 0; at < tile.bn(); at += 32) {
    const int col = at + place.lane;
    if (col >= out.cols) break;
    // A pair as it lies there: real parts, then imaginary ones, of the second neighbour first.
    const float* from = shared + place.warp * pitch + col / 2 * 4 + (1 - col % 2);
    Complex* to = c_of(p, entry) + (out.row + place.warp) * p.ldc + out.col + col;
#pragma unroll 2
    for (int row = place.warp; row < out.rows; row += tile.warps()) {
      float2 sum = make_float2(from[0], from[2]);
#pragma unroll
      for (int group = 1; group < tile.groups; ++group)
        sum.x += from[group * of_group], sum.y += from[group * of_group + 2];
      if (is_plain)
        *to = {sum.x * re, sum.y * im};
      else
        *to = finish.element(to, sum, p.conj_b);
      from += tile.warps() * pitch, to += tile.warps() * p.ldc;
    }
  }
}

// The products and stores of a block. `room`: floats of a part.
template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k, int room>
__device__ __forceinline__ void compute_and_store(float* shared, const Params& params,
                                                  std::int64_t entry, const Outputs& out) {
  const Cgemm& p = params.product;
  Sums<tile> acc = {};
  if (Finish(p).has_sum) {
    const CutWork work = work_of_block(params);
    const int parts = work.cut_tile < 0 ? 1 : params.cut.parts;
    const PartOfK depth(static_cast<int>(p.k), tile.bk(), parts, work.part);
    compute<tile, a_along_k, b_along_k>(acc, shared, p, entry, out, depth);
  }
  wait_for_previous_kernel();  // where there is no sum
  if constexpr (tile.can_be_cut()) {
    const CutWork work = work_of_block(params);
    auto& sums = reinterpret_cast<float(&)[2 * tile.tm * tile.tn]>(acc);
    if (work.cut_tile >= 0 &&
        !add_cut_sums<tile.threads(), room>(sums, params.cut, work, params.workspace))
      return;
  }
  __syncthreads();  // nobody reads operands any more
  if constexpr (tile.groups > 1)
    store_groups<tile>(acc, shared, p, entry, out);
  else
    store<tile>(acc, shared, p, entry, out);
}

template <int row, bool a_along_k, bool b_along_k>
__global__ void __launch_bounds__(complex_leans[row].config.threads(),
                                  complex_leans[row].config.blocks_per_sm)
    complex_lean(__grid_constant__ const Params params) {
  constexpr ComplexLeanConfig tile = complex_leans[row].config;
  constexpr int room = tile.part_floats();
  const Cgemm& p = params.product;
  const auto tile_at = static_cast<unsigned>(work_of_block(params).tile);
  auto* const shared = gpu::dynamic_shared<float>();
  const auto tiles_n = static_cast<unsigned>(ceil_div(p.n, tile.bn()));
  const auto tiles_m = static_cast<unsigned>(ceil_div(p.m, tile.bm()));
  const unsigned tiles = tiles_n * tiles_m;
  const unsigned entry = p.batch == 1 ? 0 : tile_at / tiles;
  const unsigned at = tile_at - entry * tiles;
  unsigned tile_row = at / tiles_n, tile_col = at % tiles_n;
  if constexpr (tile.halves)
    if (TilesToHalves(p, tile.bm(), tile.bn()).by_columns())
      tile_row = at % tiles_m, tile_col = at / tiles_m;
  const Outputs out(p, tile.bm(), tile.bn(), tile_row, tile_col);
  // An earlier kernel may write what this reads; all else waits only before the first copy.
  if (p.alpha_at != nullptr || p.a_array != nullptr) wait_for_previous_kernel();
  if constexpr (tile.halves) {
    if (2 * out.rows <= tile.bm())
      return compute_and_store<tile.half_rows(), a_along_k, b_along_k, room>(shared, params, entry,
                                                                             out);
    if (2 * out.cols <= tile.bn())
      return compute_and_store<tile.half_columns(), a_along_k, b_along_k, room>(shared, params,
                                                                                entry, out);
  }
  compute_and_store<tile, a_along_k, b_along_k, room>(shared, params, entry, out);
}

template <int row>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexLean lean = complex_leans[row];
  if (!complex_lean_supports(lean.config, p, device)) return std::nullopt;
  const PlannedComplexLean own = plan_complex_lean(lean, p, device);
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = own.us;
  plan.workspace_bytes = own.cut.workspace_bytes(lean.config.part_floats());
  plan.min_workspace_bytes = 0;  // with whole tiles
  plan.data.set(own.cut);
  return plan;
}

template <int row, bool a_along_k, bool b_along_k>
Status start(const Cgemm& p, const Device& device, const TileCut& cut, const Workspace& workspace,
             Stream stream) {
  constexpr ComplexLeanConfig tile = complex_leans[row].config;
  return launch_entries(p, complex_lean_tiles(tile, p), [&](const Cgemm& part, unsigned tiles) {
    const TileCut own = part.batch == p.batch ? cut : TileCut{.tiles = static_cast<int>(tiles)};
    const auto blocks = static_cast<unsigned>(own.blocks());
    return gpu::launch(
        complex_lean<row, a_along_k, b_along_k>,
        {.grid = dim3(blocks),
         .block = dim3(tile.threads()),
         .shared_bytes = shared_bytes_that_spread(blocks, tile.shared_bytes(), device),
         .stream = stream,
         .overlap = true},
        Params{part, own, workspace});
  });
}

template <int row>
Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                   Workspace workspace, Stream stream) {
  auto cut = plan.data.get<TileCut>();
  if (workspace.bytes < plan.workspace_bytes) cut = {.tiles = cut.tiles};
  if (p.op_a == Op::none)
    return p.op_b == Op::none ? start<row, true, false>(p, device, cut, workspace, stream)
                              : start<row, true, true>(p, device, cut, workspace, stream);
  return p.op_b == Op::none ? start<row, false, false>(p, device, cut, workspace, stream)
                            : start<row, false, true>(p, device, cut, workspace, stream);
}

template <int row>
Kernel<Cgemm> kernel() {
  return {.name = complex_leans[row].name,
          .parent = nullptr,
          .idea = "complex tile with little code, one tile a block",
          .role = Role::production,
          .math = Math::fp32,
          .make_plan = make_plan<row>,
          .launch_plan = launch_plan<row>};
}

}  // namespace
}  // namespace complex_lean

KernelList<Cgemm> cgemm_lean_rows() {
  return kernels_of<complex_leans>([](auto row) { return complex_lean::kernel<row>(); });
}

}  // namespace KW_TARGET
