// cublasCtrsm: right calls are taken and right, the other triangle is not read, and wrong ones get
// cuBLAS's own answer.
#include <complex>
#include <limits>

#include "support.hpp"

namespace kw::cublas {
namespace {

using Complex = std::complex<float>;
using Exact = std::complex<double>;

struct ComplexSystem {
  ComplexSystem(Enum which_side, Enum which_fill, Enum op, Enum diagonal_of, int rows = 9,
                int cols = 7)
      : side(which_side), fill(which_fill), op_a(op), diagonal(diagonal_of), m(rows), n(cols) {
    k = side == side_left ? m : n;
    lda = k + 1;
    ldb = m + 2;
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    a.assign(static_cast<std::size_t>(lda * k), {nan, nan});
    b.resize(static_cast<std::size_t>(ldb * n));
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t i = 0; i < k; ++i) {
        const Complex drawn = {uniform(random), uniform(random)};
        const bool is_stored = fill == fill_lower ? i > j : i < j;
        if (is_stored) a[static_cast<std::size_t>(i + j * lda)] = 0.25f * drawn;
        if (i == j && diagonal == diagonal_of_any)
          a[static_cast<std::size_t>(i + j * lda)] = Complex(1.5f, 0.5f) + 0.25f * drawn;
      }
    }
    for (Complex& value : b) value = {uniform(random), uniform(random)};
    before = b;
  }

  Exact element(std::int64_t i, std::int64_t j) const {
    const std::int64_t row = op_a == op_n ? i : j, col = op_a == op_n ? j : i;
    if (row == col && diagonal == diagonal_of_ones) return 1;
    if (fill == fill_lower ? row < col : row > col) return 0;
    const Exact value(a[static_cast<std::size_t>(row + col * lda)]);
    return op_a == op_c ? std::conj(value) : value;
  }
  Exact solution(std::int64_t i, std::int64_t j) const {
    return Exact(b[static_cast<std::size_t>(i + j * ldb)]);
  }
  // Every element of the allocation: those of no column are as they were.
  bool is_right() const {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < ldb; ++i) {
        const auto at = static_cast<std::size_t>(i + j * ldb);
        if (i >= m) {
          if (b[at] != before[at]) return false;
          continue;
        }
        Exact sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum +=
              side == side_left ? element(i, l) * solution(l, j) : solution(i, l) * element(l, j);
        if (!(std::abs(sum - Exact(alpha) * Exact(before[at])) < 1e-5)) return false;
      }
    }
    return true;
  }

  Enum side, fill, op_a, diagonal;
  std::int64_t m, n, k, lda, ldb;
  Complex alpha = {0.75f, 0.5f};
  std::vector<Complex> a, b, before;
};

template <class T>
auto* floats_of(T* data) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const float, float>*>(data);
}

class ComplexSystems : public Adapter {
 protected:
  Status solve(ComplexSystem& p, bool of_64_bits) {
    const auto call = [&](auto function, auto size) {
      using Int = decltype(size);
      return function(handle_, p.side, p.fill, p.op_a, p.diagonal, Int(p.m), Int(p.n),
                      floats_of(&std::as_const(p.alpha)), floats_of(std::as_const(p.a).data()),
                      Int(p.lda), floats_of(p.b.data()), Int(p.ldb));
    };
    return of_64_bits ? call(cublasCtrsm_v2_64, std::int64_t{}) : call(cublasCtrsm_v2, 0);
  }
};

TEST_F(ComplexSystems, RightCallsAreTakenAndRight) {
  for (const Enum side : {side_left, side_right}) {
    for (const Enum fill : {fill_lower, fill_upper}) {
      for (const Enum op : {op_n, op_t, op_c}) {
        for (const Enum diagonal : {diagonal_of_any, diagonal_of_ones}) {
          for (const bool of_64_bits : {false, true}) {
            ComplexSystem p(side, fill, op, diagonal);
            EXPECT_EQ(solve(p, of_64_bits), status_success);
            EXPECT_TRUE(p.is_right()) << side << " " << fill << " " << op << " " << diagonal;
            EXPECT_TRUE(was_taken()) << last_line();
            EXPECT_TRUE(contains(last_line(), "cublasCtrsm_v2")) << last_line();
          }
        }
      }
    }
  }
  EXPECT_EQ(stand_in_calls(nullptr), 0);
}

TEST_F(ComplexSystems, WhatIsWrongIsForCublasToJudge) {
  ComplexSystem narrow(side_left, fill_lower, op_n, diagonal_of_any);
  narrow.lda = narrow.k - 1;
  solve(narrow, true);
  EXPECT_FALSE(was_taken()) << last_line();
  EXPECT_EQ(narrow.b, narrow.before);
  ComplexSystem sideless(5, fill_lower, op_n, diagonal_of_any);
  solve(sideless, false);
  EXPECT_FALSE(was_taken()) << last_line();
  EXPECT_EQ(sideless.b, sideless.before);
}

}  // namespace
}  // namespace kw::cublas
