// What a rank needs to exchange data with other nodes, for as long as its group lives: host memory
// that copy engines reach, a stream of copies to it, and events.
//
// Way of a piece   owner's device -> slot of the owner -> network -> slot of the rank that receives
//                  it, in memory of the node -> devices of all ranks of the node that need it. By
//                  copy engines and the host alone: a persistent product holds all multiprocessors.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "distributed/nodes_meeting.hpp"
#include "distributed/shared_file.hpp"
#include "gpu/transfer.hpp"

namespace kw::distributed {

// So many messages are under way at a time, each way. Larger ones hide a message's begin, smaller
// ones overlap its three copies.
struct Slots {
  int count = most_slots;
  std::size_t bytes = std::size_t{4} << 20;

  std::size_t room() const { return static_cast<std::size_t>(count) * bytes; }
};

class NodeLink {
 public:
  NodeLink(NodesMeeting& meeting, Slots slots) : meeting_(meeting), slots_(slots) {}
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  Status open(Transfer& transfer);
  // The memory of slots stays after this, until the process ends.
  void keep_memory();

  NodesMeeting& meeting() { return meeting_; }
  const Slots& slots() const { return slots_; }
  Stream stream() const { return stream_; }
  // Of those that this rank sends; of those that come to a rank of its node.
  void* outgoing(int slot) const;
  void* incoming(int rank, int slot) const;
  // How many messages have come to the rank in this call.
  std::atomic<int>& landed(int rank);
  // How many ranks have not read that slot yet.
  std::atomic<int>& readers_left(int rank, int slot);

  Status take_event(Event* event);
  void give_back(Event event) { free_.push_back(event); }

 private:
  NodesMeeting& meeting_;
  const Slots slots_;
  Transfer* transfer_ = nullptr;
  Stream stream_;
  bool has_stream_ = false, keeps_memory_ = false;
  void* outgoing_ = nullptr;
  std::vector<Event> made_, free_;
};

}  // namespace kw::distributed
