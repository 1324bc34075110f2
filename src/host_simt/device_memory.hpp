// Device memory on the host: NaN at first, exactly as long as asked for under AddressSanitizer, and
// between guard zones otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace kw::host_simt {

// The memory of this machine.
std::size_t memory_bytes();

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Null where the system has no more.
  void* allocate(std::size_t bytes);
  void release(void* data) noexcept;

  static std::int64_t damaged() { return damaged_; }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  static inline std::atomic<std::int64_t> damaged_ = 0;
};

}  // namespace kw::host_simt
