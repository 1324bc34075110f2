// The checks of a matrix product's arguments, before anything is written.
#include "api/check_sgemm.hpp"

#include "api/check.hpp"
#include "api/check_epilogue.hpp"
#include "text.hpp"

namespace kw::detail {

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

Status unequal(const Side& left, const Side& right, const char* argument) {
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
  const auto differ = [](const Side& left, const Side& right) {
    return left.count() != right.count();
  };
  if (differ(op_a(false), op_b(true))) return unequal(op_a(false), op_b(true), "b");
  if (differ(op_a(true), c(true))) return unequal(op_a(true), c(true), "c");
  if (differ(op_b(false), c(false))) return unequal(op_b(false), c(false), "c");
  return Status::success();
}

struct Operands {
  Operand a, b, c;
};

// All that needs no matrix's address.
Status check_numbers(const SgemmCall& call, const Operands& on) {
  if (Status math = check_math(call.options.math, "options.math"); !math.ok()) return math;
  const int bytes = on.c.element_bytes;
  if (Status alpha = check_scalar(call.alpha, "alpha", bytes); !alpha.ok()) return alpha;
  if (Status beta = check_scalar(call.beta, "beta", bytes); !beta.ok()) return beta;
  if (Status batch = check_size(call.batch.count, "batch"); !batch.ok()) return batch;
  for (const Operand* operand : {&on.a, &on.b, &on.c}) {
    if (Status stride = check_stride(*operand); !stride.ok()) return stride;
    if (Status view = check_view(*operand); !view.ok()) return view;
  }
  if (Status output = check_not_transposed(on.c); !output.ok()) return output;
  if (Status shapes = check_shapes(call); !shapes.ok()) return shapes;
  return has_epilogue(call) ? check_epilogue_numbers(call, on.c) : Status::success();
}

// Only the device knows these addresses.
Status check_arrays(const SgemmCall& call, const Operands& on) {
  const std::int64_t count = call.batch.count;
  if (on.c.empty()) return Status::success();
  Status status = check_pointers(call.batch.c, count, "c");
  if (!status.ok() || !may_read_inputs(call)) return status;
  status = check_pointers(call.batch.a, count, "a");
  return status.ok() ? check_pointers(call.batch.b, count, "b") : status;
}

Status check_places(const SgemmCall& call, const Operands& on) {
  if (Status data = check_data(on.c); !data.ok()) return data;
  if (Status entries = check_entries_apart(on.c); !entries.ok()) return entries;
  if (Status alpha = check_scalar_outside(call.alpha, "alpha", on.c); !alpha.ok()) return alpha;
  if (Status beta = check_scalar_outside(call.beta, "beta", on.c); !beta.ok()) return beta;
  if (!may_read_inputs(call)) return Status::success();
  for (const Operand* input : {&on.a, &on.b}) {
    if (Status data = check_data(*input); !data.ok()) return data;
    if (Status apart = check_no_shared_element(on.c, *input); !apart.ok()) return apart;
  }
  return Status::success();
}

}  // namespace

Status check_math(Math math, const char* argument) {
  if (math == Math::fp32 || math == Math::fp32_split) return Status::success();
  return invalid(
      text(argument, " is ", static_cast<int>(math), ": pass 0 (fp32) or 1 (fp32_split)"),
      argument);
}

bool may_read_inputs(const SgemmCall& call) {
  return !call.alpha.is(0) && call.a.op_cols() > 0 && call.c.rows > 0 && call.c.cols > 0 &&
         call.batch.count > 0;
}

Status check_sgemm(const SgemmCall& call, int element_bytes) {
  const SgemmBatch& batch = call.batch;
  const Operands on{{'a', call.a, batch.count, batch.stride_a, element_bytes},
                    {'b', call.b, batch.count, batch.stride_b, element_bytes},
                    {'c', call.c, batch.count, batch.stride_c, element_bytes}};
  Status status = check_numbers(call, on);
  if (!status.ok()) return status;
  status = batch.by_pointers ? check_arrays(call, on) : check_places(call, on);
  return status.ok() && has_epilogue(call) ? check_epilogue_places(call, on.c) : status;
}

}  // namespace kw::detail
