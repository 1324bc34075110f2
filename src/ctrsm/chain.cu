// Systems of block.hpp with few lines: nothing to compute, and a chain of unknowns that wait for
// each other, as level3/solve_chain.cu has real ones.
//
// Idea        A cluster of eight blocks has the triangle, 32 rows a warp, dealt out in turn. A warp
//             takes each 32 unknowns from its rows as soon as they are known, and solves its own
//             when all before are. It sends them to all blocks, 8 at a time, from shared memory to
//             shared memory.
// Prediction  32 unknowns: 0.9 us of one warp, four times what a real one takes, and 0.2 until the
//             next one has them. 1000 unknowns: 32 times 1.1 us and a launch, 38 us, where blocks
//             of 128 take 131 and cuBLAS 68. Clusters with lines of their own side by side take no
//             longer than one: 3 lines of 2686 unknowns 165 us, where blocks of 256 take 406.
// Measured    H200: 32 unknowns 1.7 us with a line a cluster, 2.3 with two, 4.6 with four.
// Limits      1024 unknowns, a warp of which has 34 KB of the triangle in shared memory; larger
//             systems go by halves. As many lines as run side by side, one or two a cluster.
#include "arithmetic.hpp"
#include "cgemm/scalars.hpp"
#include "ctrsm/block.hpp"
#include "ctrsm/chain_plan.hpp"
#include "ctrsm/numbers.hpp"
#include "device/async_copy.hpp"
#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {
namespace {

constexpr int chain_blocks = complex_chain_blocks;
constexpr int chain_warps = 4, chain_threads = chain_warps * warp_lanes;
constexpr int of_warp = complex_chain_link;
constexpr int chain_links = chain_blocks * chain_warps;
constexpr int of_group = 8;  // unknowns that are sent together
constexpr int groups = of_warp / of_group;
constexpr int chain_ring = 3;            // tiles of a warp: one is used, two are on their way
constexpr int tile_pitch = of_warp + 1;  // neighbours along both directions lie in other banks
static_assert(of_warp == warp_lanes && chain_links * of_warp == complex_chain_size);

template <int lines>
struct ChainMemory {
  alignas(16) float2 x[chain_links][lines][of_warp];
  Mbarrier solved[chain_links * groups];
  float2 diagonal[chain_warps][of_warp * tile_pitch];
  float2 tiles[chain_warps][chain_ring][of_warp * tile_pitch];
};
static_assert(chain_links * groups == chain_threads);

// Starts the copy of a warp's rows from `row` on of 32 columns, as [row][column]. Neighbouring
// lanes read neighbours in memory; what is not of the triangle is not read, and 0.
[[maybe_unused]] __device__ __forceinline__ void copy_tile(float2* tile, const ComplexBlock& b,
                                                           const Complex* a, int row, int col,
                                                           int lane) {
  const int diagonal = b.unit_diagonal ? 1 : 0;
  const bool by_rows = b.a_row == 1 || b.a_row == -1;  // lanes along them
#pragma unroll 8
  for (int i = 0; i < of_warp; ++i) {
    const int own_row = by_rows ? lane : i, own_col = by_rows ? i : lane;
    const bool is_there = row + own_row < b.size && row + own_row >= col + own_col + diagonal;
    const Complex* const from = a + (row + own_row) * b.a_row + (col + own_col) * b.a_col;
    async_copy<8>(&tile[own_row * tile_pitch + own_col].x, is_there ? &from->re : &a->re,
                  is_there ? 8 : 0);
  }
}

__device__ __forceinline__ void add(float2& sum, const float2& more) {
  sum.x += more.x;
  sum.y += more.y;
}

// What eight known unknowns take from a row.
[[maybe_unused]] __device__ __forceinline__ void add_known(float2& sum, const float2* a,
                                                           const float2* x) {
  float2 parts[2] = {};
#pragma unroll
  for (int j = 0; j < of_group; j += 2) {
    const float4 two = *reinterpret_cast<const float4*>(&x[j]);
    add_product(parts[0], a[j], make_float2(two.x, two.y));
    add_product(parts[1], a[j + 1], make_float2(two.z, two.w));
  }
  add(parts[0], parts[1]);
  add(sum, parts[0]);
}

// A lane's unknown: what is left of its right-hand side, what that rounded away and its warp's
// unknowns take, but the last one, `before`, of which `a` is its element; and the reciprocal of its
// diagonal.
struct OwnUnknown {
  float2 left, sum, a, before, near, rest;

