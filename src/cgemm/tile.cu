// The complex tiles: a product of complex matrices as they are stored, in one launch.
//
// Idea        A block computes a tile of C from tiles of A and B that cp.async brings, element by
//             element, into a ring of stages, both k-major. Four FFMAs a pair of elements: a thread
//             with 8 x 8 outputs reads 32 floats of shared memory for 256 FFMAs, of two steps along
//             k in turn. Of two neighbours of B the real parts lie side by side, then the imaginary
//             parts, so that neither lies in the register bank of its accumulators. Conjugates
//             cost nothing: conj(A) conj(B) is conj(A B), and A conj(B) is conj(conj(A) B), so the
//             loop knows two cases and the store turns a sign. Where tiles are few each is cut
//             along k: between groups of warps of a block, whose sums meet in shared memory, and
//             between blocks, of which the one that comes last adds up the parts in their order.
// Prediction  48 TFLOP/s where tiles fill the SMs, as sgemm's async_tile has it; a product of 32
//             cubed in 3 us.
// Limits      One block a tile and part, no rows of tiles that take turns: sgemm's larger kernels,
//             through real_product.cu, are faster where the product is large.
// Order       k ascending within a part, parts ascending: the same bits for the same call.
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/production.hpp"
#include "cgemm/tile_operand.hpp"
#include "cgemm/tile_plan.hpp"
#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

template <int index>
struct TileOf {
  static constexpr ComplexTileConfig config = complex_tiles[index].config;
  static constexpr int BM = config.bm, BN = config.bn, BK = config.bk;
  static constexpr int TM = config.tm, TN = config.tn, threads = config.threads();
  static constexpr int threads_m = BM / TM, threads_n = BN / TN;
  static constexpr int parts_k = config.parts_k, threads_of_part = threads / parts_k;
  // The rows of outputs that a thread stores.
  static constexpr int rows = TM / parts_k;
  static constexpr int warp_m = threads_m < 8 ? threads_m : 8, warp_n = 32 / warp_m;
  static_assert(TM % parts_k == 0 && BK % parts_k == 0);
  static_assert(TM % 2 == 0 && TN % 2 == 0 && threads_n % warp_n == 0 && threads_m % warp_m == 0);
  static_assert(threads % BM == 0 && threads % BN == 0 && BK % 8 == 0 && threads / 8 <= BM &&
                BM % (threads / 8) == 0 && BN % (threads / 8) == 0);

  struct Stage {
    float2 a[BK][BM + complex_padding], b[BK][BN + complex_padding];
  };
  static_assert(config.stages * sizeof(Stage) == config.ring_bytes());
};

struct TileParams {
  Cgemm problem;
  ComplexTileCut cut;
  float2* sums;  // [tile of all entries][part][output of a thread][thread]
  unsigned* tickets;
};

// What a thread reads of a stage at one k: elements of a, and of b their parts, two neighbours'
// real ones and then their imaginary ones.
template <class T>
struct Fragments {
  __align__(16) float2 a[T::TM];
  __align__(16) float b[2 * T::TN];

  __device__ __forceinline__ void load(const typename T::Stage& s, int kk, int row, int col) {
#pragma unroll
    for (int j = 0; j < T::TN; j += 2)
      *reinterpret_cast<float4*>(&b[2 * j]) =
          *reinterpret_cast<const float4*>(&s.b[kk][col + j * T::threads_n]);
#pragma unroll
    for (int i = 0; i < T::TM; i += 2)
      *reinterpret_cast<float4*>(&a[i]) =
          *reinterpret_cast<const float4*>(&s.a[kk][row + i * T::threads_m]);
  }
  __device__ __forceinline__ float re(int j) const { return b[j / 2 * 4 + j % 2]; }
  __device__ __forceinline__ float im(int j) const { return b[j / 2 * 4 + j % 2 + 2]; }
};

// acc += a b, or, where they differ in their conjugates, acc += conj(a) b. Row by row: an FFMA
// reads a's element from the reuse cache, and b's and the accumulator from two register banks,
// which OutputQuad arranges. A sum waits for the one before it: those of one part of a in turn.
template <class T, bool differ>
__device__ __forceinline__ void add_products(float2 (&acc)[T::TM][T::TN], const Fragments<T>& f) {
#pragma unroll
  for (int i = 0; i < T::TM; ++i) {
#pragma unroll
    for (int j = 0; j < T::TN; ++j) acc[i][j].x = fmaf(f.a[i].x, f.re(j), acc[i][j].x);
#pragma unroll
    for (int j = T::TN - 1; j >= 0; --j) acc[i][j].y = fmaf(f.a[i].x, f.im(j), acc[i][j].y);
    const float to_x = differ ? f.a[i].y : -f.a[i].y, to_y = -to_x;
#pragma unroll
    for (int j = 0; j < T::TN; ++j) acc[i][j].x = fmaf(to_x, f.im(j), acc[i][j].x);
#pragma unroll
    for (int j = T::TN - 1; j >= 0; --j) acc[i][j].y = fmaf(to_y, f.re(j), acc[i][j].y);
  }
}

