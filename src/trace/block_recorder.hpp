// Records one block after the other on a worker: tells global from shared memory, puts lanes
// together to warps, counts what they cost, and looks for races.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "host_simt/device_memory.hpp"
#include "host_simt/observer.hpp"
#include "trace/counts.hpp"
#include "trace/lane_streams.hpp"
#include "trace/races.hpp"

namespace kw::trace {

// Which sectors of global memory a launch has touched. Blocks mark them at the same time.
class Footprint {
 public:
  explicit Footprint(const std::vector<host_simt::DeviceRange>& allocations);
  const std::vector<host_simt::DeviceRange>& allocations() const { return allocations_; }
  // `address` is a sector of allocation `index`.
  void mark(std::size_t index, std::uintptr_t address, bool is_write) {
    const auto begin = reinterpret_cast<std::uintptr_t>(allocations_[index].begin);
    std::atomic<std::uint8_t>& touched =
        touched_[index][(address - begin / sector_bytes * sector_bytes) / sector_bytes];
    const auto bit = static_cast<std::uint8_t>(is_write ? 2 : 1);
    if ((touched.load(std::memory_order_relaxed) & bit) == 0)
      touched.fetch_or(bit, std::memory_order_relaxed);
  }
  // Bytes of all sectors that were read, or written.
  std::uint64_t bytes(bool written) const;

 private:
  std::vector<host_simt::DeviceRange> allocations_;
  std::vector<std::vector<std::atomic<std::uint8_t>>> touched_;
};

class BlockRecorder final : public host_simt::BlockObserver {
 public:
  void begin(const host_simt::BlockFacts& block, Footprint& footprint);
  // Adds what the block did to `launch`, once the block has ended.
  void end(LaunchCounts& launch);

  // A plain or atomic access, or one that host SIMT makes for a thread; elsewhere than in global or
  // shared memory it is none.
  void access(int thread, const void* address, int bytes, bool is_write, bool is_atomic,
              const void* call);

  void block_met() override;
  void lanes_met(int first_thread, std::uint64_t mask, bool whole) override;
  void release(int thread, const void* object) override;
  void acquire(int thread, const void* object) override;
  void left_kernel(int thread) override;
  void async_copy_issued(int thread, const void* to, const void* from, int bytes, int source_bytes,
                         const void* call) override;
  void async_copy_landed(int thread, const void* to, int bytes, const void* call) override;
  void bulk_copy_issued(int thread, const void* to, const void* from, unsigned bytes,
                        const void* call) override;
  void bulk_copy_landed(int thread, const void* to, unsigned bytes, const void* call) override;
  void product_computed(int thread, const host_simt::WgmmaOperand& a, int first_row,
                        const host_simt::WgmmaOperand& b, int n, const void* call) override;

 private:
  struct SiteRecord {
    Site site;
    int bytes;  // of a lane
    AccessCounts counts;
  };
  struct Warp {
    std::uint32_t alive = 0;          // lanes in the kernel
    std::vector<LaneStream> streams;  // by site
    std::vector<std::uint32_t> busy;  // sites that have had an access since the warp met
    std::vector<bool> is_busy;
  };

  Warp& warp_of(int thread) { return warps_[static_cast<std::size_t>(thread / warp_lanes)]; }
  // Words into the block's shared memory, or -1.
  std::ptrdiff_t shared_offset(std::uintptr_t address);
  bool find_allocation(std::uintptr_t address);
  std::uint32_t site_index(std::uintptr_t call, Kind kind, int bytes);
  // The site's index.
  std::uint32_t add(int thread, std::uintptr_t address, int bytes, Kind kind, const void* call);
  void account(std::uint32_t site, const WarpAccess& access);
  void flush(Warp& warp);
  template <class Visit>
  void for_each_word(const void* address, std::size_t bytes, Visit visit);
  std::string array_name(std::size_t range) const;
  std::string place_of(std::size_t word) const;
  void keep_example(const SiteRecord& record, const WarpAccess& access);
  void keep_product(int thread, const host_simt::WgmmaOperand& a, int first_row,
                    const host_simt::WgmmaOperand& b, int n);
  // Of block 0: a step of a thread that is lane 0 of its warp; `at` is shared memory, or null.
  void note(int thread, char what, const void* at = nullptr, std::size_t bytes = 0);

  Footprint* footprint_ = nullptr;
  std::uint64_t block_ = 0;
  std::vector<host_simt::SharedRange> shared_;
  std::vector<std::size_t> first_word_;  // of each range
  std::vector<bool> is_used_;            // whether the block has touched it
  std::size_t last_shared_ = 0, last_allocation_ = 0;
  std::vector<Warp> warps_;
  std::vector<SiteRecord> sites_;
  struct KnownSite {
    std::uintptr_t call = 0;
    Kind kind = Kind::global_load;
    std::uint32_t index = 0;
  };
  std::vector<KnownSite> known_ = std::vector<KnownSite>(4096);  // a cache before all_sites_
  std::map<Site, std::uint32_t> all_sites_;
  std::map<Site, ExampleAccess> examples_;
  int warp_ = 0;                      // whose access is accounted
  int storing_warp_ = -1;             // the first one that stored to global memory
  int multiplying_thread_ = -1;       // likewise, that computed a product
  std::uint64_t named_arrivals_ = 0;  // of threads, at barriers of some of the block's threads
  RaceFinder races_;
  LaunchCounts own_;  // of the block, but for sites and races
};

}  // namespace kw::trace
