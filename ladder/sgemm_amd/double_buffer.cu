// amd_03_5, and our variants of 06 and 07_3: two buffers, A transposed, the next tile on its way.
//
// Idea        The next tile's loads from global memory are issued before the FMAs of this one, its
//             stores to the other buffer come after them, one barrier a tile. Rows are 4 floats
//             longer than the tile.
//   03_5      128x128x8; the loads in GCN assembly, which are issued where they stand; s_waitcnt
//             vmcnt(1) lets B's load fly on while A is stored
//   06 ours   64x64x16 and 128x128x8 in plain C++, where the compiler places loads and waits; and
//             128x128x8 with the loads of 03_5
//   07_3 ours 64x64x16, plain; the stores stand between the FMAs of the unrolled k-loop, one a
//             k-step, and pin the loads above them
// Prediction  H200, where all of this is plain C++: 06 hides the wait for global memory, 15 to 25 %
//             over one buffer as r10 over r07: 3.6 to 4.1 ms at 4096, 07_3 within 5 % of it.
//             128x128x8: 2.9 to 3.2 ms, r10's; 03_5, whose eight columns lie side by side, 3.2 to
//             3.7: conflicts of B's reads.
// Limits      Reads of shared memory.
// Original    S2: 17.80 ms (03_5) on an MI100 at 4096. What it calls 06 is serial_buffers.cu.
#include "device/repeat.hpp"
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

template <class Form, bool Edges>
__global__ void __launch_bounds__((block_bound<Form>), (blocks_wanted<Form, Edges>))
    two_buffers(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int pitch_a = t.bm + 4, pitch_b = t.bn + 4;
  constexpr int first_store = t.bk - 6;  // the k-step of the first of five stores
  __shared__ __align__(16) float as[2][t.bk * pitch_a];
  __shared__ __align__(16) float bs[2][t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, Form::lanes> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges, Form::gcn_loads && !Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  int buffer = 0;
  const auto multiply = [&](const auto& before) {
    const float *a = as[buffer] + own.row, *b = bs[buffer] + own.col;
    repeat<t.bk>([&](auto step) {
      constexpr int kk = decltype(step)::value;
      Operand<t, Form::lanes> operand;
      operand.read(a + kk * pitch_a, b + kk * pitch_b);
      before(step);
      outer_product(acc, operand.a, operand.b);
    });
  };
  const auto store_between = [&](auto step) {
    constexpr int part = decltype(step)::value - first_store;
    if constexpr (Form::interleaved && part >= 0 && part < 4)
      copy.template store_a_transposed<part>(as[buffer ^ 1], pitch_a);
    if constexpr (Form::interleaved && part == 4) copy.store_b(bs[buffer ^ 1], pitch_b);
  };

  if (p.k > 0) {
    copy.load(p, tile, 0);
    copy.store_transposed(as[0], pitch_a, bs[0], pitch_b);
    __syncthreads();
    for (std::int64_t k0 = t.bk; k0 < p.k; k0 += t.bk) {
      copy.load(p, tile, k0);  // in flight during the FMAs
      multiply(store_between);
      if constexpr (!Form::interleaved)
        copy.store_transposed(as[buffer ^ 1], pitch_a, bs[buffer ^ 1], pitch_b);
      __syncthreads();
      buffer ^= 1;
    }
    multiply([](auto) {});
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <class Form>
Status double_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = Form::tile;
  return launch_tiles<t.bm, t.bn, t.bk>(two_buffers<Form, false>, two_buffers<Form, true>, threads,
                                        problem, stream);
}
template KernelLaunch<Sgemm> double_buffer<Published128>;
template KernelLaunch<Sgemm> double_buffer<Two64>;
template KernelLaunch<Sgemm> double_buffer<Two64Interleaved>;
template KernelLaunch<Sgemm> double_buffer<Two128>;
template KernelLaunch<Sgemm> double_buffer<Two128Gcn>;

}  // namespace KW_TARGET::amd
