// What the split pass finds out about the data, and which kernel therefore computes the product.
// The choice is made on the device, without a trip to the host.
#pragma once

#include <bit>
#include <cstdint>

#include "host_device.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace kw::hopper {

// An element that its row's fp16 pieces cannot hold (outliers.hpp): row of A or column of B, k, and
// the element.
struct alignas(16) Outlier {
  std::int32_t row, k;
  float x;
};

// Of all items of the split pass; zero before and after a call, among the workspace's tickets.
struct alignas(16) OutlierTotals {
  unsigned long long ns;  // that tiles take for them, summed over tiles
  unsigned count;
  unsigned unlisted;  // 1: some found no room in their list
};

// Plain FP32's mean square error in an element of C over that of a path, as terms.hpp estimates
// them: below 1 the element is too light for the path; 0 where it is a sum of zeros;
// decisive_weight (element_terms.hpp) where it decides alone. `rounded`: 1 where tensor cores round
// most of its sums in fp16x3, 0 where most are so short that they are exact. `one_sign`: from 0,
// where signs are mixed or nearly all products are zeros, to 1, where all count and have one sign.
struct ElementWeight {
  float fp16x3, bf16x6;
  float rounded = 0, one_sign = 0;
};

enum class Path : unsigned { fp16x3, bf16x6, fp32 };

// The ranges of A's and B's elements that one block of the split pass has read: two of the
// SizeRange below, as words.
struct alignas(16) BlockRanges {
  std::uint32_t words[4];
};

constexpr unsigned too_many = ~0u;

// At the start of the workspace. Host code may read it after the call.
struct Control {
  unsigned takes_fp32;     // 1: the data, or alpha = 0, need the kernel in plain fp32
  unsigned outlier_count;  // in fp16's pieces; too_many where bf16x6 computes the product
  float drift;             // the share of themselves that fp16x3's sums lose, on average
  BlockRanges ranges[max_range_blocks];
  ElementWeight weights[sampled_elements];  // of some elements of C
  // The arrivals of a product's blocks (pace.hpp), in a cache line that is read for nothing else.
  alignas(128) unsigned paced;
};

KW_HOST_DEVICE inline Path path_of(bool takes_fp32, unsigned outlier_count) {
  if (takes_fp32) return Path::fp32;
  return outlier_count == too_many ? Path::bf16x6 : Path::fp16x3;
}

// The larger of `most` and |x|; NaN, once there was one.
KW_HOST_DEVICE inline float larger_size(float most, float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float larger;
  asm("{\n\t.reg .f32 size;\n\tabs.f32 size, %2;\n\tmax.NaN.f32 %0, %1, size;\n\t}"
      : "=f"(larger)
      : "f"(most), "f"(x));
  return larger;
#else
  const float size = x < 0 ? -x : x;
  return size <= most || most != most ? most : size;
#endif
}

// The largest and the smallest size of some elements of an operand, without zeros, as bits without
// sign. Both words start at 0 and grow, so the range of several ranges has their largest words.
struct SizeRange {
  std::uint32_t largest = 0;
  std::uint32_t below = 0;  // all bits minus the smallest; 0 where there is none

  KW_HOST_DEVICE std::uint32_t smallest() const { return below == 0 ? 0 : ~below; }

  template <int count>
  KW_HOST_DEVICE static SizeRange of(const float (&x)[count]);
  KW_HOST_DEVICE void add(const SizeRange& others) {
    if (others.largest > largest) largest = others.largest;
    if (others.below > below) below = others.below;
  }
};

// A range while elements are added to it.
struct Sizes {
  float most = 0;
  std::uint32_t least = ~std::uint32_t{0};  // twice a size, less 1: zeros come last

  template <int count>
  KW_HOST_DEVICE void add(const float (&x)[count]) {
    for (int i = 0; i < count; ++i) {
      most = larger_size(most, x[i]);
      const std::uint32_t doubled = (std::bit_cast<std::uint32_t>(x[i]) << 1) - 1;
      if (doubled < least) least = doubled;
    }
  }
  KW_HOST_DEVICE SizeRange range() const {
    const std::uint32_t size = (least + 1) >> 1;
    return {std::bit_cast<std::uint32_t>(most) & ~split::sign_bit, size == 0 ? 0 : ~size};
  }
};
template <int count>
KW_HOST_DEVICE SizeRange SizeRange::of(const float (&x)[count]) {
  Sizes sizes;
  sizes.add(x);
  return sizes.range();
}

// Whether the pieces hold every element exactly and no product or sum of theirs leaves the range
// in which FP32 rounds relatively:
//   elements   2^-109 or more: bf16's third piece reaches down to 2^-133; below 2^126: rounding up
//   products   2^-100 or more: what tensor cores cut off a sum lies below 2^-149 then
//   sums       k * largest * largest < 2^127
// Inf and NaN are larger than all that. Zeros are fine.
KW_HOST_DEVICE inline bool pieces_hold(const SizeRange& a, const SizeRange& b, std::int64_t k) {
  const auto exponent = [](std::uint32_t bits) { return static_cast<int>(bits >> 23) - 127; };
  const int high_a = exponent(a.largest), high_b = exponent(b.largest);
  if (a.largest == 0 || b.largest == 0) return high_a < 126 && high_b < 126;
  const int low_a = exponent(a.smallest()), low_b = exponent(b.smallest());
  // Of the next power of two; from the exponent of a double (nvcc takes bit_width for 0).
  const auto log2_k =
      k <= 1
          ? 0
          : static_cast<int>(std::bit_cast<std::uint64_t>(static_cast<double>(k - 1)) >> 52) - 1022;
  return high_a < 126 && high_b < 126 && high_a + high_b + 2 + log2_k <= 127 && low_a >= -109 &&
         low_b >= -109 && low_a + low_b >= -100;
}

}  // namespace kw::hopper
