// An operand of level3_tile: a matrix of which one index runs along C's rows or columns and the
// other along k, whole, a triangle with zeros beside it, or one with its mirror image; and how a
// block copies its part of it, stage after stage, from where it lies.
#pragma once

#include <cstdint>

#include "device/async_copy.hpp"
#include "level3/problem.hpp"

namespace KW_TARGET {

// Which elements are stored, of index i across and l along k.
enum class StoredPart : std::uint8_t { all, to_own, from_own };  // l <= i, i <= l

struct TileOperand {
  const float* x = nullptr;
  std::int64_t across = 0, along = 0;  // steps in memory of the two indices; one of them is 1
  StoredPart part = StoredPart::all;
  bool mirrored = false;  // beside the part its mirror image, else zeros
  bool unit = false;      // ones on the diagonal, which is not read
};

// op(X) with its rows along C's rows, or with its columns along C's columns.
inline TileOperand along_rows(const float* x, std::int64_t ld, Op op) {
  return op == Op::none ? TileOperand{.x = x, .across = ld, .along = 1}
                        : TileOperand{.x = x, .across = 1, .along = ld};
}
inline TileOperand along_cols(const float* x, std::int64_t ld, Op op) {
  return along_rows(x, ld, op == Op::none ? Op::transpose : Op::none);
}

// What all threads of a block copy of an operand, `extent` lines across, stage after stage along k;
// zeros beyond the edges. Where a thread's elements lie is computed once for the stages that lie
// alike, and anew for those at the diagonal and in the mirror image.
template <int extent, int bk, int pitch, int threads>
class OperandCopy {
  using Line = float[pitch];

 public:
  // From line `first` of `size`, and from l0 of k on.
  __device__ __forceinline__ OperandCopy(const TileOperand& x, std::int64_t first,
                                         std::int64_t size, std::int64_t l0)
      : first_(static_cast<int>(first)),
        left_(size - first < extent ? static_cast<int>(size - first) : extent),
        l0_(static_cast<int>(l0)),
        own_(x.x + first * x.across + l0 * x.along, x.across, x.along, left_),
        stage_(bk * x.along) {}

  // The next `here` of k, of the operand that the constructor had.
  __device__ __forceinline__ void next(Line* to, const TileOperand& x, int here) {
    if (x.part == StoredPart::all || is_stored(x, here))
      own_.start(to, here);
    else if (is_mirrored(x, here))
      Copies(x.x + first_ * x.along + l0_ * x.across, x.along, x.across, left_).start(to, here);
    else if (x.mirrored)
      start_at_diagonal(to, x, here);
    else
      Copies(own_.first, x.across, x.along, left_, true).start_triangle(to, x, here, l0_ - first_);
    own_.from += stage_, own_.first += stage_;
    l0_ += bk;
  }

 private:
  // A thread's copies of a stage whose first element is `data`.
  struct Copies {
    const float *first, *from;  // the stage's, and this thread's
    std::int64_t step;          // between a thread's copies
    int i, l;                   // its first one
    int left;                   // lines from there on
    int width;                  // elements a copy; 0: one, of lines along k, which are turned

