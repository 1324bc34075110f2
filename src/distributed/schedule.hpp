// What a rank does in a distributed product: which panels of k it multiplies, in which order, what
// it copies from whom into which buffer, and which step must have ended before a buffer is written.
// A pure function of numbers, the same for whoever executes, simulates or tests it.
#pragma once

#include <cstdint>
#include <vector>

#include "distributed/nodes.hpp"
#include "distributed/runs.hpp"
#include "kernelwright/distributed.hpp"

namespace kw::distributed {

// A rectangle that a rank copies from the part of `owner` into a panel, in terms of op(A) or op(B).
struct Piece {
  int owner = 0;
  std::int64_t from_line = 0, from_k = 0;  // within the owner's part
  std::int64_t to_line = 0, to_k = 0;      // within the panel
  std::int64_t lines = 0, k = 0;

  std::int64_t elements() const { return lines * k; }
};

// What a step multiplies of one operand: lines are rows of op(A) or columns of op(B), those of the
// rank's part of C.
struct Panel {
  bool in_place = false;  // multiplied where it lies, in the rank's own part
  std::int64_t from_line = 0, from_k = 0;
  // Otherwise gathered in a buffer, by these copies, which may begin once the product of step
  // `after` has ended (-1: at once).
  int buffer = 0;
  int after = -1;
  std::vector<Piece> pieces;

  std::int64_t elements_from_others(int rank) const;
};

struct Step {
  std::int64_t k = 0;     // so many of k
  std::vector<Run> of_k;  // which: index and length, in the order in which they are added up
  Panel a, b;
  // Where ranks span nodes: a number among the steps that may take something from another node,
  // which all ranks of a node that compute have alike; -1 for the others.
  int network = -1;
};

struct Schedule {
  std::int64_t rows = 0, cols = 0;            // of the rank's part of C
  std::int64_t longest_a = 0, longest_b = 0;  // of k, of a panel in a buffer
  int buffers_a = 0, buffers_b = 0;
  std::vector<Step> steps;  // none where C has no element here or k is 0
};

// A product: op(A) is m x k, op(B) is k x n. All numbers are valid (checks.hpp).
struct Product {
  Grid grid;
  Distribution a, b, c;
  Op op_a = Op::none, op_b = Op::none;
  Nodes nodes = {};

  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.cols; }
  std::int64_t k() const { return op_a == Op::none ? a.cols : a.rows; }
};

// The most of k a panel takes where the call does not say.
std::int64_t default_panel_k(const Product& product);

Schedule make_schedule(const Product& product, int rank, std::int64_t panel_k);

}  // namespace kw::distributed
