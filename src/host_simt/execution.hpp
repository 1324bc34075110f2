// What a running kernel asks of the scheduler. The CUDA names in simt.hpp are thin covers of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "host_simt/vector_types.hpp"

namespace kw::host_simt {

class BlockObserver;

// CUDA's built-in variables, one set a GPU thread, and who watches it.
struct BuiltIns {
  uint3 thread_index;
  uint3 block_index;
  dim3 block_dim;
  dim3 grid_dim;
  int warp_size;
  int cluster_index, rank_in_cluster;
  int index;                // in the block, x fastest
  BlockObserver* observer;  // null: nobody
};

// Those of the GPU thread that runs now on this worker; null outside of a kernel.
inline constinit thread_local const BuiltIns* built_ins = nullptr;

// A call in the kernel's source: reports name it, and two calls of a barrier are told apart by it.
#if defined(__cpp_lib_source_location)
using Site = std::source_location;
#else  // clang before 16
class Site {
 public:
  static constexpr Site current(const char* file = __builtin_FILE(),
                                unsigned line = __builtin_LINE(),
                                unsigned column = __builtin_COLUMN()) {
    Site site;
    site.file_ = file;
    site.line_ = line;
    site.column_ = column;
    return site;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return column_; }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
  unsigned column_ = 0;
};
#endif

// Waits for every thread of the block; returns how many came with a predicate that is not 0.
int barrier(const char* function, bool predicate, Site site);

// Waits for the lanes of `mask` and returns this lane's share of the exchange. A 32-bit mask of all
// ones names every lane that the warp has.
enum class Shuffle { index, up, down, butterfly };
std::uint64_t shuffle(const char* function, Shuffle kind, std::uint64_t mask, std::uint64_t value,
                      int argument, int width, Site site);
std::uint64_t ballot(const char* function, std::uint64_t mask, bool predicate, Site site);
void sync_warp(std::uint64_t mask, Site site);
std::uint64_t active_mask();
// A fault where the warp has more lanes than a 32-bit result can name.
void require_32_lanes(const char* function, Site site);

// The block's dynamic shared memory: exactly as long as the launch asked, 128-byte aligned.
void* dynamic_shared();

// Clusters of LaunchConfig::cluster blocks, which run side by side: device/cluster.hpp says what
// these do. What is sent lands at once; the bytes are a multiple of 16.
int cluster_index();
int rank_in_cluster();
void arrive_at_cluster(Site site = Site::current());
void wait_for_cluster(Site site = Site::current());
void send_to_block(int rank, void* to, const void* from, unsigned bytes, std::uint64_t* mbarrier,
                   Site site = Site::current());

// cp.async: a copy of 4, 8 or 16 bytes of which the first `source_bytes` are read and the rest
// become zeros. It lands at its wait, or in random order perhaps at once or whenever its thread
// lets others run: a kernel that reads before the wait, or copies over what others still read, is
// wrong in one of these.
void async_copy(void* to, const void* from, int bytes, int source_bytes,
                Site site = Site::current());
void async_commit();
void async_wait(int pending_groups);

// mbarriers: 64 bits of shared memory that count arrivals and tell phases apart by parity. A thread
// that waits lets others run until the phase of that parity has ended. An arrival after copies
// comes when the copies that its thread has started before have landed, at the latest when no
// thread of the block can go on without.
void mbarrier_init(std::uint64_t* state, unsigned arrivals, Site site = Site::current());
void mbarrier_arrive(std::uint64_t* state, Site site = Site::current());
void mbarrier_arrive_after_copies(std::uint64_t* state, Site site = Site::current());
void mbarrier_wait(const std::uint64_t* state, unsigned parity, Site site = Site::current());

// Bulk copies: whole pieces of global memory that the copy engine brings to shared memory in no
// order, each one counting its bytes at an mbarrier when it has landed; a phase of that ends when
// its arrivals have come and the announced bytes have landed. Addresses and sizes are multiples of
// 16. They land as async_copy's do, at the latest when no thread of the block can go on without.
void mbarrier_arrive_expecting(std::uint64_t* state, unsigned bytes, Site site = Site::current());
void bulk_copy(void* to, const void* from, unsigned bytes, std::uint64_t* mbarrier,
               Site site = Site::current());

// Hopper's wgmma on bf16 or fp16 with N = n, a multiple of 16 up to 192: the 128 threads of a
// warpgroup all issue the same products in the same groups, each with its own n / 2 accumulators,
// laid out as src/device/wgmma.hpp says. Shared memory is read between a warp's issue and its wait;
// an accumulator is NaN until the wait for the last product that adds to it. A thread that takes an
// accumulator for the first time, or again since a wait gave it back, has called wgmma_fence in
// between. At wgmma_wait a warp's lanes meet.
struct WgmmaOperand {
  const void* start;
  unsigned k_stride, row_stride;
};
void wgmma(bool bf16, int n, float* acc, const WgmmaOperand& a, const WgmmaOperand& b, bool add,
           Site site = Site::current());
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(int pending_groups, Site site = Site::current());

// Waits until `threads` of the block's threads, whole warps, have come to barrier `id`, 1 to 15.
// Threads that do not come may leave the kernel before.
void sync_some_threads(int id, int threads, Site site = Site::current());

}  // namespace kw::host_simt
