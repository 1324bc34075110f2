// The passes of epilogue.hpp: a row at a time, threads share the rows of a large C.
#include "cpu/epilogue.hpp"

#include <algorithm>
#include <cmath>

namespace kw::cpu {

namespace {

constexpr std::int64_t most_for_one_thread = 1 << 15;  // elements

template <class Row>
void each_row(const Sgemm& one, const Row& row) {
  [[maybe_unused]] const bool spread = one.m * one.n > most_for_one_thread;
#pragma omp parallel for schedule(static) if (spread)
  for (std::int64_t i = 0; i < one.m; ++i) row(one.c + i * one.ldc, i);
}

float activated(Activation activation, float x) {
  constexpr float sqrt_half = 0.707106781F, sqrt_2_over_pi = 0.797884561F, cubic = 0.044715F;
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return x < 0 ? 0.0F : x;
    case Activation::gelu_tanh:
      return x / (1.0F + std::exp(-2 * sqrt_2_over_pi * x * (1.0F + cubic * x * x)));
    case Activation::gelu_erf: return 0.5F * x * (1.0F + std::erf(sqrt_half * x));
  }
  return x;
}

}  // namespace

void copy_source(const Sgemm& one) {
  const SgemmEpilogue& epilogue = one.epilogue;
  if (epilogue.source == nullptr || one.beta == 0) return;
  each_row(one, [&](float* c, std::int64_t i) {
    std::copy_n(epilogue.source + i * epilogue.ld_source, one.n, c);
  });
}

void finish_elements(const Sgemm& one) {
  const SgemmEpilogue& epilogue = one.epilogue;
  if (epilogue.bias == nullptr && epilogue.activation == Activation::none) return;
  each_row(one, [&](float* c, std::int64_t i) {
    for (std::int64_t j = 0; j < one.n; ++j) {
      if (epilogue.bias != nullptr) c[j] += epilogue.bias[epilogue.bias_of_rows ? i : j];
      c[j] = activated(epilogue.activation, c[j]);
    }
  });
}

}  // namespace kw::cpu
