// scale_add_stream: B = scale * A + shift at the speed of memory.
//
// Idea        An element takes one load, one FMA and one store, so the speed follows from the bytes
//             in flight: each thread issues its loads (four of 16 bytes, eight of 4) before it uses
//             the first result. At 2048 threads per SM that is 128 KiB (64 KiB) in flight, where
//             latency times bandwidth of an H200 needs about 30 KiB per SM.
// Shapes      Matrices without gaps between rows are one long row. Where both matrices allow it
//             accesses are 16 bytes wide, else 4.
// Limits      Rows much shorter than 32 accesses leave lanes idle.
#include <algorithm>

#include "gpu/gpu.hpp"
#include "scale_add/problem.hpp"

namespace KW_TARGET {
// The kernels write out their ceiling divisions: nvcc 13.0 orders the instructions of ceil_div's
// otherwise.
namespace {

constexpr int threads = 256;
constexpr int tile_cols = 32;                   // vectors: one warp, one row
constexpr int tile_rows = threads / tile_cols;  // warps a block
constexpr std::int64_t max_blocks_x = 1 << 20, max_blocks_y = 65535;

template <class Vector>
constexpr int in_flight = sizeof(Vector) == 16 ? 4 : 8;

__device__ __forceinline__ float scale_add(const ScaleAdd& p, float a) {
  return fmaf(p.scale, a, p.shift);
}
__device__ __forceinline__ float4 scale_add(const ScaleAdd& p, float4 a) {
  return make_float4(scale_add(p, a.x), scale_add(p, a.y), scale_add(p, a.z), scale_add(p, a.w));
}
__device__ __forceinline__ void spread(float value, float& to) { to = value; }
__device__ __forceinline__ void spread(float value, float4& to) {
  to = make_float4(value, value, value, value);
}

// The first `count` elements from `a` on, at most as many as may be in flight, a_step and b_step
// apart: all loads, then all stores. Where scale is 0 (Reads false) A is not touched.
template <bool Reads, class Vector>
__device__ __forceinline__ void stream(const ScaleAdd& p, const Vector* a, Vector* b,
                                       std::int64_t a_step, std::int64_t b_step,
                                       std::int64_t count) {
  constexpr int most = in_flight<Vector>;
  Vector values[most];
#pragma unroll
  for (int i = 0; i < most; ++i) {
    if constexpr (!Reads) spread(p.shift, values[i]);
    if (Reads && i < count) values[i] = a[i * a_step];
  }
#pragma unroll
  for (int i = 0; i < most; ++i) {
    if (i < count) b[i * b_step] = Reads ? scale_add(p, values[i]) : values[i];
  }
}

// One long row of p.cols elements; block 0 also does what is left after whole vectors.
template <bool Reads, class Vector>
__global__ void __launch_bounds__(threads) one_row(ScaleAdd p) {
  constexpr int width = sizeof(Vector) / sizeof(float);
  const std::int64_t vectors = p.cols / width;
  const Vector* a = reinterpret_cast<const Vector*>(p.a);
  Vector* b = reinterpret_cast<Vector*>(p.b);
  constexpr std::int64_t chunk = threads * in_flight<Vector>;
  for (std::int64_t begin = blockIdx.x * chunk; begin < vectors; begin += gridDim.x * chunk) {
    const std::int64_t first = begin + threadIdx.x;
    stream<Reads>(p, a + first, b + first, threads, threads,
                  (vectors - first + threads - 1) / threads);
  }
  const std::int64_t rest = vectors * width + threadIdx.x;
  if (blockIdx.x == 0 && rest < p.cols) {
    p.b[rest] = Reads ? scale_add(p, p.a[rest]) : p.shift;
  }
}

// Rows with gaps: a warp covers 32 vectors of a row, a thread one column of several rows. The first
// blocks across also do what is left of each row after whole vectors.
template <bool Reads, class Vector>
__global__ void __launch_bounds__(threads) many_rows(ScaleAdd p) {
  constexpr int width = sizeof(Vector) / sizeof(float);
  constexpr std::int64_t rows_a_block = tile_rows * in_flight<Vector>;
  const std::int64_t vectors = p.cols / width;
  const std::int64_t lane = threadIdx.x % tile_cols, warp = threadIdx.x / tile_cols;
  const std::int64_t a_step = tile_rows * p.lda, b_step = tile_rows * p.ldb;
  for (std::int64_t row = blockIdx.y * rows_a_block + warp; row < p.rows;
       row += gridDim.y * rows_a_block) {
    const float* a = p.a + row * p.lda;
    float* b = p.b + row * p.ldb;
    const std::int64_t rows = (p.rows - row + tile_rows - 1) / tile_rows;
    for (std::int64_t column = blockIdx.x * std::int64_t{tile_cols} + lane; column < vectors;
         column += gridDim.x * std::int64_t{tile_cols}) {
      stream<Reads>(p, reinterpret_cast<const Vector*>(a) + column,
                    reinterpret_cast<Vector*>(b) + column, a_step / width, b_step / width, rows);
    }
    const std::int64_t rest = vectors * width + lane;
    if (blockIdx.x == 0 && rest < p.cols) {
#pragma unroll 1
      for (int r = 0; r < in_flight<Vector> && r < rows; ++r) {
        b[r * b_step + rest] = Reads ? scale_add(p, a[r * a_step + rest]) : p.shift;
      }
    }
  }
}

template <bool Reads, class Vector>
Status launch(const ScaleAdd& p, Stream stream) {
  constexpr int width = sizeof(Vector) / sizeof(float);
  if (p.rows == 1) {
    const std::int64_t vectors = std::max<std::int64_t>(p.cols / width, 1);
    const std::int64_t blocks = ceil_div(vectors, threads * in_flight<Vector>);
    const auto x = static_cast<unsigned>(std::min(blocks, max_blocks_x));
    return gpu::launch(one_row<Reads, Vector>, {dim3(x), dim3(threads), 0, stream}, p);
  }
  const std::int64_t across = ceil_div(std::max<std::int64_t>(p.cols / width, 1), tile_cols);
  const std::int64_t down = ceil_div(p.rows, tile_rows * in_flight<Vector>);
  const dim3 grid(static_cast<unsigned>(std::min(across, max_blocks_x)),
                  static_cast<unsigned>(std::min(down, max_blocks_y)));
  return gpu::launch(many_rows<Reads, Vector>, {grid, dim3(threads), 0, stream}, p);
}

bool fits_vectors(const ScaleAdd& p) {
  const auto aligned = [&](const float* data, std::int64_t ld) {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && (p.rows == 1 || ld % 4 == 0);
  };
  return aligned(p.b, p.ldb) && (p.scale == 0 || aligned(p.a, p.lda));
}

}  // namespace

Status scale_add_stream(const ScaleAdd& problem, const Device&, Workspace, Stream stream) {
  ScaleAdd p = problem;
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const bool reads = p.scale != 0;
  if (p.ldb == p.cols && (!reads || p.lda == p.cols)) {
    p.cols *= p.rows;
    p.rows = 1;
  }
  if (fits_vectors(p)) {
    return reads ? launch<true, float4>(p, stream) : launch<false, float4>(p, stream);
  }
  return reads ? launch<true, float>(p, stream) : launch<false, float>(p, stream);
}

}  // namespace KW_TARGET
