// See device_memory.hpp.
#include "host_simt/device_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "host_simt/fences.hpp"
#include "host_simt/host_simt.hpp"
#include "host_simt/shared_memory.hpp"

namespace kw::host_simt {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t guard_bytes = address_sanitizer ? 0 : 256;

bool is_damaged(const unsigned char* guard, std::size_t bytes) {
  return std::any_of(guard, guard + bytes, [](unsigned char byte) { return byte != poison_byte; });
}

// Poisoned memory between guard zones.
void* allocate_block(std::size_t bytes, bool fenced) {
  if (fenced) return allocate_fenced(bytes, guard_bytes, poison_byte);
  const std::size_t total = guard_bytes + bytes + guard_bytes;
  void* block = ::operator new (total, std::align_val_t{alignment}, std::nothrow);
  if (block == nullptr) return nullptr;
  std::memset(block, poison_byte, total);
  return static_cast<unsigned char*>(block) + guard_bytes;
}

void free_block(void* data, std::size_t bytes, bool fenced) {
  if (fenced) {
    release_fenced(data, bytes, guard_bytes);
  } else {
    ::operator delete (static_cast<unsigned char*>(data) - guard_bytes,
                       std::align_val_t{alignment});
  }
}

std::atomic<std::size_t>& set_bytes() {
  static std::atomic<std::size_t> bytes = [] {
    const char* const text = std::getenv("KW_HOST_SIMT_MEMORY");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  }();
  return bytes;
}

// Every allocation that there is, of whatever runtime.
struct AllRanges {
  std::mutex mutex;
  std::map<const char*, std::size_t> bytes;
};
AllRanges& all_ranges() {
  static AllRanges all;
  return all;
}
void add_range(const void* data, std::size_t bytes) {
  AllRanges& all = all_ranges();
  const std::lock_guard lock(all.mutex);
  all.bytes[static_cast<const char*>(data)] = bytes;
}
void remove_range(const void* data) {
  AllRanges& all = all_ranges();
  const std::lock_guard lock(all.mutex);
  all.bytes.erase(static_cast<const char*>(data));
}

// What an allocation takes of the device's memory.
std::size_t taken(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

std::size_t memory_bytes() {
  if (const std::size_t set = set_bytes(); set > 0) return set;
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void set_memory_bytes(std::size_t bytes) { set_bytes() = bytes; }

DeviceMemory::~DeviceMemory() {
  for (const auto& [data, block] : blocks_) {
    used_ -= taken(block.bytes);
    remove_range(data);
    free_block(data, block.bytes, block.fenced);
  }
}

std::vector<DeviceRange> DeviceMemory::ranges() {
  AllRanges& all = all_ranges();
  const std::lock_guard lock(all.mutex);
  std::vector<DeviceRange> ranges;
  for (const auto& [begin, bytes] : all.bytes) ranges.push_back({begin, bytes});
  return ranges;
}

std::optional<DeviceRange> DeviceMemory::before(const void* address, std::size_t distance) {
  AllRanges& all = all_ranges();
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  const auto* const place = static_cast<const char*>(address);
  auto after = all.bytes.upper_bound(place);
  if (after == all.bytes.begin()) return std::nullopt;
  const auto& [begin, bytes] = *--after;
  const auto* const end = begin + bytes;
  if (place < end || static_cast<std::size_t>(place - end) > distance) return std::nullopt;
  return DeviceRange{begin, bytes};
}

void* DeviceMemory::allocate(std::size_t bytes) {
  // The system might promise what it does not have.
  const std::size_t most = memory_bytes();
  if (bytes > most) return nullptr;
  if (used_.fetch_add(taken(bytes)) + taken(bytes) > most) {
    used_ -= taken(bytes);
    return nullptr;
  }
  const bool fenced = options().fences && !address_sanitizer;
  void* data = allocate_block(bytes, fenced);
  if (data == nullptr) {
    used_ -= taken(bytes);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  blocks_[data] = {bytes, fenced};
  add_range(data, bytes);
  return data;
}

void DeviceMemory::release(void* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = blocks_.find(data);
  if (known == blocks_.end()) return;
  const Block block = known->second;
  const auto* begin = static_cast<const unsigned char*>(data);
  const std::size_t behind = block.fenced ? bytes_before_fence(block.bytes) : guard_bytes;
  if (is_damaged(begin - guard_bytes, guard_bytes) || is_damaged(begin + block.bytes, behind)) {
    ++damaged_;
  }
  used_ -= taken(block.bytes);
  blocks_.erase(known);
  remove_range(data);
  free_block(data, block.bytes, block.fenced);
}

}  // namespace kw::host_simt
