// async_tile: the production kernel for any shape, every transpose, any ld, alpha and beta.
//
// Idea    A block computes a 128x128 tile of C, a thread 8x8 of it in registers, from tiles of A
//         and B that cp.async brings into a ring of shared-memory stages (see ladder/sgemm, r12).
//         Both tiles lie k-major, [k][m] and [k][n], whatever the caller's transposes: only the
//         copies differ. An operand whose rows run along k is transposed on its way, 4 bytes per
//         copy; one whose rows run along m or n is copied 16 bytes at a time where it is aligned. A
//         batch is the grid's third dimension.
// Limits  Few tiles leave SMs idle (1024 has 64 blocks for 132 SMs). No split along k.
// Order   One accumulator per output, k ascending: the same bits for the same inputs and sizes.
#include <algorithm>

#include "device/async_copy.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/kernels.hpp"
#include "sgemm/production.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET {
namespace {

struct AsyncTileConfig {
  int bm, bn, bk;  // block tile
  int tm, tn;      // outputs per thread: 2x2 quarters of tm/2 x tn/2
  int wm, wn;      // warp tile
  int stages;      // shared-memory buffers: one computed, the others on their way

  constexpr int threads() const { return (bm / tm) * (bn / tn); }
};

// NVIDIA H200, 4096 x 4096 x 4096, row-major, no transposes: 48.7 TFLOP/s, cuBLAS 50.9 in the
// same run (results/h200/sgemm-ladder.json). Tried in explored-r12.txt, in the same folder: bk = 8
// loses 8 %, bk = 32 loses 1 %, a fourth stage changes nothing.
constexpr AsyncTileConfig config = {
    .bm = 128, .bn = 128, .bk = 16, .tm = 8, .tn = 8, .wm = 64, .wn = 32, .stages = 3};

constexpr int BM = config.bm, BN = config.bn, BK = config.bk, TM = config.tm, TN = config.tn;
constexpr int WM = config.wm, WN = config.wn, stages = config.stages, threads = config.threads();
constexpr int lanes_n = WN / TN, half_m = WM / 2, half_n = WN / 2;
constexpr int warps_n = BN / WN;
static_assert(lanes_n * (WM / TM) == 32 && TM == 8 && TN == 8);

// What the launch knows of the problem, so that the kernel need not check each element.
enum class Access {
  whole,      // whole tiles, rows on 16-byte boundaries: no guards
  aligned,    // ragged tiles, rows on 16-byte boundaries
  unaligned,  // anything
};

// The four floats of padding put the 8 k x 4 rows that a warp transposes at a time in 32 banks.
template <int Extent>
using OperandTile = float[BK][Extent + 4];

struct Stage {
  OperandTile<BM> as;  // [k][m]
  OperandTile<BN> bs;  // [k][n]
};

// This thread's copies of one operand's tiles, [BK][Extent] in shared memory, tile after tile along
// k; zeros beyond the edges. `along_k` says how the caller stored the operand:
//   true   rows of k elements, x[i * ld + kk], i along m or n: transposed on the way
//   false  rows of m or n elements, x[kk * ld + i]: copied as they are
template <bool along_k, Access access, int Extent>
class OperandCopy {
 public:
  __device__ __forceinline__ OperandCopy(const float* x, std::int64_t ld, std::int64_t extent,
                                         std::int64_t k, std::int64_t i0)
      : ld_(ld), k_left_(k - first_k()) {
    const std::int64_t i_left = extent - i0 - first_i();
    i_left_ = i_left < Extent ? static_cast<int>(i_left) : Extent;
    const std::int64_t row = along_k ? i0 + first_i() : first_k();
    const std::int64_t col = along_k ? first_k() : i0 + first_i();
    from_ = x + row * ld + col;
  }

  // Starts the copies of the next tile.
  __device__ __forceinline__ void next(OperandTile<Extent>& to) {
    const int k_here = k_left_ < BK ? static_cast<int>(k_left_) : BK;
#pragma unroll
    for (int kk = 0; kk < BK; kk += k_step)
#pragma unroll
      for (int i = 0; i < Extent; i += i_step) {
        const float* from = from_ + (along_k ? i * ld_ + kk : kk * ld_ + i);
        async_copy<width * 4>(&to[first_k() + kk][first_i() + i], from, valid(i, kk, k_here) * 4);
      }
    from_ += along_k ? BK : BK * ld_;
    k_left_ -= BK;
  }

 private:
  static constexpr int width = along_k || access == Access::unaligned ? 1 : 4;  // floats a copy
  // The block's threads stand 8 (k) x 32 on an operand along k, so that each reads 32-byte sectors
  // and writes 32 banks; else they stand along its rows.
  static constexpr int threads_k = along_k ? 8 : threads * width / Extent;
  static constexpr int k_step = threads_k;
  static constexpr int i_step = along_k ? threads / 8 : Extent;

  __device__ static int first_k() {
    const int tid = static_cast<int>(threadIdx.x);
    return along_k ? tid % threads_k : tid / (Extent / width);
  }
  __device__ static int first_i() {
    const int tid = static_cast<int>(threadIdx.x);
    return along_k ? tid / threads_k : tid % (Extent / width) * width;
  }
  // How many floats of the copy at (i, kk) lie inside of the matrix.
  __device__ __forceinline__ int valid(int i, int kk, int k_here) const {
    if (access == Access::whole) return width;
    if (kk >= k_here || i >= i_left_) return 0;
    return i_left_ - i < width ? i_left_ - i : width;
  }

