// reduce from the caller's view to a kernel's launch.
#include "kernelwright/reduce.hpp"

#include <utility>

#include "api/calls.hpp"
#include "api/check_reduce.hpp"
#include "api/planned_call.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

// Rows of a column-major matrix are columns of the row-major one in the same memory.
Reduce canonical(const ReduceCall& call) {
  const ReduceView& view = call.view;
  Reduce problem;
  problem.op = call.op;
  problem.type = view.type;
  problem.shape = view.shape;
  problem.data = view.data;
  problem.correction = call.options.correction;
  problem.determinism = call.options.determinism;
  problem.out = call.out.data;
  if (view.shape == ReduceShape::whole || view.shape == ReduceShape::segments) {
    problem.cols = view.cols;
    problem.ld = view.cols;
    if (view.shape == ReduceShape::segments) {
      problem.offsets = view.offsets;
      problem.segments = view.segments;
    }
    return problem;
  }
  problem.rows = view.rows;
  problem.cols = view.cols;
  problem.ld = view.ld;
  if (view.layout == Layout::col_major) {
    std::swap(problem.rows, problem.cols);
    problem.shape = view.shape == ReduceShape::rows ? ReduceShape::columns : ReduceShape::rows;
  }
  return problem;
}

Status choose(const ContextState& state, const Reduce& problem, Choice<Reduce>* choice) {
  auto found = select_kernel(problem, state.device(), state.reduce_kernels());
  if (found) {
    *choice = std::move(*found);
    return Status::success();
  }
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.reduce_kernels().size(), " reduce kernels of this build computes ",
           to_string(problem.op), " of ", to_string(problem.type), ", ", to_string(problem.shape),
           " of ", problem.rows, " x ", problem.cols, ", on ", state.device().name,
           ": compute it in a CPU context"));
}

}  // namespace

Status reduce(ContextState& state, const ReduceCall& call) {
  Status status = check_reduce(call);
  if (!status.ok()) return status;
  const Reduce problem = canonical(call);
  if (problem.sequences() == 0) return status;
  Choice<Reduce> choice;
  status = choose(state, problem, &choice);
  if (!status.ok()) return status;
  return launch_choice(state, choice, problem);
}

Status reduce_workspace_bytes(const ContextState& state, const ReduceCall& call,
                              std::size_t* bytes) {
  *bytes = 0;
  std::int64_t results = 0;
  Status status = check_reduce_shape(call, &results);
  if (!status.ok() || results == 0) return status;
  const Reduce problem = canonical(call);
  Choice<Reduce> choice;
  status = choose(state, problem, &choice);
  if (status.ok()) *bytes = choice.plan.workspace_bytes;
  return status;
}

}  // namespace detail

void reduce(Context& context, ReduceOp op, const ReduceView& view, const ReduceOutput& out,
            const ReduceOptions& options) {
  detail::throw_unless_ok(
      detail::reduce(detail::ContextAccess::state(context), {op, view, out, options}));
}

std::size_t reduce_workspace_bytes(const Context& context, ReduceOp op, const ReduceView& view,
                                   const ReduceOptions& options) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(detail::reduce_workspace_bytes(detail::ContextAccess::state(context),
                                                         {op, view, {}, options}, &bytes));
  return bytes;
}

DataType reduce_result_type(ReduceOp op, DataType type) {
  detail::throw_unless_ok(detail::check_reduce_types(op, type));
  return result_type(op, type);
}

std::int64_t reduce_result_count(ReduceOp op, const ReduceView& view) {
  std::int64_t results = 0;
  detail::throw_unless_ok(detail::check_reduce_shape({op, view, {}, {}}, &results));
  return results;
}

}  // namespace kw
