// triangle_lean: products with a triangle of some dozens to some hundreds of rows and thousands of
// lines beside it, by the blocks of lean_tile.
//
// Idea        A block computes a tile of C over the k where the triangle has elements, and is done;
//             those of the most k come first. The triangle is read where it lies: the stages of the
//             square on its diagonal are copied element by element, with zeros and, where it is of
//             ones, ones stored beside them. No launch makes a copy first.
// Order       k ascending from the first stage, which has what k is beyond whole stages; then the
//             square on the diagonal, then the others.
#include <optional>
#include <type_traits>
#include <utility>

#include "level3/lean_triangle_plan.hpp"
#include "level3/production.hpp"
#include "sgemm/lean_loop.hpp"
#include "sgemm/spread_blocks.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {
namespace lean_triangle {

// A call as the product that its blocks compute, and what is of the triangle.
struct Params {
  Sgemm product;
  bool ends;  // a tile's k end at the diagonal
  bool unit_diagonal;
  int of_line;  // tiles of a line
};

// A block's tile: found anew where it is asked for, in place of registers that keep it.
template <LeanTileConfig tile, bool on_left>
struct Place {
  static constexpr int size = on_left ? tile.bm() : tile.bn();
  unsigned row, col;
  int line;  // the first row or column of the triangle

  __device__ __forceinline__ explicit Place(const Params& params) {
    int block = static_cast<int>(blockIdx.x);
    compute_now(block);
    const int from_longest = block / params.of_line, other = block - from_longest * params.of_line;
    const int last = static_cast<int>(ceil_div(params.product.k, size)) - 1;
    const int at = params.ends ? last - from_longest : from_longest;
    row = static_cast<unsigned>(on_left ? at : other);
    col = static_cast<unsigned>(on_left ? other : at);
    line = at * size;
  }
};

// What a thread copies of a stage of the square on the diagonal, element by element, since what is
// beside the triangle is not read: zeros are stored in its place, and ones where the diagonal is of
// ones.
struct SquareElement {
  int least;    // so far from the diagonal, towards the triangle's inside, its elements begin
  bool is_one;  // what lies on the diagonal

