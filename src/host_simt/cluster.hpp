// Runs the blocks of a cluster on one worker, side by side: each block in turn until it has ended
// or can only go on when others have done something. A cluster of one is an ordinary
// block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host_simt/block.hpp"

namespace kw::host_simt {

class ClusterRunner {
 public:
  // Runs cluster `index` of the grid; the text of its first fault, if any.
  std::optional<std::string> run(const Grid& grid, std::uint64_t index);

  // For the running thread (execution.hpp).
  void arrive(Thread& thread, Site site);
  void wait(Thread& thread, Site site);
  void send(int rank, const BulkCopy& copy);

  // For its blocks.
  int size() const { return size_; }
  void count_leaving();

 private:
  void* in_block(int rank, const void* own, const BulkCopy& copy) const;
  BlockRunner& block_at(int rank) const { return *blocks_[static_cast<std::size_t>(rank)]; }
  bool has_ended() const;
  bool let_blocks_run();
  void end_phase_if_complete();
  void report_deadlock();
  std::optional<std::string> take_fault();

  const Grid* grid_ = nullptr;
  int size_ = 0;                                      // blocks
  int running_ = 0;                                   // threads that have not left the kernel
  int arrived_ = 0;                                   // of them, at the barrier
  std::uint64_t phase_ = 0;                           // how often it was complete
  std::vector<std::unique_ptr<BlockRunner>> blocks_;  // as many as any cluster had
};

}  // namespace kw::host_simt
