// A stand-in for libcublas: counts the calls that reach it, judges arguments as cuBLAS does and
// computes FP32 by plain loops. Its functions follow from the adapter's table of symbols.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "forms.hpp"
#include "stand_in.hpp"
#include "stand_in_loops.hpp"
#include "symbols.hpp"

using namespace kw::cublas;

namespace {

constexpr Status invalid_value = 7, not_supported = 15;

struct StandInHandle {
  void* stream = nullptr;
  int pointer_mode = 0;
  int math_mode = 0;
};

std::atomic<bool> computes{true}, recurses{false};
std::mutex mutex;  // of counts; nobody's in a child of fork
std::map<std::string, long>& counts() {
  static std::map<std::string, long> all;
  static const int watched =
      pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  static_cast<void>(watched);
  return all;
}

void count(const char* symbol) {
  if (!computes) return;
  const std::lock_guard<std::mutex> lock(mutex);
  ++counts()[symbol];
}

bool is_op(Enum op) { return op == op_n || op == op_t || op == op_c; }

template <class Int>
Status judge(Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const void* alpha, Int lda,
             Int ldb, const void* beta, Int ldc) {
  if (handle == nullptr) return status_not_initialized;
  const auto least = [](std::int64_t rows) { return std::max<std::int64_t>(1, rows); };
  const bool fine = is_op(op_a) && is_op(op_b) && m >= 0 && n >= 0 && k >= 0 && alpha && beta &&
                    lda >= least(op_a == op_n ? m : k) && ldb >= least(op_b == op_n ? k : n) &&
                    ldc >= least(m);
  return fine ? status_success : invalid_value;
}

bool is_fp32(Enum a, Enum b, Enum c) { return a == 0 && b == 0 && c == 0; }
bool is_complex(Enum a, Enum b, Enum c) { return a == 4 && b == 4 && c == 4; }
bool is_fp32_compute(Enum compute) {
  return compute == compute_32f || compute == compute_32f_pedantic ||
         compute == compute_as_data_r_32f || compute == 77;
}

template <class Int>
void multiply(Enum op_a, Enum op_b, Int m, Int n, Int k, const void* alpha, const void* a, Int lda,
              const void* b, Int ldb, const void* beta, void* c, Int ldc) {
  if (!computes) return;
  const auto element = [](const void* data, Enum op, std::int64_t ld) {
    return stand_in::Steps{static_cast<const float*>(data), op == op_n ? 1 : ld,
                           op == op_n ? ld : 1};
  };
  stand_in::multiply(m, n, k, *static_cast<const float*>(alpha), element(a, op_a, lda),
                     element(b, op_b, ldb), *static_cast<const float*>(beta), element(c, op_n, ldc),
                     static_cast<float*>(c));
}

// A complex product is two real ones of twice the k: A's parts one after the other, B's turned.
template <class Int>
void multiply_complex(Enum op_a, Enum op_b, Int m, Int n, Int k, const void* alpha, const void* a,
                      Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc) {
  if (!computes) return;
  using Complex = std::complex<double>;
  const auto element = [](const void* data, Enum op, std::int64_t ld, std::int64_t row,
                          std::int64_t col) {
    const auto* const parts =
        static_cast<const float*>(data) + 2 * (op == op_n ? row + col * ld : row * ld + col);
    return Complex(parts[0], op == op_c ? -parts[1] : parts[1]);
  };
  const Complex by = element(alpha, op_n, 1, 0, 0), old = element(beta, op_n, 1, 0, 0);
  for (Int i = 0; i < m; ++i) {
    for (Int j = 0; j < n; ++j) {
      Complex sum = 0;
      for (Int l = 0; l < k; ++l) sum += element(a, op_a, lda, i, l) * element(b, op_b, ldb, l, j);
      float* const to = static_cast<float*>(c) + 2 * (i + static_cast<std::int64_t>(j) * ldc);
      const Complex value = by * sum + (old == 0.0 ? 0.0 : old * element(to, op_n, 1, 0, 0));
      to[0] = static_cast<float>(value.real());
      to[1] = static_cast<float>(value.imag());
    }
  }
}

}  // namespace

