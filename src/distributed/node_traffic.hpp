// What one rank passes to other nodes and takes from them in one call, driven by the host beside
// the products of its device.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "distributed/network.hpp"
#include "distributed/node_link.hpp"
#include "distributed/orientation.hpp"

namespace kw::distributed {

// A rank's own part of an operand, or a panel of it.
struct Array {
  float* data = nullptr;
  std::int64_t ld = 0;
  Orientation order = {true, Layout::row_major};
  int device = 0;
};

class NodeTraffic {
 public:
  NodeTraffic(NodeLink& link, Transfer& transfer, int rank)
      : link_(link), transfer_(transfer), rank_(rank) {}
  ~NodeTraffic();
  NodeTraffic(const NodeTraffic&) = delete;
  NodeTraffic& operator=(const NodeTraffic&) = delete;

  // `own`: A and B, which are read once `inputs_ready` has passed. Nothing is written yet.
  Status begin(const Product& product, std::int64_t panel_k, const std::array<Array, 2>& own,
               Event inputs_ready);
  // Whether something of that operand comes from other nodes in the step.
  bool brings(int step, Factor factor) const;
  // Puts on `channel` the copies of all that comes to the panel from other nodes. Steps in order,
  // and in each A before B. Returns when all has come, and goes on with what is to be sent
  // meanwhile.
  Status bring(int step, Factor factor, const Array& panel, Stream channel);
  // Returns when all that this rank sends has gone and all that it reads has been read.
  Status finish();

 private:
  struct Sending {
    const Message* message;
    int slot;
    Event copied;
    int request = -1;
  };
  struct Reading {
    const Message* message;
    Event copied;
  };

  Status move(bool* moved);
  Status stage(bool* moved);
  Status send_staged(bool* moved);
  Status receive(bool* moved);
  Status release_read(bool* moved);
  Status put_copy(const Message& message, const Array& panel, Stream channel);
  int slot_of(const Message& message) const { return message.place % link_.slots().count; }
  Status late() const;

  NodeLink& link_;
  Transfer& transfer_;
  const int rank_;
  std::array<Array, 2> own_;
  std::vector<Message> read_, sent_, received_;
  std::size_t next_read_ = 0, next_staged_ = 0, next_posted_ = 0, landed_ = 0;
  std::deque<Sending> sending_;
  std::deque<Reading> reading_;
  std::deque<int> receiving_;  // requests of received_[landed_] and those that follow
};

}  // namespace kw::distributed
