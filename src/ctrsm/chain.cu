// Systems of block.hpp with one line: nothing to compute, and a chain of unknowns that wait for
// each other, as level3/solve_chain.cu has real ones.
//
// Idea        A cluster of eight blocks has the triangle, 32 rows a warp, dealt out in turn. A warp
//             takes each 32 unknowns from its rows as soon as they are known, and solves its own
//             when all before are. It sends them to all blocks, 8 at a time, from shared memory to
//             shared memory.
// Prediction  32 unknowns: 0.9 us of one warp, four times what a real one takes, and 0.2 until the
//             next one has them. 1000 unknowns: 32 times 1.1 us and a launch, 38 us, where blocks
//             of 128 take 131 and cuBLAS 68.
// Limits      1024 unknowns, a warp of which has 34 KB of the triangle in shared memory; larger
//             systems go by halves.
#include "arithmetic.hpp"
#include "cgemm/scalars.hpp"
#include "ctrsm/block.hpp"
#include "ctrsm/numbers.hpp"
#include "device/async_copy.hpp"
#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {
namespace {

constexpr int chain_blocks = 8, chain_warps = 4, chain_threads = chain_warps * warp_lanes;
constexpr int of_warp = warp_lanes;  // unknowns of a warp
constexpr int chain_links = chain_blocks * chain_warps;
constexpr int of_group = 8;  // unknowns that are sent together
constexpr int groups = of_warp / of_group;
constexpr int chain_ring = 3;            // tiles of a warp: one is used, two are on their way
constexpr int tile_pitch = of_warp + 1;  // neighbours along both directions lie in other banks
static_assert(chain_links * of_warp == complex_chain_size);

struct ChainMemory {
  alignas(16) float2 x[chain_links][of_warp];
  Mbarrier solved[chain_links * groups];
  float2 diagonal[chain_warps][of_warp * tile_pitch];
  float2 tiles[chain_warps][chain_ring][of_warp * tile_pitch];
};
static_assert(chain_links * groups == chain_threads);

// Starts the copy of a warp's rows from `row` on of 32 columns, as [row][column]. Neighbouring
// lanes read neighbours in memory; what is not of the triangle is not read, and 0.
__device__ __forceinline__ void copy_tile(float2* tile, const ComplexBlock& b, const Complex* a,
                                          int row, int col, int lane) {
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
__device__ __forceinline__ void add_known(float2& sum, const float2* a, const float2* x) {
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
    const float2 x = quotient(now, near, rounds_once ? rest : make_float2(0, 0));
    add_product(sum, a, before);
    a = element;
    before = from_lane(x, lane);
    return before;
  }
};

// Eight unknowns from the first-th lane's on, from a lane's row of the triangle; whether all are
// numbers.
template <bool rounds_once>
__device__ __forceinline__ bool solve_group(float2 (&x)[of_group], OwnUnknown& own,
                                            const float2* row, int first) {
  bool are_numbers = true;
#pragma unroll
  for (int j = 0; j < of_group; ++j) {
    x[j] = own.next<rounds_once>(first + j, row[first + j]);
    are_numbers = are_numbers && is_a_number(x[j]);
  }
  return are_numbers;
}

// A warp's unknowns, from a lane's row of the triangle: this lane's. give(first, unknowns) is
// called with each eight.
template <class Give>
__device__ __forceinline__ float2 solve_own(OwnUnknown own, const float2* row, int lane,
                                            const Give& give) {
  float2 solved = make_float2(0, 0);
#pragma unroll 1
  for (int first = 0; first < of_warp; first += of_group) {
    float2 known[of_group];
    const OwnUnknown before = own;
    // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
    if (!solve_group<true>(known, own, row, first)) {
      own = before;
      solve_group<false>(known, own, row, first);
    }
    give(first, known);
#pragma unroll
    for (int i = 0; i < of_group; ++i)
      if (lane == first + i) solved = known[i];
  }
  return solved;
}

// The work of a warp that has unknowns, those of link `own`. Where the triangle is a conjugate, the
// conjugate system is solved.
__device__ __forceinline__ void run_link(ChainMemory& memory, const ComplexBlock& b,
                                         const Complex* a, Complex* x, const Complex& alpha,
                                         int own, int warp, int lane) {
  float2(&tiles)[chain_ring][of_warp * tile_pitch] = memory.tiles[warp];
  const int row = own * of_warp, unknown = row + lane;
  const auto start_tile = [&](int link) {
    if (link < own) copy_tile(tiles[link % chain_ring], b, a, row, link * of_warp, lane);
    async_commit();
  };
  copy_tile(memory.diagonal[warp], b, a, row, row, lane);
  start_tile(0);
  start_tile(1);
  Complex right{0, 0};
  if (unknown < b.size) right = x[unknown * b.x_step];
  async_wait<1>();
  __syncwarp();
  const float2* const own_row = memory.diagonal[warp] + lane * tile_pitch;
  const bool is_one = b.unit_diagonal || unknown >= b.size;
  const ComplexReciprocal reciprocal(is_one ? Complex{1, 0}
                                            : Complex{own_row[lane].x, own_row[lane].y});
  float2 sum = make_float2(0, 0);
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
      add_known(sum, known_by + group * of_group, memory.x[link] + group * of_group);
    }
  }
  __syncwarp();
  const Complex scaled = conjugate(times(alpha, right), b.conj);
  const float2 none = make_float2(0, 0);
  OwnUnknown mine = {none, none, none, none, reciprocal.near, reciprocal.rest};
  take_sums(scaled.re, sum.x, 0, mine.left.x, mine.sum.x);
  take_sums(scaled.im, sum.y, 0, mine.left.y, mine.sum.y);
  const auto send = [&](int first, const float2(&known)[of_group]) {
    const int pair = lane / chain_blocks;
    float4 both = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < of_group; i += 2)
      if (i / 2 == pair) both = make_float4(known[i].x, known[i].y, known[i + 1].x, known[i + 1].y);
    send_to_block(lane % chain_blocks, reinterpret_cast<float4*>(&memory.x[own][first + 2 * pair]),
                  both, &memory.solved[own * groups + first / of_group]);
  };
  const float2 solved = solve_own(mine, own_row, lane, send);
  if (unknown < b.size) x[unknown * b.x_step] = conjugate({solved.x, solved.y}, b.conj);
}