extern "C" {
long stand_in_calls(const char* symbol) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (symbol != nullptr) return counts()[symbol];
  long all = 0;
  for (const auto& [name, calls] : counts()) all += calls;
  return all;
}
void stand_in_reset() {
  const std::lock_guard<std::mutex> lock(mutex);
  counts().clear();
}
void stand_in_compute(bool on) { computes = on; }
void stand_in_recurse(bool on) { recurses = on; }
const char* stand_in_version() { return STAND_IN_VERSION; }

int cublasCreate_v2(void** handle) { return *handle = new StandInHandle, 0; }
int cublasSetStream_v2(void* handle, void* stream) {
  return static_cast<StandInHandle*>(handle)->stream = stream, 0;
}
int cublasGetStream_v2(void* handle, void** stream) {
  return *stream = static_cast<StandInHandle*>(handle)->stream, 0;
}
int cublasSetPointerMode_v2(void* handle, int mode) {
  return static_cast<StandInHandle*>(handle)->pointer_mode = mode, 0;
}
int cublasGetPointerMode_v2(void* handle, int* mode) {
  return *mode = static_cast<StandInHandle*>(handle)->pointer_mode, 0;
}
int cublasSetMathMode(void* handle, int mode) {
  return static_cast<StandInHandle*>(handle)->math_mode = mode, 0;
}
int cublasGetMathMode(void* handle, int* mode) {
  return *mode = static_cast<StandInHandle*>(handle)->math_mode, 0;
}
}