template <class T, bool differ>
__device__ __forceinline__ void multiply_stage(float2 (&acc)[T::TM][T::TN],
                                               const typename T::Stage& s, int row, int col,
                                               int part) {
  if constexpr (T::config.ahead) {
    Fragments<T> f[2];
    f[0].load(s, part, row, col);
#pragma unroll 1
    for (int kk = 0; kk < T::BK; kk += 2 * T::parts_k) {
      f[1].load(s, kk + T::parts_k + part, row, col);
      add_products<T, differ>(acc, f[0]);
      const int next = kk + 2 * T::parts_k;
      f[0].load(s, (next < T::BK ? next : 0) + part, row, col);
      add_products<T, differ>(acc, f[1]);
    }
  } else {
#pragma unroll T::TM* T::TN >= 32 ? 1 : 4
    for (int kk = 0; kk < T::BK; kk += T::parts_k) {
      Fragments<T> f;
      f.load(s, kk + part, row, col);
      add_products<T, differ>(acc, f);
    }
  }
}

template <class T, bool differ>
__device__ __forceinline__ void multiply(float2 (&acc)[T::TM][T::TN], const Cgemm& p,
                                         std::int64_t entry, std::int64_t row0, std::int64_t col0,
                                         std::int64_t k0, std::int64_t k, int row, int col,
                                         int of_k) {
  constexpr int stages = T::config.stages;
  auto* const stage = gpu::dynamic_shared<typename T::Stage>();
  ElementCopy<T::BM, T::BK, T::threads, false> a(a_of(p, entry), p.lda, p.op_a == Op::none, p.m,
                                                 row0, k0, k);
  ElementCopy<T::BN, T::BK, T::threads, true> b(b_of(p, entry), p.ldb, p.op_b != Op::none, p.n,
                                                col0, k0, k);
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
    multiply_stage<T, differ>(acc, stage[now], row, col, of_k);
    now = now + 1 < stages ? now + 1 : 0;
    ahead = ahead + 1 < stages ? ahead + 1 : 0;
  }
}

// Two neighbours of a row of outputs in the order in which a thread leaves them in memory. What a
// thread stores in 16 bytes comes from an aligned quad of registers, and ptxas keeps accumulators
// in such quads throughout: so the second neighbour's parts lie in even registers and the first
// one's in odd ones, where b has the first one's in even ones.
struct OutputQuad {
  __device__ __forceinline__ static float4 of(const float2& first, const float2& second) {
    return make_float4(second.x, first.x, second.y, first.y);
  }
  __device__ __forceinline__ static void add(const float4& quad, float2& first, float2& second) {
    second.x += quad.x, first.x += quad.y, second.y += quad.z, first.y += quad.w;
  }
};

// The sums over a block's parts along k, in their order: each part's threads get those of as many
// rows.
template <class T>
__device__ __forceinline__ void add_up_in_block(const float2 (&acc)[T::TM][T::TN],
                                                float2 (&sums)[T::rows][T::TN], int part) {
  constexpr int quads = T::TM * T::TN / 2, of_row = T::TN / 2;
  auto* const shared = gpu::dynamic_shared<float4>();
  const int thread = static_cast<int>(threadIdx.x) % T::threads_of_part;
  async_wait<0>();
  __syncthreads();  // nobody reads operands any more
#pragma unroll
  for (int q = 0; q < quads; ++q)
    shared[(part * quads + q) * T::threads_of_part + thread] =
        OutputQuad::of(acc[q / of_row][q % of_row * 2], acc[q / of_row][q % of_row * 2 + 1]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < T::rows; ++i)
#pragma unroll
    for (int j = 0; j < of_row; ++j) {
      const int q = (part * T::rows + i) * of_row + j;
      float2 &first = sums[i][2 * j], &second = sums[i][2 * j + 1];
      first = second = make_float2(0, 0);
#pragma unroll
      for (int each = 0; each < T::parts_k; ++each)
        OutputQuad::add(shared[(each * quads + q) * T::threads_of_part + thread], first, second);
    }
}

