// How the complex tiles (tile.cu) add up the sums of those who share a tile along k, and store
// them: groups of warps of a block, through shared memory; the blocks of a cluster, from shared
// memory to shared memory; blocks anywhere, through the workspace.
#pragma once

#include "cgemm/scalars.hpp"
#include "cgemm/tile_plan.hpp"
#include "cgemm/tile_products.hpp"
#include "device/arrival.hpp"
#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"

namespace KW_TARGET::complex_tile {

struct TileParams {
  Cgemm problem;
  ComplexTileCut cut;
  float2* sums;  // [tile of all entries][part][output of a thread][thread]
  unsigned* tickets;
};

template <class T>
using Sums = float2[T::rows][T::TN];

// --- the store

// Of a sum of products as the loop has it. Where op(A) and op(B) differ in their conjugates, B's
// parts have changed places in the ring, and so have the sum's.
__device__ __forceinline__ Complex finished(const Cgemm& p, const Complex* before, float2 sum,
                                            bool has_sum, const Complex& alpha, const Complex& beta,
                                            bool on_real_diagonal) {
  Complex value{0, 0};
  if (has_sum) {
    if (p.conj_a != p.conj_b) sum = make_float2(sum.y, sum.x);
    value = times(alpha, conjugate({sum.x, sum.y}, p.conj_b));
  }
  if (!is_zero(beta)) {
    const Complex added = times(beta, *before);
    value = {value.re + added.re, value.im + added.im};
  }
  if (on_real_diagonal) value.im = 0;
  return value;
}

// Where a thread's outputs go, quad by quad.
template <class T>
class TileStore {
 public:
  // `row` and `col` of the thread's first output in C.
  __device__ __forceinline__ TileStore(const Cgemm& p, std::int64_t entry, std::int64_t row,
                                       std::int64_t col, bool has_sum, const Complex& alpha)
      : p_(p),
        c_(c_of(p, entry)),
        row_(row),
        col_(col),
        alpha_(alpha),
        beta_(beta_of(p)),
        has_sum_(has_sum) {
    pairs_ = reinterpret_cast<std::uintptr_t>(c_) % 16 == 0 && p.ldc % 2 == 0;
  }

  // Output row `i` of the thread, neighbours j and j + 1.
  __device__ __forceinline__ void quad(int i, int j, const float2& first,
                                       const float2& second) const {
    const std::int64_t row = row_ + i / 2 * 2 * T::threads_m + i % 2;
    const std::int64_t col = col_ + j * T::threads_n;
    if (row >= p_.m) return;
    Complex* const to = c_ + row * p_.ldc + col;
    const auto value = [&](int next, const float2& sum) {
      const bool is_real = p_.hermitian && row == col + next;
      return finished(p_, to + next, sum, has_sum_, alpha_, beta_, is_real);
    };
    const auto has = [&](int next) { return col + next < p_.n && is_wanted(p_, row, col + next); };
    if (pairs_ && has(0) && has(1)) {
      const Complex x = value(0, first), y = value(1, second);
      *reinterpret_cast<float4*>(to) = make_float4(x.re, x.im, y.re, y.im);
      return;
    }
    if (has(0)) to[0] = value(0, first);
    if (has(1)) to[1] = value(1, second);
  }

  __device__ __forceinline__ void all(const Sums<T>& sums, int first_row) const {
#pragma unroll
    for (int i = 0; i < T::rows; ++i)
#pragma unroll
      for (int j = 0; j < T::TN; j += 2) quad(first_row + i, j, sums[i][j], sums[i][j + 1]);
  }

