// Watches launches through host SIMT and counts what their blocks do (counts.hpp). The kernel's
// text has to be compiled with -fsanitize=thread and linked with hooks.cpp: kw_traced_kernels in
// cmake/KernelwrightTrace.cmake.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "host_simt/observer.hpp"
#include "trace/block_recorder.hpp"
#include "trace/counts.hpp"

namespace kw::trace {

class Trace final : public host_simt::LaunchObserver {
 public:
  struct Options {
    std::uint64_t blocks = 0;  // of each launch that are recorded, spread evenly; 0: all
    // Called now and then: blocks of the launch that have ended, of so many.
    std::function<void(const LaunchCounts&, std::uint64_t)> progress;
  };
  explicit Trace(Options options) : options_(std::move(options)) {}

  // Of all launches so far, in their order. While none is running.
  std::vector<LaunchCounts> launches();

  void begin_launch(const std::string& kernel, const host_simt::LaunchConfig& config) override;
  std::unique_ptr<host_simt::BlockObserver> begin_block(
      const host_simt::BlockFacts& block) override;
  void end_block(std::unique_ptr<host_simt::BlockObserver> observer) override;

 private:
  bool is_recorded(std::uint64_t block) const;
  void finish_launch();

  Options options_;
  std::mutex mutex_;
  std::vector<LaunchCounts> launches_;
  std::unique_ptr<Footprint> footprint_;                 // of the last one
  std::vector<std::unique_ptr<BlockRecorder>> at_rest_;  // that no block has
};

}  // namespace kw::trace
