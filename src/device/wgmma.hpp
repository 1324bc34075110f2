// Hopper's matrix instruction: the 128 threads of a warpgroup multiply a 64 x 16 by a 16 x N tile
// out of shared memory and add the product to accumulators in their registers, asynchronously
// (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). Only sm_90a; a kernel that calls
// these elsewhere does not run.
//
// How it adds: products are exact; they and the accumulator are aligned to the largest exponent
// among them, cut to 25 fraction bits, summed, and the sum is rounded towards zero. A long chain
// drifts towards zero (docs/accuracy.md).
#pragma once

#include <cstdint>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// What an operand's elements are, two bytes each.
enum class Half { bf16, fp16 };

// 64 or N rows of 16 elements along k in shared memory, without swizzle: core matrices of 8 rows x
// 16 bytes, each one 128 contiguous bytes; `k_stride` bytes from one to the next along k,
// `row_stride` along the rows.
struct WgmmaOperand {
#if defined(__CUDACC__) || defined(__HIP__)
  std::uint64_t descriptor;
#else
  const void* start;
  unsigned k_stride, row_stride;
#endif
};

// `start`, `k_stride` and `row_stride` are multiples of 16.
__device__ __forceinline__ WgmmaOperand wgmma_operand(const void* start, unsigned k_stride,
                                                      unsigned row_stride) {
#if defined(__CUDACC__) || defined(__HIP__)
#if defined(__CUDA_ARCH__)
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(start));
#else
  const unsigned address = 0;
#endif
  return {static_cast<std::uint64_t>((address >> 4) & 0x3FFF) |
          static_cast<std::uint64_t>(k_stride >> 4) << 16 |
          static_cast<std::uint64_t>(row_stride >> 4) << 32};
#else
  return {start, k_stride, row_stride};
#endif
}

// The same shape `bytes` (a multiple of 16) further on.
__device__ __forceinline__ WgmmaOperand advance(WgmmaOperand operand, unsigned bytes) {
#if defined(__CUDACC__) || defined(__HIP__)
  return {operand.descriptor + (bytes >> 4)};
#else
  return {static_cast<const char*>(operand.start) + bytes, operand.k_stride, operand.row_stride};
#endif
}

// Before the first of some products, and wherever the threads touched an accumulator since.
__device__ __forceinline__ void wgmma_fence() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::wgmma_fence();
#endif
}

// Closes the group of products that were issued since the last call.
__device__ __forceinline__ void wgmma_commit() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::wgmma_commit();
#endif
}

// Waits until at most Pending groups, the youngest, are under way. Only then may accumulators of
// the others be read, and their operands overwritten.
template <int Pending>
__device__ __forceinline__ void wgmma_wait() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::wgmma_wait(Pending);
#endif
}

// Keeps the compiler from moving uses of an accumulator across this line: it does not know that a
// product in flight writes it.
template <int Count>
__device__ __forceinline__ void wgmma_keep(float (&acc)[Count]) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(acc[i])::"memory");
#else
  static_cast<void>(acc);
#endif
}

// NOLINTBEGIN(bugprone-macro-parentheses): asm's operand lists take none.
#define KW_F4(i) "+f"(acc[i]), "+f"(acc[(i) + 1]), "+f"(acc[(i) + 2]), "+f"(acc[(i) + 3])
#define KW_F16(i) KW_F4(i), KW_F4((i) + 4), KW_F4((i) + 8), KW_F4((i) + 12)
#define KW_F32(i) KW_F16(i), KW_F16((i) + 16)
#define KW_F48 KW_F32(0), KW_F16(32)
#define KW_F64 KW_F32(0), KW_F32(32)
#define KW_F72 KW_F64, KW_F4(64), KW_F4(68)
#define KW_F96 KW_F64, KW_F32(64)
#define KW_R16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define KW_R32                                                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define KW_R48 \
  KW_R32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define KW_R64 \
  KW_R48       \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define KW_R72 KW_R64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define KW_R96                                                                              \
  KW_R64                                                                                    \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
  "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define KW_WGMMA(n, type, registers, operands, a_at, b_at, add_at)                           \
  asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %" add_at                           \
               ", 0;\n\t"                                                                    \
               "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" registers \
               "}, %" a_at ", %" b_at ", add, 1, 1, 0, 0;\n\t}"                              \
               : operands                                                                    \
               : "l"(a.descriptor), "l"(b.descriptor), "r"(static_cast<int>(add)))
// NOLINTEND(bugprone-macro-parentheses)

