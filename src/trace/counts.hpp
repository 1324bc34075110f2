// What a trace has counted: plain numbers, by launch and by place in the kernel's machine code.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace kw::trace {

// What an instruction does to which memory. cp.async is two: it reads global memory and writes
// shared memory.
enum class Kind {
  global_load,
  global_store,
  global_atomic,
  shared_load,
  shared_store,
  shared_atomic,
  async_copy_from,
  async_copy_to
};
inline constexpr int kinds = 8;
const char* to_string(Kind kind);
inline bool is_shared(Kind kind) {
  return kind == Kind::shared_load || kind == Kind::shared_store || kind == Kind::shared_atomic ||
         kind == Kind::async_copy_to;
}

// `units` are sectors of global memory or wavefronts of shared memory.
struct AccessCounts {
  std::uint64_t requests = 0;    // instructions of a warp
  std::uint64_t lanes = 0;       // that executed them, summed
  std::uint64_t lane_bytes = 0;  // that they asked for, summed over lanes
  std::uint64_t units = 0;
  std::uint64_t least_units = 0;  // for the same bytes side by side, without bank conflicts

  AccessCounts& operator+=(const AccessCounts& other) {
    requests += other.requests;
    lanes += other.lanes;
    lane_bytes += other.lane_bytes;
    units += other.units;
    least_units += other.least_units;
    return *this;
  }
};

// An instruction: the address behind its call of a hook, and what it does.
struct Site {
  std::uintptr_t call = 0;
  Kind kind = Kind::global_load;

  friend bool operator<(const Site& a, const Site& b) {
    return std::tie(a.call, a.kind) < std::tie(b.call, b.kind);
  }
};

// Two threads of a block, one word of shared memory, at least one write, and nothing that orders
// the two. Addresses are those of the instructions.
struct RacePair {
  std::uintptr_t first = 0, second = 0;
  bool first_writes = false, second_writes = false;

  friend bool operator<(const RacePair& a, const RacePair& b) {
    return std::tie(a.first, a.second, a.first_writes, a.second_writes) <
           std::tie(b.first, b.second, b.first_writes, b.second_writes);
  }
};
// The first of its kind that was found.
struct RaceExample {
  std::uint64_t words = 0;  // how often
  std::uint64_t block = 0;
  int first_thread = 0, second_thread = 0;
  std::string place;  // "part + 128 bytes"
};

// The first request of an instruction in which all lanes of a warp take part: where each lane is in
// what memory, for pictures.
struct ExampleAccess {
  std::string memory;                     // the shared array's name; empty of global memory
  std::uintptr_t address = 0;             // of the first lane
  int bytes = 0;                          // a lane
  std::array<std::int64_t, 32> offset{};  // in bytes from the array's or the allocation's beginning
};

// One request to shared memory by a warp of block 0, in the order of its barriers.
struct SharedRequest {
  std::uint64_t barrier = 0;  // how many the block had met at
  int warp = 0;
  std::uint32_t lanes = 0;
  Kind kind = Kind::shared_load;
  int wavefronts = 0;
};

// What a thread does several times in a row, with nothing else between: L and S load and store
// global memory, r and w read and write shared memory, c copies with cp.async, B is a bulk copy, m
// a product of wgmma, | a barrier of the block; a is an arrival at an mbarrier or a barrier of some
// threads, q the end of the wait there.
struct ThreadStep {
  char what = 0;
  std::uint64_t count = 0;
  std::string memory;                 // the shared array that it reads or writes
  std::uint64_t first = 0, last = 0;  // the bytes of it
};

// Where a product of wgmma reads: bytes from the beginning of the block's shared memory.
struct OperandPlace {
  std::uint64_t start = 0, k_stride = 0, row_stride = 0;
};
struct ProductExample {
  OperandPlace a, b;
  int first_row = 0, n = 0;  // of the 64 x n, the warp's 16 rows
};

struct LaunchCounts {
  std::string kernel;
  std::array<unsigned, 3> grid{}, block{};
  std::uint64_t shared_bytes = 0;  // that a block has touched an array of
  std::uint64_t blocks = 0, traced_blocks = 0;

  // Of the traced blocks:
  std::map<Site, AccessCounts> sites;
  std::map<Site, ExampleAccess> examples;  // of block 0
  std::vector<ExampleAccess> stores;  // to global memory, by the first warp of block 0 that does
  std::vector<SharedRequest> shared_requests;     // of block 0, the first ones
  std::map<int, std::vector<ThreadStep>> steps;   // of block 0, lane 0 of each warp
  std::vector<ProductExample> products_computed;  // of block 0, by the first warp that does
  std::map<RacePair, RaceExample> races;
  std::uint64_t block_barriers = 0;  // how often a block met, summed over blocks
  std::uint64_t warps = 0;
  std::uint64_t warp_barriers =
      0;  // instructions of warps at those, and at barriers of some threads
  std::uint64_t warp_meetings = 0;  // shuffles, votes and __syncwarp, by warps
  std::uint64_t handovers = 0;      // arrivals of threads at mbarriers and named barriers
  std::uint64_t bulk_copies = 0, bulk_bytes = 0;
  std::uint64_t products = 0;       // wgmma, counted by warps
  std::uint64_t product_bytes = 0;  // of shared memory that warps read for them
  std::uint64_t bytes_read = 0;     // different bytes of global memory, in sectors,
  std::uint64_t bytes_written = 0;  // by all traced blocks together

  AccessCounts total(Kind kind) const {
    AccessCounts sum;
    for (const auto& [site, counts] : sites)
      if (site.kind == kind) sum += counts;
    return sum;
  }
};

}  // namespace kw::trace
