// The expansion pass of cgemm_real: B' of B, A' of A where A runs along m, and C times beta where
// beta is complex, in one launch. And, behind the product of a cherk, the diagonal that is real.
//
// Idea        Each is a walk over the rows of a stored matrix in which a lane has two neighbouring
//             elements, and writes what becomes of them where the warp's other lanes write theirs:
//             no element changes its place, so every access is coalesced. A conjugate of A negates
//             the rows of B' that its imaginary parts meet; B's own and alpha are multiplied in.
// Prediction  B is read once and written twice: 24 bytes an element at the speed of memory. At 8192
//             cubed that is 1.6 GB, 0.4 ms, where the product takes 19.
// Limits      Where m is small B' is most of the work; tile.cu reads B as it is.
#include <algorithm>

#include "cgemm/expand.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int rows_a_thread = 4;
constexpr int tile_rows = warps * rows_a_thread, tile_cols = 64;  // complex elements

// A stored matrix that is walked over, one per entry.
struct Walk {
  std::int64_t rows = 0, cols = 0, entries = 0;

  KW_HOST_DEVICE constexpr std::int64_t across() const { return ceil_div(cols, tile_cols); }
  KW_HOST_DEVICE constexpr std::int64_t tiles_an_entry() const {
    return across() * ceil_div(rows, tile_rows);
  }
  KW_HOST_DEVICE constexpr std::int64_t tiles() const { return tiles_an_entry() * entries; }
};

KW_HOST_DEVICE inline Walk walk_of_b(const ExpandParams& params) {
  const Cgemm& p = params.problem;
  const bool plain = p.op_b == Op::none;
  return {plain ? p.k : p.n, plain ? p.n : p.k, params.b.data != nullptr ? params.b.entries : 0};
}
KW_HOST_DEVICE inline Walk walk_of_a(const ExpandParams& params) {
  const Cgemm& p = params.problem;
  return {p.k, p.m, params.a.data != nullptr ? params.a.entries : 0};
}
KW_HOST_DEVICE inline Walk walk_of_c(const ExpandParams& params) {
  const Cgemm& p = params.problem;
  return {p.m, p.n, params.scales_c ? p.batch : 0};
}

// This thread's elements of a block's tile.
struct Place {
  std::int64_t entry, row, col;  // row + i * warps for i < rows_a_thread
  int rows, cols;                // how many of each are inside: up to rows_a_thread, up to 2
};

__device__ __forceinline__ Place place_in(const Walk& walk, std::int64_t tile) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  Place at;
  at.entry = walk.entries == 1 ? 0 : tile / walk.tiles_an_entry();
  tile -= at.entry * walk.tiles_an_entry();
  const std::int64_t down = tile / walk.across();
  at.row = down * tile_rows + warp;
  at.col = (tile - down * walk.across()) * tile_cols + lane * 2;
  const std::int64_t rows = ceil_div(walk.rows - at.row, warps), cols = walk.cols - at.col;
  at.rows = rows < 0 ? 0 : rows < rows_a_thread ? static_cast<int>(rows) : rows_a_thread;
  at.cols = cols < 0 ? 0 : cols < 2 ? static_cast<int>(cols) : 2;
  return at;
}

// The two elements from `from` on; zeros in place of those that are outside.
struct Pair {
  Complex x, y;
};
__device__ __forceinline__ Pair load(const Complex* from, int count, bool aligned) {
  Pair pair{{0, 0}, {0, 0}};
  if (aligned && count == 2) {
    const float4 both = *reinterpret_cast<const float4*>(from);
    return {{both.x, both.y}, {both.z, both.w}};
  }
  if (count > 0) pair.x = from[0];
  if (count > 1) pair.y = from[1];
  return pair;
}
__device__ __forceinline__ bool is_aligned(const void* data, std::int64_t ld) {
  return (reinterpret_cast<std::uintptr_t>(data) % 16 == 0) && ld % 2 == 0;
}

// All loads of a thread, then all that becomes of them: body(row, pair).
template <class Body>
__device__ __forceinline__ void each_row(const Complex* from, std::int64_t ld, const Place& at,
                                         Body body) {
  const bool aligned = is_aligned(from, ld);
  from += at.row * ld + at.col;
  Pair pairs[rows_a_thread];
#pragma unroll
  for (int i = 0; i < rows_a_thread; ++i)
    pairs[i] = load(from + i * warps * ld, i < at.rows ? at.cols : 0, aligned);
#pragma unroll
  for (int i = 0; i < rows_a_thread; ++i)
    if (i < at.rows && at.cols > 0) body(at.row + i * warps, pairs[i]);
}

__device__ __forceinline__ void store(float* to, const Complex& x, const Complex& y, int count) {
  if (count == 2)
    *reinterpret_cast<float4*>(to) = make_float4(x.re, x.im, y.re, y.im);
  else
    *reinterpret_cast<Complex*>(to) = x;
}

__device__ __forceinline__ void expand_b(const ExpandParams& params, const SplitScalar& alpha,
                                         const Place& at) {
  const Cgemm& p = params.problem;
  float* const to = params.b.data + at.entry * params.b.stride + 2 * at.col;
  const bool conj_a = p.conj_a, along_n = p.op_b == Op::none;
  each_row(b_of(p, at.entry), p.ldb, at, [&](std::int64_t row, const Pair& pair) {
    const auto of = [&](const Complex& z) { return times(alpha.unit, conjugate(z, p.conj_b)); };
    // What an element gives to C's real and imaginary parts where it meets A's imaginary part.
    const auto turned = [&](const Complex& z) {
      return conj_a ? Complex{z.im, -z.re} : Complex{-z.im, z.re};
    };
    const Complex x = of(pair.x), y = of(pair.y), ix = turned(x), iy = turned(y);
    float* const first = to + 2 * row * params.b.ld;
    if (along_n) {  // a row for A's real parts, one for its imaginary parts
      store(first, x, y, at.cols);
      store(first + params.b.ld, ix, iy, at.cols);
    } else {  // a row for C's real parts, one for its imaginary parts
      store(first, {x.re, ix.re}, {y.re, iy.re}, at.cols);
      store(first + params.b.ld, {x.im, ix.im}, {y.im, iy.im}, at.cols);
    }
  });
}

