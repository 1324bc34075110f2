// The complex tiles: a product of complex matrices as they are stored, in one launch.
//
// Idea        A block computes a tile of C from tiles of A and B that cp.async brings, an element
// of
//             8 bytes a copy, into a ring of stages, both k-major. Four FFMAs a pair of elements: a
//             thread with 8 x 4 outputs reads 24 floats of shared memory for 128 FFMAs. Conjugates
//             cost nothing: conj(A) conj(B) is conj(A B), and A conj(B) is conj(conj(A) B), so the
//             loop knows two cases and the store turns a sign. Where tiles are few each is cut
//             along k, and the block that comes last adds up the parts in their order.
// Prediction  48 TFLOP/s where tiles fill the SMs, as sgemm's async_tile has it; a product of 32
//             cubed in 3 us.
// Limits      One block a tile and part, no rows of tiles that take turns: sgemm's larger kernels,
//             through real_product.cu, are faster where the product is large.
// Order       k ascending within a part, parts ascending: the same bits for the same call.
#include <optional>
#include <utility>

#include "cgemm/production.hpp"
#include "cgemm/scalars.hpp"
#include "cgemm/tile_plan.hpp"
#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "device/ticket.hpp"

namespace KW_TARGET {
namespace {

// Two elements between neighbouring k: the copies of a warp that turn an operand then meet all
// banks.
constexpr int padding = 2;

template <int index>
struct TileOf {
  static constexpr ComplexTileConfig config = complex_tiles[index].config;
  static constexpr int BM = config.bm, BN = config.bn, BK = config.bk;
  static constexpr int TM = config.tm, TN = config.tn, threads = config.threads();
  static constexpr int threads_m = BM / TM, threads_n = BN / TN;
  static constexpr int warp_m = threads_m < 8 ? threads_m : 8, warp_n = 32 / warp_m;
  static_assert(TM % 2 == 0 && TN % 2 == 0 && threads_n % warp_n == 0 && threads_m % warp_m == 0);
  static_assert(threads % BM == 0 && threads % BN == 0 && BK % 8 == 0 && threads / 8 <= BM &&
                BM % (threads / 8) == 0 && BN % (threads / 8) == 0);

  struct Stage {
    float2 a[BK][BM + padding], b[BK][BN + padding];
  };
  static_assert(config.stages * sizeof(Stage) == config.shared_bytes());
};

struct TileParams {
  Cgemm problem;
  ComplexTileCut cut;
  float2* sums;  // [tile of all entries][part][output of a thread][thread]
  unsigned* tickets;
};

// This thread's copies of one operand's tiles, stage after stage along k; zeros beyond the edges.
// How an operand lies in memory decides which of its elements a thread copies:
//   along k          x[i * ld + k]; 8 of k side by side, so that a half-warp writes to all banks
//   across, pairs    x[k * ld + i], where each line begins at 16 bytes: two elements a copy
//   across           the same, where lines begin anywhere
template <int Extent, int BK, int threads>
class ElementCopy {
 public:
  // `k`: up to where the part goes.
  __device__ __forceinline__ ElementCopy(const Complex* x, std::int64_t ld, bool along_k,
                                         std::int64_t extent, std::int64_t i0, std::int64_t k0,
                                         std::int64_t k)
      : k_left_(k - k0), along_k_(along_k) {
    const int tid = static_cast<int>(threadIdx.x);
    pairs_ = !along_k && ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
    const int lanes = along_k ? 8 : pairs_ ? Extent / 2 : Extent;  // that stand along memory
    const int along = tid % lanes * (pairs_ ? 2 : 1), across = tid / lanes;
    i_ = along_k ? across : along;
    k_ = along_k ? along : across;
    const std::int64_t left = extent - i0;
    i_left_ = left < Extent ? static_cast<int>(left) : Extent;
    step_ = threads / lanes * ld;
    from_ = x + (along_k ? (i0 + i_) * ld + k0 + k_ : (k0 + k_) * ld + i0 + i_);
    stage_step_ = along_k ? BK : BK * ld;
  }

