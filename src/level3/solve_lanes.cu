// Systems of solve_block.hpp of up to 128 unknowns and few lines, an unknown a lane.
//
// Idea        A warp has some lines, and of each a lane every 32nd unknown. Step after step one
//             lane's unknown is known, and the others get it and take it from theirs: a shuffle
//             and an FFMA on the way to the next one, in a loop of little code. Lines of a warp
//             go side by side. The triangle lies in shared memory, of which a panel of 32 columns
//             is used while the next ones come.
// Prediction  32 unknowns of a few hundred lines: a launch of 1.2 us, one way to memory, and 32
//             steps of 35 cycles, 2.2 us; by solve_block.cu, in which all wait for one warp, 3.1.
// Limits      A warp's lines take as many instructions as they would in solve_warps.cu, and a
//             shuffle for each step of each: thousands of lines are quicker by that.
// Method      As solve_block.cu: sums of 32 products are added to sums of sums, apart from the
//             right-hand side; a quotient is rounded once.
#include "arithmetic.hpp"
#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "level3/solve_block.hpp"
#include "level3/solve_numbers.hpp"

namespace KW_TARGET {
namespace {

constexpr int of_panel = warp_lanes;  // columns of the triangle, a step each

// The triangle in shared memory, as [column][row]. Neighbours along both directions lie in other
// banks.
constexpr int panel_pitch(int panels) { return panels * of_panel + 1; }

// Starts the copies of a panel's columns, below the diagonal, by all warps. Neighbouring lanes read
// neighbours in memory; what is not of the triangle is not read, and 0.
template <int panels>
__device__ __forceinline__ void copy_panel(float* columns, const SolveBlock& b, const float* a,
                                           int panel, int warp, int lane) {
  const int first = panel * of_panel;
  const bool by_rows = b.a_row == 1 || b.a_row == -1;  // lanes along them
#pragma unroll 1
  for (int i = warp; i < (panels - panel) * of_panel; i += solve_lanes_warps) {
    const int row = first + (by_rows ? i - i % of_panel + lane : i);
    const int col = first + (by_rows ? i % of_panel : lane);
    async_copy<4>(columns + col * panel_pitch(panels) + row, a + row * b.a_row + col * b.a_col,
                  row < b.size && row > col ? 4 : 0);
  }
  async_commit();
}

// Until this thread's copies of a panel are there, and perhaps more.
template <int panels>
__device__ __forceinline__ void wait_for_panel(int panel) {
  switch (panels - 1 - panel) {
    case 0: return async_wait<0>();
    case 1: return async_wait<1>();
    case 2: return async_wait<2>();
    default: return async_wait<3>();
  }
}

// A lane's unknowns, every 32nd of each line of the warp.
template <int panels, int lines>
using Unknowns = float[panels][lines];

// All steps of the warp's lines: x from their right-hand sides. reach(panel) waits for its columns.
template <bool rounds_once, bool unit, int panels, int lines, class Reach>
__device__ __forceinline__ void run_through(Unknowns<panels, lines>& x,
                                            const Unknowns<panels, lines>& right,
                                            const float* columns, int size, int lane,
                                            const float (&near)[panels],
                                            const float (&rest)[panels], const Reach& reach) {
  Unknowns<panels, lines> sums = {};
#pragma unroll
  for (int p = 0; p < panels; ++p) {
    const auto value = [&](int l) {
      const float now = right[p][l] - sums[p][l];
      if constexpr (unit) return now;
      return rounds_once ? fmaf(now, near[p], now * rest[p]) : now * near[p];
    };
    reach(p);
    float taken[panels][lines] = {};  // by this panel's unknowns, from those of the next ones
    const int steps = size - p * of_panel < of_panel ? size - p * of_panel : of_panel;
    const float* column = columns + p * of_panel * (panel_pitch(panels) + 1) + lane;
#pragma unroll 4
    for (int j = 0; j < steps; ++j, column += panel_pitch(panels)) {
      float elements[panels];
#pragma unroll
      for (int q = p; q < panels; ++q) elements[q] = column[(q - p) * of_panel];
#pragma unroll
      for (int l = 0; l < lines; ++l) {
        const float known = from_lane(value(l), j);
        if (lane > j) sums[p][l] = fmaf(elements[p], known, sums[p][l]);
#pragma unroll
        for (int q = p + 1; q < panels; ++q) taken[q][l] = fmaf(elements[q], known, taken[q][l]);
      }
    }
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      x[p][l] = value(l);
#pragma unroll
      for (int q = p + 1; q < panels; ++q) sums[q][l] += taken[q][l];
    }
  }
}

template <int panels, int lines>
__device__ __forceinline__ bool are_numbers(const Unknowns<panels, lines>& x) {
  bool are = true;
#pragma unroll
  for (int p = 0; p < panels; ++p)
#pragma unroll
    for (int l = 0; l < lines; ++l) are = are && x[p][l] == x[p][l];
  return are;
}

template <int panels, int lines, bool unit>
__global__ void __launch_bounds__(solve_lanes_warps* warp_lanes, 2)
    solve_lanes_kernel(const SolveBlock b) {
  auto* const columns = gpu::dynamic_shared<float>();
  const int tid = static_cast<int>(threadIdx.x), lane = tid % warp_lanes, warp = tid / warp_lanes;
  constexpr int of_block = solve_lanes_warps * lines;
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{of_block});
  const std::int64_t entry = blockIdx.x / strips;
  const std::int64_t first = (blockIdx.x - entry * strips) * of_block + warp * lines;
  const std::int64_t left = b.lines - first;
  const float* const a = b.a + entry * b.stride_a;
  float* const own = b.x + entry * b.stride_x + lane * b.x_step + first * b.line_step;
  const auto is_there = [&](int p, int l) { return p * of_panel + lane < b.size && l < left; };
  const auto at = [&](int p, int l) -> float& {
    return own[p * of_panel * b.x_step + l * b.line_step];
  };
  wait_for_previous_kernel();
  let_next_kernel_start();
  const float alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (alpha == 0) return;  // someone else writes the zeros
  Unknowns<panels, lines> x, right;
#pragma unroll
  for (int p = 0; p < panels; ++p)
#pragma unroll
    for (int l = 0; l < lines; ++l) right[p][l] = is_there(p, l) ? at(p, l) : 0.0f;
  float near[panels], rest[panels];
#pragma unroll
  for (int p = 0; p < panels; ++p) {
    if constexpr (!unit) {
      const int i = p * of_panel + lane;
      near[p] = i < b.size ? a[i * (b.a_row + b.a_col)] : 1.0f;
    }
    copy_panel<panels>(columns, b, a, p, warp, lane);
  }
#pragma unroll
  for (int p = 0; p < panels; ++p) {
    const Reciprocal reciprocal(unit ? 1.0f : near[p]);
    near[p] = reciprocal.near;
    rest[p] = reciprocal.rest;
#pragma unroll
    for (int l = 0; l < lines; ++l) right[p][l] = fmaf(alpha, right[p][l], 0.0f);
  }
  run_through<true, unit, panels, lines>(x, right, columns, b.size, lane, near, rest, [](int p) {
    wait_for_panel<panels>(p);
    __syncthreads();
  });
  if constexpr (!unit) {
    // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
    if (any_of_warp(!are_numbers<panels, lines>(x)))
      run_through<false, unit, panels, lines>(x, right, columns, b.size, lane, near, rest,
                                              [](int) {});
  }
#pragma unroll
  for (int p = 0; p < panels; ++p)
#pragma unroll
    for (int l = 0; l < lines; ++l)
      if (is_there(p, l)) at(p, l) = x[p][l];
}

