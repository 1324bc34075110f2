// Level 3: layouts and triangles are those of the C interface.
#include "core/level3.hpp"

#include "core/matrix.hpp"

namespace kw::python {

namespace {

float* address(const Strided& array) { return static_cast<float*>(array.data); }

// What a call takes of its operands, in the layout of c.
struct Operands {
  kwLayout_t layout;
  Matrix a, c;
  bool a_turned;  // a is stored the other way
  kwUplo_t uplo_c, uplo_a;
  kwOp_t op_a;
  kwSide_t side;
  kwDiag_t diag;
  std::int64_t m, n;
};

Operands operands_of(Context& context, const Level3& call) {
  context.use_math(call.math);
  context.use_epilogue(nullptr);
  Operands found;
  found.a = expressed(call.a, "a");
  found.c = expressed(call.c, "out");
  found.layout = found.c.op == KW_OP_NONE ? KW_ROW_MAJOR : KW_COL_MAJOR;
  found.a_turned = found.a.op != found.c.op;
  // A transpose has its other triangle stored.
  found.uplo_c = call.upper ? KW_UPPER : KW_LOWER;
  found.uplo_a = call.upper != found.a_turned ? KW_UPPER : KW_LOWER;
  found.op_a = call.transpose != found.a_turned ? KW_OP_TRANSPOSE : KW_OP_NONE;
  found.side = call.right ? KW_RIGHT : KW_LEFT;
  found.diag = call.unit_diagonal ? KW_UNIT : KW_NON_UNIT;
  found.m = call.c.size[0];
  found.n = call.c.size[1];
  return found;
}

}  // namespace

bool share_layout(const Strided& b, const Strided& c) {
  Matrix of_b, of_c;
  return express(b.size[0], b.size[1], b.stride[0], b.stride[1], &of_b) &&
         express(c.size[0], c.size[1], c.stride[0], c.stride[1], &of_c) && of_b.op == of_c.op;
}

void multiply_by_itself(Context& context, const Level3& call) {
  const Operands is = operands_of(context, call);
  const std::int64_t k = call.a.size[call.transpose ? 0 : 1];
  if (call.is_complex) {
    const kwComplex alpha = {call.alpha, call.alpha_im}, beta = {call.beta, call.beta_im};
    const auto* const a = static_cast<const kwComplex*>(call.a.data);
    auto* const c = static_cast<kwComplex*>(call.c.data);
    const kwOp_t conjugate = is.op_a == KW_OP_NONE ? KW_OP_NONE : KW_OP_CONJUGATE_TRANSPOSE;
    context.check(call.hermitian ? kwCherk(context.handle, is.layout, is.uplo_c, conjugate, is.n, k,
                                           &call.alpha, a, is.a.ld, &call.beta, c, is.c.ld)
                                 : kwCsyrk(context.handle, is.layout, is.uplo_c, is.op_a, is.n, k,
                                           &alpha, a, is.a.ld, &beta, c, is.c.ld));
    return;
  }
  context.check(kwSsyrk(context.handle, is.layout, is.uplo_c, is.op_a, is.n, k, &call.alpha,
                        address(call.a), is.a.ld, &call.beta, address(call.c), is.c.ld));
}

void multiply_symmetric(Context& context, const Level3& call) {
  const Operands is = operands_of(context, call);
  const Matrix b = expressed(call.b, "b");
  context.check(kwSsymm(context.handle, is.layout, is.side, is.uplo_a, is.m, is.n, &call.alpha,
                        address(call.a), is.a.ld, address(call.b), b.ld, &call.beta,
                        address(call.c), is.c.ld));
}

void multiply_triangular(Context& context, const Level3& call) {
  const Operands is = operands_of(context, call);
  const Matrix b = expressed(call.b, "b");
  context.check(kwStrmm(context.handle, is.layout, is.side, is.uplo_a, is.op_a, is.diag, is.m, is.n,
                        &call.alpha, address(call.a), is.a.ld, address(call.b), b.ld,
                        address(call.c), is.c.ld));
}

// A conjugate without a transpose is no operation of a call: of an a that is stored the other way
// whoever calls has made a copy.
void solve_triangular(Context& context, const Level3& call) {
  const Operands is = operands_of(context, call);
  if (call.is_complex) {
    const kwComplex alpha = {call.alpha, call.alpha_im};
    const kwOp_t op = call.conjugate ? KW_OP_CONJUGATE_TRANSPOSE : is.op_a;
    context.check(kwCtrsm(context.handle, is.layout, is.side, is.uplo_a, op, is.diag, is.m, is.n,
                          &alpha, static_cast<const kwComplex*>(call.a.data), is.a.ld,
                          static_cast<kwComplex*>(call.c.data), is.c.ld));
    return;
  }
  context.check(kwStrsm(context.handle, is.layout, is.side, is.uplo_a, is.op_a, is.diag, is.m, is.n,
                        &call.alpha, address(call.a), is.a.ld, address(call.c), is.c.ld));
}

void scale_add(Context& context, float scale, const Strided& from, float shift,
               const Strided& array) {
  const Matrix source = expressed(from, "b"), to = expressed(array, "out");
  const kwLayout_t layout = to.op == KW_OP_NONE ? KW_ROW_MAJOR : KW_COL_MAJOR;
  context.check(kwScaleAdd(context.handle, layout, array.size[0], array.size[1], &scale,
                           address(from), source.ld, &shift, address(array), to.ld));
}

}  // namespace kw::python
