// Who watches kernels while host SIMT runs them: a launch's observer, and for each block that it is
// interested in one that is told which threads meet, what they hand on, and the copies and products
// that pass no register. Plain loads and stores it has to see by other means (src/trace/hooks.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host_simt/vector_types.hpp"

namespace kw::host_simt {

struct LaunchConfig;
struct SharedSymbol;
struct WgmmaOperand;

// A piece of the block's shared memory.
struct SharedRange {
  const char* begin;
  std::size_t bytes;
  const SharedSymbol* array;  // null: the dynamic part
};

struct BlockFacts {
  const std::string& kernel;
  const LaunchConfig& config;
  std::uint64_t number;  // in the grid, x fastest
  int threads, warp_size;
  std::vector<SharedRange> shared;
};

// Threads are numbered within the block, x fastest. `call` is the address behind the call in the
// kernel's machine code.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;

  // All threads of the block have come to a barrier.
  virtual void block_met() = 0;
  // The lanes of `mask`, of the warp whose lane 0 is `first_thread`, have come to an exchange or a
  // barrier; `whole` where no other lane of the warp is still in the kernel.
  virtual void lanes_met(int first_thread, std::uint64_t mask, bool whole) = 0;
  // What `thread` has done happens before what a thread does that later acquires `object`.
  virtual void release(int thread, const void* object) = 0;
  virtual void acquire(int thread, const void* object) = 0;
  virtual void left_kernel(int thread) = 0;

  // cp.async: issued once, then landed once.
  virtual void async_copy_issued(int thread, const void* to, const void* from, int bytes,
                                 int source_bytes, const void* call) = 0;
  virtual void async_copy_landed(int thread, const void* to, int bytes, const void* call) = 0;
  virtual void bulk_copy_issued(int thread, const void* to, const void* from, unsigned bytes,
                                const void* call) = 0;
  virtual void bulk_copy_landed(int thread, const void* to, unsigned bytes, const void* call) = 0;
  // The warp of `thread` has computed its 16 rows of a product of 64 x n.
  virtual void product_computed(int thread, const WgmmaOperand& a, int first_row,
                                const WgmmaOperand& b, int n, const void* call) = 0;
};

// Workers call it for their blocks, several at a time.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // Before its first block; launches take turns.
  virtual void begin_launch(const std::string& kernel, const LaunchConfig& config) = 0;
  // Null where nobody wants to know of this block.
  virtual std::unique_ptr<BlockObserver> begin_block(const BlockFacts& block) = 0;
  // Of a block that has ended without a fault.
  virtual void end_block(std::unique_ptr<BlockObserver> observer) = 0;
};

}  // namespace kw::host_simt
