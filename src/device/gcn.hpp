// Loads that a kernel counts itself, on AMD's GFX9 ("CDNA1 Instruction Set Architecture", sections
// on data dependency resolution, LDS and global memory). A load is issued and the thread goes on;
// the data is in the registers once s_waitcnt says that no more than so many younger loads are
// still under way, for they arrive in the order of issue. The compiler knows neither load nor
// count, so a Load can't be looked at before `wait` has handed out what it brought.
//
// Elsewhere the loads are ordinary ones, and a wait that would not have covered its load gives NaN:
// a wrong count fails in host SIMT too.
#pragma once

#include <cmath>

#include "gpu/gpu.hpp"

namespace KW_TARGET::gcn {

enum class Memory { global, shared };

// One thread's loads of 16 bytes from one of the memories.
template <Memory memory>
class LoadQueue {
 public:
#if defined(__GFX9__)
  using Load = float __attribute__((ext_vector_type(4)));

  // `from` and Offset, in bytes, are multiples of 16.
  template <int Offset = 0>
  __device__ __forceinline__ Load start(const float* from) {
    Load to;
    if constexpr (memory == Memory::global) {
      asm volatile("global_load_dwordx4 %0, %1, off offset:%2" : "=v"(to) : "v"(from), "n"(Offset));
    } else {
      using Shared = const __attribute__((address_space(3))) float*;
      const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>((Shared)from));
      asm volatile("ds_read_b128 %0, %1 offset:%2"
                   : "=v"(to)
                   : "v"(address), "n"(Offset)
                   : "memory");  // not before the stores that wrote it
    }
    return to;
  }

  // What `load` brought, of which at least Younger were started after it. The registers are tied to
  // the wait, so nobody uses them earlier.
  template <int Younger>
  __device__ __forceinline__ float4 wait(Load& load) {
    if constexpr (memory == Memory::global)
      asm volatile("s_waitcnt vmcnt(%1)" : "+v"(load) : "n"(Younger));
    else
      asm volatile("s_waitcnt lgkmcnt(%1)" : "+v"(load) : "n"(Younger));
    return make_float4(load.x, load.y, load.z, load.w);
  }
#else
  struct Load {
    float4 data;
    int number;  // in the order of issue
  };

  template <int Offset = 0>
  __device__ __forceinline__ Load start(const float* from) {
    return {*reinterpret_cast<const float4*>(from + Offset / 4), ++issued_};
  }

  template <int Younger>
  __device__ __forceinline__ float4 wait(Load& load) {
    if (issued_ - load.number < Younger) return make_float4(NAN, NAN, NAN, NAN);
    return load.data;
  }

 private:
  int issued_ = 0;
#endif
};

}  // namespace KW_TARGET::gcn
