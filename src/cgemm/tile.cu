// The complex tiles: a product of complex matrices as they are stored, in one launch.
//
// Idea        A block computes a tile of C from tiles of A and B that cp.async brings, element by
//             element, into a ring of stages, both k-major. A complex product is two outer products
//             of real numbers a step along k (tile_products.hpp): four FFMAs a pair of elements, a
//             thread with 8 x 8 outputs reads 32 floats of shared memory for 256 of them. Of two
//             neighbours of B the real parts lie side by side, then the imaginary parts, so that
//             neither lies in the register bank of its accumulators. Conjugates cost nothing:
//             conj(A) conj(B) is conj(A B), A conj(B) is conj(conj(A) B), and conj(A) B has the
//             parts of A (i conj(B)) in each other's place: so the copies of B change the places of
//             its parts, and the store does the rest. Where tiles are few each is cut along k:
//             between groups of warps of a block, and between blocks, of a cluster or anywhere
//             (tile_sums.hpp).
// Prediction  48 TFLOP/s where tiles fill the SMs, as sgemm's async_tile has it; a product of 32
//             cubed in 3 us.
// Limits      One block a tile and part, no rows of tiles that take turns: sgemm's larger kernels,
//             through real_product.cu, are faster where the product is large.
// Order       k ascending within a part, parts ascending: the same bits for the same call.
#include <optional>
#include <utility>

#include "cgemm/production.hpp"
#include "cgemm/tile_sums.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace complex_tile {
namespace {

// Whether a tile has an element that is wanted.
template <class T>
__device__ __forceinline__ bool has_wanted(const Cgemm& p, std::int64_t row0, std::int64_t col0) {
  if (p.triangle == Triangle::none) return true;
  return p.triangle == Triangle::lower ? col0 < row0 + T::BM : row0 < col0 + T::BN;
}

template <int index, bool in_clusters>
__device__ __forceinline__ void compute_tile(const TileParams& params) {
  using T = TileOf<index>;
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
  if constexpr (in_clusters) ClusterSums<T>::open();

  const Complex alpha = alpha_of(p);
  const bool has_sum = p.k > 0 && !is_zero(alpha);
  const std::int64_t k0 = part * params.cut.share * T::BK, end = k0 + params.cut.share * T::BK;
  const std::int64_t k = !has_sum ? 0 : end < p.k ? end : p.k;
  float2 acc[T::TM][T::TN] = {};
  if (k0 < k) {
    using CopyA = ElementCopy<T::BM, T::BK, T::threads, false>;
    using CopyB = ElementCopy<T::BN, T::BK, T::threads, true>;
    CopyA a(a_of(p, entry), p.lda, p.op_a == Op::none, p.m, row0, k0);
    CopyB b(b_of(p, entry), p.ldb, p.op_b != Op::none, p.n, col0, k0, p.conj_a != p.conj_b);
    const auto before_last = static_cast<int>((k - k0 - 1) / T::BK);
    const auto last_k = static_cast<int>(k - k0 - std::int64_t{T::BK} * before_last);
    StageProducts<T, CopyA, CopyB>(a, b, before_last + 1, last_k, row, col, of_k).add_to(acc);
  }
  const TileStore<T> store(p, entry, row0 + row, col0 + col, has_sum, alpha);
  const auto finish = [&](Sums<T>& sums) {
    const int first_row = of_k * T::rows;
    if constexpr (in_clusters)
      return ClusterSums<T>::add_and_store(sums, static_cast<int>(params.cut.parts), store,
                                           first_row);
    else if (params.cut.parts == 1 || add_up_parts<T>(sums, params, tile, part))
      store.all(sums, first_row);
  };
  if constexpr (T::parts_k == 1) {
    finish(acc);
  } else {
    Sums<T> sums;
    add_up_in_block<T>(acc, sums, of_k);
    finish(sums);
  }
}

template <int index>
__global__ void __launch_bounds__(TileOf<index>::threads, TileOf<index>::config.blocks_per_sm)
    complex_tile_kernel(__grid_constant__ const TileParams params) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  compute_tile<index, false>(params);
}

// For the blocks of clusters. Without clusters it is compiled empty, and not launched.
template <int index>
__global__ void __launch_bounds__(TileOf<index>::threads, TileOf<index>::config.blocks_per_sm)
    complex_tile_cluster([[maybe_unused]] __grid_constant__ const TileParams params) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  if constexpr (has_clusters) compute_tile<index, true>(params);
}

// --- the rows of the registry

constexpr std::int64_t most_blocks = std::numeric_limits<int>::max();

template <int index>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexTile tile = complex_tiles[index];
  if (complex_tile_count(tile.config, p) > most_blocks ||
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
  auto* kernel = complex_tile_kernel<index>;
  if constexpr (tile.clusters) {
    if (cut.in_cluster) kernel = complex_tile_cluster<index>;
  }
  // A batch of more blocks than a launch has is one of short sums, and goes in several.
  const std::int64_t an_entry = complex_tile_count(tile, p) * cut.parts;
  const std::int64_t at_once = most_blocks / std::max<std::int64_t>(an_entry, 1);
  for (std::int64_t first = 0; first < p.batch; first += at_once) {
    const Cgemm part = some_entries(p, first, std::min(at_once, p.batch - first));
    const Status status = gpu::launch(
        kernel,
        {.grid = dim3(static_cast<unsigned>(an_entry * part.batch)),
         .block = dim3(tile.threads()),
         .shared_bytes =
             static_cast<std::size_t>(cut.in_cluster ? tile.cluster_bytes() : tile.shared_bytes()),
         .stream = stream,
         .overlap = true,
         .cluster = cut.in_cluster ? static_cast<int>(cut.parts) : 1},
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
}  // namespace complex_tile

KernelList<Cgemm> cgemm_tile_rows() {
  return complex_tile::rows(
      std::make_integer_sequence<int, static_cast<int>(std::size(complex_tiles))>());
}

}  // namespace KW_TARGET
