// Lends this library to BLAS's own test program for level 3: the Fortran symbol sgemm_, computed by
// kwSgemm, and in level3_adapter.cpp the others. Preloaded into xblat3s, whose xerbla_ it tells
// about wrong arguments by BLAS's numbers.
//
// KW_CONFORMANCE_DEVICE   cpu (default: in place, in the program's memory) or gpu (copied there)
// At the end one line on stderr says what was computed where: a preload that failed has none.
#include "conformance/there.hpp"

using namespace kw::conformance;

extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c,
                       const int* ldc) {
  static constexpr std::string_view names[] = {"op_a", "op_b", "m",   "n",    "k", "alpha", "a",
                                               "lda",  "b",    "ldb", "beta", "c", "ldc"};
  library().count();
  const kwOp_t op_a = to_op(*transa), op_b = to_op(*transb);
  const There there_a(a, op_a == KW_OP_NONE ? *k : *m, *lda);
  const There there_b(b, op_b == KW_OP_NONE ? *n : *k, *ldb);
  const There there_c(c, *n, *ldc);
  const kwStatus_t status =
      kwSgemm(library().handle(), KW_COL_MAJOR, op_a, op_b, *m, *n, *k, alpha, there_a.data(), *lda,
              there_b.data(), *ldb, beta, const_cast<float*>(there_c.data()), *ldc);
  if (status == KW_STATUS_OK) there_c.bring_back(c);
  report(status, "SGEMM ", names);
}
