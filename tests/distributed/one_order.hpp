// What one context makes of the same additions in the same order as the ranks of a group.
#pragma once

#include "distributed/support.hpp"

namespace kw::test {

// The elements of `line_of` lines and of_k k in the storage of a panel, packed.
inline std::vector<float> packed(Dealing& x, const std::vector<std::int64_t>& rows,
                                 const std::vector<std::int64_t>& cols) {
  std::vector<float> values;
  const bool by_rows = x.layout == Layout::row_major;
  for (std::int64_t outer : by_rows ? rows : cols) {
    for (std::int64_t inner : by_rows ? cols : rows) {
      values.push_back(by_rows ? x.at(outer, inner) : x.at(inner, outer));
    }
  }
  return values;
}

inline MatrixView<const float> view(const std::vector<float>& data, const Dealing& x,
                                    std::size_t rows, std::size_t cols, Op op) {
  const auto r = static_cast<std::int64_t>(rows), c = static_cast<std::int64_t>(cols);
  return {data.data(), r, c, x.layout == Layout::row_major ? c : r, x.layout, op};
}

inline std::vector<std::int64_t> own_indices(std::int64_t length, std::int64_t block, int first,
                                             int ranks, int coordinate) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < length; ++i) {
    if ((i / block + first) % ranks == coordinate) found.push_back(i);
  }
  return found;
}

// Each rank's part of C by one context, in the order of the rank's steps, as the whole.
inline std::vector<float> in_the_same_order(DistributedProblem& p) {
  Context context = Context::cpu();
  std::vector<float> whole = p.c.whole;
  const Distribution& d = p.c.d;
  for (int rank = 0; rank < p.grid.ranks(); ++rank) {
    const auto rows = own_indices(d.rows, d.block_rows, d.first_row, p.grid.p, p.grid.row(rank));
    const auto cols = own_indices(d.cols, d.block_cols, d.first_col, p.grid.q, p.grid.col(rank));
    std::vector<float> part = packed(p.c, rows, cols);
    const auto c_view = view(part, p.c, rows.size(), cols.size(), Op::none);
    const MatrixView<float> c{part.data(), c_view.rows,   c_view.cols,
                              c_view.ld,   c_view.layout, Op::none};
    float beta = p.beta;
    for (const distributed::Step& step :
         make_schedule(p.product(), rank, p.options.panel_k).steps) {
      std::vector<std::int64_t> ks;
      for (const distributed::Run& run : step.of_k) {
        for (std::int64_t i = 0; i < run.length; ++i) ks.push_back(run.index + i);
      }
      const auto& a_rows = p.op_a == Op::none ? rows : ks;
      const auto& a_cols = p.op_a == Op::none ? ks : rows;
      const auto& b_rows = p.op_b == Op::none ? ks : cols;
      const auto& b_cols = p.op_b == Op::none ? cols : ks;
      const std::vector<float> a = packed(p.a, a_rows, a_cols), b = packed(p.b, b_rows, b_cols);
      sgemm(context, p.alpha, view(a, p.a, a_rows.size(), a_cols.size(), p.op_a),
            view(b, p.b, b_rows.size(), b_cols.size(), p.op_b), beta, c, {p.options.math, {}});
      beta = 1;
    }
    std::size_t next = 0;
    const bool by_rows = p.c.layout == Layout::row_major;
    for (std::int64_t outer : by_rows ? rows : cols) {
      for (std::int64_t inner : by_rows ? cols : rows) {
        const std::int64_t i = by_rows ? outer : inner, j = by_rows ? inner : outer;
        whole[static_cast<std::size_t>(i * d.cols + j)] = part[next++];
      }
    }
  }
  return whole;
}

}  // namespace kw::test
