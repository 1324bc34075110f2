// Slots, a stream and events.
#include "distributed/node_link.hpp"

namespace kw::distributed {

Status NodeLink::open(Transfer& transfer) {
  transfer_ = &transfer;
  Status status = transfer.create_channel(&stream_);
  has_stream_ = status.ok();
  return status.ok() ? transfer.allocate_pinned(&outgoing_, slots_.room()) : status;
}

NodeLink::~NodeLink() {
  if (transfer_ == nullptr) return;
  for (Event event : made_) transfer_->destroy_event(event);
  if (has_stream_) transfer_->destroy_channel(stream_);
  if (outgoing_ != nullptr && !keeps_memory_) transfer_->release_pinned(outgoing_);
}

void NodeLink::keep_memory() {
  keeps_memory_ = true;
  meeting_.node()->keep_memory();
}

void* NodeLink::outgoing(int slot) const {
  return static_cast<unsigned char*>(outgoing_) + static_cast<std::size_t>(slot) * slots_.bytes;
}

void* NodeLink::incoming(int rank, int slot) const {
  return meeting_.node()->room(meeting_.place_in_node(rank)) +
         static_cast<std::size_t>(slot) * slots_.bytes;
}

std::atomic<int>& NodeLink::landed(int rank) {
  return meeting_.node()->landed(meeting_.place_in_node(rank));
}

std::atomic<int>& NodeLink::readers_left(int rank, int slot) {
  return meeting_.node()->readers_left(meeting_.place_in_node(rank), slot);
}

Status NodeLink::take_event(Event* event) {
  if (free_.empty()) {
    Status status = transfer_->create_event(event);
    if (status.ok()) made_.push_back(*event);
    return status;
  }
  *event = free_.back();
  free_.pop_back();
  return Status::success();
}

}  // namespace kw::distributed
