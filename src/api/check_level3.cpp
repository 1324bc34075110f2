// The checks of check_level3.hpp.
#include "api/check_level3.hpp"

#include "api/check.hpp"
#include "api/check_sgemm.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

bool updates(const Level3Call& call) { return call.routine <= Routine::syr2k; }
bool factors(const Level3Call& call) { return call.routine == Routine::potrf; }
bool has_b(const Level3Call& call) {
  return call.routine != Routine::syrk && call.routine != Routine::trsm && !factors(call);
}
// strsm's right-hand side is its B, which it writes; spotrf writes its A.
char letter_of_c(const Level3Call& call) {
  return call.routine == Routine::trsm ? 'b' : factors(call) ? 'a' : 'c';
}

// "op(A) is 4 x 5, but C is 3 x 3: op(A) has as many rows as C"
Status check_rows_of_c(const Operand& input, const Operand& c) {
  if (input.view.op_rows() == c.view.rows) return Status::success();
  return invalid(
      text("op(", input.name(), ") is ", input.view.op_rows(), " x ", input.view.op_cols(),
           ", but C is ", c.view.rows, " x ", c.view.cols, ": give both as many rows"),
      input.argument());
}

struct Level3Operands {
  Operand a, b, c;
};

Status check_shapes(const Level3Call& call, const Level3Operands& on) {
  const MatrixView<const float>&a = on.a.view, &b = on.b.view, &c = on.c.view;
  if (factors(call)) return check_square(on.c);
  if (updates(call)) {
    Status status = check_square(on.c);
    if (status.ok()) status = check_rows_of_c(on.a, on.c);
    if (!status.ok() || !has_b(call)) return status;
    status = check_rows_of_c(on.b, on.c);
    if (!status.ok() || a.op_cols() == b.op_cols()) return status;
    return invalid(text("op(A) has ", a.op_cols(), " columns, but op(B) has ", b.op_cols(),
                        ": make the two equal"),
                   "b");
  }
  Status status = check_square(on.a);
  if (!status.ok()) return status;
  const std::int64_t beside = call.side == kw::Side::left ? c.rows : c.cols;
  if (a.rows != beside) {
    return invalid(
        text("A is ", a.rows, " x ", a.cols, ", but ", on.c.name(), " is ", c.rows, " x ", c.cols,
             ": A on the ", call.side == kw::Side::left ? "left" : "right", " has as many rows as ",
             on.c.name(), " has ", call.side == kw::Side::left ? "rows" : "columns"),
        "a");
  }
  if (!has_b(call) || (b.op_rows() == c.rows && b.op_cols() == c.cols)) return status;
  return invalid(text("op(B) is ", b.op_rows(), " x ", b.op_cols(), ", but C is ", c.rows, " x ",
                      c.cols, ": make the two equal"),
                 "b");
}

Status check_numbers(const Level3Call& call, const Level3Operands& on) {
  Status status = check_math(call.options.math, "options.math");
  const auto next = [&](const auto& check) {
    if (status.ok()) status = check();
  };
  next([&] { return check_choice(static_cast<int>(call.uplo), "uplo", "lower", "upper"); });
  next([&] { return check_choice(static_cast<int>(call.side), "side", "left", "right"); });
  next([&] { return check_choice(static_cast<int>(call.diag), "diag", "non-unit", "unit"); });
  next([&] { return check_scalar(call.alpha, "alpha"); });
  next([&] { return check_scalar(call.beta, "beta"); });
  next([&] { return check_size(call.batch, "batch"); });
  for (const Operand* operand : {&on.a, &on.b, &on.c}) {
    if (operand == &on.b && !has_b(call)) continue;
    if (operand == &on.a && factors(call)) continue;
    next([&] { return check_stride(*operand); });
    next([&] { return check_view(*operand); });
  }
  next([&] { return check_not_transposed(on.c); });
  next([&] { return check_shapes(call, on); });
  return status;
}

Status check_info(const int* info) {
  if (info != nullptr) return Status::success();
  return invalid("info is null: pass the address of an int in the device's memory", "info");
}

// strmm in place.
bool is_same_matrix(const Operand& b, const Operand& c) {
  return b.view.data == c.view.data && b.view.ld == c.view.ld && b.view.layout == c.view.layout &&
         b.view.op == Op::none;
}

Status check_places(const Level3Call& call, const Level3Operands& on) {
  Status status = factors(call) ? check_info(call.info) : Status::success();
  if (status.ok()) status = check_data(on.c);
  const auto next = [&](const auto& check) {
    if (status.ok()) status = check();
  };
  next([&] { return check_entries_apart(on.c); });
  next([&] { return check_scalar_outside(call.alpha, "alpha", on.c); });
  next([&] { return check_scalar_outside(call.beta, "beta", on.c); });
  if (!status.ok() || !may_read_inputs(call)) return status;
  for (const Operand* input : {&on.a, &on.b}) {
    if (input == &on.b && !has_b(call)) continue;
    next([&] { return check_data(*input); });
    if (call.routine == Routine::trmm && input == &on.b && is_same_matrix(on.b, on.c)) continue;
    next([&] { return check_no_shared_element(on.c, *input); });
  }
  return status;
}

}  // namespace

bool may_read_inputs(const Level3Call& call) {
  if (factors(call)) return false;  // beside what is written
  const std::int64_t k = updates(call) ? call.a.op_cols() : call.a.rows;
  return !call.alpha.is(0) && k > 0 && call.c.rows > 0 && call.c.cols > 0 && call.batch > 0;
}

Status check_level3(const Level3Call& call) {
  const Level3Operands on{{'a', call.a, call.batch, call.stride_a},
                          {'b', call.b},
                          {letter_of_c(call), call.c, call.batch, call.stride_c}};
  Status status = check_numbers(call, on);
  return status.ok() ? check_places(call, on) : status;
}

}  // namespace kw::detail
