// Matrices dealt out over ranks on the CPU, and what a single context makes of the same additions
// in the same order.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "distributed/group_state.hpp"
#include "kernelwright/distributed.hpp"
#include "kernelwright/sgemm.hpp"

namespace kw::test {

// A whole matrix as stored, row-major, and its parts.
struct Dealing {
  Distribution d;
  Layout layout = Layout::row_major;
  std::vector<float> whole;
  std::vector<std::vector<float>> parts;
  std::vector<std::int64_t> lds;

  Dealing(const Distribution& distribution, Layout order, unsigned seed)
      : d(distribution), layout(order), whole(static_cast<std::size_t>(d.rows * d.cols)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    for (float& value : whole) value = values(random);
  }

  float& at(std::int64_t i, std::int64_t j) {
    return whole[static_cast<std::size_t>(i * d.cols + j)];
  }

  // From the definition, element by element.
  template <class Each>
  void each(const Grid& grid, const Each& visit) {
    for (std::int64_t i = 0; i < d.rows; ++i) {
      for (std::int64_t j = 0; j < d.cols; ++j) {
        const std::int64_t bi = i / d.block_rows, bj = j / d.block_cols;
        const int rank = grid.rank(static_cast<int>((bi + d.first_row) % grid.p),
                                   static_cast<int>((bj + d.first_col) % grid.q));
        const std::int64_t li = bi / grid.p * d.block_rows + i % d.block_rows;
        const std::int64_t lj = bj / grid.q * d.block_cols + j % d.block_cols;
        const std::int64_t ld = lds[static_cast<std::size_t>(rank)];
        const std::int64_t place = layout == Layout::row_major ? li * ld + lj : lj * ld + li;
        visit(at(i, j), parts[static_cast<std::size_t>(rank)][static_cast<std::size_t>(place)]);
      }
    }
  }

  void deal(const Grid& grid) {
    parts.clear();
    lds.clear();
    for (int rank = 0; rank < grid.ranks(); ++rank) {
      const std::int64_t rows = local_rows(d, grid, rank), cols = local_cols(d, grid, rank);
      const bool by_rows = layout == Layout::row_major;
      lds.push_back((by_rows ? cols : rows) + 1 + rank % 3);
      parts.emplace_back(static_cast<std::size_t>((by_rows ? rows : cols) * lds.back() + 1),
                         std::nanf(""));
    }
    each(grid, [](float whole_element, float& part) { part = whole_element; });
  }

  // Once more, of one rank.
  void deal_own(const Grid& grid, int rank) {
    const std::vector<float>& own = parts[static_cast<std::size_t>(rank)];
    each(grid, [&](float whole_element, float& part) {
      if (&part >= own.data() && &part < own.data() + own.size()) part = whole_element;
    });
  }

  std::vector<float> collected(const Grid& grid) {
    std::vector<float> found(whole.size());
    const float* first = whole.data();
    each(grid, [&](float& whole_element, float part) {
      found[static_cast<std::size_t>(&whole_element - first)] = part;
    });
    return found;
  }

  DistributedMatrix<float> of(int rank, Op op = Op::none) {
    const auto r = static_cast<std::size_t>(rank);
    return {d, parts[r].data(), lds[r], layout, op};
  }
  DistributedMatrix<const float> input(int rank, Op op) {
    const DistributedMatrix<float> m = of(rank, op);
    return {m.whole, m.data, m.ld, m.layout, m.op};
  }
};

struct DistributedProblem {
  Grid grid;
  Dealing a, b, c;
  Op op_a = Op::none, op_b = Op::none;
  float alpha = 1, beta = 0;
  DistributedOptions options = {};
  distributed::Nodes nodes = {};

  distributed::Product product() const { return {grid, a.d, b.d, c.d, op_a, op_b, nodes}; }

  void deal() {
    for (Dealing* matrix : {&a, &b, &c}) matrix->deal(grid);
  }

  void multiply(Group& group) {
    std::vector<DistributedMatrix<const float>> as, bs;
    std::vector<DistributedMatrix<float>> cs;
    for (int rank = 0; rank < grid.ranks(); ++rank) {
      as.push_back(a.input(rank, op_a));
      bs.push_back(b.input(rank, op_b));
      cs.push_back(c.of(rank));
    }
    sgemm_distributed(group, alpha, as, bs, beta, cs, options);
  }
};

}  // namespace kw::test