    __device__ __forceinline__ Copies(const float* data, std::int64_t across, std::int64_t along,
                                      int lines, bool by_element = false)
        : first(data) {
      const int tid = static_cast<int>(threadIdx.x);
      if (along == 1) {  // 8 of k a quarter of a warp: a warp then writes to all banks
        width = 0;
        i = tid / 8, l = tid % 8;
        step = threads / 8 * across;
      } else if (!by_element && lines % 4 == 0 && along % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(data) % 16 == 0) {
        width = 4;
        i = tid % (extent / 4) * 4, l = tid / (extent / 4);
        step = threads / (extent / 4) * along;
      } else {
        width = 1;
        i = tid % extent, l = tid / extent;
        step = threads / extent * along;
      }
      from = data + i * across + l * along;
      left = lines - i;
    }
    __device__ __forceinline__ void start(Line* to, int here) const {
      if (width == 0)
        turn(to, here);
      else if (width == 4)
        copy<4>(to, here);
      else
        copy<1>(to, here);
    }
    __device__ __forceinline__ void turn(Line* to, int here) const {
      constexpr int down = threads / 8;
      float* const own = &to[l][i];
#pragma unroll
      for (int at_l = 0; at_l < bk; at_l += 8) {
        const float* at = from + at_l;
        const int there = l + at_l < here ? left : 0;
#pragma unroll
        for (int at_i = 0; at_i < extent; at_i += down, at += step)
          if (extent % down == 0 || i + at_i < extent)
            async_copy<4>(own + at_l * pitch + at_i, at, at_i < there ? 4 : 0);
      }
    }
    // Element by element where some are beside a triangle: zeros, or ones on its diagonal. `offset`
    // is that of the stage's first k from the tile's own diagonal.
    __device__ __forceinline__ void start_triangle(Line* to, const TileOperand& x, int here,
                                                   int offset) const {
      const bool to_own = x.part == StoredPart::to_own;
      const int from_diagonal = i - l - offset;  // of this thread's first element
      const auto copy_one = [&](float* own, const float* at, int at_i, int at_l) {
        const int distance = from_diagonal + at_i - at_l;
        const bool has = to_own ? distance >= 0 : distance <= 0;
        if (x.unit && distance == 0)
          *own = 1;
        else
          async_copy<4>(own, at, has && at_i < left && l + at_l < here ? 4 : 0);
      };
      float* const own = &to[l][i];
      const float* at = from;
      if (width == 0) {
        constexpr int down = threads / 8;
#pragma unroll
        for (int at_i = 0; at_i < extent; at_i += down, at += step)
#pragma unroll
          for (int at_l = 0; at_l < bk; at_l += 8)
            if (extent % down == 0 || i + at_i < extent)
              copy_one(own + at_l * pitch + at_i, at + at_l, at_i, at_l);
      } else {
        constexpr int lines = threads / extent;
#pragma unroll
        for (int at_l = 0; at_l < bk; at_l += lines, at += step)
          if (bk % lines == 0 || l + at_l < bk) copy_one(own + at_l * pitch, at, 0, at_l);
      }
    }
    template <int count>
    __device__ __forceinline__ void copy(Line* to, int here) const {
      constexpr int lines = threads / (extent / count);
      static_assert(threads % (extent / count) == 0);
      float* const own = &to[l][i];
      const float* at = from;
      const int there = left > 0 ? here - l : 0;
#pragma unroll
      for (int at_l = 0; at_l < bk; at_l += lines, at += step)
        if (bk % lines == 0 || l + at_l < bk)
          async_copy<count * 4>(own + at_l * pitch, at, at_l < there ? count * 4 : 0);
    }
  };

  // Whether all of the stage is of the part, or of what lies beside it.
  __device__ __forceinline__ bool is_stored(const TileOperand& x, int here) const {
    const int edge = x.unit ? 1 : 0;
    return x.part == StoredPart::to_own ? l0_ + here - 1 + edge <= first_
                                        : first_ + left_ - 1 + edge <= l0_;
  }
  __device__ __forceinline__ bool is_mirrored(const TileOperand& x, int here) const {
    return x.mirrored &&
           (x.part == StoredPart::to_own ? first_ + left_ - 1 < l0_ : l0_ + here - 1 < first_);
  }
  // Element by element: those of the part, and those of its mirror image.
  __device__ __forceinline__ void start_at_diagonal(Line* to, const TileOperand& x,
                                                    int here) const {
    const bool turns = x.along == 1;
    const float* const base = x.x + first_ * (x.across + x.along);
    const int offset = l0_ - first_;
#pragma unroll extent* bk / threads <= 4 ? 4 : 2
    for (int step = 0; step < extent * bk / threads; ++step) {
      const int e = static_cast<int>(threadIdx.x) + step * threads;
      const int i = turns ? e / bk : e % extent, l = turns ? e % bk : e / extent;
      const int own = offset + l;  // of k, from the tile's own diagonal on
      const bool has = x.part == StoredPart::to_own ? own <= i : i <= own;
      const bool is_there = i < left_ && l < here;
      const float* const from =
          has ? base + i * x.across + own * x.along : base + own * x.across + i * x.along;
      async_copy<4>(&to[l][i], is_there ? from : x.x, is_there ? 4 : 0);
    }
  }

  int first_, left_, l0_;
  Copies own_;
  std::int64_t stage_;
};

}  // namespace KW_TARGET
