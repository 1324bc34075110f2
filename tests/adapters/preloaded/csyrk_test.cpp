// cublasCsyrk and cublasCherk: right calls are taken and right, the other triangle is nobody's, and
// wrong ones get cuBLAS's own answer.
#include <complex>

#include "support.hpp"

namespace kw::cublas {
namespace {

using Complex = std::complex<float>;
using Exact = std::complex<double>;

struct ComplexTriangle {
  ComplexTriangle(bool is_hermitian, Enum which, Enum op, int size = 11, int depth = 9)
      : hermitian(is_hermitian), fill(which), op_a(op), n(size), k(depth) {
    lda = (op_a == op_n ? n : k) + 1;
    ldc = n + 2;
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    a.resize(static_cast<std::size_t>(lda * (op_a == op_n ? k : n)));
    c.resize(static_cast<std::size_t>(ldc * n));
    for (std::vector<Complex>* data : {&a, &c}) {
      for (Complex& value : *data) value = {uniform(random), uniform(random)};
    }
    before = c;
  }

  Exact factor(std::int64_t i, std::int64_t l) const {
    const Exact value(a[static_cast<std::size_t>(op_a == op_n ? i + l * lda : l + i * lda)]);
    return op_a == op_c ? std::conj(value) : value;
  }
  // Every element of the allocation; what is not of the triangle is as it was.
  bool is_right() const {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < ldc; ++i) {
        const auto at = static_cast<std::size_t>(i + j * ldc);
        if (i >= n || (fill == fill_lower ? i < j : i > j)) {
          if (c[at] != before[at]) return false;
          continue;
        }
        Exact sum = 0, old(before[at]);
        for (std::int64_t l = 0; l < k; ++l) {
          const Exact other = factor(j, l);
          sum += factor(i, l) * (hermitian ? std::conj(other) : other);
        }
        if (hermitian && i == j) old.imag(0);
        const Exact want = hermitian ? double(alpha.real()) * sum + double(beta.real()) * old
                                     : Exact(alpha) * sum + Exact(beta) * old;
        if (!(std::abs(Exact(c[at]) - want) < 1e-5 * static_cast<double>(2 * k + 4))) return false;
        if (hermitian && i == j && c[at].imag() != 0) return false;
      }
    }
    return true;
  }

  bool hermitian;
  Enum fill, op_a;
  std::int64_t n, k, lda, ldc;
  Complex alpha = {0.75f, 0.5f}, beta = {-0.5f, 0.25f};
  std::vector<Complex> a, c, before;
};

template <class T>
auto* parts(T* data) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const float, float>*>(data);
}

class ComplexUpdates : public Adapter {
 protected:
  Status update(ComplexTriangle& p, bool of_64_bits) {
    const float* const alpha = parts(&std::as_const(p.alpha));
    const float* const beta = parts(&std::as_const(p.beta));
    const float* const a = parts(std::as_const(p.a).data());
    const auto call = [&](auto function, auto size) {
      using Int = decltype(size);
      return function(handle_, p.fill, p.op_a, Int(p.n), Int(p.k), alpha, a, Int(p.lda), beta,
                      parts(p.c.data()), Int(p.ldc));
    };
    if (of_64_bits)
      return p.hermitian ? call(cublasCherk_v2_64, std::int64_t{})
                         : call(cublasCsyrk_v2_64, std::int64_t{});
    return p.hermitian ? call(cublasCherk_v2, 0) : call(cublasCsyrk_v2, 0);
  }
};

TEST_F(ComplexUpdates, RightCallsAreTakenAndRight) {
  for (const bool hermitian : {false, true}) {
    for (const Enum fill : {fill_lower, fill_upper}) {
      for (const Enum op : {op_n, hermitian ? op_c : op_t}) {
        for (const bool of_64_bits : {false, true}) {
          ComplexTriangle p(hermitian, fill, op);
          EXPECT_EQ(update(p, of_64_bits), status_success);
          EXPECT_TRUE(p.is_right()) << hermitian << " " << fill << " " << op;
          EXPECT_TRUE(was_taken()) << last_line();
          EXPECT_TRUE(contains(last_line(), hermitian ? "cublasCherk_v2" : "cublasCsyrk_v2"))
              << last_line();
        }
      }
    }
  }
  EXPECT_EQ(stand_in_calls(nullptr), 0);
}

TEST_F(ComplexUpdates, WhatIsWrongIsForCublasToJudge) {
  for (const bool hermitian : {false, true}) {
    ComplexTriangle other(hermitian, fill_lower, hermitian ? op_t : op_c);
    update(other, true);
    EXPECT_FALSE(was_taken()) << last_line();
    EXPECT_EQ(other.c, other.before);
    ComplexTriangle narrow(hermitian, fill_upper, op_n);
    narrow.lda = narrow.n - 1;
    update(narrow, false);
    EXPECT_FALSE(was_taken()) << last_line();
    EXPECT_EQ(narrow.c, narrow.before);
  }
}

}  // namespace
}  // namespace kw::cublas