  // The warp's next unknown, that of `lane`, which all lanes get.
  template <bool rounds_once>
  __device__ __forceinline__ float2 next(int lane, const float2& element) {
    const float2 now = all_taken<rounds_once>(left, sum, a, before);
    float2 x;
    if constexpr (rounds_once)
      x = quotient(now, near, rest);
    else
      x = quotient(now, near);
    add_product(sum, a, before);
    a = element;
    before = from_lane(x, lane);
    return before;
  }
};

// Eight unknowns of each line from the first-th lane's on, from a lane's row of the triangle;
// whether all are numbers.
template <bool rounds_once, int lines>
__device__ __forceinline__ bool solve_group(float2 (&x)[lines][of_group], OwnUnknown (&own)[lines],
                                            const float2* row, int first) {
  bool are_numbers = true;
#pragma unroll
  for (int j = 0; j < of_group; ++j) {
    const float2 element = row[first + j];
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      x[l][j] = own[l].template next<rounds_once>(first + j, element);
      are_numbers = are_numbers && is_a_number(x[l][j]);
    }
  }
  return are_numbers;
}

// A warp's unknowns, from a lane's row of the triangle: this lane's of each line. give(first,
// unknowns) is called with each eight.
template <int lines, class Give>
__device__ __forceinline__ void solve_own(float2 (&solved)[lines], OwnUnknown (&own)[lines],
                                          const float2* row, int lane, const Give& give) {
#pragma unroll 1
  for (int first = 0; first < of_warp; first += of_group) {
    float2 known[lines][of_group];
    OwnUnknown before[lines];
#pragma unroll
    for (int l = 0; l < lines; ++l) before[l] = own[l];
    // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
    if (!solve_group<true>(known, own, row, first)) {
      solve_group<false>(known, before, row, first);
#pragma unroll
      for (int l = 0; l < lines; ++l) own[l] = before[l];
    }
    give(first, known);
#pragma unroll
    for (int l = 0; l < lines; ++l) {
#pragma unroll
      for (int i = 0; i < of_group; ++i)
        if (lane == first + i) solved[l] = known[l][i];
    }
  }
}

// The work of a warp that has unknowns, those of link `own`. Where the triangle is a conjugate, the
// conjugate system is solved.
template <int lines>
__device__ __forceinline__ void run_link(ChainMemory<lines>& memory, const ComplexBlock& b,
                                         const Complex* a, Complex* x, int count,
                                         const Complex& alpha, int own, int warp, int lane) {
  float2(&tiles)[chain_ring][of_warp * tile_pitch] = memory.tiles[warp];
  const int row = own * of_warp, unknown = row + lane;
  const auto start_tile = [&](int link) {
    if (link < own) copy_tile(tiles[link % chain_ring], b, a, row, link * of_warp, lane);
    async_commit();
  };
  copy_tile(memory.diagonal[warp], b, a, row, row, lane);
  start_tile(0);
  start_tile(1);
  Complex right[lines] = {};
#pragma unroll
  for (int l = 0; l < lines; ++l)
    if (unknown < b.size && l < count) right[l] = x[unknown * b.x_step + l * b.line_step];
  async_wait<1>();
  __syncwarp();
  const float2* const own_row = memory.diagonal[warp] + lane * tile_pitch;
  const bool is_one = b.unit_diagonal || unknown >= b.size;
  const ComplexReciprocal reciprocal(is_one ? Complex{1, 0}
                                            : Complex{own_row[lane].x, own_row[lane].y});
  float2 sums[lines] = {};
#pragma unroll 1
  for (int link = 0; link < own; ++link) {
    async_wait<1>();
    __syncwarp();
    float2 known_by[of_warp];
#pragma unroll
    for (int j = 0; j < of_warp; ++j) known_by[j] = tiles[link % chain_ring][lane * tile_pitch + j];
    start_tile(link + 2);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      mbarrier_wait(&memory.solved[link * groups + group], 0);
#pragma unroll
      for (int l = 0; l < lines; ++l)
        add_known(sums[l], known_by + group * of_group, memory.x[link][l] + group * of_group);
    }
  }
  __syncwarp();
  const float2 none = make_float2(0, 0);
  OwnUnknown mine[lines];
