// What becomes of a product's sums beyond alpha * sum: beta times C or the call's source, a bias,
// an activation (SgemmEpilogue). The code of a plain product stays as it is, and what is rarer
// stands apart from it, in one of two ways:
//
//   Finish             turns the sums that a thread holds into the finished elements in place; the
//                      kernel then stores them as it stores alpha * sum, with alpha 1
//                      (when_finished). Nothing is stored between the loads, so that they are under
//                      way together.
//   finish_in_memory   for kernels that have no registers for that, or whose outputs are few: they
//                      store what stored_first says, and finish each element where it lies.
#pragma once

#include "device/cache_hint.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET {

// x / 2 (1 + tanh(y)), y = sqrt(2 / pi) (x + 0.044715 x^3), as x / (1 + exp(-2 y)): where x is
// negative, nothing cancels.
__device__ __forceinline__ float gelu_tanh(float x) {
  constexpr float twice_log2_e_sqrt_2_over_pi = 2.302208198f, cubic = 0.044715f;
  const float exponent =
      x * fmaf(twice_log2_e_sqrt_2_over_pi * cubic, x * x, twice_log2_e_sqrt_2_over_pi);
  return __fdividef(x, 1.0f + exp2f(-exponent));
}

// x / 2 (1 + erf(x / sqrt(2))).
__device__ __forceinline__ float gelu_erf(float x) {
  constexpr float sqrt_half = 0.707106781f;
  const float half = 0.5f * x;
  return fmaf(half, erff(sqrt_half * x), half);
}

__device__ __forceinline__ float relu(float x) { return x < 0 ? 0.0f : x; }  // NaN stays

// The epilogue of an entry's elements from one of them on, of which a thread holds some.
struct Finish {
  SgemmEpilogue epilogue;  // from that element on; its source is C where the call has none
  float alpha, beta;
  int rows, columns;  // of C, counted from there

  // `call` has the call's epilogue, and either the call's C or that of the entry (entry_of).
  __device__ __forceinline__ Finish(const Sgemm& call, std::int64_t entry, std::int64_t row,
                                    std::int64_t column, float its_alpha, float its_beta)
      : epilogue(call.epilogue),
        alpha(its_alpha),
        beta(its_beta),
        rows(static_cast<int>(least(call.m - row))),
        columns(static_cast<int>(least(call.n - column))) {
    epilogue.move_to_entry(entry);
    if (epilogue.source == nullptr) {
      epilogue.source = c_of(call, call.batch == 1 ? 0 : entry);
      epilogue.ld_source = call.ldc;
    }
    epilogue.move(row, column);
  }
  // `one`: entry_of the call.
  __device__ __forceinline__ Finish(const Sgemm& one, std::int64_t entry, std::int64_t row,
                                    std::int64_t column)
      : Finish(one, entry, row, column, one.alpha, one.beta) {}

  // each(body) calls body(i, j, x...) for all sums that the thread holds: `width` neighbours of a
  // row, i rows and j columns on. What is asked of all of them is decided once, and each case is
  // straight code.
  template <int width, class Each>
  __device__ __forceinline__ void apply(const Each& each) const {
    if (beta == 0) {
      each([&](int, int, auto&... x) { ((x *= alpha), ...); });
    } else if (width == 4 && rows_aligned_16(epilogue.source, epilogue.ld_source)) {
      each([&](int i, int j, auto&... x) { add_source(i, j, x...); });
    } else {
      each([&](int i, int j, auto&... x) {
        const float* const at = epilogue.source + i * epilogue.ld_source + j;
        int e = 0;
        ((x = add_scaled(alpha, x, beta, is_inside(i, j + e) ? at[e] : 0.0f), ++e), ...);
      });
    }
    if (epilogue.bias != nullptr) add_bias(each);
    activate(each);
  }

 private:
  __device__ __forceinline__ bool is_inside(int i, int j) const { return i < rows && j < columns; }

