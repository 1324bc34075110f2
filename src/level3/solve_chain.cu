// Systems of solve_block.hpp with few lines: nothing to compute, and a chain of unknowns that wait
// for each other.
//
// Idea        A cluster of eight blocks has the triangle, 32 rows a warp, dealt out in turn. A warp
//             takes each 32 unknowns from its rows as soon as they are known, whose part of the
//             triangle it has in registers by then, and solves its own when all before are. It
//             sends them to all blocks, 8 at a time, from shared memory to shared memory.
// Prediction  32 unknowns: 0.3 us of one warp, and 0.2 until the next one has them.
//             1171 unknowns of one line: 37 times 0.5 us and a launch, 22 us, where blocks of 256
//             take 104.
// Limits      2048 unknowns; larger systems go by halves. Lines beyond four are other clusters'.
// Method      As solve_block.cu: sums of products apart from the right-hand side, a quotient
//             rounded once.
#include "arithmetic.hpp"
#include "device/async_copy.hpp"
#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "device/load_floats.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "level3/solve_block.hpp"
#include "level3/solve_numbers.hpp"

namespace KW_TARGET {
namespace {

constexpr int chain_blocks = 8, chain_warps = 8, chain_threads = chain_warps * warp_lanes;
constexpr int of_warp = warp_lanes;  // unknowns of a warp
constexpr int chain_links = chain_blocks * chain_warps;
constexpr int of_group = 8;              // unknowns that are solved by all lanes alike, and sent
constexpr int chain_ring = 3;            // tiles of a warp: one is used, two are on their way
constexpr int tile_pitch = of_warp + 1;  // neighbours along both directions lie in other banks
static_assert(chain_links * of_warp == solve_chain_size);

template <int lines>
struct ChainMemory {
  float x[chain_links][lines][of_warp];
  Mbarrier solved[chain_links];
  float diagonal[chain_warps][of_warp * tile_pitch];
  alignas(16) float near[chain_warps][of_warp];
  alignas(16) float rest[chain_warps][of_warp];
  alignas(
      16) float columns[chain_warps][of_warp][of_group];  // of the squares of eight on the diagonal
  float tiles[chain_warps][chain_ring][of_warp * tile_pitch];
};

// Starts the copy of a warp's rows from `row` on of 32 columns, as [row][column]. Neighbouring
// lanes read neighbours in memory; what is not of the triangle is not read, and 0.
[[maybe_unused]] __device__ __forceinline__ void copy_tile(float* tile, const SolveBlock& b,
                                                           const float* a, int row, int col,
                                                           int lane) {
  const int diagonal = b.unit_diagonal ? 1 : 0;
  const bool by_rows = b.a_row == 1 || b.a_row == -1;  // lanes along them
#pragma unroll 8
  for (int i = 0; i < of_warp; ++i) {
    const int own_row = by_rows ? lane : i, own_col = by_rows ? i : lane;
    const bool is_there = row + own_row < b.size && row + own_row >= col + own_col + diagonal;
    const float* const from = a + (row + own_row) * b.a_row + (col + own_col) * b.a_col;
    async_copy<4>(tile + own_row * tile_pitch + own_col, is_there ? from : a, is_there ? 4 : 0);
  }
}

// What known unknowns take from a row, of each line: four sums beside each other.
template <int lines>
__device__ __forceinline__ void add_known(float (&sums)[lines], const float (&a)[of_warp],
                                          const float (&x)[lines][of_warp]) {
#pragma unroll
  for (int l = 0; l < lines; ++l) {
    float parts[4] = {};
#pragma unroll
    for (int j = 0; j < of_warp; j += 4) {
      const float4 known = *reinterpret_cast<const float4*>(&x[l][j]);
      parts[0] = fmaf(a[j], known.x, parts[0]);
      parts[1] = fmaf(a[j + 1], known.y, parts[1]);
      parts[2] = fmaf(a[j + 2], known.z, parts[2]);
      parts[3] = fmaf(a[j + 3], known.w, parts[3]);
    }
    sums[l] += (parts[0] + parts[1]) + (parts[2] + parts[3]);
  }
}

// A warp's triangle in shared memory, by rows, and of the squares of eight on its diagonal the
// columns; and the reciprocals of the diagonal.
struct OwnTriangle {
  const float *elements, *columns, *near, *rest;
};

// Eight unknowns of each line from the first-th lane's on, by all lanes alike.
template <bool rounds_once, int lines>
__device__ __forceinline__ void solve_group(float (&x)[lines][of_group], const OwnTriangle& of,
                                            const float (&left)[lines], const float (&sum)[lines],
                                            int first) {
  float lefts[lines][of_group], sums[lines][of_group];
#pragma unroll
  for (int i = 0; i < of_group; ++i) {
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      lefts[l][i] = from_lane(left[l], first + i);
      sums[l][i] = from_lane(sum[l], first + i);
    }
  }
  float near[of_group], rest[of_group];
  load_floats(near, of.near + first);
  load_floats(rest, of.rest + first);
#pragma unroll
  for (int j = 0; j < of_group; ++j) {
    float column[of_group];
    load_floats(column, of.columns + (first + j) * of_group);
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      const float now = lefts[l][j] - sums[l][j];
      x[l][j] = rounds_once ? fmaf(now, near[j], now * rest[j]) : now * near[j];
#pragma unroll
      for (int i = j + 1; i < of_group; ++i) sums[l][i] = fmaf(column[i], x[l][j], sums[l][i]);
    }
  }
}

