// The checks that a reduction makes of its arguments before anything is written.
#include "api/check_reduce.hpp"

#include <limits>
#include <string>

#include "api/check.hpp"
#include "api/overlap.hpp"
#include "reduce/problem.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

constexpr std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max();

// Enumerators count from 0 to `last`.
template <class Enumerator>
Status check_enumerator(Enumerator value, Enumerator last, const char* argument) {
  const int number = static_cast<int>(value);
  if (number >= 0 && number <= static_cast<int>(last)) return Status::success();
  return invalid(text(argument, " is ", number, ": pass 0 (", to_string(Enumerator{}), ") to ",
                      static_cast<int>(last), " (", to_string(last), ")"),
                 argument);
}

bool is_matrix(const ReduceView& view) {
  return view.shape == ReduceShape::rows || view.shape == ReduceShape::columns;
}

// What ld separates, as Operand has it.
std::int64_t lines(const ReduceView& view) {
  if (!is_matrix(view)) return 1;
  return view.layout == Layout::row_major ? view.rows : view.cols;
}
std::int64_t width(const ReduceView& view) {
  return is_matrix(view) && view.layout == Layout::col_major ? view.rows : view.cols;
}
bool empty(const ReduceView& view) { return lines(view) == 0 || width(view) == 0; }

std::int64_t element_bytes(DataType type) { return static_cast<std::int64_t>(size_of(type)); }

// "the matrix (row-major, 4 x 5 of float32)", "the array (20 of int8)"
std::string description(const ReduceView& view) {
  const char* type = to_string(view.type);
  if (!is_matrix(view)) return text("the array (", view.cols, " of ", type, ")");
  return text("the matrix (", view.layout == Layout::row_major ? "row-major, " : "column-major, ",
              view.rows, " x ", view.cols, " of ", type, ")");
}

// Bytes from the first element to the end of the last; false where 64 bits do not hold them.
bool span_bytes(const ReduceView& view, std::int64_t* bytes) {
  *bytes = 0;
  if (empty(view)) return true;
  return !__builtin_mul_overflow(lines(view) - 1, is_matrix(view) ? view.ld : 0, bytes) &&
         !__builtin_add_overflow(*bytes, width(view), bytes) &&
         !__builtin_mul_overflow(*bytes, element_bytes(view.type), bytes);
}

Status check_sizes(const ReduceView& view) {
  if (is_matrix(view)) {
    Status status = check_size(view.rows, "rows");
    return status.ok() ? check_size(view.cols, "cols") : status;
  }
  if (view.rows != 1) {
    return invalid(text("rows is ", view.rows, ", but ", to_string(view.shape),
                        " reduces one array: pass 1, and the elements' number as cols"),
                   "rows");
  }
  Status status = check_size(view.cols, "count");
  if (!status.ok() || view.shape == ReduceShape::whole) return status;
  return check_size(view.segments, "segments");
}

Status check_ld(const ReduceView& view) {
  if (!is_matrix(view) || view.ld >= width(view)) return Status::success();
  const char* across = view.layout == Layout::row_major ? " columns of " : " rows of ";
  return invalid(text("ld is ", view.ld, ", smaller than the ", width(view), across,
                      description(view), ": pass ld >= ", width(view)),
                 "ld");
}

Status check_span(const ReduceView& view) {
  std::int64_t bytes = 0;
  if (!span_bytes(view, &bytes)) {
    return invalid(text(description(view), is_matrix(view) ? text(" with ld ", view.ld) : "",
                        " spans more than the ", max_bytes,
                        " bytes that an offset can count: pass smaller sizes"),
                   is_matrix(view) ? "ld" : "count");
  }
  if (view.shape == ReduceShape::segments && view.segments > max_bytes / 8 - 1) {
    return invalid(text("segments is ", view.segments, ", whose offsets take more than the ",
                        max_bytes, " bytes that an offset can count: pass fewer"),
                   "segments");
  }
  return Status::success();
}

struct Sequences {
  std::int64_t count;
  const char* argument;
};

Sequences sequences(const ReduceView& view) {
  switch (view.shape) {
    case ReduceShape::whole: break;
    case ReduceShape::rows: return {view.rows, "rows"};
    case ReduceShape::columns: return {view.cols, "cols"};
    case ReduceShape::segments: return {view.segments, "segments"};
  }
  return {1, "count"};
}

Status count_results(const ReduceCall& call, std::int64_t* results) {
  const Sequences all = sequences(call.view);
  const std::int64_t each = call.op == ReduceOp::min_max ? 2 : 1;
  const std::int64_t bytes = element_bytes(result_type(call.op, call.view.type));
  if (all.count <= max_bytes / bytes / each) {
    *results = each * all.count;
    return Status::success();
  }
  return invalid(text(all.argument, " is ", all.count, ", whose results take more than the ",
                      max_bytes, " bytes that an offset can count: pass fewer"),
                 all.argument);
}

