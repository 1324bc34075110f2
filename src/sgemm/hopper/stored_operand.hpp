// An operand of a split product as the caller stores it, for whoever reads elements of it: whole,
// or a triangle whose zeros are not stored (Sgemm::diagonal_apart).
#pragma once

#include "device/cache_hint.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET::hopper {

// One entry of it, seen as rows along k. `triangular`: it may be a triangle; then `squares` are
// those on its diagonal, null where the operand is whole, and `begins` says on which side of them
// the zeros are.
template <bool triangular>
struct StoredOperand {
  const float* data;
  std::int64_t ld;
  bool along_k;  // an element's neighbour in memory is the next along k; else the next row
  const float* squares = nullptr;
  bool begins = false;

  // Where the element of a row at k lies, as from `origin`, which has `own_ld` floats a line.
  __device__ __forceinline__ const float* at(const float* origin, std::int64_t own_ld,
                                             std::int64_t row, std::int64_t k) const {
    return origin + (along_k ? row * own_ld + k : k * own_ld + row);
  }
  // The same of some elements of one square from (row, k) on; null where they are zeros. `step`: to
  // the next along k.
  __device__ __forceinline__ const float* find(std::int64_t row, std::int64_t k,
                                               std::int64_t& step) const {
    if constexpr (triangular) {
      const std::int64_t of_row = row / diagonal_side, of_k = k / diagonal_side;
      if (squares != nullptr && of_row == of_k) {
        step = along_k ? 1 : diagonal_side;
        return at(squares - of_k * diagonal_side, diagonal_side, row, k);
      }
      if (squares != nullptr && (of_k < of_row) == begins) return nullptr;
    }
    step = along_k ? 1 : ld;
    return at(data, ld, row, k);
  }
  __device__ __forceinline__ float element(std::int64_t row, std::int64_t k) const {
    std::int64_t step;
    const float* const from = find(row, k, step);
    return from != nullptr ? load_once(from) : 0.0f;
  }
};

template <bool triangular>
__device__ __forceinline__ StoredOperand<triangular> stored_operand(const Sgemm& p, int operand,
                                                                    std::int64_t entry) {
  StoredOperand<triangular> stored =
      operand == 0 ? StoredOperand<triangular>{a_of(p, entry), p.lda, p.op_a == Op::none}
                   : StoredOperand<triangular>{b_of(p, entry), p.ldb, p.op_b != Op::none};
  if constexpr (triangular) {
    if (p.diagonal_apart && is_by_row(p.k_range) == (operand == 0))
      stored.squares = p.diagonal, stored.begins = begins_apart(p.k_range);
  }
  return stored;
}

}  // namespace KW_TARGET::hopper
