// amd_03 to 03_2, 04, 05, 07 to 07_2, 08_1 to 08_4, 09, 09_1: one buffer, A as [m][k + pad].
//
// Idea        A block copies a tile of A as its rows lie, multiplies, and waits twice a tile. What
//             the steps change is how the operands come out of shared memory.
//   03        4x4 outputs a thread; each FMA names its elements, four k in a row for each output;
//             a thread copies four neighbouring floats one by one
//   03_1      those of one k in registers first
//   03_2      128x128x8, 8x8 outputs; a row of B in registers, one element of A at a time; 16-byte
//             copies, rows padded by 4
//   04        03 with 16-byte copies and padded rows; the tile's sizes are arguments from here on
//   05        four k-steps in registers first: A read along k, 16 bytes at a time
//   07        two k-steps, A read 8 bytes at a time; sizes known when compiling
//   07_1      07 with sizes as arguments again; 07_2 and its reads of A through a function
//   08_1      8x8 lanes a wavefront, A read float by float
//   08_2      4x16 lanes, one element of A at a time
//   08_3      8x8 lanes, B as [n][k + pad] like A, both read float by float
//   08_4      4x16 lanes whose rows go in pairs: lanes 2i and 2i + 1 one above the other
//   09        8x8 lanes in pairs, a thread's outputs as four 2x2 pieces 32 apart
//   09_1      128x128x8 without padding, each FMA names its elements: r05 as it was moved over
// Prediction  H200, 4096. A k-step of a warp takes 2 passes for A and 4 for B however A lies, as
//             transposed rows did: 4.4 to 5 ms for 04, 05 and 07, 5.5 to 7 for 03 and 03_1, whose
//             stores meet four to a bank. Sizes as arguments cost address arithmetic: 07_1 and 07_2
//             5 to 15 % over 07. 08_1: rows 80 floats apart, two of a warp's four to a bank, 12
//             passes: 6 to 7 ms; 08_2 and 08_4 have two rows in a warp: level with 07_1. 08_3: 7 to
//             9 ms. 09: 5 to 6. 03_2 and 09_1: 24 passes as r05, 4.2 to 4.7 ms.
//             AMD: 09_1 and 03_2 hold 64 sums in the 64 registers that a thread gets without
//             __launch_bounds__: they spill.
// Limits      Copy and compute take turns; reads of shared memory.
// Original S2: 25.23, 25.58, 17.76, 14.39, 13.55, 12.96, 14.21, 14.15, 14.25, 13.47, 22.22, 13.08,
//             14.30 and 16.30 ms on an MI100 at 4096. Its repository's kernel numbered 8_4 has
//             plain 4x16 lanes, the pairs are in 8_5. No kernel of it guards its edges.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

// Of the tile, as far as addresses depend on them.
struct RuntimeSizes {
  int bn, bk;
};
template <Tile t>
struct FixedSizes {
  static constexpr int bn = t.bn, bk = t.bk;
};
template <class Form>
using SizesOf = std::conditional_t<Form::runtime_sizes, RuntimeSizes, FixedSizes<Form::tile>>;

// Where the elements of the tiles lie in shared memory.
template <class Form>
struct Layout {
  int pitch_a, pitch_b;

  __device__ __forceinline__ explicit Layout(SizesOf<Form> s)
      : pitch_a(s.bk + Form::pad_a), pitch_b((Form::b_along_k ? s.bk : s.bn) + Form::pad_b) {}
  __device__ __forceinline__ int a(int row, int kk) const { return row * pitch_a + kk; }
  __device__ __forceinline__ int b(int kk, int col) const {
    return Form::b_along_k ? col * pitch_b + kk : kk * pitch_b + col;
  }
};