namespace {

template <class Int>
Status answer_destroy(KW_PARAMETERS_destroy(Int)) {
  delete static_cast<StandInHandle*>(handle);
  return status_success;
}

#define KW_JUDGE judge(handle, op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc)

// What is left to judge of calls that name types.
template <class Int>
Status judge_types(Status so_far, Int batch, Enum type_a, Enum type_b, Enum type_c, Enum compute) {
  if (so_far != status_success) return so_far;
  if (batch < 0) return invalid_value;
  const bool known = (is_fp32(type_a, type_b, type_c) || is_complex(type_a, type_b, type_c)) &&
                     is_fp32_compute(compute);
  return known ? status_success : not_supported;
}

template <class Int>
Status answer_gemm_ex(KW_PARAMETERS_gemm_ex(Int)) {
  static_cast<void>(algorithm);
  const Status status = judge_types(KW_JUDGE, 1, type_a, type_b, type_c, compute);
  if (status != status_success) return status;
  if (is_complex(type_a, type_b, type_c))
    multiply_complex(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else
    multiply(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  return status_success;
}

template <class Int>
Status answer_cgemm(KW_PARAMETERS_cgemm(Int)) {
  return answer_gemm_ex<Int>(handle, op_a, op_b, m, n, k, alpha, a, 4, lda, b, 4, ldb, beta, c, 4,
                             ldc, compute_32f, -1);
}

template <class Int>
Status answer_cgemm_batched(KW_PARAMETERS_cgemm_batched(Int)) {
  for (Int entry = 0; entry < batch; ++entry) {
    const Status status = answer_cgemm<Int>(handle, op_a, op_b, m, n, k, alpha, a[entry], lda,
                                            b[entry], ldb, beta, c[entry], ldc);
    if (status != status_success) return status;
  }
  return status_success;
}

template <class Int>
Status answer_cgemm_strided(KW_PARAMETERS_cgemm_strided(Int)) {
  for (Int entry = 0; entry < batch; ++entry) {
    const Status status =
        answer_cgemm<Int>(handle, op_a, op_b, m, n, k, alpha, a + 2 * entry * stride_a, lda,
                          b + 2 * entry * stride_b, ldb, beta, c + 2 * entry * stride_c, ldc);
    if (status != status_success) return status;
  }
  return status_success;
}

template <class Int>
Status answer_sgemm_ex(KW_PARAMETERS_sgemm_ex(Int)) {
  return answer_gemm_ex<Int>(KW_ARGUMENTS_sgemm_ex, compute_32f, -1);
}

template <class Int>
Status answer_sgemm(KW_PARAMETERS_sgemm(Int));

template <class Int>
Status answer_strided_ex(KW_PARAMETERS_strided_ex(Int)) {
  static_cast<void>(algorithm);
  const Status status = judge_types(KW_JUDGE, batch, type_a, type_b, type_c, compute);
  if (status != status_success) return status;
  for (Int entry = 0; entry < batch; ++entry) {
    multiply(op_a, op_b, m, n, k, alpha, static_cast<const float*>(a) + entry * stride_a, lda,
             static_cast<const float*>(b) + entry * stride_b, ldb, beta,
             static_cast<float*>(c) + entry * stride_c, ldc);
  }
  return status_success;
}

template <class Int>
Status answer_strided(KW_PARAMETERS_strided(Int)) {
  return answer_strided_ex<Int>(handle, op_a, op_b, m, n, k, alpha, a, 0, lda, stride_a, b, 0, ldb,
                                stride_b, beta, c, 0, ldc, stride_c, batch, compute_32f, -1);
}

template <class Int>
Status answer_batched_ex(KW_PARAMETERS_batched_ex(Int)) {
  static_cast<void>(algorithm);
  const Status status = judge_types(KW_JUDGE, batch, type_a, type_b, type_c, compute);
  if (status != status_success) return status;
  for (Int entry = 0; entry < batch; ++entry) {
    multiply(op_a, op_b, m, n, k, alpha, a[entry], lda, b[entry], ldb, beta, c[entry], ldc);
  }
  return status_success;
}

template <class T>
const void* const* plain(const T* const* pointers) {
  return reinterpret_cast<const void* const*>(pointers);
}

template <class Int>
Status answer_batched(KW_PARAMETERS_batched(Int)) {
  return answer_batched_ex<Int>(handle, op_a, op_b, m, n, k, alpha, plain(a), 0, lda, plain(b), 0,
                                ldb, beta, reinterpret_cast<void* const*>(c), 0, ldc, batch,
                                compute_32f, -1);
}

template <class Int>
Status answer_grouped_ex(KW_PARAMETERS_grouped_ex(Int)) {
  std::int64_t first = 0;
  for (Int group = 0; group < groups; ++group) {
    const Status status = answer_batched_ex<Int>(
        handle, op_a[group], op_b[group], m[group], n[group], k[group],
        static_cast<const float*>(alpha) + group, a + first, type_a, lda[group], b + first, type_b,
        ldb[group], static_cast<const float*>(beta) + group, c + first, type_c, ldc[group],
        group_size[group], compute, -1);
    if (status != status_success) return status;
    first += group_size[group];
  }
  return status_success;
}

template <class Int>
Status answer_grouped(KW_PARAMETERS_grouped(Int)) {
  return answer_grouped_ex<Int>(handle, op_a, op_b, m, n, k, alpha, plain(a), 0, lda, plain(b), 0,
                                ldb, beta, reinterpret_cast<void* const*>(c), 0, ldc, groups,
                                group_size, compute_32f);
}

}  // namespace

#define KW_DECLARE(symbol, form, integer, library) KW_DECLARE_##library(symbol, form, integer)
#define KW_DECLARE_cublas(symbol, form, integer) \
  extern "C" Status symbol(KW_PARAMETERS_##form(integer));
#define KW_DECLARE_cublasLt(symbol, form, integer)
KW_CUBLAS_SYMBOLS(KW_DECLARE)

namespace {

// A triangle, column by column.
template <class Int>
Status answer_syrk(KW_PARAMETERS_syrk(Int)) {
  const Enum op_b = op_a == op_n ? op_t : op_n;
  const Status status = judge(handle, op_a, op_b, n, n, k, alpha, lda, lda, beta, ldc);
  if (status != status_success) return status;
  if (fill != fill_lower && fill != fill_upper) return invalid_value;
  for (Int col = 0; col < n; ++col) {
    const Int row = fill == fill_lower ? col : 0;
    const Int rows = fill == fill_lower ? n - col : col + 1;
    const auto line = [&](Int index) {
      return a + static_cast<std::int64_t>(index) * (op_a == op_n ? 1 : lda);
    };
    float* const into = c + row + static_cast<std::int64_t>(col) * ldc;
    if constexpr (std::is_same_v<Int, int>) {
      if (recurses) {
        cublasGemmEx(handle, op_a, op_b, rows, 1, k, alpha, line(row), 0, lda, line(col), 0, lda,
                     beta, into, 0, ldc, compute_32f, -1);
        continue;
      }
    }
    multiply(op_a, op_b, rows, Int{1}, k, alpha, line(row), lda, line(col), lda, beta, into, ldc);
  }
  return status_success;
}

template <class Int>
Status judge_level3(Handle handle, Enum fill, Int m, Int n, const float* alpha) {
  if (handle == nullptr) return status_not_initialized;
  if (m < 0 || n < 0 || alpha == nullptr) return invalid_value;
  return fill == fill_lower || fill == fill_upper ? status_success : invalid_value;
}

// The stand-in's part in the others is to be called and to say so.
template <class Int>
Status answer_syrkx(KW_PARAMETERS_syrkx(Int)) {
  static_cast<void>(std::make_tuple(op_a, a, lda, b, ldb, beta, c, ldc));
  return judge_level3(handle, fill, n, k, alpha);
}
template <class Int>
Status answer_syr2k(KW_PARAMETERS_syr2k(Int)) {
  return answer_syrkx<Int>(KW_ARGUMENTS_syr2k);
}
template <class Int>
Status answer_symm(KW_PARAMETERS_symm(Int)) {
  static_cast<void>(std::make_tuple(side, a, lda, b, ldb, beta, c, ldc));
  return judge_level3(handle, fill, m, n, alpha);
}
template <class Int>
Status answer_trmm(KW_PARAMETERS_trmm(Int)) {
  static_cast<void>(std::make_tuple(side, op_a, diagonal, a, lda, b, ldb, c, ldc));
  return judge_level3(handle, fill, m, n, alpha);
}
template <class Int>
Status answer_trsm(KW_PARAMETERS_trsm(Int)) {
  static_cast<void>(std::make_tuple(side, op_a, diagonal, a, lda, b, ldb));
  return judge_level3(handle, fill, m, n, alpha);
}

template <class Int>
Status answer_ctrsm(KW_PARAMETERS_ctrsm(Int)) {
  return answer_trsm<Int>(KW_ARGUMENTS_ctrsm);
}

template <class Int>
Status answer_csyrk(KW_PARAMETERS_csyrk(Int)) {
  static_cast<void>(std::make_tuple(op_a, a, lda, beta, c, ldc));
  return judge_level3(handle, fill, n, k, alpha);
}
template <class Int>
Status answer_cherk(KW_PARAMETERS_cherk(Int)) {
  return answer_csyrk<Int>(KW_ARGUMENTS_cherk);
}

template <class Int>
Status answer_sgemm(KW_PARAMETERS_sgemm(Int)) {
  // By the exported name, as a cuBLAS that is not linked with symbolic binding would.
  if constexpr (std::is_same_v<Int, int>) {
    if (recurses) {
      return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, 0, lda, b, 0, ldb, beta, c, 0, ldc,
                          compute_32f, -1);
    }
  }
  return answer_gemm_ex<Int>(handle, op_a, op_b, m, n, k, alpha, a, 0, lda, b, 0, ldb, beta, c, 0,
                             ldc, compute_32f, -1);
}

}  // namespace

#define KW_DEFINE(symbol, form, integer, library) KW_DEFINE_##library(symbol, form, integer)
#define KW_DEFINE_cublas(symbol, form, integer)             \
  extern "C" Status symbol(KW_PARAMETERS_##form(integer)) { \
    count(#symbol);                                         \
    return answer_##form<integer>(KW_ARGUMENTS_##form);     \
  }
#define KW_DEFINE_cublasLt(symbol, form, integer)
KW_CUBLAS_SYMBOLS(KW_DEFINE)