// Leaves this part's sums, and in the block that comes last brings those of all parts back, added
// up in their order; false in the others.
template <class T>
__device__ __forceinline__ bool add_up_parts(float2 (&acc)[T::rows][T::TN],
                                             const TileParams& params, std::int64_t tile,
                                             std::int64_t part) {
  constexpr int quads = T::rows * T::TN / 2, of_row = T::TN / 2;
  __shared__ bool is_last;
  float4* const of_tile = reinterpret_cast<float4*>(params.sums) +
                          tile * params.cut.parts * (quads * T::threads) + threadIdx.x;
  float4* const own = of_tile + part * (quads * T::threads);
#pragma unroll
  for (int q = 0; q < quads; ++q)
    own[q * T::threads] =
        OutputQuad::of(acc[q / of_row][q % of_row * 2], acc[q / of_row][q % of_row * 2 + 1]);
  if (!arrives_last(
          is_last, static_cast<unsigned>(params.cut.parts), threadIdx.x == 0,
          [] { __syncthreads(); }, [&] { return params.tickets + tile; }))
    return false;
#pragma unroll
  for (int q = 0; q < quads; ++q)
    acc[q / of_row][q % of_row * 2] = acc[q / of_row][q % of_row * 2 + 1] = make_float2(0, 0);
#pragma unroll 1
  for (std::int64_t each = 0; each < params.cut.parts; ++each) {
    const float4* const sums = of_tile + each * (quads * T::threads);
#pragma unroll
    for (int q = 0; q < quads; ++q)
      OutputQuad::add(sums[q * T::threads], acc[q / of_row][q % of_row * 2],
                      acc[q / of_row][q % of_row * 2 + 1]);
  }
  return true;
}

// Whether a tile has an element that is wanted.
template <class T>
__device__ __forceinline__ bool has_wanted(const Cgemm& p, std::int64_t row0, std::int64_t col0) {
  if (p.triangle == Triangle::none) return true;
  return p.triangle == Triangle::lower ? col0 < row0 + T::BM : row0 < col0 + T::BN;
}

// Calls take(the sums of two neighbours, where the first lies in C, its row and column) for each
// pair of this thread's outputs whose first one lies in the matrix.
template <class T, class Take>
__device__ __forceinline__ void each_pair(const float2 (&acc)[T::rows][T::TN], const Cgemm& p,
                                          Complex* c, std::int64_t row0, std::int64_t col0,
                                          int part, const Take& take) {
#pragma unroll
  for (int r = 0; r < T::rows; ++r) {
    const int i = part * T::rows + r;
    const std::int64_t row = row0 + i / 2 * 2 * T::threads_m + i % 2;
    if (row >= p.m) continue;
#pragma unroll
    for (int j = 0; j < T::TN; j += 2) {
      const std::int64_t col = col0 + j * T::threads_n;
      if (col < p.n) take(&acc[r][j], c + row * p.ldc + col, row, col);
    }
  }
}

// Most products are multiplied by a real number and stored over what was there: for them there is
// less code, which all waits to be fetched.
template <class T>
__device__ __forceinline__ void store(const float2 (&acc)[T::rows][T::TN], const Cgemm& p,
                                      std::int64_t entry, std::int64_t row0, std::int64_t col0,
                                      int part, bool has_sum, const Complex& alpha) {
  Complex* const c = c_of(p, entry);
  const Complex beta = beta_of(p), used = has_sum ? alpha : Complex{0, 0};
  const bool in_pairs =
      p.n % 2 == 0 && reinterpret_cast<std::uintptr_t>(c) % 16 == 0 && p.ldc % 2 == 0;
  const bool is_plain = used.im == 0 && is_zero(beta) && p.triangle == Triangle::none;
  const float re = used.re, im = p.conj_b ? -re : re;
  if (is_plain && in_pairs) {
    each_pair<T>(acc, p, c, row0, col0, part,
                 [&](const float2* x, Complex* to, std::int64_t, std::int64_t) {
                   *reinterpret_cast<float4*>(to) =
                       make_float4(x[0].x * re, x[0].y * im, x[1].x * re, x[1].y * im);
                 });
  } else if (is_plain) {
    each_pair<T>(acc, p, c, row0, col0, part,
                 [&](const float2* x, Complex* to, std::int64_t, std::int64_t col) {
                   to[0] = {x[0].x * re, x[0].y * im};
                   if (col + 1 < p.n) to[1] = {x[1].x * re, x[1].y * im};
                 });
  } else {
    const Factor of_sum(used), of_c(beta);
    const bool reads = !is_zero(beta);
    each_pair<T>(acc, p, c, row0, col0, part,
                 [&](const float2* x, Complex* to, std::int64_t row, std::int64_t col) {
#pragma unroll
                   for (int next = 0; next < 2; ++next) {
                     if (col + next >= p.n || !is_wanted(p, row, col + next)) continue;
                     Complex value = of_sum.times({x[next].x, p.conj_b ? -x[next].y : x[next].y});
                     if (reads) {
                       const Complex added = of_c.times(to[next]);
                       value.re += added.re, value.im += added.im;
                     }
                     if (p.hermitian && row == col + next) value.im = 0;
                     to[next] = value;
                   }
                 });
  }
}

