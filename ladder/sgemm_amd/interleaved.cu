// amd_07_3, 07_4, 07_5, 07_6, 07_8: reads of shared memory between the FMAs, in the text.
//
// Idea        The k-loop is unrolled by hand. Two k-steps at a time, A 8 bytes along k: each read
//             stands where the register that it fills has had its last FMA, some rows ahead of its
//             first.
//   07_3      one buffer, two barriers a tile
//   07_4      two buffers, one barrier: the next tile's loads in assembly ahead of the FMAs, stored
//             after them; rows padded by 8
//   07_5      and two sets of registers: the next two k-steps are read during these
//   07_6      the same with reads in assembly and counted waits
//   07_8      07_4 with both paddings 4
// Prediction  H200, 4096, where the loads are ordinary ones: ptxas orders reads and FMAs anyway, so
//             07_3 lies within 3 % of 07 (one_buffer.cu). Two buffers gain the 8 to 12 % that they
//             gain in double_buffer.cu: 3.9 to 4.4 ms for 07_4, 07_5 and 07_6. The padding: 07_8
//             within 2 % of 07_4.
// Limits      Reads of shared memory: 6 passes a k-step of a warp for its 16 FMAs.
// Original    S2: 11.99, 11.20 (its best), 12.03, 13.15 and 11.22 ms on an MI100 at 4096. Its 07_6
//             reads A's second row three times; this one is finished.
#include "device/repeat.hpp"
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr int pairs = tile_64.bk / 2;  // of k-steps in a tile

// The operands of two k-steps: A 4 x 2, B 2 x 4.
struct PairOperand {
  float a[4][2], b[2][4];
};

// One row of the thread's outputs, one k-step.
__device__ __forceinline__ void row_of_fmas(float (&acc)[4][4], const PairOperand& x, int row,
                                            int step) {
#pragma unroll
  for (int j = 0; j < 4; ++j) acc[row][j] = fmaf(x.a[row][step], x.b[step][j], acc[row][j]);
}

// One tile's FMAs with reads between them. `as` and `bs` begin at this thread's place.
template <Reads reads, int pitch_a, int pitch_b>
struct Multiply {
  static __device__ __forceinline__ void read_a(PairOperand& x, const float* as, int pair, int i) {
    read_vector<2>(x.a[i], as + i * pitch_a + 2 * pair);
  }
  static __device__ __forceinline__ void read_b(PairOperand& x, const float* bs, int pair, int i) {
    read_vector<4>(x.b[i], bs + (2 * pair + i) * pitch_b);
  }

  static __device__ __forceinline__ void run(const float* as, const float* bs, float (&acc)[4][4]) {
    PairOperand x;
    read_a(x, as, 0, 0);
    read_b(x, bs, 0, 0);
    repeat<pairs>([&](auto at) {
      constexpr int pair = decltype(at)::value;
      row_of_fmas(acc, x, 0, 0);
      read_a(x, as, pair, 1);
      row_of_fmas(acc, x, 1, 0);
      read_a(x, as, pair, 2);
      row_of_fmas(acc, x, 2, 0);
      read_a(x, as, pair, 3);
      row_of_fmas(acc, x, 3, 0);
      read_b(x, bs, pair, 1);
      row_of_fmas(acc, x, 0, 1);
      row_of_fmas(acc, x, 1, 1);
      if constexpr (pair + 1 < pairs) read_a(x, as, pair + 1, 0);
      row_of_fmas(acc, x, 2, 1);
      if constexpr (pair + 1 < pairs) read_b(x, bs, pair + 1, 0);
      row_of_fmas(acc, x, 3, 1);
    });
  }
};

template <int pitch_a, int pitch_b>
struct Multiply<Reads::ahead, pitch_a, pitch_b> {
  using One = Multiply<Reads::between, pitch_a, pitch_b>;

  static __device__ __forceinline__ void run(const float* as, const float* bs, float (&acc)[4][4]) {
    PairOperand set[2];
    repeat<4>([&](auto i) { One::read_a(set[0], as, 0, decltype(i)::value); });
    repeat<2>([&](auto i) { One::read_b(set[0], bs, 0, decltype(i)::value); });
    One::read_a(set[1], as, 1, 0);
    One::read_b(set[1], bs, 1, 0);
    repeat<pairs>([&](auto at) {
      constexpr int pair = decltype(at)::value;
      constexpr bool next = pair + 1 < pairs, over_next = pair + 2 < pairs;
      PairOperand &x = set[pair % 2], &y = set[(pair + 1) % 2];
      row_of_fmas(acc, x, 0, 0);
      if constexpr (next) One::read_a(y, as, pair + 1, 1);
      row_of_fmas(acc, x, 1, 0);
      if constexpr (next) One::read_a(y, as, pair + 1, 2);
      row_of_fmas(acc, x, 2, 0);
      if constexpr (next) One::read_a(y, as, pair + 1, 3);
      row_of_fmas(acc, x, 3, 0);
      if constexpr (next) One::read_b(y, bs, pair + 1, 1);
      row_of_fmas(acc, x, 0, 1);
      row_of_fmas(acc, x, 1, 1);
      if constexpr (over_next) One::read_a(x, as, pair + 2, 0);
      row_of_fmas(acc, x, 2, 1);
      if constexpr (over_next) One::read_b(x, bs, pair + 2, 0);
      row_of_fmas(acc, x, 3, 1);
    });
  }
};

