// Asks for memory until there is none. The free bytes are held meanwhile.
#include "bench/memory_pressure.hpp"

#include <algorithm>

namespace kw::bench {
namespace {

constexpr std::size_t least_chunk = std::size_t{1} << 16;

}  // namespace

MemoryPressure::MemoryPressure(Runtime& runtime, std::size_t free_bytes,
                               std::size_t largest_chunk) {
  const check::DeviceBuffer kept_free(runtime, free_bytes);
  for (std::size_t chunk = std::max(largest_chunk, least_chunk); chunk >= least_chunk;) {
    try {
      taken_.emplace_back(runtime, chunk);
    } catch (const Error& error) {
      if (error.code() != StatusCode::out_of_memory) throw;
      chunk /= 2;
    }
  }
}

}  // namespace kw::bench
