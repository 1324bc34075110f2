// What the kernels share that solve a system by warps with lines of their own, real
// (solve_warps.cu) or complex (ctrsm/warps.cu): where its elements lie in shared memory, and how
// they get there and back.
#pragma once

#include <type_traits>

#include "arithmetic.hpp"
#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "level3/own_lines_plan.hpp"

namespace KW_TARGET::own_lines {

constexpr int at_once = own_lines_at_once, of_square = at_once * at_once;
// Rows of squares, and the right-hand side of their unknowns, that are on their way.
constexpr int on_the_way = 4;

// How the lanes of a warp share its lines.
template <class Element, int lines>
struct Lanes {
  static_assert(warp_lanes % lines == 0 && lines >= warp_lanes / 4);
  static constexpr int sharing = warp_lanes / lines;  // a line
  static constexpr int rows = at_once / sharing;      // of a square, that a lane sums up
  static constexpr int pitch = own_lines_pitch<sizeof(Element) / sizeof(float)>(lines);
};

// Shared memory: the squares of the triangle, row after row of them, each as [column][row]; the
// reciprocals of its diagonal; and of each warp its lines as [unknown][line].
template <class Element, int lines>
struct Room {
  static constexpr int pitch = Lanes<Element, lines>::pitch;
  Element *squares, *near, *rest, *x;

  __device__ __forceinline__ Room(Element* shared, int rows, int warp)
      : squares(shared),
        near(shared + own_lines_squares(rows / at_once) * of_square),
        rest(near + rows),
        x(rest + rows + warp * rows * pitch) {}
  __device__ __forceinline__ Element* unknown(int i) const { return x + i * pitch; }
  __device__ __forceinline__ Element* square(int row, int col) const {
    return squares + (own_lines_squares(row) + col) * of_square;
  }
};

// `from` points at an element in memory, whose type may have other names for its parts.
template <class Element, class Stored>
__device__ __forceinline__ void copy_element(Element* to, const Stored* from, bool is_there) {
  static_assert(sizeof(Element) == sizeof(Stored));
  constexpr int bytes = sizeof(Element);
  async_copy<bytes>(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from),
                    is_there ? bytes : 0);
}

// Starts the copies of a row of squares, by all warps. Neighbouring lanes read neighbours in
// memory, whichever way the triangle lies. What is not of the triangle is not read, and 0.
template <class Element, int lines, class Block, class Stored>
__device__ __forceinline__ void copy_squares(const Room<Element, lines>& room, const Block& b,
                                             const Stored* a, int row, int warp, int lane) {
  constexpr int half = warp_lanes / at_once;
  const int warps = static_cast<int>(blockDim.x) / warp_lanes;
  const bool by_rows = b.a_row == 1 || b.a_row == -1;
  const int r = by_rows ? lane % at_once : lane / at_once;
  const int c = by_rows ? lane / at_once : lane % at_once;
  const int r_on = by_rows ? 0 : half, c_on = by_rows ? half : 0;
  const int own = row * at_once + r;
  const std::int64_t on = r_on * b.a_row + c_on * b.a_col;
  int other = warp * at_once + c;
  const Stored* from = a + own * b.a_row + other * b.a_col;
  Element* to = room.square(row, warp) + c * at_once + r;
#pragma unroll 1
  for (int col = warp; col <= row; col += warps) {
    copy_element(to, from, own < b.size && own > other);
    copy_element(to + c_on * at_once + r_on, from + on,
                 own + r_on < b.size && own + r_on > other + c_on);
    other += warps * at_once;
    from += warps * at_once * b.a_col;
    to += warps * of_square;
  }
}

// The elements of 8 unknowns that a lane brings and stores: neighbouring lanes meet neighbours in
// memory, whichever way lines lie.
template <class Element, int lines>
class LaneElements {
  static constexpr int pitch = Lanes<Element, lines>::pitch;