__device__ __forceinline__ void take_apart_a(const ExpandParams& params, const Place& at) {
  const Cgemm& p = params.problem;
  float* const to = params.a.data + at.entry * params.a.stride + at.col;
  each_row(a_of(p, at.entry), p.lda, at, [&](std::int64_t row, const Pair& pair) {
    float* const real = to + 2 * row * params.a.ld;
    float* const imaginary = real + params.a.ld;
    if (at.cols == 2) {
      *reinterpret_cast<float2*>(real) = make_float2(pair.x.re, pair.y.re);
      *reinterpret_cast<float2*>(imaginary) = make_float2(pair.x.im, pair.y.im);
    } else {
      *real = pair.x.re;
      *imaginary = pair.x.im;
    }
  });
}

__device__ __forceinline__ void scale_c(const Cgemm& p, const Complex& beta, const Place& at) {
  Complex* const c = c_of(p, at.entry);
  const bool aligned = is_aligned(c, p.ldc);
  each_row(c, p.ldc, at, [&](std::int64_t row, const Pair& pair) {
    Complex* const to = c + row * p.ldc + at.col;
    const Complex x = times(beta, pair.x), y = times(beta, pair.y);
    if (aligned && at.cols == 2) {
      store(reinterpret_cast<float*>(to), x, y, 2);
      return;
    }
    to[0] = x;
    if (at.cols > 1) to[1] = y;
  });
}

// Of a triangle, element by element: what lies beside it stays unread.
__device__ __forceinline__ void scale_triangle(const Cgemm& p, const Complex& beta,
                                               const Place& at) {
  Complex* const c = c_of(p, at.entry);
#pragma unroll 1
  for (int i = 0; i < at.rows; ++i) {
    const std::int64_t row = at.row + i * warps;
#pragma unroll 1
    for (std::int64_t col = at.col; col < at.col + at.cols; ++col) {
      Complex& element = c[row * p.ldc + col];
      if (is_wanted(p, row, col)) element = times(beta, element);
    }
  }
}

__device__ __forceinline__ void write_pointers(const ExpandedOperand& of, std::int64_t batch) {
  if (of.pointers == nullptr) return;
  for (std::int64_t i = threadIdx.x; i < batch; i += threads)
    of.pointers[i] = of.data + (of.entries == 1 ? 0 : i) * of.stride;
}

__global__ void __launch_bounds__(threads) expand(__grid_constant__ const ExpandParams params) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Cgemm& p = params.problem;
  const SplitScalar alpha = p.alpha_at != nullptr ? split_scalar(alpha_of(p)) : params.alpha;
  const Complex beta = beta_of(p);
  if (blockIdx.x == 0) {
    if (params.factors != nullptr && threadIdx.x == 0) {
      params.factors[0] = alpha.factor;
      params.factors[1] = beta_of_product(beta);
    }
    write_pointers(params.a, p.batch);
    write_pointers(params.b, p.batch);
  }
  std::int64_t tile = blockIdx.x;
  if (const Walk b = walk_of_b(params); tile < b.tiles())
    return expand_b(params, alpha, place_in(b, tile));
  else
    tile -= b.tiles();
  if (const Walk a = walk_of_a(params); tile < a.tiles())
    return take_apart_a(params, place_in(a, tile));
  else
    tile -= a.tiles();
  const Walk c = walk_of_c(params);
  if (tile >= c.tiles() || beta.im == 0) return;
  if (p.triangle == Triangle::none)
    scale_c(p, beta, place_in(c, tile));
  else
    scale_triangle(p, beta, place_in(c, tile));
}

__global__ void __launch_bounds__(threads) make_diagonal_real(__grid_constant__ const Cgemm p) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  for (std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x; i < p.m * p.batch;
       i += gridDim.x * std::int64_t{threads}) {
    const std::int64_t entry = i / p.m, row = i - entry * p.m;
    c_of(p, entry)[row * (p.ldc + 1)].im = 0;
  }
}

}  // namespace

bool fits_one_expansion(const Cgemm& p) {
  const auto tiles = [&](std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(Walk{rows, cols, 1}.tiles()) * static_cast<double>(p.batch);
  };
  const double b = p.op_b == Op::none ? tiles(p.k, p.n) : tiles(p.n, p.k);
  return b + tiles(p.k, p.m) + tiles(p.m, p.n) < 2e9;
}

Status launch_expand(const ExpandParams& params, Stream stream) {
  const std::int64_t tiles =
      walk_of_b(params).tiles() + walk_of_a(params).tiles() + walk_of_c(params).tiles();
  // One block at least, for the factors.
  const auto blocks = static_cast<unsigned>(std::max<std::int64_t>(tiles, 1));
  return gpu::launch(
      expand, {.grid = dim3(blocks), .block = dim3(threads), .stream = stream, .overlap = true},
      params);
}

Status launch_real_diagonal(const Cgemm& p, Stream stream) {
  constexpr std::int64_t most_blocks = 1024;
  const std::int64_t blocks = std::min(ceil_div(p.m * p.batch, threads), most_blocks);
  return gpu::launch(make_diagonal_real,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     p);
}

}  // namespace KW_TARGET
