// Ranks by their nodes.
#include "distributed/nodes.hpp"

#include <algorithm>
#include <set>

#include "text.hpp"

namespace kw::distributed {

int Nodes::count() const {
  return of_rank.empty() ? 1 : 1 + *std::max_element(of_rank.begin(), of_rank.end());
}

int Nodes::first_rank(int rank) const {
  if (of_rank.empty()) return 0;
  const auto first = std::find(of_rank.begin(), of_rank.end(), node(rank));
  return static_cast<int>(first - of_rank.begin());
}

int Nodes::place(int rank) const {
  if (of_rank.empty()) return rank;
  return static_cast<int>(std::count(of_rank.begin(), of_rank.begin() + rank, node(rank)));
}

std::vector<int> Nodes::ranks(int node) const {
  std::vector<int> found;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    if (of_rank[rank] == node) found.push_back(static_cast<int>(rank));
  }
  return found;
}

Status make_nodes(const Grid& grid, const std::vector<std::string>& names, Nodes* nodes) {
  std::vector<std::string> known;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    nodes->of_rank.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(name);
  }
  for (int node = 0; node < nodes->count(); ++node) {
    const std::vector<int> ranks = nodes->ranks(node);
    std::set<int> rows, cols;
    for (int rank : ranks) {
      rows.insert(grid.row(rank));
      cols.insert(grid.col(rank));
    }
    if (rows.size() * cols.size() == ranks.size()) continue;
    std::string list;
    for (int rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
    return Status::failure(
        StatusCode::invalid_argument,
        text("node ", known[static_cast<std::size_t>(node)], " has the ranks ", list,
             ", which are no rectangle of the grid of ", grid.p, " x ", grid.q,
             ": number the ranks so that each node's are whole rows of whole columns"),
        "node");
  }
  return Status::success();
}

}  // namespace kw::distributed