  __device__ __forceinline__ void next(float2 (&to)[BK][Extent + padding]) {
    const int k_here = k_left_ < BK ? static_cast<int>(k_left_) : BK;
    if (along_k_) {
      turn(to, k_here);
    } else if (pairs_) {
      copy<2>(to, k_here);
    } else {
      copy<1>(to, k_here);
    }
    from_ += stage_step_;
    k_left_ -= BK;
  }

 private:
  __device__ __forceinline__ void turn(float2 (&to)[BK][Extent + padding], int k_here) const {
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      const Complex* from = from_ + k;
#pragma unroll
      for (int i = 0; i < Extent; i += threads / 8) {
        const bool inside = i_ + i < i_left_ && k_ + k < k_here;
        async_copy<8>(&to[k_ + k][i_ + i].x, &from->re, inside ? 8 : 0);
        from += step_;
      }
    }
  }
  template <int width>
  __device__ __forceinline__ void copy(float2 (&to)[BK][Extent + padding], int k_here) const {
    constexpr int lines = threads * width / Extent;  // of k, at a time
    const int valid = i_left_ - i_ < width ? (i_left_ - i_) * 8 : width * 8;
    const Complex* from = from_;
#pragma unroll
    for (int k = 0; k < BK; k += lines) {
      const bool inside = i_ < i_left_ && k_ + k < k_here;
      // More lines than a stage has leave threads without any.
      if (lines <= BK || k_ < BK)
        async_copy<width * 8, false>(&to[k_ + k][i_].x, &from->re, inside ? valid : 0);
      from += step_;
    }
  }

  const Complex* from_;
  std::int64_t step_, stage_step_, k_left_;
  int i_, k_, i_left_;  // this thread's first element of a stage
  bool along_k_, pairs_;
};

// acc += a b over a stage, or, where they differ in their conjugates, acc += conj(a) b.
template <class T, bool differ>
__device__ __forceinline__ void multiply_stage(float2 (&acc)[T::TM][T::TN],
                                               const typename T::Stage& s, int row, int col) {
#pragma unroll(T::TM* T::TN >= 32 ? 2 : 4)
  for (int kk = 0; kk < T::BK; ++kk) {
    __align__(16) float2 a[T::TM], b[T::TN];
#pragma unroll
    for (int i = 0; i < T::TM; i += 2)
      *reinterpret_cast<float4*>(&a[i]) =
          *reinterpret_cast<const float4*>(&s.a[kk][row + i * T::threads_m]);
#pragma unroll
    for (int j = 0; j < T::TN; j += 2)
      *reinterpret_cast<float4*>(&b[j]) =
          *reinterpret_cast<const float4*>(&s.b[kk][col + j * T::threads_n]);
      // A sum waits for the one before it: those of one real or imaginary part in turn.
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
        acc[i][j].x = fmaf(a[i].x, b[j].x, acc[i][j].x);
        acc[i][j].y = fmaf(a[i].x, b[j].y, acc[i][j].y);
      }
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
        acc[i][j].x = fmaf(differ ? a[i].y : -a[i].y, b[j].y, acc[i][j].x);
        acc[i][j].y = fmaf(differ ? -a[i].y : a[i].y, b[j].x, acc[i][j].y);
      }
    }
  }
}

template <class T, bool differ>
__device__ __forceinline__ void multiply(float2 (&acc)[T::TM][T::TN], const Cgemm& p,
                                         std::int64_t entry, std::int64_t row0, std::int64_t col0,
                                         std::int64_t k0, std::int64_t k, int row, int col) {
  constexpr int stages = T::config.stages;
  auto* const stage = gpu::dynamic_shared<typename T::Stage>();
  ElementCopy<T::BM, T::BK, T::threads> a(a_of(p, entry), p.lda, p.op_a == Op::none, p.m, row0, k0,
                                          k);
  ElementCopy<T::BN, T::BK, T::threads> b(b_of(p, entry), p.ldb, p.op_b != Op::none, p.n, col0, k0,
                                          k);
  // One group of copies per stage, empty ones at the end included, since async_wait counts groups.
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) {
    if (k0 + s * T::BK < k) a.next(stage[s].a), b.next(stage[s].b);
    async_commit();
  }
  int now = 0, ahead = stages - 1;
