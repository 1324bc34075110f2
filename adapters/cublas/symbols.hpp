// The table of hooked symbols. All else follows from it: the exported functions (hooks.cpp), what
// dlsym gives (dlsym.cpp), the names in logs, and the tests.
//
//   row(symbol, form, integer type of sizes, library that has it)
#pragma once

#include <cstddef>
#include <cstdint>

// clang-format off
#define KW_CUBLAS_SYMBOLS(row)                                           \
  row(cublasSgemm_v2, sgemm, int, cublas)                                \
  row(cublasSgemm_v2_64, sgemm, std::int64_t, cublas)                    \
  row(cublasSgemmEx, sgemm_ex, int, cublas)                              \
  row(cublasSgemmEx_64, sgemm_ex, std::int64_t, cublas)                  \
  row(cublasGemmEx, gemm_ex, int, cublas)                                \
  row(cublasGemmEx_64, gemm_ex, std::int64_t, cublas)                    \
  row(cublasSgemmBatched, batched, int, cublas)                          \
  row(cublasSgemmBatched_64, batched, std::int64_t, cublas)              \
  row(cublasGemmBatchedEx, batched_ex, int, cublas)                      \
  row(cublasGemmBatchedEx_64, batched_ex, std::int64_t, cublas)          \
  row(cublasSgemmStridedBatched, strided, int, cublas)                   \
  row(cublasSgemmStridedBatched_64, strided, std::int64_t, cublas)       \
  row(cublasGemmStridedBatchedEx, strided_ex, int, cublas)               \
  row(cublasGemmStridedBatchedEx_64, strided_ex, std::int64_t, cublas)   \
  row(cublasSgemmGroupedBatched, grouped, int, cublas)                   \
  row(cublasSgemmGroupedBatched_64, grouped, std::int64_t, cublas)       \
  row(cublasGemmGroupedBatchedEx, grouped_ex, int, cublas)               \
  row(cublasGemmGroupedBatchedEx_64, grouped_ex, std::int64_t, cublas)   \
  row(cublasSsyrk_v2, syrk, int, cublas)                                 \
  row(cublasSsyrk_v2_64, syrk, std::int64_t, cublas)                     \
  row(cublasSsyrkx, syrkx, int, cublas)                                  \
  row(cublasSsyrkx_64, syrkx, std::int64_t, cublas)                      \
  row(cublasSsyr2k_v2, syr2k, int, cublas)                               \
  row(cublasSsyr2k_v2_64, syr2k, std::int64_t, cublas)                   \
  row(cublasSsymm_v2, symm, int, cublas)                                 \
  row(cublasSsymm_v2_64, symm, std::int64_t, cublas)                     \
  row(cublasStrmm_v2, trmm, int, cublas)                                 \
  row(cublasStrmm_v2_64, trmm, std::int64_t, cublas)                     \
  row(cublasStrsm_v2, trsm, int, cublas)                                 \
  row(cublasStrsm_v2_64, trsm, std::int64_t, cublas)                     \
  row(cublasCgemm_v2, cgemm, int, cublas)                                \
  row(cublasCgemm_v2_64, cgemm, std::int64_t, cublas)                    \
  row(cublasCgemm3m, cgemm, int, cublas)                                 \
  row(cublasCgemm3m_64, cgemm, std::int64_t, cublas)                     \
  row(cublasCgemmBatched, cgemm_batched, int, cublas)                    \
  row(cublasCgemmBatched_64, cgemm_batched, std::int64_t, cublas)        \
  row(cublasCgemmStridedBatched, cgemm_strided, int, cublas)             \
  row(cublasCgemmStridedBatched_64, cgemm_strided, std::int64_t, cublas) \
  row(cublasCsyrk_v2, csyrk, int, cublas)                                \
  row(cublasCsyrk_v2_64, csyrk, std::int64_t, cublas)                    \
  row(cublasCherk_v2, cherk, int, cublas)                                \
  row(cublasCherk_v2_64, cherk, std::int64_t, cublas)                    \
  row(cublasCtrsm_v2, ctrsm, int, cublas)                                \
  row(cublasCtrsm_v2_64, ctrsm, std::int64_t, cublas)                    \
  row(cublasLtMatmul, lt_matmul, std::int64_t, cublasLt)                 \
  row(cublasDestroy_v2, destroy, int, cublas)                            \
  row(cublasLtDestroy, destroy, int, cublasLt)
#define KW_CUSOLVER_SYMBOLS(row)                                         \
  row(cusolverDnSpotrf, potrf, int, cusolver)                            \
  row(cusolverDnXpotrf, xpotrf, std::int64_t, cusolver)                  \
  row(cusolverDnDestroy, destroy, int, cusolver)
// clang-format on
#define KW_SYMBOLS(row) KW_CUBLAS_SYMBOLS(row) KW_CUSOLVER_SYMBOLS(row)

namespace kw::cublas {

#define KW_NAME(symbol, form, integer, library) symbol,
enum class Symbol : std::uint8_t { KW_SYMBOLS(KW_NAME) };
#undef KW_NAME

enum class Library : std::uint8_t { cublas, cublasLt, cusolver };

struct SymbolRow {
  const char* name;
  Library library;
};

#define KW_ROW(symbol, form, integer, library) {#symbol, Library::library},
constexpr SymbolRow symbols[] = {KW_SYMBOLS(KW_ROW)};
#undef KW_ROW
constexpr std::size_t symbol_count = sizeof symbols / sizeof symbols[0];

constexpr const SymbolRow& row_of(Symbol symbol) {
  return symbols[static_cast<std::size_t>(symbol)];
}

constexpr bool is_of_solver(Symbol symbol) { return row_of(symbol).library == Library::cusolver; }
// Where a call goes that is not taken.
constexpr const char* vendor_name(Symbol symbol) {
  return is_of_solver(symbol) ? "cuSOLVER" : "cuBLAS";
}

}  // namespace kw::cublas
