// The checks that a row-wise operation makes of its arguments before anything is written.
#include "api/check_rowwise.hpp"

#include <array>
#include <limits>
#include <string>

#include "api/check.hpp"
#include "api/overlap.hpp"
#include "rowwise/problem.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

constexpr std::int64_t largest_offset = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();

template <class Enumerator>
Status check_row_enumerator(Enumerator value, Enumerator last, const char* argument) {
  const int number = static_cast<int>(value);
  if (number >= 0 && number <= static_cast<int>(last)) return Status::success();
  return invalid(text(argument, " is ", number, ": pass 0 (", to_string(Enumerator{}), ") to ",
                      static_cast<int>(last), " (", to_string(last), ")"),
                 argument);
}

Status check_row_types(const RowwiseCall& call) {
  const auto is_taken = [](DataType type) {
    return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
  };
  if (!is_taken(call.x.type)) {
    return invalid(text("x.type is ", static_cast<int>(call.x.type),
                        ": pass 0 (float32), 2 (float16) or 3 (bfloat16)"),
                   "x.type");
  }
  if (call.y.type == call.x.type) return Status::success();
  return invalid(
      text("y.type is ", static_cast<int>(call.y.type), ", but x.type is ",
           static_cast<int>(call.x.type), " (", to_string(call.x.type), "): give both the same"),
      "y.type");
}

Status check_row_sizes(const RowwiseCall& call) {
  const struct {
    std::int64_t size;
    const char* argument;
  } sizes[] = {{call.x.rows, "x.rows"},
               {call.x.cols, "x.cols"},
               {call.y.rows, "y.rows"},
               {call.y.cols, "y.cols"},
               {call.options.residual_rows, "options.residual_rows"}};
  for (const auto& each : sizes) {
    Status status = check_size(each.size, each.argument);
    if (!status.ok()) return status;
  }
  if (call.x.cols > most_columns) {
    return invalid(text("x.cols is ", call.x.cols, ": a row has at most ", most_columns,
                        " elements; pass shorter rows"),
                   "x.cols");
  }
  if (call.y.cols != call.x.cols) {
    return invalid(
        text("y has ", call.y.cols, " columns, but x has ", call.x.cols, ": make the two equal"),
        "y.cols");
  }
  if (call.options.index != nullptr || call.y.rows == call.x.rows) return Status::success();
  return invalid(text("y has ", call.y.rows, " rows, but x has ", call.x.rows,
                      ": make the two equal, or pass an index of as many rows as y has"),
                 "y.rows");
}

// Bytes from the first element to the end of the last one.
bool span_of(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t step,
             DataType type, std::int64_t* bytes) {
  *bytes = 0;
  if (rows == 0 || cols == 0) return true;
  std::int64_t along = 0;
  return !__builtin_mul_overflow(rows - 1, ld, bytes) &&
         !__builtin_mul_overflow(cols - 1, step, &along) &&
         !__builtin_add_overflow(*bytes, along, bytes) &&
         !__builtin_add_overflow(*bytes, std::int64_t{1}, bytes) &&
         !__builtin_mul_overflow(*bytes, static_cast<std::int64_t>(size_of(type)), bytes);
}

// An array of a call: a matrix, a vector (ld 0, one row) or indices.
struct RowArray {
  const void* data;
  const char* argument;
  std::int64_t rows, cols, ld, step;
  DataType type;

  std::int64_t bytes() const {
    std::int64_t found = 0;
    return span_of(rows, cols, ld, step, type, &found) ? found : -1;
  }
};

std::array<RowArray, 9> arrays_of(const RowwiseCall& call) {
  const RowwiseOptions& o = call.options;
  const DataType type = call.x.type;
  const std::int64_t rows = call.y.rows, cols = call.y.cols;
  const auto vector = [&](const void* data, const char* argument) {
    return RowArray{data, argument, data != nullptr ? 1 : 0, cols, 0, 1, type};
  };
  const auto indices = [&](const void* data, const char* argument) {
    return RowArray{data, argument, data != nullptr ? 1 : 0, rows, 0, 1, DataType::int64};
  };
  return {{{call.y.data, "y", rows, cols, call.y.ld, call.y.step, type},
           {o.sum, "options.sum", o.sum != nullptr ? rows : 0, cols, o.ld_sum, 1, type},
           {call.x.data, "x", call.x.rows, cols, call.x.ld, call.x.step, type},
           {o.residual, "options.residual", o.residual != nullptr ? o.residual_rows : 0, cols,
            o.ld_residual, 1, type},
           vector(o.gamma, "options.gamma"),
           vector(o.beta, "options.beta"),
           vector(o.bias, "options.bias"),
           indices(o.index, "options.index"),
           indices(o.residual_index, "options.residual_index")}};
}
constexpr std::size_t outputs = 2;  // the first ones

