// A product that every rank can make up by itself, whether it is a thread or a process.
#pragma once

#include "distributed/support.hpp"

namespace kw::test {

// Odd sizes and blocks, transposed, several panels.
inline DistributedProblem odd_problem(const Grid& grid) {
  const int last_row = grid.p - 1, last_col = grid.q - 1;
  DistributedProblem p{grid,
                       {{83, 45, 7, 5, last_row, 0}, Layout::col_major, 4},
                       {{39, 83, 6, 9, 0, last_col}, Layout::row_major, 5},
                       {{45, 39, 5, 4, last_row, last_col}, Layout::row_major, 6},
                       Op::transpose,
                       Op::transpose,
                       -1.5f,
                       0.75f,
                       {Math::fp32, 11}};
  p.deal();
  return p;
}

inline detail::DistributedCall call_of(DistributedProblem& p, int rank) {
  return {p.alpha,      p.beta,   p.a.input(rank, p.op_a), p.b.input(rank, p.op_b),
          p.c.of(rank), p.options};
}

}  // namespace kw::test