template <int index>
__global__ void __launch_bounds__(TileOf<index>::threads, TileOf<index>::config.blocks_per_sm)
    complex_tile(__grid_constant__ const TileParams params) {
  using T = TileOf<index>;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Cgemm& p = params.problem;
  const int of_k = T::parts_k == 1 ? 0 : static_cast<int>(threadIdx.x) / T::threads_of_part;
  const int thread = static_cast<int>(threadIdx.x) - of_k * T::threads_of_part;
  const int warp = thread / 32, lane = thread % 32;
  constexpr int warps_n = T::threads_n / T::warp_n;
  const int row = (warp / warps_n * T::warp_m + lane / T::warp_n) * 2;
  const int col = (warp % warps_n * T::warp_n + lane % T::warp_n) * 2;

  const std::int64_t tiles_n = ceil_div(p.n, T::BN), tiles = ceil_div(p.m, T::BM) * tiles_n;
  const std::int64_t tile = blockIdx.x / params.cut.parts,
                     part = blockIdx.x - tile * params.cut.parts;
  const std::int64_t entry = p.batch == 1 ? 0 : tile / tiles;
  const std::int64_t in_entry = tile - entry * tiles;
  const std::int64_t row0 = in_entry / tiles_n * T::BM, col0 = in_entry % tiles_n * T::BN;
  if (!has_wanted<T>(p, row0, col0)) return;

  const Complex alpha = alpha_of(p);
  const bool has_sum = p.k > 0 && !is_zero(alpha);
  const std::int64_t k0 = part * params.cut.share * T::BK, end = k0 + params.cut.share * T::BK;
  const std::int64_t k = !has_sum ? 0 : end < p.k ? end : p.k;
  float2 acc[T::TM][T::TN] = {};
  if (k0 < k) {
    if (p.conj_a == p.conj_b)
      multiply<T, false>(acc, p, entry, row0, col0, k0, k, row, col, of_k);
    else
      multiply<T, true>(acc, p, entry, row0, col0, k0, k, row, col, of_k);
  }
  if constexpr (T::parts_k == 1) {
    if (params.cut.parts > 1 && !add_up_parts<T>(acc, params, tile, part)) return;
    store<T>(acc, p, entry, row0 + row, col0 + col, of_k, has_sum, alpha);
  } else {
    float2 sums[T::rows][T::TN];
    add_up_in_block<T>(acc, sums, of_k);
    if (params.cut.parts > 1 && !add_up_parts<T>(sums, params, tile, part)) return;
    store<T>(sums, p, entry, row0 + row, col0 + col, of_k, has_sum, alpha);
  }
}

// --- the rows of the registry

template <int index>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexTile tile = complex_tiles[index];
  if (complex_tile_count(tile.config, p) > most_launch_blocks ||
      tile.config.shared_bytes() > static_cast<std::int64_t>(device.shared_bytes_per_block_optin))
    return std::nullopt;
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
  return launch_entries(p, an_entry, [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(complex_tile<index>,
                       {.grid = dim3(blocks),
                        .block = dim3(tile.threads()),
                        .shared_bytes = static_cast<std::size_t>(tile.shared_bytes()),
                        .stream = stream,
                        .overlap = true},
                       {part, cut, static_cast<float2*>(workspace.data), workspace.tickets});
  });
}

template <int row>
Kernel<Cgemm> kernel() {
  return {.name = complex_tiles[row].name,
          .parent = nullptr,
          .idea = complex_tiles[row].idea,
          .role = Role::production,
          .math = Math::fp32,
          .make_plan = make_plan<row>,
          .launch_plan = launch_plan<row>};
}

}  // namespace

KernelList<Cgemm> cgemm_tile_rows() {
  return kernels_of<complex_tiles>([](auto row) { return kernel<row>(); });
}

}  // namespace KW_TARGET