#pragma unroll 1
  for (std::int64_t at = k0; at < k; at += T::BK) {
    async_wait<stages - 2>();
    __syncthreads();
    if (at + (stages - 1) * T::BK < k) a.next(stage[ahead].a), b.next(stage[ahead].b);
    async_commit();
    multiply_stage<T, differ>(acc, stage[now], row, col);
    now = now + 1 < stages ? now + 1 : 0;
    ahead = ahead + 1 < stages ? ahead + 1 : 0;
  }
}

// Leaves this part's sums, and in the block that comes last brings those of all parts back, added
// up in their order; false in the others.
template <class T>
__device__ __forceinline__ bool add_up_parts(float2 (&acc)[T::TM][T::TN], const TileParams& params,
                                             std::int64_t tile, std::int64_t part) {
  constexpr int outputs = T::TM * T::TN;
  __shared__ bool is_last;
  float2* const of_tile =
      params.sums + tile * params.cut.parts * (outputs * T::threads) + threadIdx.x;
  float2* const own = of_tile + part * (outputs * T::threads);
#pragma unroll
  for (int i = 0; i < outputs; ++i) own[i * T::threads] = acc[i / T::TN][i % T::TN];
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = take_ticket(params.tickets + tile) + 1 == static_cast<unsigned>(params.cut.parts);
    if (is_last) params.tickets[tile] = 0;
  }
  __syncthreads();
  if (!is_last) return false;
#pragma unroll
  for (int i = 0; i < outputs; ++i) acc[i / T::TN][i % T::TN] = make_float2(0, 0);
#pragma unroll 1
  for (std::int64_t each = 0; each < params.cut.parts; ++each) {
    const float2* const sums = of_tile + each * (outputs * T::threads);
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      const float2 sum = sums[i * T::threads];
      acc[i / T::TN][i % T::TN].x += sum.x;
      acc[i / T::TN][i % T::TN].y += sum.y;
    }
  }
  return true;
}

__device__ __forceinline__ Complex finished(const Complex* before, const float2& sum, bool conj,
                                            bool has_sum, const Complex& alpha,
                                            const Complex& beta) {
  Complex value{0, 0};
  if (has_sum) value = times(alpha, conjugate({sum.x, sum.y}, conj));
  if (is_zero(beta)) return value;
  const Complex added = times(beta, *before);
  return {value.re + added.re, value.im + added.im};
}

template <class T>
__device__ __forceinline__ void store(const float2 (&acc)[T::TM][T::TN], const Cgemm& p,
                                      std::int64_t entry, std::int64_t row0, std::int64_t col0,
                                      bool has_sum, const Complex& alpha) {
  const Complex beta = beta_of(p);
  Complex* const c = c_of(p, entry);
  const bool pairs = reinterpret_cast<std::uintptr_t>(c) % 16 == 0 && p.ldc % 2 == 0;
#pragma unroll
  for (int i = 0; i < T::TM; ++i) {
    const std::int64_t row = row0 + i / 2 * 2 * T::threads_m + i % 2;
    if (row >= p.m) continue;
#pragma unroll
    for (int j = 0; j < T::TN; j += 2) {
      const std::int64_t col = col0 + j * T::threads_n;
      Complex* const to = c + row * p.ldc + col;
      const auto value = [&](int next) {
        return finished(to + next, acc[i][j + next], p.conj_b, has_sum, alpha, beta);
      };
      if (pairs && col + 1 < p.n) {
        const Complex x = value(0), y = value(1);
        *reinterpret_cast<float4*>(to) = make_float4(x.re, x.im, y.re, y.im);
        continue;
      }
      if (col < p.n) to[0] = value(0);
      if (col + 1 < p.n) to[1] = value(1);
    }
  }
}

