// Lends this library to BLAS's own test program for complex level 3, xblat3c: the Fortran symbols
// cgemm_, csyrk_, cherk_ and ctrsm_. As sgemm_adapter.cpp.
#include "conformance/there.hpp"

using namespace kw::conformance;

namespace {

kwOp_t to_complex_op(char letter) {
  const kwOp_t op = to_op(letter);
  return std::toupper(static_cast<unsigned char>(letter)) == 'C' ? KW_OP_CONJUGATE_TRANSPOSE : op;
}

class ThereComplex : public There {
 public:
  ThereComplex(const kwComplex* here, std::int64_t cols, std::int64_t ld)
      : There(&here->re, cols, 2 * ld) {}
  const kwComplex* elements() const { return reinterpret_cast<const kwComplex*>(data()); }
  kwComplex* written() const { return const_cast<kwComplex*>(elements()); }
};

constexpr std::string_view of_update[] = {"uplo", "op",  "n",    "k", "alpha",
                                          "a",    "lda", "beta", "c", "ldc"};

template <class Function, class Scalar>
void update(Function function, const char* routine, const char* uplo, const char* trans,
            const int* n, const int* k, const Scalar* alpha, const kwComplex* a, const int* lda,
            const Scalar* beta, kwComplex* c, const int* ldc) {
  library().count();
  const kwOp_t op = to_complex_op(*trans);
  const ThereComplex there_a(a, op == KW_OP_NONE ? *k : *n, *lda), there_c(c, *n, *ldc);
  const kwStatus_t status =
      function(library().handle(), KW_COL_MAJOR, to_uplo(uplo), op, *n, *k, alpha,
               there_a.elements(), *lda, beta, there_c.written(), *ldc);
  if (status == KW_STATUS_OK) there_c.bring_back(&c->re);
  report(status, routine, of_update);
}

}  // namespace

extern "C" {

void cgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const kwComplex* alpha, const kwComplex* a, const int* lda, const kwComplex* b,
            const int* ldb, const kwComplex* beta, kwComplex* c, const int* ldc) {
  static constexpr std::string_view names[] = {"op_a", "op_b", "m",   "n",    "k", "alpha", "a",
                                               "lda",  "b",    "ldb", "beta", "c", "ldc"};
  library().count();
  const kwOp_t op_a = to_complex_op(*transa), op_b = to_complex_op(*transb);
  const ThereComplex there_a(a, op_a == KW_OP_NONE ? *k : *m, *lda);
  const ThereComplex there_b(b, op_b == KW_OP_NONE ? *n : *k, *ldb);
  const ThereComplex there_c(c, *n, *ldc);
  const kwStatus_t status =
      kwCgemm(library().handle(), KW_COL_MAJOR, op_a, op_b, *m, *n, *k, alpha, there_a.elements(),
              *lda, there_b.elements(), *ldb, beta, there_c.written(), *ldc);
  if (status == KW_STATUS_OK) there_c.bring_back(&c->re);
  report(status, "CGEMM ", names);
}

void csyrk_(const char* uplo, const char* trans, const int* n, const int* k, const kwComplex* alpha,
            const kwComplex* a, const int* lda, const kwComplex* beta, kwComplex* c,
            const int* ldc) {
  update(kwCsyrk, "CSYRK ", uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}

void cherk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
            const kwComplex* a, const int* lda, const float* beta, kwComplex* c, const int* ldc) {
  update(kwCherk, "CHERK ", uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}

void ctrsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
            const int* n, const kwComplex* alpha, const kwComplex* a, const int* lda, kwComplex* b,
            const int* ldb) {
  static constexpr std::string_view names[] = {"side",  "uplo", "op",  "diag", "m",  "n",
                                               "alpha", "a",    "lda", "b",    "ldb"};
  library().count();
  const ThereComplex there_a(a, to_side(side) == KW_LEFT ? *m : *n, *lda), there_b(b, *n, *ldb);
  const kwStatus_t status = kwCtrsm(library().handle(), KW_COL_MAJOR, to_side(side), to_uplo(uplo),
                                    to_complex_op(*transa), to_diag(diag), *m, *n, alpha,
                                    there_a.elements(), *lda, there_b.written(), *ldb);
  if (status == KW_STATUS_OK) there_b.bring_back(&b->re);
  report(status, "CTRSM ", names);
}

}  // extern "C"
