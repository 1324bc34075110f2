// The checks that every call makes of its matrices before anything is written.
#include "api/check.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include "api/overlap.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

// Elements from the first to one past the last, of the last entry; false where their bytes do not
// fit 64 bits.
bool span_elements(const Operand& operand, std::int64_t* elements) {
  *elements = 0;
  if (operand.empty()) return true;
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  return !__builtin_mul_overflow(operand.lines() - 1, operand.view.ld, elements) &&
         !__builtin_add_overflow(*elements, operand.width(), elements) &&
         !__builtin_mul_overflow(operand.entries - 1, operand.stride, &entries) &&
         !__builtin_add_overflow(*elements, entries, elements) &&
         !__builtin_mul_overflow(*elements, operand.element_bytes, &bytes);
}

// A failed check's sentence and argument, with the operand's letter before both: "rows" becomes
// "a.rows".
Status of_operand(const Operand& operand, const Status& status) {
  const std::string prefix = operand.argument() + ".";
  return invalid(prefix + status.message, prefix + status.argument);
}

Status ld_too_small(const Operand& operand) {
  const char* lines = operand.view.layout == Layout::row_major ? " columns of " : " rows of ";
  const std::string ld = operand.ld_argument();
  return invalid(text(ld, " is ", operand.view.ld, ", smaller than the ", operand.width(), lines,
                      operand.description(), ": pass ", ld, " >= ", operand.width()),
                 ld);
}

Status span_too_long(const Operand& operand) {
  return invalid(text(operand.description(), " with ", operand.steps(), " spans more than the ",
                      std::numeric_limits<std::int64_t>::max(),
                      " bytes that an offset can count: pass smaller sizes"),
                 operand.argument());
}

bool is_layout(int layout) {
  return layout == static_cast<int>(Layout::row_major) ||
         layout == static_cast<int>(Layout::col_major);
}
bool is_op(int op, bool is_complex) {
  return op == static_cast<int>(Op::none) || op == static_cast<int>(Op::transpose) ||
         (is_complex && op == static_cast<int>(Op::conjugate_transpose));
}

Footprint footprint(const Operand& operand) {
  if (operand.empty()) return {};
  const std::int64_t width = operand.width() * operand.element_bytes;
  return {reinterpret_cast<std::uintptr_t>(operand.view.data), operand.lines(), width,
          operand.lines() == 1 ? width : operand.view.ld * operand.element_bytes};
}

Footprints footprints(const Operand& operand) {
  // Entries at the same place take the memory of one.
  return {footprint(operand), operand.stride == 0 ? 1 : operand.entries,
          operand.stride * operand.element_bytes};
}

}  // namespace

std::string Operand::description() const {
  return text(name(), view.layout == Layout::row_major ? " (row-major, " : " (column-major, ",
              view.rows, " x ", view.cols, ")");
}

std::string Operand::steps() const {
  std::string by_ld = text(ld_argument(), " ", view.ld);
  if (entries <= 1) return by_ld;
  return text(by_ld, " and ", stride_argument(), " ", stride, " (", entries, " entries)");
}

Status invalid(std::string message, std::string argument) {
  return Status::failure(StatusCode::invalid_argument, std::move(message), std::move(argument));
}

Status check_layout(int layout, const char* argument) {
  if (is_layout(layout)) return Status::success();
  return invalid(text(argument, " is ", layout, ": pass 0 (row-major) or 1 (column-major)"),
                 argument);
}

Status check_op(int op, const char* argument, bool is_complex) {
  if (is_op(op, is_complex)) return Status::success();
  return invalid(text(argument, " is ", op,
                      is_complex ? ": pass 0 (none), 1 (transpose) or 2 (conjugate transpose)"
                                 : ": pass 0 (none) or 1 (transpose)"),
                 argument);
}

Status check_size(std::int64_t size, const char* argument) {
  if (size >= 0) return Status::success();
  return invalid(text(argument, " is ", size, ": pass 0 or more"), argument);
}

// Every call comes here for each matrix. What passes makes no Status on the way.
Status check_choice(int value, const char* argument, const char* zero, const char* one) {
  if (value == 0 || value == 1) return Status::success();
  return invalid(text(argument, " is ", value, ": pass 0 (", zero, ") or 1 (", one, ")"), argument);
}

Status check_square(const Operand& operand) {
  if (operand.view.rows == operand.view.cols) return Status::success();
  return invalid(text(operand.description(), " is not square: pass as many rows as columns"),
                 operand.argument());
}

Status check_view(const Operand& operand) {
  const MatrixView<const float>& view = operand.view;
  const int layout = static_cast<int>(view.layout), op = static_cast<int>(view.op);
  std::int64_t elements = 0;
  if (!is_layout(layout)) return of_operand(operand, check_layout(layout, "layout"));
  if (!is_op(op, operand.is_complex()))
    return of_operand(operand, check_op(op, "op", operand.is_complex()));
  if (view.rows < 0) return of_operand(operand, check_size(view.rows, "rows"));
  if (view.cols < 0) return of_operand(operand, check_size(view.cols, "cols"));
  if (view.ld < operand.width()) return ld_too_small(operand);
  return span_elements(operand, &elements) ? Status::success() : span_too_long(operand);
}

