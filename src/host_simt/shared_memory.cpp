// Poison and guard zones. See shared_memory.hpp.
#include "host_simt/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "host_simt/host_simt.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#endif

namespace kw::host_simt {
namespace {
constexpr std::size_t zone_bytes = 256;
constexpr std::size_t buffer_alignment = 128;
constexpr std::size_t buffer_bytes = buffer_alignment + zone_bytes + max_shared_bytes + zone_bytes;
}  // namespace

SharedMemory::SharedMemory()
    : buffer_(new unsigned char[buffer_bytes]),
      static_base_(ProgramSymbols::instance().shared_base()) {
  void* start = buffer_.get() + zone_bytes;
  std::size_t space = buffer_bytes - zone_bytes;
  dynamic_ =
      static_cast<unsigned char*>(std::align(buffer_alignment, max_shared_bytes, start, space));
}

SharedMemory::~SharedMemory() { ASAN_UNPOISON_MEMORY_REGION(buffer_.get(), buffer_bytes); }

void SharedMemory::prepare(const std::vector<SharedSymbol>& arrays, std::size_t bytes,
                           bool poison) {
  bytes_ = bytes;
  ASAN_UNPOISON_MEMORY_REGION(buffer_.get(), buffer_bytes);
  std::memset(dynamic_ - zone_bytes, poison_byte, zone_bytes);
  std::memset(dynamic_ + bytes, poison_byte, zone_bytes);
  if (poison) {
    std::memset(dynamic_, poison_byte, bytes);
    for (const SharedSymbol& array : arrays) {
      std::memset(static_base_ + array.offset, poison_byte, array.bytes);
    }
  }
  ASAN_POISON_MEMORY_REGION(buffer_.get(), dynamic_ - buffer_.get());
  ASAN_POISON_MEMORY_REGION(dynamic_ + bytes, buffer_.get() + buffer_bytes - (dynamic_ + bytes));
}

bool SharedMemory::overrun() const {
  if (address_sanitizer) return false;  // it has reported the access itself
  const auto damaged = [](const unsigned char* zone) {
    return std::any_of(zone, zone + zone_bytes, [](unsigned char x) { return x != poison_byte; });
  };
  return damaged(dynamic_ - zone_bytes) || damaged(dynamic_ + bytes_);
}

bool SharedMemory::may_hold(const void* address, std::size_t bytes,
                            const std::vector<SharedSymbol>& arrays) const {
  const auto lies_in = [&](const void* start, std::size_t size) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(start);
    return offset <= size && bytes <= size - offset;
  };
  return lies_in(dynamic_, bytes_) || !ProgramSymbols::instance().found() ||
         std::any_of(arrays.begin(), arrays.end(), [&](const SharedSymbol& array) {
           return lies_in(static_base_ + array.offset, array.bytes);
         });
}

std::vector<SharedRange> SharedMemory::ranges(const std::vector<SharedSymbol>& arrays) const {
  std::vector<SharedRange> ranges;
  if (bytes_ > 0) ranges.push_back({reinterpret_cast<const char*>(dynamic_), bytes_, nullptr});
  for (const SharedSymbol& array : arrays) {
    ranges.push_back({static_base_ + array.offset, array.bytes, &array});
  }
  return ranges;
}

std::string SharedMemory::describe(const void* address,
                                   const std::vector<SharedSymbol>& arrays) const {
  const auto text = [&](const std::string& name, const void* start) {
    const auto offset = static_cast<const char*>(address) - static_cast<const char*>(start);
    return offset == 0 ? name : fmt::format("{} + {} bytes", name, offset);
  };
  const auto is_in = [&](const void* start, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uintptr_t>(start);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= from && at - from < bytes;
  };
  if (is_in(dynamic_, bytes_)) return text("dynamic shared memory", dynamic_);
  for (const SharedSymbol& array : arrays) {
    const char* start = static_base_ + array.offset;
    if (is_in(start, array.bytes)) return text(short_name(array.symbol), start);
  }
  return fmt::format("address {}", address);
}

}  // namespace kw::host_simt
