// Device memory on the host: NaN at first, exactly as long as asked for under AddressSanitizer, and
// between guard zones otherwise, of which one that was written to counts as damaged when it is
// released. With Options::fences a read beyond the end is found, too (fences.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kw::host_simt {

// The memory of the device, for all runtimes together: as much as was set, at first by the
// environment variable KW_HOST_SIMT_MEMORY; where that is 0 or not set, this machine's.
std::size_t memory_bytes();
void set_memory_bytes(std::size_t bytes);

// An allocation, without its guard zones.
struct DeviceRange {
  const char* begin;
  std::size_t bytes;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Null where the device, or the system, has no more.
  void* allocate(std::size_t bytes);
  void release(void* data) noexcept;

  // All that there are, of all runtimes, by address.
  static std::vector<DeviceRange> ranges();

  // The one that ends at most `distance` bytes in front of `address`. For a handler of signals: it
  // waits for nobody.
  static std::optional<DeviceRange> before(const void* address, std::size_t distance);

  static std::int64_t damaged() { return damaged_; }
  // Of all runtimes, in multiples of an allocation's alignment.
  static std::size_t used_bytes() { return used_; }

 private:
  struct Block {
    std::size_t bytes;
    bool fenced;
  };
  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  static inline std::atomic<std::int64_t> damaged_ = 0;
  static inline std::atomic<std::size_t> used_ = 0;
};

}  // namespace kw::host_simt