 private:
  const Cgemm& p_;
  Complex* c_;
  std::int64_t row_, col_;
  Complex alpha_, beta_;
  bool has_sum_, pairs_;
};

// --- the sums

// The sums over a block's groups of warps, in their order: each group's threads get those of as
// many rows.
template <class T>
__device__ __forceinline__ void add_up_in_block(const float2 (&acc)[T::TM][T::TN], Sums<T>& sums,
                                                int part) {
  constexpr int quads = T::TM * T::quads_of_row;
  auto* const shared = gpu::dynamic_shared<float4>();
  const int thread = static_cast<int>(threadIdx.x) % T::threads_of_part;
  async_wait<0>();
  __syncthreads();  // nobody reads operands any more
#pragma unroll
  for (int q = 0; q < quads; ++q)
    shared[(part * quads + q) * T::threads_of_part + thread] =
        OutputQuad::of(acc[q / T::quads_of_row][q % T::quads_of_row * 2],
                       acc[q / T::quads_of_row][q % T::quads_of_row * 2 + 1]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < T::rows; ++i)
#pragma unroll
    for (int j = 0; j < T::quads_of_row; ++j) {
      const int q = (part * T::rows + i) * T::quads_of_row + j;
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
__device__ __forceinline__ bool add_up_parts(Sums<T>& acc, const TileParams& params,
                                             std::int64_t tile, std::int64_t part) {
  __shared__ bool is_last;
  float4* const of_tile = reinterpret_cast<float4*>(params.sums) +
                          tile * params.cut.parts * (T::quads * T::threads) + threadIdx.x;
  float4* const own = of_tile + part * (T::quads * T::threads);
#pragma unroll
  for (int q = 0; q < T::quads; ++q)
    own[q * T::threads] = OutputQuad::of(acc[q / T::quads_of_row][q % T::quads_of_row * 2],
                                         acc[q / T::quads_of_row][q % T::quads_of_row * 2 + 1]);
  if (!arrives_last(
          is_last, static_cast<unsigned>(params.cut.parts), threadIdx.x == 0,
          [] { __syncthreads(); }, [&] { return params.tickets + tile; }))
    return false;
#pragma unroll
  for (int q = 0; q < T::quads; ++q)
    acc[q / T::quads_of_row][q % T::quads_of_row * 2] =
        acc[q / T::quads_of_row][q % T::quads_of_row * 2 + 1] = make_float2(0, 0);
#pragma unroll 1
  for (std::int64_t each = 0; each < params.cut.parts; ++each) {
    const float4* const sums = of_tile + each * (T::quads * T::threads);
#pragma unroll
    for (int q = 0; q < T::quads; ++q)
      OutputQuad::add(sums[q * T::threads], acc[q / T::quads_of_row][q % T::quads_of_row * 2],
                      acc[q / T::quads_of_row][q % T::quads_of_row * 2 + 1]);
  }
  return true;
}

// The blocks of a cluster share a tile. Each owns some quads of every thread: the others send it
// theirs, and it adds them up in the blocks' order and stores them.
template <class T>
class ClusterSums {
 public:
  // By all threads, before they meet for the first stage.
  __device__ static __forceinline__ void open() {
    if (threadIdx.x == 0) mbarrier_init(received(), 1);
  }

  __device__ static __forceinline__ void add_and_store(const Sums<T>& acc, int parts,
                                                       const TileStore<T>& store, int first_row) {
    auto* const shared = gpu::dynamic_shared<float4>() + threadIdx.x;
    const int rank = rank_in_cluster();
    const int begin = first_of(rank, parts), end = first_of(rank + 1, parts);
    async_wait<0>();
    if (threadIdx.x == 0)
      mbarrier_arrive_expecting(received(), static_cast<unsigned>((end - begin) * (parts - 1) *
                                                                  T::threads * sizeof(float4)));
    meet_in_cluster();  // nobody reads operands any more, and all expect what is sent
#pragma unroll
    for (int q = 0; q < T::quads; ++q) {
      const int to = q * parts / T::quads;
      float4* const at = shared + ((q - first_of(to, parts)) * parts + rank) * T::threads;
      const float4 quad = OutputQuad::of(acc[q / T::quads_of_row][q % T::quads_of_row * 2],
                                         acc[q / T::quads_of_row][q % T::quads_of_row * 2 + 1]);
      if (to == rank)
        *at = quad;
      else
        send_to_block(to, at, quad, received());
    }
    mbarrier_wait(received(), 0);
#pragma unroll 1
    for (int q = begin; q < end; ++q) {
      float2 first = make_float2(0, 0), second = first;
#pragma unroll 1
      for (int each = 0; each < parts; ++each)
        OutputQuad::add(shared[((q - begin) * parts + each) * T::threads], first, second);
      store.quad(first_row + q / T::quads_of_row, q % T::quads_of_row * 2, first, second);
    }
  }

 private:
  __device__ static __forceinline__ Mbarrier* received() {
    return reinterpret_cast<Mbarrier*>(gpu::dynamic_shared<char>() + T::config.cluster_bytes() -
                                       sizeof(float4));
  }
  // A block's first quad: the least q with q * parts / quads == rank.
  __device__ static __forceinline__ int first_of(int rank, int parts) {
    return (rank * T::quads + parts - 1) / parts;
  }
};

}  // namespace KW_TARGET::complex_tile