template <int lines>
__device__ __forceinline__ bool are_numbers(const float (&x)[lines][of_group]) {
  bool all = true;
#pragma unroll
  for (int l = 0; l < lines; ++l) {
#pragma unroll
    for (int i = 0; i < of_group; ++i) all = all && x[l][i] == x[l][i];
  }
  return all;
}

// A warp's unknowns: `left` is what is left of their right-hand sides, `sums` what that rounded
// away. give(first, unknowns) is called with each eight of all lines.
template <int lines, class Give>
__device__ __forceinline__ void solve_own(float (&x)[lines], const OwnTriangle& of,
                                          const float (&left)[lines], float (&sums)[lines],
                                          int lane, const Give& give) {
#pragma unroll
  for (int first = 0; first < of_warp; first += of_group) {
    float row[of_group], known[lines][of_group];
#pragma unroll
    for (int i = 0; i < of_group; ++i) row[i] = of.elements[lane * tile_pitch + first + i];
    solve_group<true>(known, of, left, sums, first);
    // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
    if (any_of_warp(!are_numbers(known))) solve_group<false>(known, of, left, sums, first);
    give(first, known);
#pragma unroll
    for (int l = 0; l < lines; ++l) {
#pragma unroll
      for (int i = 0; i < of_group; ++i) {
        sums[l] = fmaf(row[i], known[l][i], sums[l]);
        if (lane == first + i) x[l] = known[l][i];
      }
    }
  }
}

// The work of a warp that has unknowns, those of link `own`.
template <int lines>
__device__ __forceinline__ void run_link(ChainMemory<lines>& memory, const SolveBlock& b,
                                         const float* a, float* x, int count, float alpha, int own,
                                         int warp, int lane) {
  float(&tiles)[chain_ring][of_warp * tile_pitch] = memory.tiles[warp];
  const int row = own * of_warp, unknown = row + lane;
  const auto start_tile = [&](int link) {
    if (link < own) copy_tile(tiles[link % chain_ring], b, a, row, link * of_warp, lane);
    async_commit();
  };
  copy_tile(memory.diagonal[warp], b, a, row, row, lane);
  start_tile(0);
  start_tile(1);
  float right[lines], sums[lines] = {}, left[lines], solved[lines] = {};
#pragma unroll
  for (int l = 0; l < lines; ++l)
    right[l] = unknown < b.size && l < count ? x[unknown * b.x_step + l * b.line_step] : 0.0f;
  async_wait<1>();
  __syncwarp();
  const bool is_one = b.unit_diagonal || unknown >= b.size;
  const Reciprocal reciprocal(is_one ? 1.0f : memory.diagonal[warp][lane * (tile_pitch + 1)]);
  memory.near[warp][lane] = reciprocal.near;
  memory.rest[warp][lane] = reciprocal.rest;
#pragma unroll
  for (int j = 0; j < of_group; ++j)
    memory.columns[warp][lane / of_group * of_group + j][lane % of_group] =
        memory.diagonal[warp][lane * tile_pitch + lane / of_group * of_group + j];
#pragma unroll 1
  for (int link = 0; link < own; ++link) {
    async_wait<1>();
    __syncwarp();
    float known_by[of_warp];
#pragma unroll
    for (int j = 0; j < of_warp; ++j) known_by[j] = tiles[link % chain_ring][lane * tile_pitch + j];
    start_tile(link + 2);
    mbarrier_wait(&memory.solved[link], 0);
    add_known(sums, known_by, memory.x[link]);
  }
  __syncwarp();
#pragma unroll
  for (int l = 0; l < lines; ++l) subtract(alpha, right[l], sums[l], left[l], sums[l]);
  const auto send = [&](int first, const float(&known)[lines][of_group]) {
    const int quad = lane / chain_blocks % 2;
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      if (l % 2 != lane / (2 * chain_blocks)) continue;
      const float(&k)[of_group] = known[l];
      send_to_block(
          lane % chain_blocks, reinterpret_cast<float4*>(&memory.x[own][l][first + 4 * quad]),
          quad == 0 ? make_float4(k[0], k[1], k[2], k[3]) : make_float4(k[4], k[5], k[6], k[7]),
          &memory.solved[own]);
    }
  };
  const OwnTriangle of = {memory.diagonal[warp], memory.columns[warp][0], memory.near[warp],
                          memory.rest[warp]};
  solve_own(solved, of, left, sums, lane, send);
