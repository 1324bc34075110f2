// Sectors and wavefronts. See warp_access.hpp.
#include "trace/warp_access.hpp"

#include <algorithm>

namespace kw::trace {
namespace {

// Whether each lane has the address of the lane whose number differs in `bit`.
bool lanes_pair(const WarpAccess& access, std::size_t bit) {
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    const std::size_t other = lane ^ bit;
    const bool both = (access.lanes >> lane & access.lanes >> other & 1) == 1;
    if (both && access.address[lane] != access.address[other]) return false;
  }
  return true;
}

// Of lanes first .. first + lanes - 1: the most different words that a bank has; 0 where none runs.
int count_group(const WarpAccess& access, int bytes, int first, int lanes) {
  std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
  for (int lane = first; lane < first + lanes; ++lane) {
    const std::uintptr_t address = access.address[static_cast<std::size_t>(lane)];
    if ((access.lanes >> lane & 1) == 0 || address == 0) continue;
    lowest = std::min(lowest, address / word_bytes);
    highest = std::max(highest, (address + static_cast<std::uintptr_t>(bytes) - 1) / word_bytes);
  }
  if (lowest > highest) return 0;
  if (highest - lowest < banks) return 1;  // no two of these words are in one bank

  std::array<std::array<std::uintptr_t, warp_lanes>, banks> words;  // of each bank,
  std::array<int, banks> count{};                                   // so many
  int most = 0;
  for (int lane = first; lane < first + lanes; ++lane) {
    const std::uintptr_t address = access.address[static_cast<std::size_t>(lane)];
    if ((access.lanes >> lane & 1) == 0 || address == 0) continue;
    const auto size = static_cast<std::uintptr_t>(bytes);
    const std::uintptr_t last = (address + size - 1) / word_bytes;
    for (std::uintptr_t word = address / word_bytes; word <= last; ++word) {
      auto& known = words[word % banks];
      int& n = count[word % banks];
      if (std::find(known.begin(), known.begin() + n, word) != known.begin() + n) continue;
      known[static_cast<std::size_t>(n++)] = word;
      most = std::max(most, n);
    }
  }
  return most;
}

}  // namespace

int sort_unique(std::uintptr_t* values, int count) {
  // Lanes mostly have ascending addresses.
  if (!std::is_sorted(values, values + count)) std::sort(values, values + count);
  return static_cast<int>(std::unique(values, values + count) - values);
}

WavefrontCount count_wavefronts(const WarpAccess& access, int bytes) {
  int groups = std::max(1, bytes / word_bytes);
  if (groups > 1 && (lanes_pair(access, 1) || lanes_pair(access, 2))) groups /= 2;
  const int lanes = warp_lanes / groups;
  WavefrontCount result;
  for (int first = 0; first < warp_lanes; first += lanes) {
    const int most = count_group(access, bytes, first, lanes);
    result.wavefronts += most;
    if (most > 0) ++result.least;
  }
  return result;
}

}  // namespace kw::trace
