// sgemm from the caller's views to a kernel's launch.
#include "kernelwright/sgemm.hpp"

#include "api/calls.hpp"
#include "api/check.hpp"
#include "sgemm/select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

// "op(A) (4 x 5) has 5 columns, but op(B) (7 x 6) has 7 rows: make the two equal"
struct Side {
  const char* matrix;
  std::int64_t rows, cols;
  bool counts_rows;

  std::int64_t count() const { return counts_rows ? rows : cols; }
  std::string sentence() const {
    return text(matrix, " (", rows, " x ", cols, ") has ", count(),
                counts_rows ? " rows" : " columns");
  }
};

Status check_equal(const Side& left, const Side& right, const char* argument) {
  if (left.count() == right.count()) return Status::success();
  return invalid(text(left.sentence(), ", but ", right.sentence(), ": make the two equal"),
                 argument);
}

Status check_shapes(const SgemmCall& call) {
  const auto op_a = [&](bool rows) {
    return Side{"op(A)", call.a.op_rows(), call.a.op_cols(), rows};
  };
  const auto op_b = [&](bool rows) {
    return Side{"op(B)", call.b.op_rows(), call.b.op_cols(), rows};
  };
  const auto c = [&](bool rows) { return Side{"C", call.c.rows, call.c.cols, rows}; };
  Status status = check_equal(op_a(false), op_b(true), "b");
  if (status.ok()) status = check_equal(op_a(true), c(true), "c");
  if (status.ok()) status = check_equal(op_b(false), c(false), "c");
  return status;
}

bool reads_inputs(const SgemmCall& call) {
  return call.alpha != 0 && call.a.op_cols() > 0 && call.c.rows > 0 && call.c.cols > 0;
}

Status check(const SgemmCall& call) {
  const Operand a{'a', call.a};
  const Operand b{'b', call.b};
  const Operand c{'c', call.c};
  if (call.options.math != Math::fp32) {
    return invalid(text("options.math is ", static_cast<int>(call.options.math), ": pass 0 (fp32)"),
                   "options.math");
  }
  for (const Operand* operand : {&a, &b, &c}) {
    Status status = check_view(*operand);
    if (!status.ok()) return status;
  }
  Status status = check_not_transposed(c);
  if (status.ok()) status = check_shapes(call);
  if (status.ok()) status = check_data(c);
  if (!status.ok() || !reads_inputs(call)) return status;
  for (const Operand* input : {&a, &b}) {
    status = check_data(*input);
    if (status.ok()) status = check_no_shared_element(c, *input);
    if (!status.ok()) return status;
  }
  return status;
}

bool nothing_to_do(const SgemmCall& call) {
  return call.c.rows == 0 || call.c.cols == 0 || (!reads_inputs(call) && call.beta == 1);
}

// A matrix stored in the other layout than C's is the transpose of what a row-major kernel sees,
// and a column-major product is the row-major product C^T = op(B)^T op(A)^T.
Sgemm canonical(const SgemmCall& call) {
  const auto op_for = [&](const MatrixView<const float>& view) {
    const bool transposed = (view.op == Op::transpose) != (view.layout != call.c.layout);
    return transposed ? Op::transpose : Op::none;
  };
  const bool swapped = call.c.layout == Layout::col_major;
  const MatrixView<const float>& left = swapped ? call.b : call.a;
  const MatrixView<const float>& right = swapped ? call.a : call.b;
  Sgemm problem;
  problem.m = swapped ? call.c.cols : call.c.rows;
  problem.n = swapped ? call.c.rows : call.c.cols;
  problem.k = call.a.op_cols();
  problem.op_a = op_for(left);
  problem.op_b = op_for(right);
  problem.alpha = call.alpha;
  problem.a = left.data;
  problem.lda = left.ld;
  problem.b = right.data;
  problem.ldb = right.ld;
  problem.beta = call.beta;
  problem.c = call.c.data;
  problem.ldc = call.c.ld;
  return problem;
}

Status choose(const ContextState& state, const Sgemm& problem, Math math,
              const Kernel<Sgemm>** kernel) {
  *kernel = select_sgemm(problem, state.device(), state.sgemm_kernels(), math);
  if (*kernel != nullptr) return Status::success();
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.sgemm_kernels().size(), " sgemm kernels of this build computes ",
           problem.m, " x ", problem.n, " x ", problem.k, " in ", to_string(math), " on ",
           state.device().name, ": compute it in a CPU context"));
}

}  // namespace

Status sgemm(ContextState& state, const SgemmCall& call) {
  Status status = check(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  const Sgemm problem = canonical(call);
  const Kernel<Sgemm>* kernel = nullptr;
  status = choose(state, problem, call.options.math, &kernel);
  if (!status.ok()) return status;
  return state.runtime().with_device([&] {
    Workspace workspace;
    Status ready = state.workspace(kernel->workspace_bytes(problem, state.device()), &workspace);
    if (!ready.ok()) return ready;
    return kernel->launch(problem, state.device(), workspace, state.stream());
  });
}

Status sgemm_workspace_bytes(const ContextState& state, const SgemmCall& call, std::size_t* bytes) {
  *bytes = 0;
  Status status = check(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  const Sgemm problem = canonical(call);
  const Kernel<Sgemm>* kernel = nullptr;
  status = choose(state, problem, call.options.math, &kernel);
  if (status.ok()) *bytes = kernel->workspace_bytes(problem, state.device());
  return status;
}

}  // namespace detail

void sgemm(Context& context, float alpha, MatrixView<const float> a, MatrixView<const float> b,
           float beta, MatrixView<float> c, const SgemmOptions& options) {
  detail::throw_unless_ok(
      detail::sgemm(detail::ContextAccess::state(context), {alpha, a, b, beta, c, options}));
}

std::size_t sgemm_workspace_bytes(const Context& context, float alpha, MatrixView<const float> a,
                                  MatrixView<const float> b, float beta, MatrixView<float> c,
                                  const SgemmOptions& options) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(detail::sgemm_workspace_bytes(detail::ContextAccess::state(context),
                                                        {alpha, a, b, beta, c, options}, &bytes));
  return bytes;
}

}  // namespace kw
