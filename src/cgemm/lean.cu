// cgemm_lean: complex products with a k of some dozens to some hundreds, whose tiles fill the SMs a
// few times.
//
// Idea        A block computes one tile and is done: while some of an SM's blocks wait for operands
//             or store, others multiply. One short loop does for every layout, a copy is an
//             addition and a cp.async, and one way to store serves all calls, so that little code
//             waits to be fetched.
// Prediction  477 x 5227 with a k of 165 in 75 us, where the stream tiles take 89: it takes 87, for
//             beside 256 FFMAs there are 17 other instructions and 31 waits for register banks, and
//             some 150 a stage. With a k below 80 it is the quickest in most cases.
// Limits      Whole matrices; one sum per output.
// Order       k ascending: the same bits for the same call.
#include <iterator>
#include <optional>
#include <utility>

#include "cgemm/finish.hpp"
#include "cgemm/lean_copies.hpp"
#include "cgemm/lean_plan.hpp"
#include "cgemm/production.hpp"
#include "cgemm/stream/sums.hpp"
#include "device/overlap.hpp"
#include "sgemm/spread_blocks.hpp"

namespace KW_TARGET {
namespace complex_lean {
namespace {

// The part of C that a block computes.
template <ComplexLeanConfig tile>
struct Outputs {
  std::int64_t row, col;
  int rows, cols;

  __device__ __forceinline__ Outputs(const Cgemm& p, unsigned tile_row, unsigned tile_col)
      : row(tile_row * std::int64_t{tile.bm()}), col(tile_col * std::int64_t{tile.bn()}) {
    rows = static_cast<int>(p.m - row < tile.bm() ? p.m - row : tile.bm());
    cols = static_cast<int>(p.n - col < tile.bn() ? p.n - col : tile.bn());
  }
};

// A thread's place in it: pairs of rows lanes_m pairs apart, and so of columns.
template <ComplexLeanConfig tile>
struct Place {
  int warp, lane, row0, col0, row, col;

  __device__ __forceinline__ Place() {
    const int thread = reread_thread_index();
    warp = thread / 32, lane = thread % 32;
    row0 = warp / tile.warps_n * tile.warp_m(), col0 = warp % tile.warps_n * tile.warp_n();
    const complex_stream::LanePlace<tile.lanes_m, tile.lanes_n> at(lane);
    row = row0 + 2 * at.m, col = col0 + 2 * at.n;
  }
};

template <ComplexLeanConfig tile>
using Sums = float[tile.tm][2 * tile.tn];

// The ring of stages: all but one are filled ahead.
template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k>
class Ring {
 public:
  __device__ __forceinline__ Ring(float* shared, const Cgemm& p, std::int64_t entry,
                                  const Outputs<tile>& out)
      : shared_(shared),
        a_(a_of(p, entry) + (a_along_k ? out.row * p.lda : out.row), p.lda, out.rows),
        b_(b_of(p, entry) + (b_along_k ? out.col * p.ldb : out.col), p.ldb, out.cols),
        left_(static_cast<int>(p.k)) {
    a_.compute_now(), b_.compute_now();
    wait_for_previous_kernel();
    let_next_kernel_start();
#pragma unroll 1
    for (int stage = 1; stage < tile.stages; ++stage) fill();
  }
  // Starts the copies of the next stage, if there is one.
  __device__ __forceinline__ void fill() {
    float* const a = shared_ + to_fill_;
    float* const b = a + tile.bk * tile.pitch_a();
    if (left_ >= tile.bk) {
      a_.start(a), b_.start(b);
    } else if (left_ > 0) {
      a_.start_last(a, left_), b_.start_last(b, left_);
    }
    async_commit();
    left_ -= tile.bk;
    to_fill_ = behind(to_fill_);
  }
  // The place of the stage behind the one at `offset`.
  __device__ static int behind(int offset) {
    return offset + tile.stage() < tile.stages * tile.stage() ? offset + tile.stage() : 0;
  }

