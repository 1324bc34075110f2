// What one access of a warp costs on an NVIDIA GPU: sectors of global memory, wavefronts of shared
// memory. Pure arithmetic on the addresses of its lanes; docs/measuring.md has the rules in words.
#pragma once

#include <array>
#include <cstdint>

namespace kw::trace {

inline constexpr int warp_lanes = 32;
inline constexpr int sector_bytes = 32;
inline constexpr int banks = 32;
inline constexpr int word_bytes = 4;

// One instruction of a warp that loads or stores. A lane that executes it without touching memory
// (a cp.async of nothing) has address 0.
struct WarpAccess {
  std::uint32_t lanes;                             // that execute it
  std::array<std::uintptr_t, warp_lanes> address;  // of those

  WarpAccess() : lanes(0) {}
};

struct SectorCount {
  int sectors = 0;  // of 32 bytes, that the access touches
  int least = 0;    // that hold as many bytes as it touches
};
// `visit(address of the sector)` is called once a sector.
template <class Visit>
SectorCount count_sectors(const WarpAccess& access, int bytes, Visit visit);

struct WavefrontCount {
  int wavefronts = 0;
  int least = 0;  // without bank conflicts
};
// 4 bytes a lane: all lanes at a time. 8: two halves, one after the other; all at once where lanes
// 2i and 2i + 1 have the same address. 16: four quarters, or two halves where lanes pair. Each
// group takes as many wavefronts as a bank has different words in it.
WavefrontCount count_wavefronts(const WarpAccess& access, int bytes);

// The different values of the first `count` of `values`, in order, at their beginning; how many.
int sort_unique(std::uintptr_t* values, int count);

template <class Visit>
SectorCount count_sectors(const WarpAccess& access, int bytes, Visit visit) {
  const auto size = static_cast<std::uintptr_t>(bytes);
  std::array<std::uintptr_t, warp_lanes> starts;
  int count = 0;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const std::uintptr_t address = access.address[static_cast<std::size_t>(lane)];
    if ((access.lanes >> lane & 1) == 0 || address == 0) continue;
    starts[static_cast<std::size_t>(count++)] = address;
  }
  count = sort_unique(starts.data(), count);
  SectorCount result;
  std::uintptr_t next = 0;  // the first sector that has not been counted
  for (int i = 0; i < count; ++i) {
    const std::uintptr_t start = starts[static_cast<std::size_t>(i)];
    std::uintptr_t sector = start / sector_bytes;
    if (sector < next) sector = next;
    for (; sector <= (start + size - 1) / sector_bytes; ++sector) {
      ++result.sectors;
      visit(sector * sector_bytes);
      next = sector + 1;
    }
  }
  result.least = (count * bytes + sector_bytes - 1) / sector_bytes;
  return result;
}

}  // namespace kw::trace