#pragma unroll
  for (int l = 0; l < lines; ++l)
    if (unknown < b.size && l < count) x[unknown * b.x_step + l * b.line_step] = solved[l];
}

template <int lines>
__global__ void __launch_bounds__(chain_threads) solve_chain_kernel(const SolveBlock b) {
  if constexpr (has_clusters) {
    ChainMemory<lines>& memory = *gpu::dynamic_shared<ChainMemory<lines>>();
    const int tid = static_cast<int>(threadIdx.x), warp = tid / warp_lanes, lane = tid % warp_lanes;
    const int links = ceil_div(b.size, of_warp);
    if (tid < links) {
      mbarrier_init(&memory.solved[tid], 1);
      mbarrier_init_is_done();
    }
    arrive_at_cluster();
    __syncthreads();
    wait_for_previous_kernel();
    let_next_kernel_start();
    const float alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
    if (alpha != 0 && tid < links)
      mbarrier_arrive_expecting(&memory.solved[tid], sizeof memory.x[0]);
    wait_for_cluster();
    if (alpha == 0) return;  // someone else writes the zeros
    const int strips = static_cast<int>(ceil_div(b.lines, std::int64_t{lines}));
    const int entry = cluster_index() / strips, line = (cluster_index() - entry * strips) * lines;
    const int own = warp * chain_blocks + rank_in_cluster();
    if (own < links)
      run_link(memory, b, b.a + entry * b.stride_a, b.x + entry * b.stride_x + line * b.line_step,
               static_cast<int>(b.lines) - line, alpha, own, warp, lane);
    // What others send here comes before this block is gone.
    if (warp == 0)
      for (int link = 0; link < links; ++link) mbarrier_wait(&memory.solved[link], 0);
  }
}

constexpr int chain_lines_for(std::int64_t lines) { return lines == 1 ? 1 : lines == 2 ? 2 : 4; }

template <int lines>
Status launch_with(const SolveBlock& block, Stream stream) {
  const std::int64_t clusters = block.batch * ceil_div(block.lines, std::int64_t{lines});
  return gpu::launch(solve_chain_kernel<lines>,
                     {.grid = dim3(static_cast<unsigned>(clusters * chain_blocks)),
                      .block = dim3(chain_threads),
                      .shared_bytes = sizeof(ChainMemory<lines>),
                      .stream = stream,
                      .overlap = true,
                      .cluster = chain_blocks},
                     block);
}

}  // namespace

bool solves_by_chain(int size, std::int64_t lines, std::int64_t batch, const Device& device) {
  constexpr std::int64_t most_clusters = 16;  // side by side
  const int of_cluster = chain_lines_for(lines);
  // Four lines take a link twice as long as one; a single block of solve_block.cu is quicker then.
  const int largest_block = of_cluster > 2 ? solve_sizes[0] : of_warp;
  return device.compute_capability == 90 && size > largest_block && size <= solve_chain_size &&
         batch * ceil_div(lines, std::int64_t{of_cluster}) <= most_clusters;
}

// On an H200 a link takes 1.4, 1.4 and 2.8 us by the lines.
double solve_chain_us(int size, std::int64_t lines) {
  constexpr double launch_us = 1.5;
  const double link_us = chain_lines_for(lines) > 2 ? 2.8 : 1.4;
  return launch_us + ceil_div(size, of_warp) * link_us;
}

Status launch_solve_chain(const SolveBlock& block, Stream stream) {
  switch (chain_lines_for(block.lines)) {
    case 1: return launch_with<1>(block, stream);
    case 2: return launch_with<2>(block, stream);
    default: return launch_with<4>(block, stream);
  }
}

}  // namespace KW_TARGET
