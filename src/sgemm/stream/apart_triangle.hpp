// Where the producers of stream_tile find an operand that is a triangle, of which nothing else is
// stored (Sgemm::diagonal_apart): the squares on its diagonal in a copy, the rest where it lies.
// What is on the other side of the diagonal is zeros, which no tile reads, or the mirror image: the
// element of row j and column i in place of that of row i and column j, so that the operand lies
// there as its transpose would.
#pragma once

#include "sgemm/stream/stage.hpp"

namespace KW_TARGET::stream_tile {

// Of a stage: before the diagonal, on it or behind it, as k ascends.
enum class ApartPlace { before, on, behind };

// What the launch's arguments tell is asked for anew each time.
template <StreamTileConfig config, bool mirrored>
class ApartTriangle {
 public:
  __device__ __forceinline__ ApartTriangle(const Sgemm& p, const Operands& operands,
                                           const StreamTileIndex& tile)
      : p_(p),
        operands_(operands),
        diagonal_((by_row() ? tile.row * config.bm : tile.col * config.bn) / diagonal_side *
                  stages) {}

  __device__ __forceinline__ ApartPlace place(int stage) const {
    return stage < diagonal_            ? ApartPlace::before
           : stage < diagonal_ + stages ? ApartPlace::on
                                        : ApartPlace::behind;
  }
  // The first stage that lies elsewhere than `stage`, or `end`.
  __device__ __forceinline__ int end_of_run(int stage, int end) const {
    const ApartPlace at = place(stage);
    const int next = at == ApartPlace::before ? diagonal_
                     : at == ApartPlace::on   ? diagonal_ + stages
                                              : end;
    return next < end ? next : end;
  }

  __device__ __forceinline__ const float* a(ApartPlace at) const {
    return by_row() && at == ApartPlace::on ? squares() : p_.a;
  }
  __device__ __forceinline__ const float* b(ApartPlace at) const {
    return !by_row() && at == ApartPlace::on ? squares() : p_.b;
  }
  __device__ __forceinline__ std::int64_t lda(ApartPlace at) const {
    return by_row() && at == ApartPlace::on ? diagonal_side : p_.lda;
  }
  __device__ __forceinline__ std::int64_t ldb(ApartPlace at) const {
    return !by_row() && at == ApartPlace::on ? diagonal_side : p_.ldb;
  }
  __device__ __forceinline__ AccessPattern pattern_a(ApartPlace at) const {
    return by_row() && is_beyond(at) ? operands_.mirrored : operands_.a;
  }
  __device__ __forceinline__ AccessPattern pattern_b(ApartPlace at) const {
    return !by_row() && is_beyond(at) ? operands_.mirrored : operands_.b;
  }

 private:
  __device__ __forceinline__ bool by_row() const { return is_by_row(p_.k_range); }
  static constexpr int stages = diagonal_side / config.bk;  // of a square
  static_assert(diagonal_side % config.bk == 0);
  // Whether the stage is of what is not stored.
  __device__ __forceinline__ bool is_beyond(ApartPlace at) const {
    return mirrored && at == (begins_apart(p_.k_range) ? ApartPlace::before : ApartPlace::behind);
  }
  // The squares, as if their lines began at the first column.
  __device__ __forceinline__ const float* squares() const {
    return p_.diagonal - diagonal_ * config.bk;
  }

  const Sgemm& p_;
  const Operands& operands_;
  const int diagonal_;  // the first stage of the square that the tile meets
};

}  // namespace KW_TARGET::stream_tile
