// What crosses the network in a product whose ranks span nodes: which rank sends which piece to
// which, in what order. A pure function, as the schedule is, so that senders, receivers and those
// who read with them come to the same messages.
//
// Once a node  The ranks of a node that are in one row of the grid need the same pieces of A from
//              other nodes, those in one column the same of B. A piece is sent once to such a node:
//              they receive its messages in turn, into memory that all of the node reach, and each
//              copies all of them to its own panel.
// Order        All messages of a call have one order, in which each rank sends those that it sends
//              and takes those that it takes. So none waits for another in a circle: the first that
//              is not over waits for nothing but products of earlier steps.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "distributed/schedule.hpp"

namespace kw::distributed {

enum class Factor : int { a = 0, b = 1 };

struct Message {
  int step = 0;  // Step::network of those who read it
  Factor factor = Factor::a;
  int from = 0, to = 0;
  int place = 0;             // its number among those that `to` receives
  std::vector<int> readers;  // of one node; `to` is among them
  Piece piece;

  bool is_read_by(int rank) const;
};

// `along_k[factor]`: whether the operand's memory has k, rather than lines, next to each other. A
// message has no more than `most_elements`.
struct MessageShape {
  std::array<bool, 2> along_k = {true, true};
  std::int64_t most_elements = 1;
};

// In their order.
std::vector<Message> messages_to(const Product& product, int node, std::int64_t panel_k,
                                 const MessageShape& shape);
std::vector<Message> messages_from(const Product& product, int rank, std::int64_t panel_k,
                                   const MessageShape& shape);

}  // namespace kw::distributed
