// Clusters: the turns of their blocks, their barrier, and what they send each other.
// See cluster.hpp.
//
// A block runs alone until it waits. What it sends to a block that has not had its turn finds no
// mbarrier there, and what it reads without having waited for it has not been sent.
#include "host_simt/cluster.hpp"

#include <fmt/format.h>

namespace kw::host_simt {

std::optional<std::string> ClusterRunner::run(const Grid& grid, std::uint64_t index) {
  grid_ = &grid;
  size_ = grid.config.cluster;
  while (blocks_.size() < static_cast<std::size_t>(size_))
    blocks_.push_back(std::make_unique<BlockRunner>(*this));
  running_ = arrived_ = 0;
  phase_ = 0;
  for (int rank = 0; rank < size_; ++rank) {
    block_at(rank).begin(grid, index, rank);
    running_ += block_at(rank).size();
  }
  while (!has_ended()) {
    if (!let_blocks_run()) report_deadlock();
    if (std::optional<std::string> fault = take_fault()) return fault;
  }
  return std::nullopt;
}

bool ClusterRunner::has_ended() const {
  for (int rank = 0; rank < size_; ++rank)
    if (!block_at(rank).has_ended()) return false;
  return true;
}

// One turn of each block that can go on; false where none could.
bool ClusterRunner::let_blocks_run() {
  bool has_run = false;
  const int first = block_at(0).first_turn(size_);
  for (int turn = 0; turn < size_; ++turn) {
    const bool reverse = grid_->options.order == Order::reverse;
    BlockRunner& block = block_at((first + (reverse ? size_ - 1 - turn : turn)) % size_);
    if (block.has_ended() || block.is_stuck()) continue;
    block.resume();
    has_run = true;
    if (block.has_fault()) break;
  }
  return has_run;
}

// Where a block has failed: its text, once no thread of the cluster is left on its stack.
std::optional<std::string> ClusterRunner::take_fault() {
  std::optional<std::string> fault;
  for (int rank = 0; rank < size_ && !fault; ++rank) fault = block_at(rank).fault_text();
  if (!fault) return fault;
  for (int rank = 0; rank < size_; ++rank) block_at(rank).abandon();
  return fault;
}

// No block can go on. To blame is one that does not only wait for the cluster's barrier.
void ClusterRunner::report_deadlock() {
  for (int rank = 0; rank < size_; ++rank) {
    BlockRunner& block = block_at(rank);
    if (block.has_ended() || block.all_wait_for_cluster()) continue;
    block.report_deadlock();
    block.resume();
    return;
  }
}

void ClusterRunner::arrive(Thread& thread, Site site) {
  if (thread.cluster_phase) {
    thread.runner.fault(thread, &site,
                        "arrive_at_cluster for a second time: wait_for_cluster in between");
  }
  thread.cluster_phase = phase_;
  ++arrived_;
  end_phase_if_complete();
}

void ClusterRunner::wait(Thread& thread, Site site) {
  if (!thread.cluster_phase) {
    thread.runner.fault(thread, &site, "wait_for_cluster without arrive_at_cluster before it");
  }
  thread.runner.wait_for_cluster(thread, *thread.cluster_phase == phase_, site);
  thread.cluster_phase.reset();
}

void ClusterRunner::count_leaving() {
  --running_;
  end_phase_if_complete();
}

void ClusterRunner::end_phase_if_complete() {
  if (arrived_ == 0 || arrived_ < running_) return;
  arrived_ = 0;
  ++phase_;
  for (int rank = 0; rank < size_; ++rank) block_at(rank).wake_from_cluster();
}

// Where block `rank` has what lies at `own` in the sender's dynamic shared memory.
void* ClusterRunner::in_block(int rank, const void* own, const BulkCopy& copy) const {
  BlockRunner& from = copy.thread->runner;
  const auto offset = static_cast<const char*>(own) - static_cast<char*>(from.dynamic_shared());
  if (offset < 0 || static_cast<std::size_t>(offset) + copy.bytes > grid_->config.shared_bytes) {
    from.fault(*copy.thread, &copy.site,
               "send_to_block to an address outside of the dynamic shared memory: pass addresses "
               "as they are in the sending block");
  }
  return static_cast<char*>(block_at(rank).dynamic_shared()) + offset;
}

void ClusterRunner::send(int rank, const BulkCopy& copy) {
  BlockRunner& from = copy.thread->runner;
  if (rank < 0 || rank >= size_) {
    from.fault(*copy.thread, &copy.site,
               fmt::format("send_to_block to block {} of a cluster of {}", rank, size_));
  }
  BulkCopy there = copy;
  there.to = in_block(rank, copy.to, copy);
  there.mbarrier = static_cast<std::uint64_t*>(in_block(rank, copy.mbarrier, copy));
  if (block_at(rank).has_ended()) {
    from.fault(*copy.thread, &copy.site,
               fmt::format("send_to_block to block {} of the cluster, which has ended: let it wait "
                           "at the mbarrier for all that is sent to it",
                           rank));
  }
  block_at(rank).receive(there);
}

}  // namespace kw::host_simt
