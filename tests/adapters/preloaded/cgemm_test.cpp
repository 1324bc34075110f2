// Complex products: right calls are taken and right, with every pair of operations; wrong ones and
// those of other types get cuBLAS's own answer.
#include <complex>
#include <functional>

#include "support.hpp"

namespace kw::cublas {
namespace {

using Complex = std::complex<float>;
constexpr Enum data_c_64f = 5;

struct ComplexProblem {
  ComplexProblem(Enum a_op, Enum b_op, int entries = 1) : op_a(a_op), op_b(b_op), batch(entries) {
    lda = (op_a == op_n ? m : k) + 1;
    ldb = (op_b == op_n ? k : n) + 2;
    stride_a = lda * (op_a == op_n ? k : m);
    stride_b = ldb * (op_b == op_n ? n : k);
    stride_c = ldc * n;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    a.resize(static_cast<std::size_t>(batch * stride_a));
    b.resize(static_cast<std::size_t>(batch * stride_b));
    c.resize(static_cast<std::size_t>(batch * stride_c));
    for (std::vector<Complex>* data : {&a, &b, &c}) {
      for (Complex& value : *data) value = {uniform(random), uniform(random)};
    }
    expected = c;
    for (std::int64_t entry = 0; entry < batch; ++entry) multiply(entry);
    for (std::int64_t entry = 0; entry < batch; ++entry) {
      a_array.push_back(floats(a) + 2 * entry * stride_a);
      b_array.push_back(floats(b) + 2 * entry * stride_b);
      c_array.push_back(floats(c) + 2 * entry * stride_c);
    }
  }
  ComplexProblem(const ComplexProblem&) = delete;
  ComplexProblem& operator=(const ComplexProblem&) = delete;

  static float* floats(std::vector<Complex>& data) { return reinterpret_cast<float*>(data.data()); }
  static const float* floats(const Complex& value) {
    return reinterpret_cast<const float*>(&value);
  }

  void multiply(std::int64_t entry) {
    using Exact = std::complex<double>;
    const auto element = [](const Complex* data, Enum op, std::int64_t ld, std::int64_t row,
                            std::int64_t col) {
      const Exact value(data[op == op_n ? row + col * ld : row * ld + col]);
      return op == op_c ? std::conj(value) : value;
    };
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Exact sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += element(a.data() + entry * stride_a, op_a, lda, i, l) *
                 element(b.data() + entry * stride_b, op_b, ldb, l, j);
        }
        Complex& into = expected[static_cast<std::size_t>(entry * stride_c + i + j * ldc)];
        into = Complex(Exact(alpha) * sum + Exact(beta) * Exact(into));
      }
    }
  }
  double largest_error() const {
    double largest = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      for (const double error : {double(c[i].real()) - double(expected[i].real()),
                                 double(c[i].imag()) - double(expected[i].imag())})
        largest = std::isnan(error) ? 1e30 : std::max(largest, std::abs(error));
    }
    return largest;
  }
  bool is_right() const { return largest_error() < 1e-5 * static_cast<double>(2 * k + 4); }

  Enum op_a, op_b;
  std::int64_t m = 13, n = 7, k = 17, batch, lda = 0, ldb = 0, ldc = m + 3, stride_a = 0,
               stride_b = 0, stride_c = 0;
  Complex alpha = {0.75f, 0.5f}, beta = {-0.5f, 0.25f};
  std::vector<Complex> a, b, c, expected;
  std::vector<const float*> a_array, b_array;
  std::vector<float*> c_array;
};

struct ComplexSubject {
  const char* name;
  int entries;
  std::function<Status(ComplexProblem&, void*)> call;
};

#define KW_COMPLEX_HEAD handle, p.op_a, p.op_b, Int(p.m), Int(p.n), Int(p.k), p.floats(p.alpha)
#define KW_ONE(symbol, integer)                                                           \
  {                                                                                       \
#symbol, 1, [](ComplexProblem& p, void* handle) {                                       \
      using Int = integer;                                                                  \
      return symbol(KW_COMPLEX_HEAD, p.floats(p.a), Int(p.lda), p.floats(p.b), Int(p.ldb),  \
                    p.floats(p.beta), p.floats(p.c), Int(p.ldc));                           \
    } \
  }