Status check_row_steps(const RowwiseCall& call) {
  const auto refuse = [](std::int64_t value, const char* argument, const std::string& least) {
    return invalid(text(argument, " is ", value, ": pass ", least), argument);
  };
  if (call.x.ld < 0) return refuse(call.x.ld, "x.ld", "0 or more");
  if (call.x.step < 1) return refuse(call.x.step, "x.step", "1 or more");
  if (call.y.ld < 0) return refuse(call.y.ld, "y.ld", "0 or more");
  if (call.y.step < 1) return refuse(call.y.step, "y.step", "1 or more");
  const std::int64_t cols = call.y.cols, rows = call.y.rows;
  const auto exceeds = [](std::int64_t count, std::int64_t each, std::int64_t other) {
    std::int64_t span = 0;
    return count > 0 && (__builtin_mul_overflow(count - 1, each, &span) || span >= other);
  };
  // Rows behind each other, or elements of all rows behind each other.
  if (rows > 1 && cols > 0 && exceeds(cols, call.y.step, call.y.ld) &&
      (call.y.ld == 0 || exceeds(rows, call.y.ld, call.y.step))) {
    return invalid(text("y.ld is ", call.y.ld, " and y.step is ", call.y.step, ", so that of ",
                        rows, " x ", cols, " elements some are the same: pass y.ld > ",
                        "(columns - 1) * y.step, or y.step > (rows - 1) * y.ld"),
                   "y.ld");
  }
  const RowwiseOptions& o = call.options;
  if (o.residual != nullptr && o.ld_residual < cols)
    return refuse(o.ld_residual, "options.ld_residual", text(cols, " (a row) or more"));
  if (o.sum != nullptr && o.ld_sum < cols)
    return refuse(o.ld_sum, "options.ld_sum", text(cols, " (a row) or more"));
  return Status::success();
}

Status check_row_options(const RowwiseCall& call) {
  const RowwiseOptions& o = call.options;
  Status status = check_row_enumerator(o.activation, RowActivation::silu, "options.activation");
  if (!status.ok()) return status;
  const auto belongs = [&](bool is_given, bool is_its, const char* argument, const char* to) {
    if (!is_given || is_its) return Status::success();
    return invalid(text(argument, " is of ", to, ", not of ", to_string(call.op), ": leave it out"),
                   argument);
  };
  const bool norm = is_norm(call.op);
  status = belongs(o.gamma != nullptr, norm, "options.gamma", "norms");
  if (status.ok()) status = belongs(o.beta != nullptr, norm, "options.beta", "norms");
  if (status.ok()) {
    status = belongs(o.activation != RowActivation::none, call.op == RowwiseOp::map,
                     "options.activation", "map");
  }
  if (status.ok()) {
    status = belongs(o.residual_index != nullptr, o.residual != nullptr, "options.residual_index",
                     "a residual");
  }
  if (!status.ok() || !norm || o.epsilon >= 0) return status;
  return invalid(text("options.epsilon is ", o.epsilon, ": pass 0 or more"), "options.epsilon");
}

Status check_row_residual(const RowwiseCall& call) {
  const RowwiseOptions& o = call.options;
  if (o.residual == nullptr || o.residual_rows > 0 || call.y.rows == 0) return Status::success();
  return invalid("options.residual_rows is 0: pass the residual's rows", "options.residual_rows");
}

