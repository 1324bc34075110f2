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

// One thread's loads of 16 bytes from one of the memories, from shared memory of 8 bytes as well.
template <Memory memory>
class LoadQueue {
 public:
#if defined(__GFX9__)
  template <int count>
  using Load = float __attribute__((ext_vector_type(count)));

  // `count` floats; `from` and Offset, in bytes, are multiples of their size.
  template <int Offset = 0, int count = 4>
  __device__ __forceinline__ Load<count> start(const float* from) {
    static_assert(count == 4 || (count == 2 && memory == Memory::shared));
    Load<count> to;
    if constexpr (memory == Memory::global) {
      asm volatile("global_load_dwordx4 %0, %1, off offset:%2" : "=v"(to) : "v"(from), "n"(Offset));
    } else {
      using Shared = const __attribute__((address_space(3))) float*;
      const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>((Shared)from));
      if constexpr (count == 4)
        asm volatile("ds_read_b128 %0, %1 offset:%2"
                     : "=v"(to)
                     : "v"(address), "n"(Offset)
                     : "memory");  // not before the stores that wrote it
      else
        asm volatile("ds_read_b64 %0, %1 offset:%2"
                     : "=v"(to)
                     : "v"(address), "n"(Offset)
                     : "memory");
    }
    return to;
  }

  // What `load` brought, of which at least Younger were started after it. The registers are tied to
  // the wait, so nobody uses them earlier.
  template <int Younger>
  __device__ __forceinline__ float4 wait(Load<4>& load) {
    wait_for<Younger>(load);
    return make_float4(load.x, load.y, load.z, load.w);
  }
  template <int Younger>
  __device__ __forceinline__ float2 wait(Load<2>& load) {
    wait_for<Younger>(load);
    return make_float2(load.x, load.y);
  }

 private:
  template <int Younger, class AnyLoad>
  __device__ __forceinline__ void wait_for(AnyLoad& load) {
    if constexpr (memory == Memory::global)
      asm volatile("s_waitcnt vmcnt(%1)" : "+v"(load) : "n"(Younger));
    else
      asm volatile("s_waitcnt lgkmcnt(%1)" : "+v"(load) : "n"(Younger));
  }
#else
  template <int count>
  struct Load {
    std::conditional_t<count == 4, float4, float2> data;
    int number;  // in the order of issue
  };

  template <int Offset = 0, int count = 4>
  __device__ __forceinline__ Load<count> start(const float* from) {
    using Data = decltype(Load<count>::data);
    return {*reinterpret_cast<const Data*>(from + Offset / 4), ++issued_};
  }

  template <int Younger>
  __device__ __forceinline__ float4 wait(Load<4>& load) {
    if (issued_ - load.number < Younger) return make_float4(NAN, NAN, NAN, NAN);
    return load.data;
  }
  template <int Younger>
  __device__ __forceinline__ float2 wait(Load<2>& load) {
    if (issued_ - load.number < Younger) return make_float2(NAN, NAN);
    return load.data;
  }

 private:
  int issued_ = 0;
#endif
};

}  // namespace KW_TARGET::gcn