  __device__ __forceinline__ void copy(float* to, const float* from, int inside,
                                       bool counts) const {
    if (is_one && inside == 0 && counts)
      *to = 1.0f;
    else
      async_copy<4>(to, from, counts && inside >= least ? 4 : 0);
  }
};

// Copies `depth` k of the square on the diagonal from `at` on. `along_k`: neighbours of a line of
// the triangle differ in k. Threads lie as those of LeanCopies.
template <LeanTileConfig tile, bool on_left, bool along_k>
__device__ __forceinline__ void copy_on_diagonal(float* shared, const Params& params, int at,
                                                 int depth) {
  using S = LeanShape<tile>;
  constexpr int extent = on_left ? S::bm : S::bn, pitch = on_left ? S::pitch_a : S::pitch_b;
  constexpr int across = along_k ? tile.turned : extent % 32 == 0 ? 32 : 16;
  constexpr int down = tile.threads() / across;
  const Sgemm& p = params.product;
  const int line = Place<tile, on_left>(params).line, left = static_cast<int>(p.k) - line;
  const std::int64_t ld = on_left ? p.lda : p.ldb;
  const int i = static_cast<int>(threadIdx.x) / across, j = static_cast<int>(threadIdx.x) % across;
  const SquareElement element{params.unit_diagonal ? 1 : 0, params.unit_diagonal};
  const float* from =
      (on_left ? p.a : p.b) + (along_k ? (line + i) * ld + at + j : (at + i) * ld + line + j);
  const int sign = params.ends ? 1 : -1;
  int inside = sign * (along_k ? i - (at - line + j) : j - (at - line + i));
  if constexpr (along_k) {
    float* to = shared + j * pitch + (i ^ lean_swapped(tile.turned, j));
#pragma unroll 1
    for (int row = i; row < extent && row < left;
         row += down, to += down, from += down * ld, inside += sign * down)
#pragma unroll
      for (int k = 0; k < S::bk; k += across)
        element.copy(to + k * pitch, from + k, inside - sign * k, j + k < depth);
  } else {
    float* to = shared + i * pitch + j;
#pragma unroll 1
    for (int k = i; k < S::bk;
         k += down, to += down * pitch, from += down * ld, inside -= sign * down)
#pragma unroll
      for (int row = 0; row < extent; row += across)
        if (j + row < left) element.copy(to + row, from + row, inside + sign * row, k < depth);
  }
}

// The copies of the triangle's part of a stage, and of the other operand's.
template <LeanTileConfig tile, bool on_left, bool along_k>
using TriangleCopies =
    LeanCopies<tile.threads(), on_left ? LeanShape<tile>::bm : LeanShape<tile>::bn,
               LeanShape<tile>::bk, along_k ? tile.turned : 0>;
template <LeanTileConfig tile, bool on_left>
using OtherCopies =
    std::conditional_t<on_left, LeanCopiesOfB<tile, Op::none>, LeanCopiesOfA<tile, Op::none>>;

// The ring of stages (lean_loop.hpp), of which those on the diagonal come before the others.
template <LeanTileConfig tile, bool on_left, Op op>
class Ring : public LeanStages<tile, TriangleCopies<tile, on_left, (op == Op::none) == on_left>,
                               OtherCopies<tile, on_left>> {
  static constexpr bool along_k = (op == Op::none) == on_left;
  using Base = LeanStages<tile, TriangleCopies<tile, on_left, along_k>, OtherCopies<tile, on_left>>;
  using S = LeanShape<tile>;
  using Base::shared_, Base::first_, Base::second_, Base::to_fill_;
  // Of a stage's floats, the triangle's first one; the other operand's.
  static constexpr int to_triangle = on_left ? 0 : S::bk * S::pitch_a;
  static constexpr int to_other = on_left ? S::bk * S::pitch_a : 0;

 public:
  static constexpr bool has_slow_stages = true;

  __device__ __forceinline__ Ring(float* shared, const Params& params, const Sgemm& p,
                                  const LeanOutputs<tile>& out, const LeanTriangleStages& stages)
      : Base(shared,
             {triangle_from(p, out), ld_of_triangle(p),
              rows_aligned_16(on_left ? p.a : p.b, ld_of_triangle(p)),
              on_left ? out.rows : out.cols, to_triangle},
             {on_left ? p.b + out.col : p.a + out.row * p.lda, on_left ? p.ldb : p.lda,
              rows_aligned_16(on_left ? p.b : p.a, on_left ? p.ldb : p.lda),
              on_left ? out.cols : out.rows, to_other},
             stages.whole()),
        params_(params),
        stages_(stages),
        diagonal_(stages.diagonal) {}

  __device__ __forceinline__ void compute() { first_.compute(), second_.compute(); }
  __device__ __forceinline__ void fill_first(int depth) {
    second_.move(stages_.first_at);
    second_.start_some(shared_, 0, depth);
    if (stages_.first_on_diagonal) {
      copy_on_diagonal<tile, on_left, along_k>(shared_ + to_triangle, params_, stages_.first_at,
                                               depth);
      first_.move(stages_.plain_at);
    } else {
      first_.move(stages_.first_at);
      first_.start_some(shared_, 0, depth);
      first_.move(stages_.plain_at - stages_.first_at);
    }
    second_.move((diagonal_ > 0 ? stages_.diagonal_at : stages_.plain_at) - stages_.first_at);
    async_commit();
    to_fill_ = S::stage;
  }
  // Whether the next stage is on the diagonal.
  __device__ __forceinline__ bool next_is_slow() const { return diagonal_ > 0; }
  __device__ __forceinline__ void fill() {
    Base::begin_to_fill();
    if (diagonal_ > 0) {
      const int at = stages_.diagonal_at + (stages_.diagonal - diagonal_) * S::bk;
      copy_on_diagonal<tile, on_left, along_k>(shared_ + to_fill_ + to_triangle, params_, at,
                                               S::bk);
    } else {
      start_all(first_, shared_, to_fill_);
    }
    start_all(second_, shared_, to_fill_);
    Base::end_to_fill();
    if (diagonal_ > 0 && --diagonal_ == 0)
      second_.move(stages_.plain_at - stages_.diagonal_at - stages_.diagonal * S::bk);
  }

 private:
  __device__ __forceinline__ static std::int64_t ld_of_triangle(const Sgemm& p) {
    return on_left ? p.lda : p.ldb;
  }
  __device__ __forceinline__ static const float* triangle_from(const Sgemm& p,
                                                               const LeanOutputs<tile>& out) {
    const std::int64_t line = on_left ? out.row : out.col;
    return (on_left ? p.a : p.b) + (along_k ? line * ld_of_triangle(p) : line);
  }

  const Params& params_;
  const LeanTriangleStages stages_;
  int diagonal_;
};

template <int index, Op op>
__global__ void __launch_bounds__(lean_triangle_tiles[index].config.threads(),
                                  lean_triangle_tiles[index].config.blocks_per_sm)
    triangle_lean_kernel(__grid_constant__ const Params params) {
  constexpr LeanTileConfig tile = lean_triangle_tiles[index].config;
  constexpr bool on_left = lean_triangle_tiles[index].on_left;
  constexpr Op op_a = on_left ? op : Op::none, op_b = on_left ? Op::none : op;
  auto* const shared = gpu::dynamic_shared<float>();
  // What a plan reads may be the kernel's before, too.
  if (params.product.alpha_at != nullptr) wait_for_previous_kernel();
  LeanSums<tile> acc = {};
  {
    const Place<tile, on_left> place(params);
    const Sgemm p = entry_of(params.product, 0);
    const LeanOutputs<tile> out(p, place.row, place.col);
    const LeanTriangleStages stages =
        lean_triangle_stages(place.line, place.size, tile.bk, static_cast<int>(p.k), params.ends);
    Ring<tile, on_left, op> ring(shared, params, p, out, stages);
    const auto begin = [] {
      wait_for_previous_kernel();
      let_next_kernel_start();
      return true;
    };
    multiply_stages<tile, op_a, op_b>(acc, shared, ring, stages.first_depth, stages.whole(), begin);
  }
  const Place<tile, on_left> place(params);
  const Sgemm p = entry_of(params.product, 0);
  const LeanOutputs<tile> out(p, place.row, place.col);
  if (rows_aligned_16(p.c, p.ldc) && p.n % 4 == 0) {
    store_fours<tile>(p, out, acc);
    return;
  }
  async_wait<0>();
  __syncthreads();  // nobody reads operands any more
  store_neighbours<tile>(p, shared, out, acc);
}

template <int index>
struct Row {
  static constexpr LeanTriangleTile own = lean_triangle_tiles[index];
  static constexpr LeanTileConfig tile = own.config;