Status check_row_pointers(const RowwiseCall& call) {
  for (const RowArray& array : arrays_of(call)) {
    const std::int64_t bytes = array.bytes();
    if (bytes == 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(array.data);
    if (address == 0) {
      return invalid(text(array.argument, " is null: pass the address of ", array.rows, " x ",
                          array.cols, " elements"),
                     array.argument);
    }
    const std::size_t size = size_of(array.type);
    if (address % size != 0) {
      return invalid(text(array.argument, " lies ", address % size, " bytes past a multiple of ",
                          size, ": align it to its elements, ", size, " bytes each"),
                     array.argument);
    }
    if (static_cast<std::uintptr_t>(bytes) > std::numeric_limits<std::uintptr_t>::max() - address) {
      return invalid(text(array.argument, " from address ", address,
                          " on passes the end of the address space: pass the real sizes"),
                     array.argument);
    }
  }
  return Status::success();
}

// Nothing where neither rows nor columns lie side by side.
Footprint row_footprint(const RowArray& a) {
  if (a.bytes() <= 0) return {};
  const auto size = static_cast<std::int64_t>(size_of(a.type));
  const auto address = reinterpret_cast<std::uintptr_t>(a.data);
  const auto lines = [&](std::int64_t count, std::int64_t width, std::int64_t apart) {
    if (count == 1 || apart < width) apart = width;
    return Footprint{address, count, width * size, apart * size};
  };
  if (a.step == 1) return lines(a.ld == 0 ? 1 : a.rows, a.cols, a.ld);
  if (a.ld == 1) return lines(a.cols, a.rows, a.step);
  return {};
}

// Element on element.
bool same_rows(const RowArray& a, const RowArray& b) {
  return a.data == b.data && a.rows == b.rows && (a.ld == b.ld || a.rows == 1) &&
         (a.step == b.step || a.cols == 1);
}

Status check_row_overlap(const RowwiseCall& call) {
  const auto arrays = arrays_of(call);
  for (std::size_t out = 0; out < outputs; ++out) {
    for (std::size_t other = out + 1; other < arrays.size(); ++other) {
      const RowArray& written = arrays[out];
      const RowArray& read = arrays[other];
      const bool is_x = other == outputs, is_residual = other == outputs + 1;
      const bool in_place =
          same_rows(written, read) && ((is_x && call.options.index == nullptr) ||
                                       (is_residual && call.options.residual_index == nullptr));
      if (in_place || !shares_byte(row_footprint(written), row_footprint(read))) continue;
      return invalid(
          text(written.argument, " (", written.rows, " x ", written.cols, " at ", written.data,
               ") overlaps ", read.argument, " (", read.rows, " x ", read.cols, " at ", read.data,
               "): let it be the very same rows, of x or of the residual, or lie apart"),
          written.argument);
    }
  }
  return Status::success();
}

}  // namespace

RowwiseCall with_defaults(const RowwiseCall& call) {
  RowwiseCall full = call;
  RowwiseOptions& o = full.options;
  if (o.ld_residual == 0) o.ld_residual = full.y.cols;
  if (o.ld_sum == 0) o.ld_sum = full.y.cols;
  if (o.residual_rows == 0) o.residual_rows = full.y.rows;
  return full;
}

Status check_rowwise_shape(const RowwiseCall& call) {
  Status status = check_row_enumerator(call.op, RowwiseOp::map, "op");
  if (status.ok()) status = check_row_types(call);
  if (status.ok()) status = check_row_sizes(call);
  if (status.ok()) status = check_row_options(call);
  if (status.ok()) status = check_row_steps(call);
  if (status.ok()) status = check_row_residual(call);
  if (!status.ok()) return status;
  for (const RowArray& array : arrays_of(call)) {
    if (array.bytes() >= 0) continue;
    return invalid(text(array.argument, ", ", array.rows, " x ", array.cols, " with ld ", array.ld,
                        " and step ", array.step, ", spans more than the ", largest_offset,
                        " bytes that an offset can count: pass smaller sizes"),
                   array.argument);
  }
  return status;
}

Status check_rowwise(const RowwiseCall& call) {
  Status status = check_rowwise_shape(call);
  if (!status.ok() || call.y.rows == 0 || call.y.cols == 0) return status;
  status = check_row_pointers(call);
  return status.ok() ? check_row_overlap(call) : status;
}

}  // namespace kw::detail
