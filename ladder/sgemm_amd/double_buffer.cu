// amd_03_5, 03_6, 06, 07_3 to 07_8: two buffers in shared memory, the next tile on its way.
//
// Idea        The next tile's loads from global memory are issued before the FMAs of this one, its
//             stores to the other buffer come after them, one barrier a tile.
//   06        in plain C++: the compiler places loads and waits. Also with 128x128x8, plain and
//             with the loads of 03_5
//   03_5      GCN assembly: the loads are issued where they stand, s_waitcnt vmcnt(1) lets B's
//             load fly on while A is stored
//   03_6      and fragments of the next k-step are read in assembly ahead of the FMAs, lgkmcnt(2)
//             waiting for the older pair only
//   07_3      plain; the stores stand between the FMAs of the unrolled k-loop, one a k-step
//   07_4      07_3 with the loads of 03_5; 07_8 is 07_4 with no padding in B's rows
//   07_5      07_3 with fragments ahead in plain C++; 07_6 with both assemblies
//   07_7      07_3 with a wavefront over 32x32 outputs instead of 16x64
// Prediction  H200, where all of this is plain C++: 06 hides the wait for global memory, 15 to 25 %
//             over 05 as r10 over r07: 3.6 to 4.1 ms at 4096. 03_5 and 07_3 to 07_8 lie within 5 %
//             of it and 07_4 within 1 % of 07_3: ptxas orders the loop anyway, and shared memory is
//             the bound (transposed.cu). 128x128x8: 2.9 to 3.2 ms, r10's.
// Limits      Reads of shared memory, as in padded.cu.
// Original    S2: 17.80 (03_5), 22.89 (03_6, unfinished), 164.5 (06, serialised by its compiler),
//             11.99, 11.20 (07_4, its best), 12.03, 13.15 (07_6, unfinished), 15.51, 11.22 ms on
//             an MI100 at 4096. 03_6 and 07_6 are finished here.
#include "device/repeat.hpp"
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

// The FMAs of a tile: as and bs are its rows at this thread's place. before(kk) is done before the
// FMAs of step kk.
template <Fragments fragments, Tile t, Lanes l, int pitch_a, int pitch_b>
struct Multiply {
  template <class Before>
  static __device__ __forceinline__ void run(const float* as, const float* bs,
                                             float (&acc)[t.tm][t.tn], const Before& before) {
    Operand<t, l> operand[2];
    if constexpr (fragments == Fragments::ahead) operand[0].read(as, bs);
    repeat<t.bk>([&](auto step) {
      constexpr int kk = decltype(step)::value;
      constexpr int next = fragments == Fragments::ahead ? kk + 1 : kk;
      if constexpr (next < t.bk) operand[next % 2].read(as + next * pitch_a, bs + next * pitch_b);
      before(step);
      outer_product(acc, operand[kk % 2].a, operand[kk % 2].b);
    });
  }
};

template <Tile t, Lanes l, int pitch_a, int pitch_b>
struct Multiply<Fragments::gcn_ahead, t, l, pitch_a, pitch_b> {
  using Queue = gcn::LoadQueue<gcn::Memory::shared>;
  static_assert(t.tm == 4 && t.tn == 4 && l.piece == 4);  // one load each

  template <class Before>
  static __device__ __forceinline__ void run(const float* as, const float* bs,
                                             float (&acc)[t.tm][t.tn], const Before& before) {
    Queue queue;
    Queue::Load a_next[2], b_next[2];
    a_next[0] = queue.start(as);
    b_next[0] = queue.start(bs);
    repeat<t.bk>([&](auto step) {
      constexpr int kk = decltype(step)::value, next = kk + 1;
      if constexpr (next < t.bk) {
        a_next[next % 2] = queue.template start<next * pitch_a * 4>(as);
        b_next[next % 2] = queue.template start<next * pitch_b * 4>(bs);
      }
      before(step);
      constexpr int younger = next < t.bk ? 2 : 0;
      const float4 a = queue.template wait<younger + 1>(a_next[kk % 2]);
      const float4 b = queue.template wait<younger>(b_next[kk % 2]);
      const float a_frag[4] = {a.x, a.y, a.z, a.w}, b_frag[4] = {b.x, b.y, b.z, b.w};
      outer_product(acc, a_frag, b_frag);
    });
  }
};

template <class Form, bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) two_buffers(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int pitch_a = t.bm + Form::pad_a, pitch_b = t.bn + Form::pad_b;
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
    Multiply<Form::fragments, t, Form::lanes, pitch_a, pitch_b>::run(
        as[buffer] + own.row, bs[buffer] + own.col, acc, before);
  };
  const auto store_between = [&](auto step) {
    constexpr int part = decltype(step)::value - first_store;
    if constexpr (Form::interleaved && part >= 0 && part < 4)
      copy.template store_a<part>(as[buffer ^ 1], pitch_a);
    if constexpr (Form::interleaved && part == 4) copy.store_b(bs[buffer ^ 1], pitch_b);
  };

  if (p.k > 0) {
    copy.load(p, tile, 0);
    copy.store(as[0], pitch_a, bs[0], pitch_b);
    __syncthreads();
    for (std::int64_t k0 = t.bk; k0 < p.k; k0 += t.bk) {
      copy.load(p, tile, k0);  // in flight during the FMAs
      multiply(store_between);
      if constexpr (!Form::interleaved)
        copy.store(as[buffer ^ 1], pitch_a, bs[buffer ^ 1], pitch_b);
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
template KernelLaunch<Sgemm> double_buffer<Plain>;
template KernelLaunch<Sgemm> double_buffer<Plain128>;
template KernelLaunch<Sgemm> double_buffer<Gcn128>;
template KernelLaunch<Sgemm> double_buffer<GcnUnpadded>;
template KernelLaunch<Sgemm> double_buffer<GcnUnpaddedAhead>;
template KernelLaunch<Sgemm> double_buffer<Interleaved>;
template KernelLaunch<Sgemm> double_buffer<GcnInterleaved>;
template KernelLaunch<Sgemm> double_buffer<Ahead>;
template KernelLaunch<Sgemm> double_buffer<GcnAhead>;
template KernelLaunch<Sgemm> double_buffer<Interleaved8x8>;
template KernelLaunch<Sgemm> double_buffer<GcnInterleavedAPadded>;

}  // namespace KW_TARGET::amd
