// scale_add from the caller's views to a kernel's launch.
#include "kernelwright/scale_add.hpp"

#include "api/calls.hpp"
#include "api/check.hpp"
#include "api/planned_call.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

// Whether op(A) lies in memory in the other order than B.
bool crosses(const ScaleAddCall& call) {
  return (call.a.op == Op::transpose) != (call.a.layout != call.b.layout);
}

bool is_vector(const ScaleAddCall& call) { return call.b.rows == 1 || call.b.cols == 1; }

bool same_matrix(const Operand& a, const Operand& b) {
  return a.view.data == b.view.data && a.lines() == b.lines() && a.width() == b.width() &&
         (a.view.ld == b.view.ld || b.lines() == 1);
}

Status check_shapes(const ScaleAddCall& call) {
  if (call.a.op_rows() != call.b.rows || call.a.op_cols() != call.b.cols) {
    return invalid(text("op(A) is ", call.a.op_rows(), " x ", call.a.op_cols(), ", but B is ",
                        call.b.rows, " x ", call.b.cols, ": make the two equal"),
                   "b");
  }
  if (!crosses(call) || is_vector(call) || call.b.rows == 0 || call.b.cols == 0) {
    return Status::success();
  }
  return Status::failure(StatusCode::unsupported,
                         text("op(A) and B (both ", call.b.rows, " x ", call.b.cols,
                              ") lie in memory transposed to each other, and scale_add does not "
                              "transpose: give both the same layout and op 0 (none)"),
                         "a");
}

Status check(const ScaleAddCall& call) {
  const Operand a{'a', call.a};
  const Operand b{'b', call.b};
  for (const Operand* operand : {&a, &b}) {
    Status status = check_view(*operand);
    if (!status.ok()) return status;
  }
  Status status = check_not_transposed(b);
  if (status.ok()) status = check_shapes(call);
  if (status.ok()) status = check_data(b);
  if (!status.ok() || call.scale == 0 || b.empty()) return status;
  status = check_data(a);
  if (status.ok() && !same_matrix(a, b)) status = check_no_shared_element(b, a);
  return status;
}

// A vector that is one line of A and a column across the lines of B, or the other way round, is a
// column in both: one element a line.
ScaleAdd canonical(const ScaleAddCall& call) {
  const Operand a{'a', call.a};
  const Operand b{'b', call.b};
  if (!crosses(call)) {
    return {b.lines(), b.width(),  call.scale,  call.a.data,
            call.a.ld, call.shift, call.b.data, call.b.ld};
  }
  const auto step = [](const Operand& vector) {
    return vector.lines() == 1 ? std::int64_t{1} : vector.view.ld;
  };
  return {call.b.rows * call.b.cols,
          1,
          call.scale,
          call.a.data,
          step(a),
          call.shift,
          call.b.data,
          step(b)};
}

}  // namespace

Status scale_add(ContextState& state, const ScaleAddCall& call) {
  Status status = check(call);
  if (!status.ok() || call.b.rows == 0 || call.b.cols == 0) return status;
  const ScaleAdd problem = canonical(call);
  const auto choice = select_kernel(problem, state.device(), state.scale_add_kernels());
  if (!choice) {
    return Status::failure(
        StatusCode::unsupported,
        text("none of the ", state.scale_add_kernels().size(),
             " scale_add kernels of this build computes ", problem.rows, " x ", problem.cols,
             " on ", state.device().name, ": compute it in a CPU context"));
  }
  return launch_choice(state, *choice, problem);
}

}  // namespace detail

void scale_add(Context& context, float scale, MatrixView<const float> a, float shift,
               MatrixView<float> b) {
  detail::throw_unless_ok(
      detail::scale_add(detail::ContextAccess::state(context), {scale, a, shift, b}));
}

}  // namespace kw