  const float* from_;  // this thread's first element of the next tile
  std::int64_t ld_;
  std::int64_t k_left_;  // of the matrix, counted from that element
  int i_left_;           // likewise, Extent at most
};

// acc[TM][TN] += as^T bs over one stage; `row` and `col` are this thread's first quarter.
__device__ __forceinline__ void multiply_stage(float (&acc)[TM][TN], const Stage& s, int row,
                                               int col) {
#pragma unroll
  for (int kk = 0; kk < BK; ++kk) {
    __align__(16) float a[TM], b[TN];
    *reinterpret_cast<float4*>(&a[0]) = *reinterpret_cast<const float4*>(&s.as[kk][row]);
    *reinterpret_cast<float4*>(&a[4]) = *reinterpret_cast<const float4*>(&s.as[kk][row + half_m]);
    *reinterpret_cast<float4*>(&b[0]) = *reinterpret_cast<const float4*>(&s.bs[kk][col]);
    *reinterpret_cast<float4*>(&b[4]) = *reinterpret_cast<const float4*>(&s.bs[kk][col + half_n]);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        const int zigzag = i % 2 == 0 ? j : TN - 1 - j;  // +5 % over left to right: ladder, r13
        acc[i][zigzag] = fmaf(a[i], b[zigzag], acc[i][zigzag]);
      }
  }
}

template <Op op_a, Op op_b, Access access>
__global__ void __launch_bounds__(threads, 2) async_tile(__grid_constant__ const Sgemm all) {
  if (exits_early(all)) return;
  Stage* const stage = gpu::dynamic_shared<Stage>();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int row = warp / warps_n * WM + lane / lanes_n * 4;
  const int col = warp % warps_n * WN + lane % lanes_n * 4;
  const Sgemm p = stored_first(entry_of(all, blockIdx.z));
  const TileOrigin tile = tile_origin<BM, BN>(p);

  OperandCopy<op_a == Op::none, access, BM> a(p.a, p.lda, p.m, p.k, tile.row);
  OperandCopy<op_b != Op::none, access, BN> b(p.b, p.ldb, p.n, p.k, tile.col);
  const auto start_copies = [&](Stage& to) {
    a.next(to.as);
    b.next(to.bs);
  };

  // One group of copies per stage, empty ones at the end included, since async_wait counts groups.
  for (int s = 0; s < stages - 1; ++s) {
    if (s * BK < p.k) start_copies(stage[s]);
    async_commit();
  }
  float acc[TM][TN] = {};
  int now = 0, ahead = stages - 1;  // stages being computed and being filled
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    async_wait<stages - 2>();  // this thread's copies for k0 have landed
    __syncthreads();  // those of all threads have; and no thread still reads the previous stage
    if (k0 + (stages - 1) * BK < p.k) start_copies(stage[ahead]);
    async_commit();
    multiply_stage(acc, stage[now], row, col);
    now = now + 1 < stages ? now + 1 : 0;
    ahead = ahead + 1 < stages ? ahead + 1 : 0;
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<access != Access::whole, 4, true>(p, tile.row + row + i / 4 * half_m + i % 4,
                                                  tile.col + col + j / 4 * half_n, &acc[i][j]);
  if (!all.epilogue.any()) return;
  __syncthreads();  // all is stored
  finish_stored<4>(all, {blockIdx.z, tile.row, tile.col, BM, BN}, static_cast<int>(threadIdx.x),
                   threads);
}

Access access_of(const Sgemm& p) {
  if (!batch_aligned_16(p, p.a, p.lda, p.stride_a) ||
      !batch_aligned_16(p, p.b, p.ldb, p.stride_b) || !batch_aligned_16(p, p.c, p.ldc, p.stride_c))
    return Access::unaligned;
  return p.m % BM == 0 && p.n % BN == 0 && p.k % BK == 0 ? Access::whole : Access::aligned;
}

template <Op op_a, Op op_b>
void (*kernel_for(Access access))(Sgemm) {
  switch (access) {
    case Access::whole: return async_tile<op_a, op_b, Access::whole>;
    case Access::aligned: return async_tile<op_a, op_b, Access::aligned>;
    case Access::unaligned: break;
  }
  return async_tile<op_a, op_b, Access::unaligned>;
}

constexpr std::int64_t max_entries = 65535;  // that grid.z takes

}  // namespace

Status async_tile_launch(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  const Access access = access_of(problem);
  const auto kernel =
      problem.op_a == Op::none
          ? (problem.op_b == Op::none ? kernel_for<Op::none, Op::none>(access)
                                      : kernel_for<Op::none, Op::transpose>(access))
          : (problem.op_b == Op::none ? kernel_for<Op::transpose, Op::none>(access)
                                      : kernel_for<Op::transpose, Op::transpose>(access));
  for (std::int64_t first = 0; first < problem.batch; first += max_entries) {
    const Sgemm part = some_entries(problem, first, std::min(problem.batch - first, max_entries));
    dim3 grid = tile_grid<BM, BN>(part);
    grid.z = static_cast<unsigned>(part.batch);
    Status status =
        gpu::launch(kernel, {grid, dim3(threads), stages * sizeof(Stage), stream}, part);
    if (!status.ok()) return status;
  }
  return Status::success();
}

bool async_tile_supports(const Sgemm& p, const Device& device) {
  return p.is_full() && device.shared_bytes_per_block_optin >= stages * sizeof(Stage);
}

}  // namespace KW_TARGET