#define KW_STRIDED(symbol, integer)                                                          \
  {                                                                                          \
#symbol, 3, [](ComplexProblem& p, void* handle) {                                          \
      using Int = integer;                                                                     \
      return symbol(KW_COMPLEX_HEAD, p.floats(p.a), Int(p.lda), p.stride_a, p.floats(p.b),     \
                    Int(p.ldb), p.stride_b, p.floats(p.beta), p.floats(p.c), Int(p.ldc),       \
                    p.stride_c, Int(p.batch));                                                 \
    } \
  }
#define KW_POINTERS(symbol, integer)                                                        \
  {                                                                                         \
#symbol, 3, [](ComplexProblem& p, void* handle) {                                         \
      using Int = integer;                                                                    \
      return symbol(KW_COMPLEX_HEAD, p.a_array.data(), Int(p.lda), p.b_array.data(),          \
                    Int(p.ldb), p.floats(p.beta), p.c_array.data(), Int(p.ldc), Int(p.batch)); \
    } \
  }

Status gemm_ex(ComplexProblem& p, void* handle, Enum type, Enum compute) {
  using Int = std::int64_t;
  return cublasGemmEx_64(KW_COMPLEX_HEAD, p.floats(p.a), type, p.lda, p.floats(p.b), type, p.ldb,
                         p.floats(p.beta), p.floats(p.c), type, p.ldc, compute, -1);
}

std::vector<ComplexSubject> complex_subjects() {
  return {KW_ONE(cublasCgemm_v2, int),
          KW_ONE(cublasCgemm_v2_64, std::int64_t),
          KW_ONE(cublasCgemm3m, int),
          KW_ONE(cublasCgemm3m_64, std::int64_t),
          KW_STRIDED(cublasCgemmStridedBatched, int),
          KW_STRIDED(cublasCgemmStridedBatched_64, std::int64_t),
          KW_POINTERS(cublasCgemmBatched, int),
          KW_POINTERS(cublasCgemmBatched_64, std::int64_t),
          {"cublasGemmEx_64", 1, [](ComplexProblem& p, void* handle) {
             return gemm_ex(p, handle, data_c_32f, compute_32f);
           }}};
}

class ComplexCalls : public Adapter {};

TEST_F(ComplexCalls, RightCallsAreTakenAndRight) {
  for (const ComplexSubject& subject : complex_subjects()) {
    for (const Enum op_a : {op_n, op_t, op_c}) {
      for (const Enum op_b : {op_n, op_t, op_c}) {
        ComplexProblem p(op_a, op_b, subject.entries);
        EXPECT_EQ(subject.call(p, handle_), status_success) << subject.name;
        EXPECT_TRUE(p.is_right()) << subject.name << " " << op_a << op_b << ": "
                                  << p.largest_error();
        EXPECT_TRUE(was_taken()) << last_line();
        EXPECT_TRUE(contains(last_line(), subject.name)) << last_line();
      }
    }
  }
  EXPECT_EQ(stand_in_calls(nullptr), 0);
}

TEST_F(ComplexCalls, AlphaOfNoRealPartIsNotZero) {
  ComplexProblem p(op_n, op_c);
  p.alpha = {0, 2};
  p.expected = p.c;
  p.multiply(0);
  EXPECT_EQ(complex_subjects()[0].call(p, handle_), status_success);
  EXPECT_TRUE(was_taken()) << last_line();
  EXPECT_TRUE(p.is_right()) << p.largest_error();
}

TEST_F(ComplexCalls, WrongArgumentsAreForCublasToJudge) {
  for (const ComplexSubject& subject : complex_subjects()) {
    ComplexProblem p(op_n, op_n, subject.entries);
    p.expected = p.c;
    p.lda = p.m - 1;
    EXPECT_EQ(subject.call(p, handle_), invalid_value) << subject.name;
    EXPECT_FALSE(was_taken()) << last_line();
    EXPECT_EQ(p.largest_error(), 0) << subject.name;
  }
}

TEST_F(ComplexCalls, OtherTypesGoToCublas) {
  ComplexProblem p(op_n, op_n);
  constexpr Enum compute_32f_fast_tf32 = 77;
  gemm_ex(p, handle_, data_c_64f, compute_32f);
  EXPECT_TRUE(contains(last_line(), "types other than FP32")) << last_line();
  gemm_ex(p, handle_, data_c_32f, compute_32f_fast_tf32);
  EXPECT_TRUE(contains(last_line(), "compute type other than FP32")) << last_line();
}

}  // namespace
}  // namespace kw::cublas