 private:
  float* const shared_;
  Copies<tile.threads(), tile.bm(), tile.bk, tile.k_multiple(), false, a_along_k> a_;
  Copies<tile.threads(), tile.bn(), tile.bk, tile.k_multiple(), true, b_along_k> b_;
  int left_;  // k that are still to be copied
  int to_fill_ = 0;
};

template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k, bool differ>
__device__ __forceinline__ void multiply(Sums<tile>& acc, float* shared, const Cgemm& p,
                                         std::int64_t entry, const Outputs<tile>& out) {
  const Place<tile> place;
  Ring<tile, a_along_k, b_along_k> ring(shared, p, entry, out);
  int stage = 0;
#pragma unroll 1
  for (int left = static_cast<int>(p.k); left > 0; left -= tile.bk, stage = ring.behind(stage)) {
    async_wait<tile.stages - 2>();
    __syncthreads();  // this stage is here, and nobody reads the last one any more
    const float* a = shared + stage + 2 * place.row;
    const float* b = shared + stage + tile.bk * tile.pitch_a() + 2 * place.col;
    // Of this k and of the next.
    complex_stream::Fragments<tile.tm, tile.tn, tile.lanes_m, tile.lanes_n> f[2];
    f[0].load(a, b);
    ring.fill();
    const int depth = left < tile.bk ? left : tile.bk;
#pragma unroll 1
    for (int k = 0; k < depth; k += 2) {
      f[1].load(a + tile.pitch_a(), b + tile.pitch_b());
      complex_stream::add_products<differ>(acc, f[0].a, f[0].b);
      if (k + 2 < depth) a += 2 * tile.pitch_a(), b += 2 * tile.pitch_b();
      f[0].load(a, b);
      complex_stream::add_products<differ>(acc, f[1].a, f[1].b);
    }
  }
}

// The same where a stage's steps lie side by side: a barrier, and the first fragments behind it,
// come while the products of the step before are computed.
template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k, bool differ>
__device__ __forceinline__ void multiply_whole(Sums<tile>& acc, float* shared, const Cgemm& p,
                                               std::int64_t entry, const Outputs<tile>& out) {
  const Place<tile> place;
  Ring<tile, a_along_k, b_along_k> ring(shared, p, entry, out);
  complex_stream::Fragments<tile.tm, tile.tn, tile.lanes_m, tile.lanes_n> f[2];
  const float *a, *b;
  int stage = 0;
  const auto enter = [&] {
    async_wait<tile.stages - 2>();
    __syncthreads();
    a = shared + stage + 2 * place.row;
    b = shared + stage + tile.bk * tile.pitch_a() + 2 * place.col;
    f[0].load(a, b);
  };
  enter();
#pragma unroll 1
  for (int left = static_cast<int>(p.k); left > 0; left -= tile.bk) {
    ring.fill();
#pragma unroll
    for (int k = 0; k < tile.bk; ++k) {
      if (k + 1 < tile.bk) {
        f[(k + 1) % 2].load(a + (k + 1) * tile.pitch_a(), b + (k + 1) * tile.pitch_b());
      } else {
        stage = ring.behind(stage);
        enter();
      }
      complex_stream::add_products<differ>(acc, f[k % 2].a, f[k % 2].b);
    }
  }
}

template <ComplexLeanConfig tile, bool a_along_k, bool b_along_k>
__device__ __forceinline__ void compute(Sums<tile>& acc, float* shared, const Cgemm& p,
                                        std::int64_t entry, const Outputs<tile>& out) {
  const auto by = [&]<bool differ>() {
    if constexpr (tile.whole_stages)
      multiply_whole<tile, a_along_k, b_along_k, differ>(acc, shared, p, entry, out);
    else
      multiply<tile, a_along_k, b_along_k, differ>(acc, shared, p, entry, out);
  };
  if (p.conj_a == p.conj_b)
    by.template operator()<false>();
  else
    by.template operator()<true>();
}

// A warp puts pairs of its rows into shared memory, and its lanes store neighbours of a row.
template <ComplexLeanConfig tile>
__device__ __forceinline__ void store(const Sums<tile>& acc, float* shared, const Cgemm& p,
                                      std::int64_t entry, const Outputs<tile>& out) {
  constexpr int across = tile.warp_n(), down = 32 / across;
  constexpr int pitch = 2 * across + 4, rows = 2 * tile.lanes_m;
  static_assert(across == 16 || across == 32);
  static_assert(tile.threads() / 32 * rows * pitch <= tile.stages * tile.stage());
  const Place<tile> place;
  const Finish finish(p);
  const bool is_plain = finish.is_plain(p);
  const float re = finish.alpha.re, im = p.conj_b ? -re : re;
  float* const staged = shared + place.warp * (rows * pitch);
  const int lane_n = place.lane % across, lane_m = place.lane / across;
  const int col = place.col0 + lane_n;
  Complex* to = c_of(p, entry) + (out.row + place.row0 + lane_m) * p.ldc + out.col + col;
#pragma unroll
  for (int group = 0; group < tile.tm; group += 2) {
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
    // A pair as it lies there: real parts, then imaginary ones, of the second neighbour first.
    const float* from = staged + lane_m * pitch + lane_n / 2 * 4 + (1 - lane_n % 2);
    if (col < out.cols) {
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

template <int row, bool a_along_k, bool b_along_k>
__global__ void __launch_bounds__(complex_leans[row].config.threads(),
                                  complex_leans[row].config.blocks_per_sm)
    complex_lean(__grid_constant__ const Cgemm p) {
  constexpr ComplexLeanConfig tile = complex_leans[row].config;
  auto* const shared = gpu::dynamic_shared<float>();
  const auto tiles_n = static_cast<unsigned>(ceil_div(p.n, tile.bn()));
  const unsigned tiles = tiles_n * static_cast<unsigned>(ceil_div(p.m, tile.bm()));
  const unsigned entry = p.batch == 1 ? 0 : blockIdx.x / tiles;
  const unsigned at = blockIdx.x - entry * tiles;
  const Outputs<tile> out(p, at / tiles_n, at % tiles_n);
  // An earlier kernel may write what this reads; all else waits only before the first copy.
  if (p.alpha_at != nullptr || p.a_array != nullptr) wait_for_previous_kernel();
  Sums<tile> acc = {};
  if (Finish(p).has_sum) compute<tile, a_along_k, b_along_k>(acc, shared, p, entry, out);
  wait_for_previous_kernel();  // where there is no sum
  async_wait<0>();
  __syncthreads();  // nobody reads operands any more
  store<tile>(acc, shared, p, entry, out);
}

// --- the rows of the registry

template <int row>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  if (!complex_lean_supports(complex_leans[row].config, p, device)) return std::nullopt;
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = predict_complex_lean_us(complex_leans[row], p, device);
  return plan;
}

template <int row, bool a_along_k, bool b_along_k>
Status start(const Cgemm& p, const Device& device, Stream stream) {
  constexpr ComplexLeanConfig tile = complex_leans[row].config;
  return launch_entries(p, complex_lean_tiles(tile, p), [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(
        complex_lean<row, a_along_k, b_along_k>,
        {.grid = dim3(blocks),
         .block = dim3(tile.threads()),
         .shared_bytes = shared_bytes_that_spread(blocks, tile.shared_bytes(), device),
         .stream = stream,
         .overlap = true},
        part);
  });
}

template <int row>
Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>&, Workspace,
                   Stream stream) {
  if (p.op_a == Op::none)
    return p.op_b == Op::none ? start<row, true, false>(p, device, stream)
                              : start<row, true, true>(p, device, stream);
  return p.op_b == Op::none ? start<row, false, false>(p, device, stream)
                            : start<row, false, true>(p, device, stream);
}

template <int... row>
KernelList<Cgemm> rows(std::integer_sequence<int, row...>) {
  return {{.name = complex_leans[row].name,
           .parent = nullptr,
           .idea = "complex tile with little code, one tile a block",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan<row>,
           .launch_plan = launch_plan<row>}...};
}

}  // namespace
}  // namespace complex_lean

KernelList<Cgemm> cgemm_lean_rows() {
  return complex_lean::rows(
      std::make_integer_sequence<int, static_cast<int>(std::size(complex_leans))>());
}

}  // namespace KW_TARGET
