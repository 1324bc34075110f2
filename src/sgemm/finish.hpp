// What a product does with its sums where its call asks for more than alpha * sum + beta * C
// (SgemmEpilogue). The code of a plain product stays as it is, and what is rare stands apart from
// it, in one of two ways:
//
//   Finish             turns the sums that a thread holds into the finished elements in place; the
//                      kernel then stores them as it stores any (when_finished).
//   finish_in_memory   for kernels that have no registers for that, or whose outputs are few: they
//                      store what stored_first says, and finish each element where it lies.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

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

// The epilogue of those elements of an entry that lie at and beyond one of them.
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

  // each(body) calls body(x, i, j) for every sum that the thread holds, i rows and j columns on.
  // What is asked of all of them is decided once, and each case is straight code.
  template <class Each>
  __device__ __forceinline__ void operator()(const Each& each) const {
    const auto is_inside = [&](int i, int j) { return i < rows && j < columns; };
    each([&](float& x, int, int) { x *= alpha; });
    if (beta != 0) {
      const float* const source = epilogue.source;
      const std::int64_t ld = epilogue.ld_source;
      each([&](float& x, int i, int j) {
        if (is_inside(i, j)) x = fmaf(beta, source[i * ld + j], x);
      });
    }
    if (const float* const bias = epilogue.bias) {
      if (epilogue.bias_of_rows)
        each([&](float& x, int i, int j) {
          if (is_inside(i, j)) x += bias[i];
        });
      else
        each([&](float& x, int i, int j) {
          if (is_inside(i, j)) x += bias[j];
        });
    }
    switch (epilogue.activation) {
      case Activation::none: break;
      case Activation::relu: each([](float& x, int, int) { x = relu(x); }); break;
      case Activation::gelu_tanh: each([](float& x, int, int) { x = gelu_tanh(x); }); break;
      case Activation::gelu_erf: each([](float& x, int, int) { x = gelu_erf(x); }); break;
    }
  }

 private:
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
  Finish(one, entry, row, column)([&](const auto& body) { body(x, 0, 0); });
  *c = x;
}

}  // namespace KW_TARGET
