// One launch after the other; its blocks' recorders, which are used again. See trace.hpp.
#include "trace/trace.hpp"

#include <algorithm>
#include <utility>

#include "host_simt/host_simt.hpp"

namespace kw::trace {

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::global_load: return "global_load";
    case Kind::global_store: return "global_store";
    case Kind::global_atomic: return "global_atomic";
    case Kind::shared_load: return "shared_load";
    case Kind::shared_store: return "shared_store";
    case Kind::shared_atomic: return "shared_atomic";
    case Kind::async_copy_from: return "async_copy_from";
    case Kind::async_copy_to: return "async_copy_to";
  }
  return "unknown";
}

void Trace::finish_launch() {
  if (!footprint_) return;
  launches_.back().bytes_read = footprint_->bytes(false);
  launches_.back().bytes_written = footprint_->bytes(true);
  footprint_.reset();
}

std::vector<LaunchCounts> Trace::launches() {
  finish_launch();
  return launches_;
}

void Trace::begin_launch(const std::string& kernel, const host_simt::LaunchConfig& config) {
  finish_launch();
  LaunchCounts launch;
  launch.kernel = kernel;
  launch.grid = {config.grid.x, config.grid.y, config.grid.z};
  launch.block = {config.block.x, config.block.y, config.block.z};
  launch.blocks = std::uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  launches_.push_back(std::move(launch));
  footprint_ = std::make_unique<Footprint>(host_simt::DeviceMemory::ranges());
}

// Of N blocks, those in which the number of recorded ones so far goes up.
bool Trace::is_recorded(std::uint64_t block) const {
  const std::uint64_t all = launches_.back().blocks;
  if (options_.blocks == 0 || options_.blocks >= all) return true;
  return (block + 1) * options_.blocks / all > block * options_.blocks / all;
}

std::unique_ptr<host_simt::BlockObserver> Trace::begin_block(const host_simt::BlockFacts& block) {
  if (!is_recorded(block.number)) return nullptr;
  std::unique_ptr<BlockRecorder> recorder;
  {
    const std::lock_guard lock(mutex_);
    if (!at_rest_.empty()) {
      recorder = std::move(at_rest_.back());
      at_rest_.pop_back();
    }
  }
  if (!recorder) recorder = std::make_unique<BlockRecorder>();
  recorder->begin(block, *footprint_);
  return recorder;
}

void Trace::end_block(std::unique_ptr<host_simt::BlockObserver> observer) {
  std::unique_ptr<BlockRecorder> recorder(static_cast<BlockRecorder*>(observer.release()));
  const std::lock_guard lock(mutex_);
  LaunchCounts& launch = launches_.back();
  recorder->end(launch);
  at_rest_.push_back(std::move(recorder));
  if (options_.progress) {
    const std::uint64_t wanted =
        options_.blocks == 0 ? launch.blocks : std::min(options_.blocks, launch.blocks);
    options_.progress(launch, wanted);
  }
}

}  // namespace kw::trace
