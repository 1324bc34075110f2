// How `side_by_side` cuts a product in two, and the device with it. Made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpu/device.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/sub_problems.hpp"

namespace kw {

struct SideBySideTuning {
  double min_flops;   // of smaller products a second launch costs more than half-empty tiles do
  std::int64_t unit;  // the first part has a multiple of it of rows or columns,
  int cuts;           // as many as there are or so many fewer
  double near;        // cuts are looked at whose parts take so much longer than the quickest
  int steps;          // in search of the second part's multiprocessors, from the first guess on
  // Two launches at a time take longer than the longer one by so much, and by so much of the time
  // that memory takes for the other one.
  double longer, exposed;
};
// Measured on an NVIDIA H200 (results/h200/explored-side-by-side.txt).
inline constexpr SideBySideTuning side_by_side_tuning = {.min_flops = 2e9,
                                                         .unit = 64,
                                                         .cuts = 3,
                                                         .near = 1.04,
                                                         .steps = 6,
                                                         .longer = 1.04,
                                                         .exposed = 0.2};

// The tiles of both parts: such as have no clusters, which would wait for multiprocessors of one
// GPC. The first of them have a multiprocessor to themselves, and are the first part's alone: its
// blocks lie on all multiprocessors where two fit, so the second part's need to fit beside one.
inline constexpr std::string_view side_by_side_tiles[] = {
    "stream_256x128", "stream_128x256",  "stream_128x128", "stream_64x256", "stream_256x64",
    "stream_128x96",  "stream_96x128",   "stream_128x48",  "stream_48x128", "stream_128x40",
    "stream_40x128",  "stream_128x32b2", "stream_32x96",   "stream_128x24", "stream_24x128"};
constexpr std::size_t side_by_side_alone = 2;

// Whether there is a way to cut a product.
inline bool has_sides(const Sgemm& p) {
  return p.batch == 1 && p.a_array == nullptr && p.loop_k() > 0 && p.is_full() &&
         !p.overlaps_previous && !p.next_overlaps && std::max(p.m, p.n) > side_by_side_tuning.unit;
}

// The first part has the rows or the columns up to `at`. The second one's blocks are those of so
// many multiprocessors, the first one's those of all others.
struct SideBySideCut {
  bool rows = true;
  std::int64_t at = 0;
  int sms = 0;
};

// Calls consider(cut) for each way to cut the product.
template <class Consider>
void each_side_by_side_cut(const Sgemm& p, const Consider& consider) {
  constexpr SideBySideTuning t = side_by_side_tuning;
  for (const bool rows : {true, false}) {
    std::int64_t at = ((rows ? p.m : p.n) - 1) / t.unit * t.unit;
    for (int i = 0; i < t.cuts && at > 0; ++i, at -= t.unit) consider(SideBySideCut{rows, at});
  }
}

// The two parts, of which neither waits for the other.
struct SideBySideParts {
  Sgemm part[2];

  SideBySideParts(const Sgemm& p, const SideBySideCut& cut) {
    const SubProblems parts = cut.rows ? cut_rows(p, cut.at) : cut_columns(p, cut.at);
    part[0] = parts.part[0];
    part[1] = parts.part[1];
    part[0].next_overlaps = part[1].overlaps_previous = true;
  }
};

// What a part's blocks ask for, of which `apart` is what they would on a device of their own and
// `needed` what they need. A multiprocessor's memory is divided between L1 and blocks for two
// blocks of the first part; so much for each leaves room for one of the second part beside one.
inline std::size_t beside_shared_bytes(const Sgemm& part, std::size_t apart, std::size_t needed) {
  constexpr std::size_t leaves_room = 84 << 10;
  if (part.overlaps_previous) return needed;
  return part.next_overlaps ? std::max(apart, leaves_room) : apart;
}

// A part's multiprocessors, as a device of their own.
inline Device device_of_part(const Device& device, const SideBySideCut& cut, int part) {
  Device own = device;
  own.sm_count = part == 0 ? std::max(1, device.sm_count - cut.sms) : cut.sms;
  return own;
}

}  // namespace kw
