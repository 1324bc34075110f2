// A stage: consecutive elements of an array in shared memory, as they lie in memory, brought there
// by the lanes of one warp with copies that pass no register (device/async_copy.hpp). So how much
// is on its way depends on no register and on no other warp.
#pragma once

#include "device/async_copy.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "reduce/packs.hpp"
#include "reduce/staged_plan.hpp"
#include "reduce/walk.hpp"

namespace KW_TARGET {

constexpr int stage_alignment = 128;  // of a stage's beginning and size

// What the lanes of a warp have side by side, and all of the order's threads.
constexpr int strip_bytes = warp_lanes * 16, round_bytes = order_threads * 16;

// By a warp: asks for all packs of a run. Those at the ends of the array that reach beyond it are
// read element by element.
template <class T>
__device__ __forceinline__ void ask_for_run(unsigned char* stage, const Packs<T>& packs, int lane) {
  constexpr int at_once = 8;
  const int bytes = (packs.end + packs.width - 1) / packs.width * 16;
  const char* begin = reinterpret_cast<const char*>(packs.boundary);
  const auto copy = [](unsigned char* to, const char* from) {
    async_copy<16>(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), 16);
  };
  int at = lane * 16;
  if (packs.inside()) {
#pragma unroll 1
    for (; at - lane * 16 + at_once * strip_bytes <= bytes; at += at_once * strip_bytes) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        copy(stage + at + i * strip_bytes, begin + at + i * strip_bytes);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (at + i * strip_bytes >= bytes) break;
      copy(stage + at + i * strip_bytes, begin + at + i * strip_bytes);
    }
    return;
  }
#pragma unroll 1
  for (; at < bytes; at += strip_bytes) {
    if (begin + at >= packs.array.begin && begin + at + 16 <= packs.array.end) {
      copy(stage + at, begin + at);
    } else {
      const Pack<T> loaded = packs.load_part(at / 16);
      *reinterpret_cast<uint4*>(stage + at) = {loaded.words[0], loaded.words[1], loaded.words[2],
                                               loaded.words[3]};
    }
  }
}

// Waits until at most `pending` of this warp's groups of copies are under way, and shows the
// others' to all of its lanes.
__device__ __forceinline__ void wait_for_stage(int pending) {
  if (pending == 0) {
    async_wait<0>();
  } else if (pending == 1) {
    async_wait<1>();
  } else {
    async_wait<most_staged - 1>();
  }
  __syncwarp(whole_warp());
}

// 16 bytes of elements from any of them on. Elements of four and eight bytes are read one by one,
// at no cost in place: what follows the last one that is wanted may be anything. `skip` is how many
// lie between a boundary and the first one; the same in all lanes.
template <class T>
__device__ __forceinline__ Pack<T> load_staged(const unsigned char* from, int skip) {
  const auto at_boundary = [](const unsigned char* place) {
    const uint4 words = *reinterpret_cast<const uint4*>(place);
    return Pack<T>{{words.x, words.y, words.z, words.w}};
  };
  if (skip == 0) return at_boundary(from);
  if constexpr (sizeof(T) == 8) {
    const uint2* halves = reinterpret_cast<const uint2*>(from);
    const uint2 low = halves[0], high = halves[1];
    return {{low.x, low.y, high.x, high.y}};
  } else if constexpr (sizeof(T) == 4) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(from);
    if (skip == 2) {
      const uint2 low = *reinterpret_cast<const uint2*>(words);
      const uint2 high = *reinterpret_cast<const uint2*>(words + 2);
      return {{low.x, low.y, high.x, high.y}};
    }
    const uint2 middle = *reinterpret_cast<const uint2*>(words + 1);
    return {{words[0], middle.x, middle.y, words[3]}};
  } else {
    const unsigned char* boundary = from - skip * sizeof(T);
    return straddling(at_boundary(boundary), at_boundary(boundary + 16), skip);
  }
}

}  // namespace KW_TARGET