// acc (+)= A[64][16] * B[N][16]^T; `add` false begins anew. Thread t of the warpgroup holds, of the
// 64 x N product, rows 16 * (t / 32) + t % 32 / 4 and 8 below, and of each 8 columns two:
// acc[4 * i + 2 * r + c] is row + 8 * r, column 8 * i + 2 * (t % 4) + c.
template <Half type, int N>
__device__ __forceinline__ void wgmma(float (&acc)[N / 2], WgmmaOperand a, WgmmaOperand b,
                                      bool add) {
  static_assert(N == 32 || N == 64 || N == 96 || N == 128 || N == 144 || N == 192);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (type == Half::bf16) {
    if constexpr (N == 32) KW_WGMMA("32", "bf16", KW_R16, KW_F16(0), "16", "17", "18");
    if constexpr (N == 64) KW_WGMMA("64", "bf16", KW_R32, KW_F32(0), "32", "33", "34");
    if constexpr (N == 96) KW_WGMMA("96", "bf16", KW_R48, KW_F48, "48", "49", "50");
    if constexpr (N == 128) KW_WGMMA("128", "bf16", KW_R64, KW_F64, "64", "65", "66");
    if constexpr (N == 144) KW_WGMMA("144", "bf16", KW_R72, KW_F72, "72", "73", "74");
    if constexpr (N == 192) KW_WGMMA("192", "bf16", KW_R96, KW_F96, "96", "97", "98");
  } else {
    if constexpr (N == 32) KW_WGMMA("32", "f16", KW_R16, KW_F16(0), "16", "17", "18");
    if constexpr (N == 64) KW_WGMMA("64", "f16", KW_R32, KW_F32(0), "32", "33", "34");
    if constexpr (N == 96) KW_WGMMA("96", "f16", KW_R48, KW_F48, "48", "49", "50");
    if constexpr (N == 128) KW_WGMMA("128", "f16", KW_R64, KW_F64, "64", "65", "66");
    if constexpr (N == 144) KW_WGMMA("144", "f16", KW_R72, KW_F72, "72", "73", "74");
    if constexpr (N == 192) KW_WGMMA("192", "f16", KW_R96, KW_F96, "96", "97", "98");
  }
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::wgmma(type == Half::bf16, N, acc, {a.start, a.k_stride, a.row_stride},
                       {b.start, b.k_stride, b.row_stride}, add);
#endif
}

// Operands are lists. NOLINTBEGIN(bugprone-macro-parentheses)
#define KW_WGMMA_REGISTERS(n, registers, operands, a0_at, a1_at, a2_at, a3_at, b_at, add_at)     \
  asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %" add_at                               \
               ", 0;\n\t"                                                                        \
               "wgmma.mma_async.sync.aligned.m64n" n "k16.f32.f16.f16 {" registers "}, {%" a0_at \
               ", %" a1_at ", %" a2_at ", %" a3_at "}, %" b_at ", add, 1, 1, 0;\n\t}"            \
               : operands                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.descriptor),                  \
                 "r"(static_cast<int>(add)))
// NOLINTEND(bugprone-macro-parentheses)

// The same of fp16 with A in registers, pairs along k: thread t of the warpgroup has of its rows
// 16 * (t / 32) + t % 32 / 4 + 8 * r the elements 2 * (t % 4) and 1 more in a[r], and those 8
// further on in a[2 + r]; as it has two columns of eight of an accumulator. Unchanged until
// wgmma_wait. Host SIMT takes A from `staged`, 2 KiB of the block's shared memory a warpgroup that
// nothing else uses meanwhile; elsewhere it is not looked at.
template <int N>
__device__ __forceinline__ void wgmma_fp16(float (&acc)[N / 2], const std::uint32_t (&a)[4],
                                           [[maybe_unused]] char* staged, WgmmaOperand b,
                                           bool add) {
  static_assert(N == 64 || N == 128);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (N == 64)
    KW_WGMMA_REGISTERS("64", KW_R32, KW_F32(0), "32", "33", "34", "35", "36", "37");
  else
    KW_WGMMA_REGISTERS("128", KW_R64, KW_F64, "64", "65", "66", "67", "68", "69");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  const unsigned row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
  for (unsigned i = 0; i < 4; ++i)
    *reinterpret_cast<std::uint32_t*>(staged + (row + i % 2 * 8) / 8 * 256 + i / 2 * 128 +
                                      row % 8 * 16 + pair * 4) = a[i];
  wgmma<Half::fp16, N>(acc, wgmma_operand(staged, 128, 256), b, add);
#endif
}

#undef KW_WGMMA_REGISTERS
#undef KW_WGMMA
#undef KW_R96
#undef KW_R72
#undef KW_R64
#undef KW_R48
#undef KW_R32
#undef KW_R16
#undef KW_F96
#undef KW_F72
#undef KW_F64
#undef KW_F48
#undef KW_F32
#undef KW_F16
#undef KW_F4

}  // namespace KW_TARGET