// A thread's neighbouring elements of both tiles, one by one.
template <class Form, bool Edges>
__device__ __forceinline__ void copy_runs(const PlainSgemm& p, TileOrigin tile, std::int64_t k0,
                                          float* as, float* bs, Layout<Form> at) {
  constexpr Tile t = Form::tile;
  constexpr int a_run = t.bm * t.bk / threads, b_run = t.bk * t.bn / threads;
  const int tid = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < a_run; ++i) {
    const int row = (tid * a_run + i) / t.bk, kk = (tid * a_run + i) % t.bk;
    as[at.a(row, kk)] = load1<Edges>(p.a, p.lda, p.m, p.k, tile.row + row, k0 + kk);
  }
#pragma unroll
  for (int i = 0; i < b_run; ++i) {
    const int kk = (tid * b_run + i) / t.bn, col = (tid * b_run + i) % t.bn;
    bs[at.b(kk, col)] = load1<Edges>(p.b, p.ldb, p.k, p.n, k0 + kk, tile.col + col);
  }
}

// Four neighbouring elements of each tile, in one access where they lie side by side.
template <class Form, bool Edges>
__device__ __forceinline__ void copy_vectors(const PlainSgemm& p, TileOrigin tile, std::int64_t k0,
                                             float* as, float* bs, SizesOf<Form> s,
                                             Layout<Form> at) {
  const int first = static_cast<int>(threadIdx.x) * 4;
  const int row = first / s.bk, a_k = first % s.bk, b_k = first / s.bn, col = first % s.bn;
  *reinterpret_cast<float4*>(&as[at.a(row, a_k)]) =
      load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + row, k0 + a_k);
  const float4 b = load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_k, tile.col + col);
  if constexpr (Form::b_along_k) {
    const float b_of[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) bs[at.b(b_k, col + i)] = b_of[i];
  } else {
    *reinterpret_cast<float4*>(&bs[at.b(b_k, col)]) = b;
  }
}

// 07_2: rows of `count` floats each, through one function as S2's set_value_matrix.
template <int rows, int count>
__device__ __forceinline__ void copy_rows(float (*to)[count], const float* from, int pitch) {
  for (int i = 0; i < rows; ++i) read_vector<count>(to[i], from + i * pitch);
}

// k_steps of this thread's operands in registers, then their FMAs.
template <class Form, class Own>
__device__ __forceinline__ void from_registers(float (&acc)[Form::tile.tm][Form::tile.tn],
                                               const float* as, const float* bs, int kk,
                                               const Own& own, Layout<Form> at) {
  constexpr Tile t = Form::tile;
  constexpr int steps = Form::k_steps, b_width = Form::b_vector ? Form::lanes.piece : 1;
  float a[t.tm][steps], b[steps][t.tn];
  if constexpr (Form::accessor) {
    copy_rows<t.tm, steps>(a, &as[at.a(own.row, kk)], at.pitch_a);
  } else {
#pragma unroll
    for (int i = 0; i < t.tm; ++i)
#pragma unroll
      for (int step = 0; step < steps; step += Form::a_vector)
        read_vector<Form::a_vector>(&a[i][step], &as[at.a(own.row + own.row_of(i), kk + step)]);
  }
#pragma unroll
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int j = 0; j < t.tn; j += b_width)
      read_vector<b_width>(&b[step][j], &bs[at.b(kk + step, own.col + own.col_of(j))]);
#pragma unroll
  for (int i = 0; i < t.tm; ++i)
#pragma unroll
    for (int j = 0; j < t.tn; ++j)
#pragma unroll
      for (int step = 0; step < steps; ++step) acc[i][j] = fmaf(a[i][step], b[step][j], acc[i][j]);
}