__global__ void __launch_bounds__(chain_threads) complex_chain_kernel(const ComplexBlock b) {
  if constexpr (has_clusters) {
    ChainMemory& memory = *gpu::dynamic_shared<ChainMemory>();
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
      mbarrier_arrive_expecting(&memory.solved[tid], of_group * sizeof(float2));
    wait_for_cluster();
    if (is_zero(alpha)) return;  // someone else writes the zeros
    const int entry = cluster_index(), own = warp * chain_blocks + rank_in_cluster();
    if (own < links)
      run_link(memory, b, b.a + entry * b.stride_a, b.x + entry * b.stride_x, alpha, own, warp,
               lane);
    // What others send here comes before this block is gone.
    if (warp == 0)
      for (int i = 0; i < links * groups; ++i) mbarrier_wait(&memory.solved[i], 0);
  }
}

}  // namespace

bool complex_solves_by_chain(int size, std::int64_t lines, std::int64_t batch,
                             const Device& device) {
  constexpr std::int64_t most_clusters = 16;  // side by side
  constexpr int least = 64;                   // a block of block.cu is as quick
  return device.compute_capability == 90 && lines == 1 && size > least &&
         size <= complex_chain_size && batch <= most_clusters;
}

double complex_chain_us(int size) {
  constexpr double launch_us = 2.5, link_us = 1.6;
  return launch_us + ceil_div(size, of_warp) * link_us;
}

Status launch_complex_chain(const ComplexBlock& block, Stream stream) {
  return gpu::launch(complex_chain_kernel,
                     {.grid = dim3(static_cast<unsigned>(block.batch * chain_blocks)),
                      .block = dim3(chain_threads),
                      .shared_bytes = sizeof(ChainMemory),
                      .stream = stream,
                      .overlap = true,
                      .cluster = chain_blocks},
                     block);
}

}  // namespace KW_TARGET