  // Of rows that are aligned, fours of which all lie inside are one load.
  template <class... X>
  __device__ __forceinline__ void add_source(int i, int j, X&... x) const {
    const float* const at = epilogue.source + i * epilogue.ld_source + j;
    float four[4] = {};
    if (is_inside(i, j + 3)) {
      const float4 all = *reinterpret_cast<const float4*>(at);
      four[0] = all.x, four[1] = all.y, four[2] = all.z, four[3] = all.w;
    } else {
#pragma unroll
      for (int e = 0; e < 3; ++e)
        if (is_inside(i, j + e)) four[e] = at[e];
    }
    int e = 0;
    ((x = add_scaled(alpha, x, beta, four[e]), ++e), ...);
  }
  template <class Each>
  __device__ __forceinline__ void add_bias(const Each& each) const {
    const float* const bias = epilogue.bias;
    if (epilogue.bias_of_rows)
      each([&](int i, int, auto&... x) {
        const float here = i < rows ? bias[i] : 0.0f;
        ((x += here), ...);
      });
    else
      each([&](int, int j, auto&... x) {
        int e = 0;
        ((x += j + e < columns ? bias[j + e] : 0.0f, ++e), ...);
      });
  }
  template <class Each>
  __device__ __forceinline__ void activate(const Each& each) const {
    switch (epilogue.activation) {
      case Activation::none: break;
      case Activation::relu: each([](int, int, auto&... x) { ((x = relu(x)), ...); }); break;
      case Activation::gelu_tanh:
        each([](int, int, auto&... x) { ((x = gelu_tanh(x)), ...); });
        break;
      case Activation::gelu_erf:
        each([](int, int, auto&... x) { ((x = gelu_erf(x)), ...); });
        break;
    }
  }
  // Sizes beyond a tile's are as good as one another.
  __device__ static __forceinline__ std::int64_t least(std::int64_t size) {
    return size < (1 << 30) ? size : 1 << 30;
  }
};

// The same product when its elements are finished: to be stored as they are.
__device__ __forceinline__ Sgemm when_finished(Sgemm p) {
  p.alpha = 1, p.beta = 0;
  return p;
}

// What is stored before finish_in_memory: without the source, if there is one beside C.
__device__ __forceinline__ Sgemm stored_first(Sgemm one) {
  if (one.epilogue.source != nullptr) one.beta = 0;
  return one;
}
// An element of `one`, which is entry `entry`; the caller, or whoever it has met since, has stored
// it.
__device__ __forceinline__ void finish_in_memory(Sgemm one, std::int64_t entry, std::int64_t row,
                                                 std::int64_t column) {
  one.alpha = 1;
  if (one.epilogue.source == nullptr) one.beta = 0;
  float* const c = one.c + row * one.ldc + column;
  float x = *c;
  Finish(one, entry, row, column).apply<1>([&](const auto& body) { body(0, 0, x); });
  *c = x;
}

// Asks L2 for `rows` x `columns` elements. Out of line: producers, which call it, have few
// registers.
[[gnu::noinline]] __device__ inline void ask_for_elements(const float* first, std::int64_t ld,
                                                          int rows, int columns, int tid,
                                                          int threads) {
  constexpr int line = 128 / sizeof(float);
  const int lines = ceil_div(columns, line) + 1;  // however the rows begin
  for (int i = tid; i < rows * lines; i += threads) {
    const int at = i % lines * line;
    prefetch_to_l2(first + i / lines * ld + (at < columns ? at : columns - 1));
  }
}

// Asks L2 for what a tile of `rows` x `columns` adds to its sums, long before they are there.
// `threads` threads, `tid` among them, call it.
__device__ __forceinline__ void ask_for_source(const Sgemm& call, std::int64_t entry,
                                               std::int64_t row, std::int64_t column, int rows,
                                               int columns, int tid, int threads) {
  const Finish tile(call, entry, row, column, 0, 0);
  ask_for_elements(tile.epilogue.source, tile.epilogue.ld_source, min(rows, tile.rows),
                   min(columns, tile.columns), tid, threads);
}

// Whether the call reads C or a source.
__device__ __forceinline__ bool reads_source(const Sgemm& call) {
  return (call.beta_at != nullptr ? *call.beta_at : call.beta) != 0;
}

}  // namespace KW_TARGET
