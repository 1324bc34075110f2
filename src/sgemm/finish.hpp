// What becomes of a product's elements beyond alpha * sum: beta times C or another source, a bias,
// an activation (SgemmEpilogue). In one of two ways:
//
//   Finish         turns the sums that a thread holds into the finished elements in place, and the
//                  kernel stores them with alpha 1. Nothing is stored between the loads, so that
//                  they are under way together. For kernels with instances of their own for it.
//   finish_stored  for all others. They store alpha * sum + beta * C as always (stored_first), and
//                  threads that have met since finish those elements where they lie, in L2. What
//                  the kernel does for a plain product stays as it is: with these formulas among
//                  its own it is slower without an epilogue, too (docs/experiments).
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

// What is stored before finish_stored: without the source, if there is one beside C.
__device__ __forceinline__ Sgemm stored_first(Sgemm one) {
  if (one.epilogue.source != nullptr) one.beta = 0;
  return one;
}

// A rectangle of C, of which some may lie outside.
struct StoredPart {
  std::int64_t entry, row, column;
  int rows, columns;
};

// The part in groups of `width` neighbours of a row, of which a thread has `at_once` under way.
template <int width, int at_once>
__device__ __forceinline__ void finish_groups(const Finish& its, float* c, std::int64_t ldc,
                                              int tid, int threads) {
  using Group = std::conditional_t<width == 4, float4, float>;
  const int of_row = its.columns / width, count = its.rows * of_row;
  for (int first = tid; first < count; first += at_once * threads) {
    union Elements {
      Group group;
      float element[width];
    };
    Elements x[at_once];
    int row[at_once], column[at_once];
#pragma unroll
    for (int g = 0; g < at_once; ++g) {
      const int at = first + g * threads < count ? first + g * threads : first;
      row[g] = at / of_row, column[g] = (at - row[g] * of_row) * width;
      x[g].group = *reinterpret_cast<const Group*>(c + row[g] * ldc + column[g]);
    }
    its.apply<width>([&](const auto& body) {
#pragma unroll
      for (int g = 0; g < at_once; ++g) {
        float* const e = x[g].element;
        if constexpr (width == 4)
          body(row[g], column[g], e[0], e[1], e[2], e[3]);
        else
          body(row[g], column[g], e[0]);
      }
    });
#pragma unroll
    for (int g = 0; g < at_once; ++g)
      if (first + g * threads < count)
        *reinterpret_cast<Group*>(c + row[g] * ldc + column[g]) = x[g].group;
  }
}

// Finishes a part of C that `threads` threads, `tid` among them, have stored and met since. Each
// has `at_once` loads under way, as many as the kernel has registers for.
template <int at_once>
__device__ __forceinline__ void finish_part(const Sgemm& call, const StoredPart& part, int tid,
                                            int threads) {
  const float beta = call.beta_at != nullptr ? *call.beta_at : call.beta;
  Finish its(call, part.entry, part.row, part.column, 1,
             call.epilogue.source == nullptr ? 0 : beta);
  its.rows = min(its.rows, part.rows), its.columns = min(its.columns, part.columns);
  float* const c = c_of(call, part.entry) + part.row * call.ldc + part.column;
  if (rows_aligned_16(c, call.ldc) && its.columns % 4 == 0)
    finish_groups<4, at_once>(its, c, call.ldc, tid, threads);
  else
    finish_groups<1, at_once>(its, c, call.ldc, tid, threads);
}
// Out of line: what it needs it finds out anew, so that nothing of it is in registers before.
template <int at_once>
[[gnu::noinline]] __device__ void finish_stored(const Sgemm& call, const StoredPart part, int tid,
                                                int threads) {
  finish_part<at_once>(call, part, tid, threads);
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
  SgemmEpilogue from = call.epilogue;
  from.move_to_entry(entry);
  if (from.source == nullptr) from.source = c_of(call, entry), from.ld_source = call.ldc;
  const auto least = [](std::int64_t a, int b) { return a < b ? static_cast<int>(a) : b; };
  ask_for_elements(from.source + row * from.ld_source + column, from.ld_source,
                   least(call.m - row, rows), least(call.n - column, columns), tid, threads);
}

// Whether the call reads C or a source.
__device__ __forceinline__ bool reads_source(const Sgemm& call) {
  return (call.beta_at != nullptr ? *call.beta_at : call.beta) != 0;
}

}  // namespace KW_TARGET
