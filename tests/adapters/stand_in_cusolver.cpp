// A stand-in for libcusolver: Cholesky factorisations by plain loops, which judge their arguments
// as cuSOLVER does, count the calls that reach them, and call cuBLAS by its exported name.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <string_view>

#include "forms.hpp"
#include "stand_in.hpp"
#include "symbols.hpp"

using namespace kw::cublas;

extern "C" Status cublasSgemm_v2(KW_PARAMETERS_sgemm(int));

namespace {

constexpr Status invalid_value = 3, not_supported = 9;
constexpr std::int64_t floats_a_row = 4;

struct StandInSolver {
  void* stream = nullptr;
  void* cublas = nullptr;
};

std::atomic<long> spotrf_calls{0}, xpotrf_calls{0};

Status judge(Handle handle, Enum fill, std::int64_t n, std::int64_t lda) {
  if (handle == nullptr) return status_not_initialized;
  const bool fine =
      (fill == fill_lower || fill == fill_upper) && n >= 0 && lda >= std::max<std::int64_t>(1, n);
  return fine ? status_success : invalid_value;
}

// The number of the first pivot that is not positive, from 1 on; or 0.
int factor(Enum fill, std::int64_t n, float* a, std::int64_t lda) {
  const auto at = [&](std::int64_t row, std::int64_t col) -> float& {
    return fill == fill_lower ? a[row + col * lda] : a[col + row * lda];
  };
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      double sum = static_cast<double>(at(i, j));
      for (std::int64_t k = 0; k < j; ++k)
        sum -= static_cast<double>(at(i, k)) * static_cast<double>(at(j, k));
      if (i == j && !(sum > 0)) return static_cast<int>(j + 1);
      at(i, j) = static_cast<float>(i == j ? std::sqrt(sum) : sum / static_cast<double>(at(j, j)));
    }
  }
  return 0;
}

// A product of one element, as part of the factorisation.
void call_cublas(const StandInSolver& solver) {
  const float one = 1, zero = 0;
  float c = 0;
  cublasSgemm_v2(solver.cublas, op_n, op_n, 1, 1, 1, &one, &one, 1, &one, 1, &zero, &c, 1);
}

Status factor_with(Handle handle, Enum fill, std::int64_t n, void* a, std::int64_t lda, int* info) {
  call_cublas(*static_cast<StandInSolver*>(handle));
  *info = factor(fill, n, static_cast<float*>(a), lda);
  return status_success;
}

}  // namespace

extern "C" {
long stand_in_solver_calls(const char* symbol) {
  return std::string_view(symbol) == "cusolverDnSpotrf" ? spotrf_calls.exchange(0)
                                                        : xpotrf_calls.exchange(0);
}

int cusolverDnCreate(void** handle) {
  auto* const made = new StandInSolver;
  cublasCreate_v2(&made->cublas);
  return *handle = made, 0;
}
Status cusolverDnDestroy(Handle handle) {
  auto* const solver = static_cast<StandInSolver*>(handle);
  cublasDestroy_v2(solver->cublas);
  delete solver;
  return status_success;
}
int cusolverDnSetStream(void* handle, void* stream) {
  return static_cast<StandInSolver*>(handle)->stream = stream, 0;
}
int cusolverDnGetStream(void* handle, void** stream) {
  return *stream = static_cast<StandInSolver*>(handle)->stream, 0;
}

Status cusolverDnSpotrf_bufferSize(KW_PARAMETERS_potrf_size(int)) {
  static_cast<void>(a);
  *workspace_floats = static_cast<int>(floats_a_row * n);
  return judge(handle, fill, n, lda);
}
Status cusolverDnSpotrf(KW_PARAMETERS_potrf(int)) {
  ++spotrf_calls;
  const Status status = judge(handle, fill, n, lda);
  if (status != status_success) return status;
  if (workspace == nullptr || workspace_floats < floats_a_row * n) return invalid_value;
  return factor_with(handle, fill, n, a, lda, info);
}
Status cusolverDnXpotrf_bufferSize(KW_PARAMETERS_xpotrf_size(std::int64_t)) {
  static_cast<void>(options);
  static_cast<void>(a);
  *device_bytes = sizeof(float) * static_cast<std::size_t>(floats_a_row * n);
  *host_bytes = 0;
  return type_a == data_r_32f && compute == data_r_32f ? judge(handle, fill, n, lda)
                                                       : not_supported;
}
Status cusolverDnXpotrf(KW_PARAMETERS_xpotrf(std::int64_t)) {
  ++xpotrf_calls;
  static_cast<void>(on_host);
  static_cast<void>(host_bytes);
  static_cast<void>(options);
  if (type_a != data_r_32f || compute != data_r_32f) return not_supported;
  const Status status = judge(handle, fill, n, lda);
  if (status != status_success) return status;
  if (on_device == nullptr ||
      device_bytes < sizeof(float) * static_cast<std::size_t>(floats_a_row * n))
    return invalid_value;
  return factor_with(handle, fill, n, a, lda, info);
}
}
