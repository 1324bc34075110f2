// rowwise from the caller's views to a kernel's launch.
#include "kernelwright/rowwise.hpp"

#include <utility>

#include "api/calls.hpp"
#include "api/check_rowwise.hpp"
#include "api/planned_call.hpp"
#include "rowwise/problem.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

Rowwise canonical_rows(const RowwiseCall& call) {
  const RowwiseOptions& o = call.options;
  Rowwise p;
  p.op = call.op;
  p.type = call.x.type;
  p.activation = o.activation;
  p.epsilon = o.epsilon;
  p.rows = call.y.rows;
  p.cols = call.y.cols;
  p.x = call.x.data;
  p.ldx = call.x.ld;
  p.step_x = call.x.step;
  p.index = o.index;
  p.x_rows = call.x.rows;
  p.gamma = o.gamma;
  p.beta = o.beta;
  p.bias = o.bias;
  p.residual = o.residual;
  p.ld_residual = o.ld_residual;
  p.residual_rows = o.residual_rows;
  p.residual_index = o.residual_index;
  p.sum = o.sum;
  p.ld_sum = o.ld_sum;
  p.y = call.y.data;
  p.ldy = call.y.ld;
  p.step_y = call.y.step;
  return p;
}

Status choose_rows(const ContextState& state, const Rowwise& problem, Choice<Rowwise>* choice) {
  auto found = select_kernel(problem, state.device(), state.rowwise_kernels());
  if (found) {
    *choice = std::move(*found);
    return Status::success();
  }
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.rowwise_kernels().size(),
           " row-wise kernels of this build computes ", to_string(problem.op), " of ", problem.rows,
           " x ", problem.cols, " on ", state.device().name, ": compute it in a CPU context"));
}

}  // namespace

Status rowwise(ContextState& state, const RowwiseCall& given) {
  const RowwiseCall call = with_defaults(given);
  Status status = check_rowwise(call);
  if (!status.ok() || call.y.rows == 0 || call.y.cols == 0) return status;
  const Rowwise problem = canonical_rows(call);
  Choice<Rowwise> choice;
  status = choose_rows(state, problem, &choice);
  if (!status.ok()) return status;
  return launch_choice(state, choice, problem);
}

Status rowwise_workspace_bytes(const ContextState& state, const RowwiseCall& given,
                               std::size_t* bytes) {
  *bytes = 0;
  const RowwiseCall call = with_defaults(given);
  Status status = check_rowwise_shape(call);
  if (!status.ok() || call.y.rows == 0 || call.y.cols == 0) return status;
  Choice<Rowwise> choice;
  status = choose_rows(state, canonical_rows(call), &choice);
  if (status.ok()) *bytes = choice.plan.workspace_bytes;
  return status;
}

}  // namespace detail

void rowwise(Context& context, RowwiseOp op, const RowsView& x, const RowsOutput& y,
             const RowwiseOptions& options) {
  detail::throw_unless_ok(
      detail::rowwise(detail::ContextAccess::state(context), {op, x, y, options}));
}

std::size_t rowwise_workspace_bytes(const Context& context, RowwiseOp op, const RowsView& x,
                                    const RowsOutput& y, const RowwiseOptions& options) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(detail::rowwise_workspace_bytes(detail::ContextAccess::state(context),
                                                          {op, x, y, options}, &bytes));
  return bytes;
}

}  // namespace kw
