// c's order is the call's layout.
#include "core/out_of_core.hpp"

#include "core/matrix.hpp"

namespace kw::python {

void multiply_out_of_core(Context& context, const OutOfCore& call) {
  const auto address = [](const Strided& array) { return static_cast<float*>(array.data); };
  const Matrix a = expressed(call.a, "a"), b = expressed(call.b, "b"), c = expressed(call.c, "out");
  const auto op = [&](const Matrix& matrix) {
    return matrix.op == c.op ? KW_OP_NONE : KW_OP_TRANSPOSE;
  };
  context.use_math(call.math);
  context.check(kwSgemmOutOfCore(context.handle, c.op == KW_OP_NONE ? KW_ROW_MAJOR : KW_COL_MAJOR,
                                 op(a), op(b), call.c.size[0], call.c.size[1], call.a.size[1],
                                 &call.alpha, address(call.a), a.ld, address(call.b), b.ld,
                                 &call.beta, address(call.c), c.ld, call.device_bytes));
}

}  // namespace kw::python
