// Elements of C in which a product is far larger than the others, and in which FP32's sum rounds
// little beside it: the others are near multiples of the sum's last bit, as numbers near one are
// beside a diagonal of 2^23. There what the pieces lose shows, which it does not where FP32 rounds
// each product: tensor cores cut all products of the peak's window 25 bits below it, those just
// below a multiple by nearly one; and sums of high pieces, which lie below the products, are
// rounded to multiples where those of low pieces, which make up for it, are kept.
#pragma once

#include <bit>

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/element_terms.hpp"

namespace KW_TARGET::hopper {

// From which share of an element's sum on a product is a peak, and how far below ordinary FP32's
// mean square error must be beside it. Fitted to drawn data in a model of both arithmetics.
constexpr float least_peak = 1.0f / 16, least_rounding = 1.0f / 4;

// 2^e of a normal x = 1.f 2^e.
__device__ __forceinline__ float power_below(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7F800000u);
}

// What FP32 loses where this product joins a sum, in mean squares of an ordinary rounding: next to
// 0 for a multiple of the sum's last bit. Products that are lost one by one and not as a window's
// sum count whole; those that are lost as that, too, are no reason for pieces.
__device__ __forceinline__ float rounding_of(float product, float sum, float to_last_bits) {
  const float next = sum + product;
  if (next == sum) return sum + stage_k * product != sum ? 1.0f : 0.0f;
  const float lost = (next - sum - product) * to_last_bits;
  return 12 * lost * lost;
}

// A lane's part of an element's products: what it sampled, the high pieces' products of some, and
// sizes at places that stand for themselves alone.
template <int count, int highs>
struct LaneTerms {
  float term[count], high[highs], alone;

  // What FP32 loses of an element's products, in ordinary roundings. `sum`: their sizes, added up.
  // `to_all`: so many products a sampled one stands for.
  __device__ float rounds(float sum, float to_all) const {
    const float to_last_bits = 0x1p23f / power_below(sum);
    float rounds = 0;
#pragma unroll
    for (const float own : term) rounds += rounding_of(fabsf(own), sum, to_last_bits);
    return sum_of_warp(to_all * rounds + rounding_of(alone, sum, to_last_bits));
  }
  __device__ float present(float to_all) const {
    float present = 0;
#pragma unroll
    for (const float own : term) present += own != 0 ? 1.0f : 0.0f;
    return sum_of_warp(to_all * present + (alone > 0 ? 1.0f : 0.0f));
  }
  // Whether tensor cores would cut some of them beside the peak.
  __device__ bool are_cut(float peak) const {
    const float beside = 0.375f * power_below(peak);
    bool is_cut = false;
#pragma unroll
    for (const float own : high) is_cut |= (beside + own) - beside != own;
    return lanes_where(is_cut) > 0;
  }
};

// Where FP32 rounds so little beside a peak that a path is worse, the element decides alone: even
// where few are so, their errors are those of the product. A warp calls it; `sum`: of the sizes
// that were sampled; `largest`: of this lane's.
template <int count, int highs>
__device__ inline void weigh_beside_peaks(const LaneTerms<count, highs>& own, float sum,
                                          float largest, float to_all, float one_sign,
                                          ElementWeight& weight) {
  const auto of_warp = [](float size) {
    return std::bit_cast<float>(largest_of_warp(std::bit_cast<std::uint32_t>(size)));
  };
  // Two lanes at most have a place alone.
  const float first = from_lane(own.alone, 0), second = from_lane(own.alone, 1);
  const float sampled = of_warp(largest), peak = fmaxf(sampled, fmaxf(first, second));
  // A peak in a sample stands for itself.
  const float total = (sum - sampled) * to_all + sampled + first + second;
  if (!(peak > total * least_peak)) return;

  const float rounds = own.rounds(total, to_all), present = own.present(to_all);
  if (rounds > present * least_rounding || (rounds == 0 && !own.are_cut(peak))) return;
  const float times = total / peak;
  const Terms beside = {present, times * times, one_sign};
  const float fp32 = 1 + rounds / present * beside.fp32_error();  // 1: the peak's own
  if (fp32 < beside.split_error<fp16x3_errors>()) weight.fp16x3 = decisive_weight;
  if (fp32 < beside.split_error<bf16x6_errors>()) weight.bf16x6 = decisive_weight;
}

}  // namespace KW_TARGET::hopper