  static Params params_of(const Level3& p) {
    Params params;
    Sgemm& product = params.product;
    product.m = p.m, product.n = p.n, product.k = p.k;
    product.alpha = p.alpha, product.alpha_at = p.alpha_at;
    product.c = p.c, product.ldc = p.ldc;
    product.op_a = p.on_left ? p.op_a : Op::none;
    product.op_b = p.on_left ? Op::none : p.op_a;
    product.a = p.on_left ? p.a : p.b, product.lda = p.on_left ? p.lda : p.ldb;
    product.b = p.on_left ? p.b : p.a, product.ldb = p.on_left ? p.ldb : p.lda;
    params.ends = p.is_lower() == p.on_left;
    params.unit_diagonal = p.unit_diagonal;
    params.of_line = static_cast<int>(lean_triangle_lines(tile, p).of_line);
    return params;
  }
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!lean_triangle_supports(own, p)) return std::nullopt;
    const double us = predict_lean_triangle_us(own, p, device);
    return Plan<Level3>{.time_us = us, .cost = lean_triangle_margin * us};
  }
  template <Op op>
  static Status start(const Level3& p, const Device& device, Stream stream) {
    const std::int64_t blocks = lean_triangle_tile_count(tile, p);
    return gpu::launch(triangle_lean_kernel<index, op>,
                       {.grid = dim3(static_cast<unsigned>(blocks)),
                        .block = dim3(static_cast<unsigned>(tile.threads())),
                        .shared_bytes = shared_bytes_where_all_fit(blocks, tile.blocks_per_sm,
                                                                   tile.shared_bytes(), device),
                        .stream = stream,
                        .overlap = true},
                       params_of(p));
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>&, Workspace,
                            Stream stream) {
    if (p.m == 0 || p.n == 0) return Status::success();
    return p.op_a == Op::none ? start<Op::none>(p, device, stream)
                              : start<Op::transpose>(p, device, stream);
  }
  static Kernel<Level3> kernel() {
    return {.name = own.name,
            .parent = nullptr,
            .idea = own.idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace lean_triangle
}  // namespace

KernelList<Level3> lean_triangle_rows() {
  return kernels_of<lean_triangle_tiles>(
      [](auto row) { return lean_triangle::Row<row>::kernel(); });
}

}  // namespace KW_TARGET