#pragma unroll
  for (int l = 0; l < lines; ++l) {
    const Complex scaled = conjugate(times(alpha, right[l]), b.conj);
    mine[l] = {none, none, none, none, reciprocal.near, reciprocal.rest};
    take_sums(scaled.re, sums[l].x, 0, mine[l].left.x, mine[l].sum.x);
    take_sums(scaled.im, sums[l].y, 0, mine[l].left.y, mine[l].sum.y);
  }
  const auto send = [&](int first, const float2(&known)[lines][of_group]) {
    const int pair = lane / chain_blocks;
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      float4 both = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int i = 0; i < of_group; i += 2)
        if (i / 2 == pair)
          both = make_float4(known[l][i].x, known[l][i].y, known[l][i + 1].x, known[l][i + 1].y);
      send_to_block(lane % chain_blocks,
                    reinterpret_cast<float4*>(&memory.x[own][l][first + 2 * pair]), both,
                    &memory.solved[own * groups + first / of_group]);
    }
  };
  float2 solved[lines] = {};
  solve_own(solved, mine, own_row, lane, send);
#pragma unroll
  for (int l = 0; l < lines; ++l)
    if (unknown < b.size && l < count)
      x[unknown * b.x_step + l * b.line_step] = conjugate({solved[l].x, solved[l].y}, b.conj);
}

template <int lines>
__global__ void __launch_bounds__(chain_threads) complex_chain_kernel(const ComplexBlock b) {
  if constexpr (has_clusters) {
    ChainMemory<lines>& memory = *gpu::dynamic_shared<ChainMemory<lines>>();
    const int tid = static_cast<int>(threadIdx.x), warp = tid / warp_lanes, lane = tid % warp_lanes;
    const int links = ceil_div(b.size, of_warp);
    const bool has_barrier = tid < links * groups;
    if (has_barrier) {
      mbarrier_init(&memory.solved[tid], 1);
      mbarrier_init_is_done();
    }
    arrive_at_cluster();
    __syncthreads();
    wait_for_previous_kernel();
    let_next_kernel_start();
    const Complex alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
    if (!is_zero(alpha) && has_barrier)
      mbarrier_arrive_expecting(&memory.solved[tid], lines * of_group * sizeof(float2));
    wait_for_cluster();
    if (is_zero(alpha)) return;  // someone else writes the zeros
    const int strips = ceil_div(static_cast<int>(b.lines), lines);
    const int entry = b.batch == 1 ? 0 : cluster_index() / strips;
    const int line = (cluster_index() - entry * strips) * lines;
    const int own = warp * chain_blocks + rank_in_cluster();
    if (own < links)
      run_link(memory, b, b.a + entry * b.stride_a, b.x + entry * b.stride_x + line * b.line_step,
               static_cast<int>(b.lines) - line, alpha, own, warp, lane);
    // What others send here comes before this block is gone.
    if (warp == 0)
      for (int i = 0; i < links * groups; ++i) mbarrier_wait(&memory.solved[i], 0);
  }
}

template <int lines>
Status launch_with(const ComplexBlock& block, Stream stream) {
  const std::int64_t clusters = block.batch * ceil_div(block.lines, std::int64_t{lines});
  return gpu::launch(complex_chain_kernel<lines>,
                     {.grid = dim3(static_cast<unsigned>(clusters * chain_blocks)),
                      .block = dim3(chain_threads),
                      .shared_bytes = sizeof(ChainMemory<lines>),
                      .stream = stream,
                      .overlap = true,
                      .cluster = chain_blocks},
                     block);
}

}  // namespace

Status launch_complex_chain(const ComplexBlock& block, int lines_of_cluster, Stream stream) {
  return lines_of_cluster == 1 ? launch_with<1>(block, stream) : launch_with<2>(block, stream);
}

}  // namespace KW_TARGET
