// A stage: consecutive elements of an array in shared memory, as they lie in memory, brought there
// by copies that pass no register (device/async_copy.hpp). So how much is on its way depends on no
// register.
#pragma once

#include "device/async_copy.hpp"
#include "device/cache_hint.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "reduce/walk/packs.hpp"

namespace KW_TARGET {

constexpr int stage_alignment = 128;  // of a stage's beginning and size

// What the lanes of a warp have side by side, and all of the order's threads.
constexpr int strip_bytes = warp_lanes * 16, round_bytes = order_threads * 16;

// Where copies of packs go in shared memory, found once for all of a thread's. It is kept in a
// register of the thread's own: where part of it is the same in all threads, ptxas 13.0 makes
// copies of it with a cache hint that the device takes for no instruction.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
using CopyPlace = unsigned;
__device__ __forceinline__ CopyPlace copy_place(unsigned char* to) {
  auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  compute_now(place);
  return place;
}
#else
using CopyPlace = unsigned char*;
__device__ __forceinline__ CopyPlace copy_place(unsigned char* to) { return to; }
#endif

// Asks for the 16 bytes at a boundary, which nobody reads again: L2 gives their line up before all
// others.
__device__ __forceinline__ void copy_pack(CopyPlace to, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "l"(evict_first())
               : "memory");
#else
  async_copy<16>(reinterpret_cast<float*>(to), static_cast<const float*>(from), 16);
#endif
}
template <class T>
__device__ __forceinline__ void store_pack(unsigned char* to, const Pack<T>& pack) {
  *reinterpret_cast<uint4*>(to) = {pack.words[0], pack.words[1], pack.words[2], pack.words[3]};
}
template <class T>
__device__ __forceinline__ Pack<T> read_pack(const unsigned char* from) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  return Pack<T>{{words.x, words.y, words.z, words.w}};
}

template <int pending>
__device__ __forceinline__ void wait_for_copies_if(bool wanted) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n\t.reg .pred wanted;\n\tsetp.ne.u32 wanted, %1, 0;\n\t"
      "@wanted cp.async.wait_group %0;\n\t}" ::"n"(pending),
      "r"(wanted ? 1u : 0u)
      : "memory");
#else
  if (wanted) async_wait<pending>();
#endif
}
// Waits until at most `pending` (0 to 3) of this thread's groups of copies are under way. Without
// branches: of four cases the compiler makes a jump by a table, which takes longer than the wait.
__device__ __forceinline__ void wait_for_copies(int pending) {
  wait_for_copies_if<3>(pending == 3);
  wait_for_copies_if<2>(pending == 2);
  wait_for_copies_if<1>(pending == 1);
  wait_for_copies_if<0>(pending == 0);
}

// Asks for a run to be brought into L2, by one thread: before the wait for the previous kernel, in
// whose end memory has little to do.
template <class T>
__device__ __forceinline__ void prefetch_run(const Packs<T>& packs) {
  const int bytes = packs.count_of_packs() * 16;
  if (bytes > 0 && packs.inside()) prefetch_to_l2(packs.boundary, static_cast<unsigned>(bytes));
}

// By a warp: asks for all packs of a run. Each instruction's lanes are at whole lines of memory:
// off a boundary of 32 bytes a warp's 512 bytes would have parts of 17 sectors. Packs at the ends
// of the array that reach beyond it are read element by element.
template <class T>
__device__ __forceinline__ void ask_for_run(unsigned char* stage, const Packs<T>& packs, int lane) {
  constexpr int at_once = 4;
  const int bytes = packs.count_of_packs() * 16;
  const char* begin = reinterpret_cast<const char*>(packs.boundary);
  int first = -past_line(begin);  // lane 0's
  const CopyPlace place = copy_place(stage);
  if (packs.inside()) {
    const int own = first + lane * 16;
    if (own >= 0 && own < bytes) copy_pack(place + own, begin + own);
    first += strip_bytes;
#pragma unroll 1
    for (; first + at_once * strip_bytes <= bytes; first += at_once * strip_bytes) {
      const int at = first + lane * 16;
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        copy_pack(place + at + i * strip_bytes, begin + at + i * strip_bytes);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int at = first + lane * 16 + i * strip_bytes;
      if (at >= bytes) break;
      copy_pack(place + at, begin + at);
    }
    return;
  }
#pragma unroll 1
  for (int at = first + lane * 16; at < bytes; at += strip_bytes) {
    if (at < 0) continue;
    if (packs.is_inside(at / 16)) {
      copy_pack(place + at, begin + at);
    } else {
      store_pack(stage + at, packs.load_part(at / 16));
    }
  }
}

// 16 bytes of elements from any of them on. Elements of four and eight bytes are read one by one,
// at no cost in place: what follows the last one that is wanted may be anything. `skip` is how many
// lie between a boundary and the first one; the same in all lanes.
template <class T>
__device__ __forceinline__ Pack<T> load_staged(const unsigned char* from, int skip) {
  if (skip == 0) return read_pack<T>(from);
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
    return straddling(read_pack<T>(boundary), read_pack<T>(boundary + 16), skip);
  }
}

}  // namespace KW_TARGET