// Each FMA names its element of A, and of B too unless a row of B comes first.
template <class Form, class Own>
__device__ __forceinline__ void from_shared(float (&acc)[Form::tile.tm][Form::tile.tn],
                                            const float* as, const float* bs, int kk,
                                            const Own& own, Layout<Form> at) {
  constexpr Tile t = Form::tile;
  constexpr int b_width = Form::b_vector ? Form::lanes.piece : 1;
  if constexpr (Form::operands == Operands::one_of_a) {
#pragma unroll
    for (int step = 0; step < Form::k_steps; ++step) {
      float b[t.tn];
#pragma unroll
      for (int j = 0; j < t.tn; j += b_width)
        read_vector<b_width>(&b[j], &bs[at.b(kk + step, own.col + own.col_of(j))]);
#pragma unroll
      for (int i = 0; i < t.tm; ++i) {
        const float a = as[at.a(own.row + own.row_of(i), kk + step)];
#pragma unroll
        for (int j = 0; j < t.tn; ++j) acc[i][j] = fmaf(a, b[j], acc[i][j]);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < t.tm; ++i)
#pragma unroll
      for (int j = 0; j < t.tn; ++j)
#pragma unroll
        for (int step = 0; step < Form::k_steps; ++step)
          acc[i][j] = fmaf(as[at.a(own.row + own.row_of(i), kk + step)],
                           bs[at.b(kk + step, own.col + own.col_of(j))], acc[i][j]);
  }
}

template <class Form, bool Edges>
__global__ void __launch_bounds__((block_bound<Form>), (blocks_wanted<Form, Edges>))
    row_tiles(PlainSgemm p, SizesOf<Form> s) {
  constexpr Tile t = Form::tile;
  constexpr int b_rows = Form::b_along_k ? t.bn : t.bk, b_cols = Form::b_along_k ? t.bk : t.bn;
  __shared__ __align__(16) float as[t.bm * (t.bk + Form::pad_a)];
  __shared__ __align__(16) float bs[b_rows * (b_cols + Form::pad_b)];
  const Place<t, Form::lanes> own(static_cast<int>(threadIdx.x));
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  const Layout<Form> at(s);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += s.bk) {
    if constexpr (Form::copy == Copy::run)
      copy_runs<Form, Edges>(p, tile, k0, as, bs, at);
    else
      copy_vectors<Form, Edges>(p, tile, k0, as, bs, s, at);
    __syncthreads();
    for (int kk = 0; kk < s.bk; kk += Form::k_steps) {
      if constexpr (Form::operands == Operands::registers)
        from_registers<Form>(acc, as, bs, kk, own, at);
      else
        from_shared<Form>(acc, as, bs, kk, own, at);
    }
    __syncthreads();
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <class Form>
Status one_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = Form::tile;
  PlainSgemm p = problem;
  p.k = p.loop_k();
  SizesOf<Form> sizes;
  if constexpr (Form::runtime_sizes) sizes = {t.bn, t.bk};
  return gpu::launch(
      whole_tiles<t.bm, t.bn, t.bk>(p) ? row_tiles<Form, false> : row_tiles<Form, true>,
      {tile_grid<t.bm, t.bn>(p), dim3(threads), 0, stream}, p, sizes);
}
template KernelLaunch<Sgemm> one_buffer<ThreadTile>;
template KernelLaunch<Sgemm> one_buffer<Fragments1>;
template KernelLaunch<Sgemm> one_buffer<OneOfA128>;
template KernelLaunch<Sgemm> one_buffer<Padded>;
template KernelLaunch<Sgemm> one_buffer<RegistersFirst>;
template KernelLaunch<Sgemm> one_buffer<TwoKSteps>;
template KernelLaunch<Sgemm> one_buffer<TwoKStepsRuntime>;
template KernelLaunch<Sgemm> one_buffer<TwoKStepsAccessor>;
template KernelLaunch<Sgemm> one_buffer<Wave8x8>;
template KernelLaunch<Sgemm> one_buffer<Wave4x16>;
template KernelLaunch<Sgemm> one_buffer<WaveUnoptimised>;
template KernelLaunch<Sgemm> one_buffer<WavePairs>;
template KernelLaunch<Sgemm> one_buffer<WaveQuarters>;
template KernelLaunch<Sgemm> one_buffer<CudaFloat4>;

}  // namespace KW_TARGET::amd