template <int index>
__global__ void __launch_bounds__(TileOf<index>::threads, TileOf<index>::config.blocks_per_sm)
    complex_tile(__grid_constant__ const TileParams params) {
  using T = TileOf<index>;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Cgemm& p = params.problem;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  constexpr int warps_n = T::threads_n / T::warp_n;
  const int row = (warp / warps_n * T::warp_m + lane / T::warp_n) * 2;
  const int col = (warp % warps_n * T::warp_n + lane % T::warp_n) * 2;

  const std::int64_t tiles_n = ceil_div(p.n, T::BN), tiles = ceil_div(p.m, T::BM) * tiles_n;
  const std::int64_t tile = blockIdx.x / params.cut.parts,
                     part = blockIdx.x - tile * params.cut.parts;
  const std::int64_t entry = p.batch == 1 ? 0 : tile / tiles;
  const std::int64_t in_entry = tile - entry * tiles;
  const std::int64_t row0 = in_entry / tiles_n * T::BM, col0 = in_entry % tiles_n * T::BN;

  const Complex alpha = alpha_of(p);
  const bool has_sum = p.k > 0 && !is_zero(alpha);
  const std::int64_t k0 = part * params.cut.share * T::BK, end = k0 + params.cut.share * T::BK;
  const std::int64_t k = !has_sum ? 0 : end < p.k ? end : p.k;
  float2 acc[T::TM][T::TN] = {};
  if (k0 < k) {
    if (p.conj_a == p.conj_b)
      multiply<T, false>(acc, p, entry, row0, col0, k0, k, row, col);
    else
      multiply<T, true>(acc, p, entry, row0, col0, k0, k, row, col);
  }
  if (params.cut.parts > 1 && !add_up_parts<T>(acc, params, tile, part)) return;
  store<T>(acc, p, entry, row0 + row, col0 + col, has_sum, alpha);
}

// --- the rows of the registry

constexpr std::int64_t most_blocks = std::numeric_limits<int>::max();

template <int index>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexTile tile = complex_tiles[index];
  if (complex_tile_count(tile.config, p) > most_blocks) return std::nullopt;
  const TimedComplexCut fastest = fastest_complex_cut(tile, p, device);
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = fastest.us;
  plan.workspace_bytes = complex_sums_bytes(tile.config, p, fastest.cut);
  plan.min_workspace_bytes = 0;  // with longer sums
  plan.data.set(fastest.cut);
  return plan;
}

template <int index>
Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>& plan, Workspace workspace,
                   Stream stream) {
  constexpr ComplexTileConfig tile = complex_tiles[index].config;
  auto cut = plan.data.get<ComplexTileCut>();
  while (complex_sums_bytes(tile, p, cut) > workspace.bytes)
    cut = complex_cut(tile, p, cut.parts / 2);
  // A batch of more blocks than a launch has is one of short sums, and goes in several.
  const std::int64_t an_entry = complex_tile_count(tile, p) * cut.parts;
  const std::int64_t at_once = most_blocks / std::max<std::int64_t>(an_entry, 1);
  for (std::int64_t first = 0; first < p.batch; first += at_once) {
    const Cgemm part = some_entries(p, first, std::min(at_once, p.batch - first));
    const Status status =
        gpu::launch(complex_tile<index>,
                    {.grid = dim3(static_cast<unsigned>(an_entry * part.batch)),
                     .block = dim3(tile.threads()),
                     .shared_bytes = static_cast<std::size_t>(tile.shared_bytes()),
                     .stream = stream,
                     .overlap = true},
                    {part, cut, static_cast<float2*>(workspace.data), workspace.tickets});
    if (!status.ok()) return status;
  }
  return Status::success();
}

template <int... i>
KernelList<Cgemm> rows(std::integer_sequence<int, i...>) {
  return {{.name = complex_tiles[i].name,
           .parent = nullptr,
           .idea = complex_tiles[i].idea,
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan<i>,
           .launch_plan = launch_plan<i>}...};
}

}  // namespace

KernelList<Cgemm> cgemm_tile_rows() {
  return rows(std::make_integer_sequence<int, static_cast<int>(std::size(complex_tiles))>());
}

}  // namespace KW_TARGET