Status check_output_type(const ReduceCall& call, std::int64_t results) {
  const DataType wanted = result_type(call.op, call.view.type);
  if (call.out.type != wanted) {
    Status status = check_enumerator(call.out.type, DataType::int64, "out.type");
    if (!status.ok()) return status;
    return invalid(text("out has type ", to_string(call.out.type), ", but ", to_string(call.op),
                        " of ", to_string(call.view.type), " gives ", to_string(wanted),
                        ": pass an array of ", to_string(wanted)),
                   "out.type");
  }
  if (call.out.count == results) return Status::success();
  return invalid(
      text("out has ", call.out.count, " elements, but ", to_string(call.op), " of ",
           sequences(call.view).count, " sequence", sequences(call.view).count == 1 ? "" : "s",
           " writes ", results, ": pass an array of ", results),
      "out.count");
}

// Memory that the call reads or writes: `bytes` of it, of elements that begin at multiples of
// `alignment`.
struct Memory {
  const void* data;
  std::int64_t bytes;
  std::int64_t alignment;
  const char* argument;
  std::string content;  // "the matrix (...)"
};

Status check_memory(const Memory& memory) {
  if (memory.bytes == 0) return Status::success();
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data);
  if (address == 0) {
    return invalid(text(memory.argument, " is null: pass the address of ", memory.content),
                   memory.argument);
  }
  const auto past = address % static_cast<std::uintptr_t>(memory.alignment);
  if (past != 0) {
    return invalid(
        text(memory.argument, " lies ", past, " bytes past a multiple of ", memory.alignment,
             ": align it to its elements, ", memory.alignment, " bytes each"),
        memory.argument);
  }
  if (static_cast<std::uintptr_t>(memory.bytes) >
      std::numeric_limits<std::uintptr_t>::max() - address) {
    return invalid(
        text(memory.content, " from address ", address, " on passes the end of the address space (",
             std::numeric_limits<std::uintptr_t>::max(), "): pass the real sizes"),
        memory.argument);
  }
  return Status::success();
}

Footprint footprint(const Memory& memory) {
  const bool none = memory.bytes == 0;
  return {reinterpret_cast<std::uintptr_t>(memory.data), none ? 0 : 1, memory.bytes, memory.bytes};
}

Footprint footprint(const ReduceView& view) {
  if (empty(view)) return {};
  const std::int64_t size = element_bytes(view.type);
  const std::int64_t run = width(view) * size;
  return {reinterpret_cast<std::uintptr_t>(view.data), lines(view), run,
          lines(view) == 1 ? run : view.ld * size};
}

Status check_apart(const Memory& out, const Footprint& input, const Memory& read) {
  if (!shares_byte(footprint(out), input)) return Status::success();
  return invalid(text("out (", out.content, ", ", out.bytes, " bytes at ", out.data, ") overlaps ",
                      read.argument, " (", read.content, " at ", read.data,
                      "): write the results to memory of their own"),
                 "out");
}

Status check_reduce_pointers(const ReduceCall& call, std::int64_t results) {
  const ReduceView& view = call.view;
  Memory data{view.data, 0, element_bytes(view.type), "data", description(view)};
  (void)span_bytes(view, &data.bytes);  // known to fit: check_span
  const std::int64_t result_bytes = element_bytes(result_type(call.op, view.type));
  const Memory out{call.out.data, results * result_bytes, result_bytes, "out",
                   text(results, " result", results == 1 ? "" : "s")};
  Memory offsets{view.offsets, 0, 8, "offsets", ""};
  if (view.shape == ReduceShape::segments && view.segments > 0) {
    offsets.bytes = (view.segments + 1) * 8;
    offsets.content = text(view.segments + 1, " offsets");
  }
  for (const Memory& memory : {data, offsets, out}) {
    Status status = check_memory(memory);
    if (!status.ok()) return status;
  }
  Status status = check_apart(out, footprint(view), data);
  return status.ok() ? check_apart(out, footprint(offsets), offsets) : status;
}

}  // namespace

Status check_reduce_types(ReduceOp op, DataType type) {
  Status status = check_enumerator(op, ReduceOp::min_max, "op");
  return status.ok() ? check_enumerator(type, DataType::int64, "type") : status;
}

Status check_determinism(Determinism determinism) {
  if (determinism == Determinism::run_to_run || determinism == Determinism::any_device) {
    return Status::success();
  }
  return invalid(text("determinism is ", static_cast<int>(determinism),
                      ": pass 0 (run to run) or 1 (any device)"),
                 "determinism");
}

Status check_reduce_shape(const ReduceCall& call, std::int64_t* results) {
  *results = 0;
  const ReduceView& view = call.view;
  Status status = check_reduce_types(call.op, view.type);
  if (status.ok()) status = check_enumerator(view.shape, ReduceShape::segments, "shape");
  if (status.ok()) status = check_layout(static_cast<int>(view.layout), "layout");
  if (status.ok()) status = check_determinism(call.options.determinism);
  if (status.ok()) status = check_size(call.options.correction, "correction");
  if (status.ok()) status = check_sizes(view);
  if (status.ok()) status = check_ld(view);
  if (status.ok()) status = check_span(view);
  if (status.ok()) status = count_results(call, results);
  return status;
}

Status check_reduce(const ReduceCall& call) {
  std::int64_t results = 0;
  Status status = check_reduce_shape(call, &results);
  if (status.ok()) status = check_output_type(call, results);
  if (!status.ok() || results == 0) return status;
  return check_reduce_pointers(call, results);
}

}  // namespace kw::detail