 public:
  template <class Block>
  __device__ __forceinline__ LaneElements(const Block& b, std::int64_t count, int lane)
      : left_(count < lines ? static_cast<int>(count) : lines) {
    const bool along_lines = b.line_step == 1;
    unknown_ = along_lines ? lane / lines : lane % at_once;
    line_ = along_lines ? lane % lines : lane / at_once;
    unknown_on_ = along_lines ? warp_lanes / lines : 0;
    line_on_ = along_lines ? 0 : warp_lanes / at_once;
    on_ = unknown_on_ * b.x_step + line_on_ * b.line_step;
  }
  // act(shared, memory, is_there) of each, from unknown `first` on.
  template <class Block, class Stored, class Act>
  __device__ __forceinline__ void each(Element* shared, const Block& b, Stored* x, int first,
                                       const Act& act) const {
    int i = first + unknown_, line = line_;
    Element* own = shared + i * pitch + line;
    Stored* memory = x + i * b.x_step + line * b.line_step;
#pragma unroll 4
    for (int step = 0; step < at_once * lines / warp_lanes; ++step) {
      act(own, memory, i < b.size && line < left_);
      i += unknown_on_, line += line_on_;
      own += unknown_on_ * pitch + line_on_;
      memory += on_;
    }
  }

 private:
  const int left_;
  int unknown_, line_, unknown_on_, line_on_;  // the first, and on to the next
  std::int64_t on_;
};

// All 8 rows of a lane's line, of which the lanes of a line have a part each.
template <int lines, class Element, int rows>
__device__ __forceinline__ void share(Element (&all)[at_once], const Element (&own)[rows],
                                      int lane) {
  static_assert(rows == Lanes<Element, lines>::rows);
#pragma unroll
  for (int i = 0; i < at_once; ++i) {
    if constexpr (rows == at_once)
      all[i] = own[i];
    else
      all[i] = from_lane(own[i % rows], lane % lines + i / rows * lines);
  }
}

__device__ __forceinline__ bool is_zero(float x) { return x == 0; }

// What a block of threads does: its warps bring the right-hand sides of 8 unknowns after the other,
// and the rows of squares that these need, solve them and store them. invert(room, a, rows) makes
// the reciprocals of the diagonal, solve(room, alpha, panel, lane) a lane's 8 unknowns of a panel,
// and stored(x) is what memory gets of an unknown.
template <class Element, int lines, class Block, class Invert, class Solve, class ToStored>
__device__ __forceinline__ void solve_own_lines(const Block& b, const Invert& invert,
                                                const Solve& solve, const ToStored& stored) {
  using Stored = std::remove_cvref_t<decltype(*b.x)>;
  const int tid = static_cast<int>(threadIdx.x), lane = tid % warp_lanes, warp = tid / warp_lanes;
  const int rows = own_lines_rows(b.size), panels = rows / at_once;
  const Room<Element, lines> room(gpu::dynamic_shared<Element>(), rows, warp);
  const int of_block = static_cast<int>(blockDim.x) / warp_lanes * lines;
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{of_block});
  const std::int64_t entry = blockIdx.x / strips;
  const std::int64_t line = (blockIdx.x - entry * strips) * of_block + warp * lines;
  const std::int64_t count = b.lines - line;
  const Stored* const a = b.a + entry * b.stride_a;
  Stored* const x = b.x + entry * b.stride_x + (count > 0 ? line * b.line_step : 0);
  const LaneElements<Element, lines> elements(b, count, lane);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Stored alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (is_zero(alpha)) return;  // someone else writes the zeros
#pragma unroll 1
  for (int panel = -on_the_way; panel < panels; ++panel) {
    // In the first turns copies are started, and no more.
    const int next = panel + on_the_way;
    if (next < panels) {
      elements.each(
          room.x, b, x, next * at_once,
          [](Element* to, const Stored* from, bool is_there) { copy_element(to, from, is_there); });
      copy_squares(room, b, a, next, warp, lane);
    }
    async_commit();
    if (panel == -1) invert(room, a, rows);
    if (panel < 0) continue;
    async_wait<on_the_way>();
    __syncthreads();
    if (count > 0) solve(room, alpha, panel, lane);
    __syncwarp();
    elements.each(room.x, b, x, panel * at_once,
                  [&](const Element* from, Stored* to, bool is_there) {
                    if (is_there) *to = stored(*from);
                  });
  }
}

// A launch of a kernel that does so.
template <class Block, int floats>
Status launch_own_lines(void (*kernel)(Block), const Block& block, const OwnLines<floats>& with,
                        const Device& device, Stream stream) {
  const std::int64_t blocks = with.blocks(block.lines, block.batch);
  return gpu::launch(kernel,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(static_cast<unsigned>(with.warps * warp_lanes)),
                      .shared_bytes = with.shared_bytes_asked(block.size, blocks, device),
                      .stream = stream,
                      .overlap = true},
                     block);
}

}  // namespace KW_TARGET::own_lines
