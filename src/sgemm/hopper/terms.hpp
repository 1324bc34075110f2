// Whether a split product is as exact as plain FP32 in an element of C. Where many products count,
// FP32 rounds as often, and the error of the pieces averages out. Where all others are zeros or
// tiny beside a few, FP32 rounds a few times only; pieces that lose a bit, and tensor cores that
// cut each term of a sum, are worse (docs/accuracy.md). Some elements of C stand for all: the split
// pass has a warp weigh each, which reads its row of A and its column of B.
#pragma once

#include <bit>

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/element_terms.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/peaks.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/stored_operand.hpp"

namespace KW_TARGET::hopper {

// A number below `end`, another one for each element and purpose.
__device__ __forceinline__ std::int64_t scattered(unsigned element, unsigned purpose,
                                                  std::int64_t end) {
  unsigned bits = (element + purpose * sampled_elements + 1) * 0x9E3779B9u;
  bits = (bits ^ (bits >> 16)) * 0x85EBCA6Bu;
  bits ^= bits >> 13;
  return static_cast<std::int64_t>(
      (static_cast<std::uint64_t>(bits) * static_cast<std::uint64_t>(end)) >> 32);
}

// The high one of x's fp16 pieces, as if none were too large or too small for it.
__device__ __forceinline__ float high_piece(float x) {
  constexpr std::uint32_t dropped = 0x1FFF, half = 0x1000;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + half) & ~dropped);
}

// Whether an element's range of k, where one operand is a triangle, is a small part of k. It has
// few products, of which one is a peak as a rule: that tells nothing of the other elements.
template <bool triangular>
__device__ __forceinline__ bool has_short_range(const Sgemm& p, std::int64_t row,
                                                std::int64_t column) {
  constexpr int small_part = 8;
  if (!triangular || p.k_range == KRange::all) return false;
  const std::int64_t line = is_by_row(p.k_range) ? row : column;
  return small_part * (begins_apart(p.k_range) ? p.k - line : line + 1) < p.k;
}