template <int pitch_a, int pitch_b>
struct Multiply<Reads::gcn_ahead, pitch_a, pitch_b> {
  using Queue = gcn::LoadQueue<gcn::Memory::shared>;
  struct Reading {
    Queue::Load<2> a[4];
    Queue::Load<4> b[2];
  };
  template <int pair>
  static __device__ __forceinline__ void start(Queue& queue, Reading& to, const float* as,
                                               const float* bs) {
    repeat<4>([&](auto at) {
      constexpr int i = decltype(at)::value;
      to.a[i] = queue.template start<(i * pitch_a + 2 * pair) * 4, 2>(as);
    });
    repeat<2>([&](auto at) {
      constexpr int i = decltype(at)::value;
      to.b[i] = queue.template start<(2 * pair + i) * pitch_b * 4>(bs);
    });
  }

  static __device__ __forceinline__ void run(const float* as, const float* bs, float (&acc)[4][4]) {
    Queue queue;
    Reading reading[2];
    start<0>(queue, reading[0], as, bs);
    repeat<pairs>([&](auto at) {
      constexpr int pair = decltype(at)::value, younger = pair + 1 < pairs ? 6 : 0;
      Reading& now = reading[pair % 2];
      if constexpr (younger > 0) start<pair + 1>(queue, reading[(pair + 1) % 2], as, bs);
      PairOperand x;
      repeat<4>([&](auto row) {
        constexpr int i = decltype(row)::value;
        const float2 a = queue.template wait<younger + 5 - i>(now.a[i]);
        x.a[i][0] = a.x, x.a[i][1] = a.y;
      });
      repeat<2>([&](auto step) {
        constexpr int i = decltype(step)::value;
        const float4 b = queue.template wait<younger + 1 - i>(now.b[i]);
        x.b[i][0] = b.x, x.b[i][1] = b.y, x.b[i][2] = b.z, x.b[i][3] = b.w;
        repeat<4>([&](auto row) { row_of_fmas(acc, x, decltype(row)::value, i); });
      });
    });
  }
};

template <class Form, bool Edges>
__global__ void __launch_bounds__((block_bound<Form>), (blocks_wanted<Form, Edges>))
    interleaved_reads(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int buffers = Form::buffers, pitch_a = t.bk + Form::pad, pitch_b = t.bn + Form::pad;
  __shared__ __align__(16) float as[buffers][t.bm * pitch_a];
  __shared__ __align__(16) float bs[buffers][t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, whole_block> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges, (buffers == 2 && !Edges)> copy(tid);
  using Run = Multiply<Form::reads, pitch_a, pitch_b>;

  float acc[t.tm][t.tn] = {};
  if constexpr (buffers == 1) {
    for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
      copy.load(p, tile, k0);
      copy.store_a(as[0], pitch_a);
      copy.store_b(bs[0], pitch_b);
      __syncthreads();
      Run::run(as[0] + own.row * pitch_a, bs[0] + own.col, acc);
      __syncthreads();
    }
  } else if (p.k > 0) {
    copy.load(p, tile, 0);
    copy.store_a(as[0], pitch_a);
    copy.store_b(bs[0], pitch_b);
    __syncthreads();
    int buffer = 0;
    for (std::int64_t k0 = t.bk; k0 < p.k; k0 += t.bk) {
      copy.load(p, tile, k0);  // in flight during the FMAs
      Run::run(as[buffer] + own.row * pitch_a, bs[buffer] + own.col, acc);
      buffer ^= 1;
      copy.store_a(as[buffer], pitch_a);
      copy.store_b(bs[buffer], pitch_b);
      __syncthreads();
    }
    Run::run(as[buffer] + own.row * pitch_a, bs[buffer] + own.col, acc);
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <class Form>
Status interleaved(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = Form::tile;
  return launch_tiles<t.bm, t.bn, t.bk>(interleaved_reads<Form, false>,
                                        interleaved_reads<Form, true>, threads, problem, stream);
}
template KernelLaunch<Sgemm> interleaved<Interleaved>;
template KernelLaunch<Sgemm> interleaved<InterleavedGcn>;
template KernelLaunch<Sgemm> interleaved<InterleavedAhead>;
template KernelLaunch<Sgemm> interleaved<InterleavedGcnAhead>;
template KernelLaunch<Sgemm> interleaved<InterleavedGcnPad4>;

}  // namespace KW_TARGET::amd