template <int panels, int lines, bool unit>
Status launch_with(const SolveBlock& block, Stream stream) {
  constexpr int of_block = solve_lanes_warps * lines;
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{of_block});
  return gpu::launch(solve_lanes_kernel<panels, lines, unit>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(solve_lanes_warps * warp_lanes),
                      .shared_bytes = sizeof(float) * static_cast<std::size_t>(panels * of_panel *
                                                                               panel_pitch(panels)),
                      .stream = stream,
                      .overlap = true},
                     block);
}
template <int panels, int lines>
Status launch_with(const SolveBlock& block, Stream stream) {
  return block.unit_diagonal ? launch_with<panels, lines, true>(block, stream)
                             : launch_with<panels, lines, false>(block, stream);
}
template <int lines>
Status launch_of(const SolveBlock& block, Stream stream) {
  switch (ceil_div(block.size, of_panel)) {
    case 1: return launch_with<1, lines>(block, stream);
    case 2: return launch_with<2, lines>(block, stream);
    case 3: return launch_with<3, lines>(block, stream);
    default: return launch_with<4, lines>(block, stream);
  }
}

}  // namespace

Status launch_solve_lanes(const SolveBlock& block, int lines_of_warp, Stream stream) {
  return lines_of_warp == 2 ? launch_of<2>(block, stream) : launch_of<4>(block, stream);
}

}  // namespace KW_TARGET
