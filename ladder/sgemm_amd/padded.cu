// amd_04, 05, 07, 07_1, 07_2: padded rows in shared memory, fragments in 16-byte reads.
//
// Idea        Rows of both tiles are 4 floats longer than the tile: lanes that store the same row
//             of A for another k meet in a bank in twos, no longer in fours. Fragments are read 16
//             bytes at a time.
//   04        read where the FMAs need them
//   05        one k-step's into registers first, then its FMAs; also with 128x128x8
//   07        two k-steps' into registers first
//   07_1      07 with shared memory as arrays of two dimensions; 07 computes its index itself
//   07_2      07 through an accessor
// Prediction  To an optimising compiler 04, 05, 07_1 and 07_2 are respellings: the same
//             instructions as 03_3, in another order at most. H200: 2 % over 03_3 for the bank
//             passes of A's stores, so 4.4 to 5.4 ms at 4096, then nothing. With 128x128x8 16
//             values serve 64 FMAs, not 8 for 16: shared memory is no longer the bound, and 05 is
//             r07: 3.5 to 3.9 ms.
//             MI100: its LDS delivers 128 bytes a cycle to a compute unit. A wavefront's two reads
//             take 16 cycles of it, its 16 FMAs 64 cycles of one of four SIMDs: the LDS is busy
//             whenever the SIMDs are, and half of that with 128x128x8.
// Limits      Copy and compute take turns.
// Original    S2: 14.39, 13.55, 12.96, 14.21, 14.15 ms on an MI100 at 4096.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

// A tile in shared memory through an accessor: element (kk, i).
template <int pitch>
struct Panel {
  const float* data;
  __device__ __forceinline__ const float* at(int kk, int i) const { return data + kk * pitch + i; }
};

// Three ways to say the same address.
template <Access access, int pitch>
__device__ __forceinline__ const float* element(const float* panel, int kk, int i) {
  if constexpr (access == Access::array)
    return &reinterpret_cast<const float(*)[pitch]>(panel)[kk][i];
  else if constexpr (access == Access::accessor)
    return Panel<pitch>{panel}.at(kk, i);
  else
    return &panel[kk * pitch + i];
}

template <class Form, bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) padded_tile(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int pitch_a = t.bm + 4, pitch_b = t.bn + 4;
  __shared__ __align__(16) float as[t.bk * pitch_a];
  __shared__ __align__(16) float bs[t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, whole_block> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    copy.load(p, tile, k0);
    copy.store(as, pitch_a, bs, pitch_b);
    __syncthreads();
    const auto a_of = [&](int kk) { return element<Form::access, pitch_a>(as, kk, own.row); };
    const auto b_of = [&](int kk) { return element<Form::access, pitch_b>(bs, kk, own.col); };
    if constexpr (Form::k_steps == 0) {
#pragma unroll
      for (int kk = 0; kk < t.bk; ++kk)
#pragma unroll
        for (int i = 0; i < t.tm; i += 4)
#pragma unroll
          for (int j = 0; j < t.tn; j += 4) {
            float a[4], b[4];
            read_vector<4>(a, a_of(kk) + own.row_of(i));
            read_vector<4>(b, b_of(kk) + own.col_of(j));
#pragma unroll
            for (int e = 0; e < 16; ++e)
              acc[i + e / 4][j + e % 4] = fmaf(a[e / 4], b[e % 4], acc[i + e / 4][j + e % 4]);
          }
    } else {
#pragma unroll
      for (int kk = 0; kk < t.bk; kk += Form::k_steps) {
        Operand<t, whole_block> operand[Form::k_steps];
#pragma unroll
        for (int step = 0; step < Form::k_steps; ++step)
          operand[step].read(a_of(kk + step), b_of(kk + step));
#pragma unroll
        for (int step = 0; step < Form::k_steps; ++step)
          outer_product(acc, operand[step].a, operand[step].b);
      }
    }
    __syncthreads();
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <class Form>
Status padded(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = Form::tile;
  return launch_tiles<t.bm, t.bn, t.bk>(padded_tile<Form, false>, padded_tile<Form, true>, threads,
                                        problem, stream);
}
template KernelLaunch<Sgemm> padded<ReadWhereUsed>;
template KernelLaunch<Sgemm> padded<RegistersFirst>;
template KernelLaunch<Sgemm> padded<RegistersFirst128>;
template KernelLaunch<Sgemm> padded<TwoKSteps>;
template KernelLaunch<Sgemm> padded<TwoKStepsArray>;
template KernelLaunch<Sgemm> padded<TwoKStepsAccessor>;

}  // namespace KW_TARGET::amd
