// Which ranks share a node, whose memory they reach, and which do not.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/distributed.hpp"
#include "status.hpp"

namespace kw::distributed {

struct Nodes {
  std::vector<int> of_rank;  // numbered from 0 by their first ranks; empty: all are of one

  bool are_several() const { return count() > 1; }
  int count() const;
  int node(int rank) const { return of_rank.empty() ? 0 : of_rank[static_cast<std::size_t>(rank)]; }
  bool are_one(int rank, int other) const { return node(rank) == node(other); }
  // Of the rank's node.
  int first_rank(int rank) const;
  // Of the rank among those of its node.
  int place(int rank) const;
  std::vector<int> ranks(int node) const;
};

// By the names that the ranks give their nodes. The ranks of each must be a rectangle of the grid:
// then those of one row need the same parts of A from other nodes, those of one column the same of
// B.
Status make_nodes(const Grid& grid, const std::vector<std::string>& names, Nodes* nodes);

}  // namespace kw::distributed