Status check_data(const Operand& operand) {
  if (operand.empty()) return Status::success();
  const auto address = reinterpret_cast<std::uintptr_t>(operand.view.data);
  if (address == 0) {
    return invalid(text(operand.argument(), " is null, but ", operand.description(),
                        " is not empty: pass its first element"),
                   operand.argument());
  }
  const auto alignment = static_cast<std::uintptr_t>(operand.element_bytes);
  if (address % alignment != 0) {
    return invalid(
        text(operand.argument(), " lies ", address % alignment, " bytes past a multiple of ",
             alignment, ": a ", operand.is_complex() ? "complex element" : "float",
             "'s address is a multiple of ", alignment),
        operand.argument());
  }
  std::int64_t elements = 0;
  if (!span_elements(operand, &elements) ||
      static_cast<std::uintptr_t>(elements * operand.element_bytes) >
          std::numeric_limits<std::uintptr_t>::max() - address) {
    return invalid(
        text(operand.description(), " with ", operand.steps(), " from address ", address,
             " on passes the end of the address space (",
             std::numeric_limits<std::uintptr_t>::max(), "): pass the matrix's real sizes"),
        operand.argument());
  }
  return Status::success();
}

Status check_not_transposed(const Operand& output) {
  if (output.view.op == Op::none) return Status::success();
  return invalid(text(output.argument(), ".op is ", static_cast<int>(output.view.op),
                      output.view.op == Op::transpose ? " (transpose)" : " (conjugate transpose)",
                      ", but an output is written as it is "
                      "stored: pass 0 (none), and the other layout for ",
                      output.name(), "'s transpose"),
                 output.argument() + ".op");
}

Status check_no_shared_element(const Operand& output, const Operand& input) {
  if (!any_shares_byte(footprints(output), footprints(input))) return Status::success();
  return invalid(text(output.description(), " at ", static_cast<const void*>(output.view.data),
                      " with ", output.steps(), " shares an element with ", input.description(),
                      " at ", static_cast<const void*>(input.view.data), " with ", input.steps(),
                      ": write ", output.name(), " to memory of its own"),
                 output.argument());
}

Status check_stride(const Operand& operand) {
  if (operand.stride >= 0) return Status::success();
  const std::string stride = operand.stride_argument();
  return invalid(text(stride, " is ", operand.stride, ": pass 0 or more"), stride);
}

Status check_entries_apart(const Operand& output) {
  if (output.empty() || output.entries == 1) return Status::success();
  const Footprint first = footprint(output);
  const std::int64_t stride = output.stride * output.element_bytes;
  // All of them side by side within a line: a common case, decided without a look at each.
  const bool side_by_side =
      stride >= first.width && (output.entries - 1) * stride + first.width <= first.ld;
  Footprint second = first;
  second.address += static_cast<std::uintptr_t>(stride);
  const std::int64_t others = stride == 0 ? 1 : output.entries - 1;
  if (side_by_side || !any_shares_byte({first}, {second, others, stride})) return Status::success();
  const std::int64_t apart = (output.lines() - 1) * output.view.ld + output.width();
  const std::string name = output.stride_argument();
  return invalid(text(name, " is ", output.stride, ": of the ", output.entries, " entries of ",
                      output.description(), " with ", output.ld_argument(), " ", output.view.ld,
                      " two share an element: pass ", name, " >= ", apart),
                 name);
}

Status check_scalar(const Scalar& scalar, const char* argument, int element_bytes) {
  if (!scalar.is_on_device()) return Status::success();
  const auto address = reinterpret_cast<std::uintptr_t>(scalar.address());
  const auto alignment = static_cast<std::uintptr_t>(element_bytes);
  if (address != 0 && address % alignment == 0) return Status::success();
  return invalid(
      text(argument, address == 0 ? " is null" : text(" is no multiple of ", alignment),
           ": pass the address of a ", alignment == alignof(float) ? "float" : "complex number",
           " in the device's memory"),
      argument);
}

Status check_scalar_outside(const Scalar& scalar, const char* argument, const Operand& output) {
  if (!scalar.is_on_device()) return Status::success();
  const std::int64_t bytes = output.element_bytes;
  const Footprint place{reinterpret_cast<std::uintptr_t>(scalar.address()), 1, bytes, bytes};
  if (!any_shares_byte({place}, footprints(output))) return Status::success();
  return invalid(
      text(argument, " at ", static_cast<const void*>(scalar.address()), " is an element of ",
           output.description(), " at ", static_cast<const void*>(output.view.data), " with ",
           output.steps(), ": keep it elsewhere"),
      argument);
}

Status check_pointers(const void* pointers, std::int64_t entries, const char* argument) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointers);
  if (address != 0 && address % alignof(void*) == 0) return Status::success();
  return invalid(text(argument, address == 0 ? " is null" : " is no multiple of 8",
                      ": pass an array of ", entries, " pointers in the device's memory"),
                 argument);
}

}  // namespace kw::detail