// Weighs one element of C. A warp calls it.
template <bool triangular>
__device__ inline void weigh_terms(const SplitParams& params, unsigned element, int lane) {
  constexpr int own = sampled_terms / warp_lanes;
  const Sgemm& p = params.problem;
  // Divisions of 64 bits, and any others, are code that each call fetches anew.
  const std::int64_t entry = element < p.batch ? element : element % static_cast<unsigned>(p.batch);
  const std::int64_t row = scattered(element, 0, p.m), column = scattered(element, 1, p.n);
  const std::int64_t a_step = p.op_a == Op::none ? 1 : p.lda;
  const std::int64_t b_step = p.op_b == Op::none ? p.ldb : 1;
  const float* const a = a_of(p, entry) + row * (p.op_a == Op::none ? p.lda : 1);
  const float* const b = b_of(p, entry) + column * (p.op_b == Op::none ? 1 : p.ldb);
  const auto of_a = [&](std::int64_t k) {
    return triangular ? stored_operand<true>(p, 0, entry).element(row, k) : a[k * a_step];
  };
  const auto of_b = [&](std::int64_t k) {
    return triangular ? stored_operand<true>(p, 1, entry).element(column, k) : b[k * b_step];
  };
  const bool is_sample = p.k > sampled_terms;
  const std::int64_t shift = is_sample ? scattered(element, 2, p.k) : 0;

  constexpr int every = 4;  // of a lane's terms, to see whether sums round
  LaneTerms<own, own / every> terms;
  auto& term = terms.term;
  auto& high = terms.high;
  float sum = 0, largest = 0;
  // No other row or column has such a place: in Gram, covariance and kernel matrices a peak.
  const std::int64_t diagonal = lane == 0 ? row : column;
  const bool has_diagonal = is_sample && lane < (row == column ? 1 : 2) && diagonal < p.k;
  terms.alone = has_diagonal ? fabsf(of_a(diagonal) * of_b(diagonal)) : 0.0f;
#pragma unroll
  for (int i = 0; i < own; ++i) {
    const std::int64_t at = i * warp_lanes + lane;
    const std::int64_t k = is_sample ? (at * p.k + shift) / sampled_terms : at;
    const float x = k < p.k ? of_a(k) : 0.0f, y = k < p.k ? of_b(k) : 0.0f;
    term[i] = x * y;
    sum += fabsf(term[i]);
    largest = fmaxf(largest, fabsf(term[i]));
    if (i % every == 0) high[i / every] = fabsf(high_piece(x) * high_piece(y));
  }
  // A lane's terms stand for those of an instruction.
  bool is_rounded = false;
#pragma unroll
  for (const float added : high) is_rounded |= (sum + added) - sum != added;
  const int rounded = lanes_where(is_rounded), nonzero = lanes_where(sum > 0);
  sum = sum_of_warp(sum);
  const float to_share = sum > 0 ? 1 / sum : 0.0f;
  float count = 0, squares = 0, signs = 0;
#pragma unroll  // NOLINTNEXTLINE(modernize-loop-convert)
  for (int i = 0; i < own; ++i) {
    const float share = term[i] * to_share;
    squares = fmaf(share, share, squares);
    const bool counts = fabsf(share) > least_term;
    count += counts ? 1.0f : 0.0f;
    signs += counts ? copysignf(1.0f, share) : 0.0f;
  }
  count = sum_of_warp(count);
  squares = sum_of_warp(squares);
  signs = sum_of_warp(signs);
  const float of_all = is_sample ? static_cast<float>(p.k) / sampled_terms : 1.0f;
  // A sample with a few that count stands for as many only perhaps, and is not trusted: of sums of
  // one or two products a sample sees two in one element of some thirty now and then.
  const float trusted = is_sample ? of_all * count / (count + 8) : 1.0f;
  const float mean_sign = signs / count, one_sign = mean_sign * mean_sign;
  const float places = is_sample ? sampled_terms : static_cast<float>(p.k);
  ElementWeight weight = Terms{count * trusted, of_all / squares, one_sign}.weight();
  if (count > 0 && !has_short_range<triangular>(p, row, column))
    weigh_beside_peaks(terms, sum, largest, of_all, one_sign, weight);
  if (lane != 0) return;
  weight.rounded = 2 * rounded > nonzero ? 1 : 0;
  weight.one_sign = count > 0 ? one_sign * count / places : 0.0f;
  params.control->weights[element] = weight;
}

// The work of one of the term_blocks blocks.
template <bool triangular>
__device__ inline void weigh_terms_of_block(const SplitParams& params) {
  const unsigned warp = threadIdx.x / warp_lanes;
  if (warp >= elements_per_block) return;
  weigh_terms<triangular>(params, blockIdx.x * elements_per_block + warp,
                          static_cast<int>(threadIdx.x) % warp_lanes);
}

// Whether too many of the elements are too light, each lane knowing one, or one is that decides
// alone. Those of zeros have no error, and say nothing unless all are: then sums have a product at
// most. A warp calls it.
__device__ __forceinline__ bool are_light(float weight) {
  if (lanes_where(weight == decisive_weight) > 0) return true;
  const int light = lanes_where(weight > 0 && weight < 1), all = lanes_where(weight > 0);
  return all == 0 || static_cast<float>(light) > static_cast<float>(all) * share_of_light_elements;
}

// What sums of fp16x3 lose on average (Drift), of the elements that are no sums of zeros, each lane
// knowing one. A warp calls it.
__device__ __forceinline__ float mean_drift(const ElementWeight& own, const Drift& drift) {
  const bool counts = own.fp16x3 > 0, loses = counts && own.rounded > 0;
  const int all = lanes_where(counts), rounded = lanes_where(loses);
  constexpr float parts = 1024;
  const std::uint32_t one_sign =
      sum_of_warp(loses ? static_cast<std::uint32_t>(own.one_sign * parts) : 0u);
  if (all == 0) return 0;
  return (drift.mixed * static_cast<float>(rounded) +
          (drift.one_sign - drift.mixed) / parts * static_cast<float>(one_sign)) /
         static_cast<float>(all);
}

}  // namespace KW_TARGET::hopper
