// Level 3 of BLAS's own test program beside SGEMM (sgemm_adapter.cpp): updates of a triangle,
// products with symmetric and triangular matrices, triangular systems.
#include "conformance/there.hpp"

using namespace kw::conformance;

namespace {

float* written(const There& there) { return const_cast<float*>(there.data()); }

}  // namespace

extern "C" {

void ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* beta, float* c, const int* ldc) {
  static constexpr std::string_view names[] = {"uplo", "op",  "n",    "k", "alpha",
                                               "a",    "lda", "beta", "c", "ldc"};
  library().count();
  const kwOp_t op = to_op(*trans);
  const There there_a(a, op == KW_OP_NONE ? *k : *n, *lda), there_c(c, *n, *ldc);
  const kwStatus_t status = kwSsyrk(library().handle(), KW_COL_MAJOR, to_uplo(uplo), op, *n, *k,
                                    alpha, there_a.data(), *lda, beta, written(there_c), *ldc);
  if (status == KW_STATUS_OK) there_c.bring_back(c);
  report(status, "SSYRK ", names);
}

void ssyr2k_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
             const float* a, const int* lda, const float* b, const int* ldb, const float* beta,
             float* c, const int* ldc) {
  static constexpr std::string_view names[] = {"uplo", "op", "n",   "k",    "alpha", "a",
                                               "lda",  "b",  "ldb", "beta", "c",     "ldc"};
  library().count();
  const kwOp_t op = to_op(*trans);
  const std::int64_t lines = op == KW_OP_NONE ? *k : *n;
  const There there_a(a, lines, *lda), there_b(b, lines, *ldb), there_c(c, *n, *ldc);
  const kwStatus_t status =
      kwSsyr2k(library().handle(), KW_COL_MAJOR, to_uplo(uplo), op, *n, *k, alpha, there_a.data(),
               *lda, there_b.data(), *ldb, beta, written(there_c), *ldc);
  if (status == KW_STATUS_OK) there_c.bring_back(c);
  report(status, "SSYR2K", names);
}

void ssymm_(const char* side, const char* uplo, const int* m, const int* n, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta,
            float* c, const int* ldc) {
  static constexpr std::string_view names[] = {"side", "uplo", "m",   "n",    "alpha", "a",
                                               "lda",  "b",    "ldb", "beta", "c",     "ldc"};
  library().count();
  const There there_a(a, to_side(side) == KW_LEFT ? *m : *n, *lda), there_b(b, *n, *ldb),
      there_c(c, *n, *ldc);
  const kwStatus_t status =
      kwSsymm(library().handle(), KW_COL_MAJOR, to_side(side), to_uplo(uplo), *m, *n, alpha,
              there_a.data(), *lda, there_b.data(), *ldb, beta, written(there_c), *ldc);
  if (status == KW_STATUS_OK) there_c.bring_back(c);
  report(status, "SSYMM ", names);
}

void strmm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
            const int* n, const float* alpha, const float* a, const int* lda, float* b,
            const int* ldb) {
  static constexpr std::string_view names[] = {"side",  "uplo", "op",  "diag", "m",  "n",
                                               "alpha", "a",    "lda", "b",    "ldb"};
  library().count();
  const There there_a(a, to_side(side) == KW_LEFT ? *m : *n, *lda), there_b(b, *n, *ldb);
  const kwStatus_t status = kwStrmm(library().handle(), KW_COL_MAJOR, to_side(side), to_uplo(uplo),
                                    to_op(*transa), to_diag(diag), *m, *n, alpha, there_a.data(),
                                    *lda, there_b.data(), *ldb, written(there_b), *ldb);
  if (status == KW_STATUS_OK) there_b.bring_back(b);
  report(status, "STRMM ", names);
}

void strsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
            const int* n, const float* alpha, const float* a, const int* lda, float* b,
            const int* ldb) {
  static constexpr std::string_view names[] = {"side",  "uplo", "op",  "diag", "m",  "n",
                                               "alpha", "a",    "lda", "b",    "ldb"};
  library().count();
  const There there_a(a, to_side(side) == KW_LEFT ? *m : *n, *lda), there_b(b, *n, *ldb);
  const kwStatus_t status =
      kwStrsm(library().handle(), KW_COL_MAJOR, to_side(side), to_uplo(uplo), to_op(*transa),
              to_diag(diag), *m, *n, alpha, there_a.data(), *lda, written(there_b), *ldb);
  if (status == KW_STATUS_OK) there_b.bring_back(b);
  report(status, "STRSM ", names);
}

}  // extern "C"
