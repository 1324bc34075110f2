// See device_memory.hpp.
#include "host_simt/device_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "host_simt/host_simt.hpp"
#include "host_simt/shared_memory.hpp"

namespace kw::host_simt {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t guard_bytes = address_sanitizer ? 0 : 256;

bool is_damaged(const unsigned char* guard) {
  return std::any_of(guard, guard + guard_bytes,
                     [](unsigned char byte) { return byte != poison_byte; });
}

void free_block(void* data) {
  ::operator delete (static_cast<unsigned char*>(data) - guard_bytes, std::align_val_t{alignment});
}

}  // namespace

std::size_t memory_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

DeviceMemory::~DeviceMemory() {
  for (const auto& [data, bytes] : sizes_) free_block(data);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > memory_bytes()) return nullptr;  // the system might promise what it does not have
  const std::size_t total = guard_bytes + bytes + guard_bytes;
  void* block = ::operator new (total, std::align_val_t{alignment}, std::nothrow);
  if (block == nullptr) return nullptr;
  std::memset(block, poison_byte, total);
  void* data = static_cast<unsigned char*>(block) + guard_bytes;
  const std::lock_guard lock(mutex_);
  sizes_[data] = bytes;
  return data;
}

void DeviceMemory::release(void* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = sizes_.find(data);
  if (known == sizes_.end()) return;
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (is_damaged(bytes - guard_bytes) || is_damaged(bytes + known->second)) ++damaged_;
  sizes_.erase(known);
  free_block(data);
}

}  // namespace kw::host_simt
