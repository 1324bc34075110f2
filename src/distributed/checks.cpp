// Every rank's arguments: by themselves, beside rank 0's, and beside the part that the rank has.
#include "distributed/checks.hpp"

#include <cstring>
#include <string>

#include "api/check.hpp"
#include "api/check_sgemm.hpp"
#include "text.hpp"

namespace kw::distributed {

namespace {

using detail::DistributedCall;
using detail::invalid;

Status check_distribution(const Distribution& d, const Grid& grid, const std::string& name) {
  const auto wrong = [&](const char* field, std::int64_t value, const std::string& range) {
    return invalid(text(name, ".whole.", field, " is ", value, ": pass ", range),
                   text(name, ".whole.", field));
  };
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (d.rows < 0 || d.rows > most) return wrong("rows", d.rows, "0 to 2^40");
  if (d.cols < 0 || d.cols > most) return wrong("cols", d.cols, "0 to 2^40");
  if (d.block_rows < 1 || d.block_rows > most) {
    return wrong("block_rows", d.block_rows, "1 to 2^40");
  }
  if (d.block_cols < 1 || d.block_cols > most) {
    return wrong("block_cols", d.block_cols, "1 to 2^40");
  }
  if (d.first_row < 0 || d.first_row >= grid.p) {
    return wrong("first_row", d.first_row,
                 text("0 to ", grid.p - 1, " in a grid of ", grid.p, " x ", grid.q));
  }
  if (d.first_col < 0 || d.first_col >= grid.q) {
    return wrong("first_col", d.first_col,
                 text("0 to ", grid.q - 1, " in a grid of ", grid.p, " x ", grid.q));
  }
  return Status::success();
}

template <class T>
MatrixView<const float> local_view(const DistributedMatrix<T>& matrix, const Grid& grid, int rank) {
  return {matrix.data,
          local_rows(matrix.whole, grid, rank),
          local_cols(matrix.whole, grid, rank),
          matrix.ld,
          matrix.layout,
          matrix.op};
}

struct Extent {
  const char* what;
  std::int64_t value;
};

Status check_equal(const Extent& left, const Extent& right, const char* argument) {
  if (left.value == right.value) return Status::success();
  return invalid(text(left.what, " is ", left.value, ", but ", right.what, " is ", right.value,
                      ": make the two equal"),
                 argument);
}

Status check_shapes(const DistributedCall& call) {
  const auto rows = [](const Distribution& d, Op op) { return op == Op::none ? d.rows : d.cols; };
  const auto cols = [](const Distribution& d, Op op) { return op == Op::none ? d.cols : d.rows; };
  const Distribution &a = call.a.whole, &b = call.b.whole, &c = call.c.whole;
  Status status = check_equal({"the number of columns of op(A)", cols(a, call.a.op)},
                              {"that of rows of op(B)", rows(b, call.b.op)}, "b");
  if (status.ok()) {
    status = check_equal({"the number of rows of op(A)", rows(a, call.a.op)},
                         {"that of rows of C", c.rows}, "c");
  }
  if (status.ok()) {
    status = check_equal({"the number of columns of op(B)", cols(b, call.b.op)},
                         {"that of columns of C", c.cols}, "c");
  }
  return status;
}

Status check_parts(const Grid& grid, const DistributedCall& call, int rank) {
  const detail::Operand a{'a', local_view(call.a, grid, rank)};
  const detail::Operand b{'b', local_view(call.b, grid, rank)};
  const detail::Operand c{'c', local_view(call.c, grid, rank)};
  for (const detail::Operand* operand : {&a, &b, &c}) {
    Status status = detail::check_view(*operand);
    if (!status.ok()) return status;
  }
  Status status = detail::check_not_transposed(c);
  if (status.ok()) status = check_shapes(call);
  if (status.ok()) status = detail::check_data(c);
  if (!status.ok() || call.alpha == 0) return status;
  for (const detail::Operand* input : {&a, &b}) {
    status = detail::check_data(*input);
    if (status.ok()) status = detail::check_no_shared_element(c, *input);
    if (!status.ok()) return status;
  }
  return status;
}

template <class T>
Status check_same(T own, T other, const char* argument) {
  if (own == other || (own != own && other != other)) return Status::success();
  return invalid(text(argument, " is ", own, ", but that of rank 0 is ", other,
                      ": pass the same on all ranks"),
                 argument);
}

template <class T>
Status check_same_matrix(const DistributedMatrix<T>& own, const DistributedMatrix<T>& other,
                         const std::string& name) {
  struct Field {
    const char* name;
    std::int64_t own, other;
  };
  const Distribution &x = own.whole, &y = other.whole;
  for (const Field& field :
       {Field{".whole.rows", x.rows, y.rows}, Field{".whole.cols", x.cols, y.cols},
        Field{".whole.block_rows", x.block_rows, y.block_rows},
        Field{".whole.block_cols", x.block_cols, y.block_cols},
        Field{".whole.first_row", x.first_row, y.first_row},
        Field{".whole.first_col", x.first_col, y.first_col},
        Field{".layout", static_cast<int>(own.layout), static_cast<int>(other.layout)},
        Field{".op", static_cast<int>(own.op), static_cast<int>(other.op)}}) {
    Status status = check_same(field.own, field.other, (name + field.name).c_str());
    if (!status.ok()) return status;
  }
  return Status::success();
}

Status check_agreement(const DistributedCall& own, const DistributedCall& other) {
  Status status = check_same_matrix(own.a, other.a, "a");
  if (status.ok()) status = check_same_matrix(own.b, other.b, "b");
  if (status.ok()) status = check_same_matrix(own.c, other.c, "c");
  if (status.ok()) status = check_same(own.alpha, other.alpha, "alpha");
  if (status.ok()) status = check_same(own.beta, other.beta, "beta");
  if (status.ok()) {
    status = check_same(static_cast<int>(own.options.math), static_cast<int>(other.options.math),
                        "options.math");
  }
  if (status.ok()) {
    status = check_same(own.options.panel_k, other.options.panel_k, "options.panel_k");
  }
  return status;
}

}  // namespace

Status check_numbers(const Grid& grid, const DistributedCall& call) {
  Status status = detail::check_math(call.options.math, "options.math");
  if (status.ok()) status = check_distribution(call.a.whole, grid, "a");
  if (status.ok()) status = check_distribution(call.b.whole, grid, "b");
  if (status.ok()) status = check_distribution(call.c.whole, grid, "c");
  if (status.ok() && call.options.panel_k < 0) {
    status = invalid(text("options.panel_k is ", call.options.panel_k, ": pass 0 or more"),
                     "options.panel_k");
  }
  return status;
}

Status check_calls(const Grid& grid, const std::vector<detail::CallMessage>& calls) {
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    const int number = static_cast<int>(rank);
    const DistributedCall& own = calls[rank].call;
    Status status = check_numbers(grid, own);
    if (status.ok()) status = check_agreement(own, calls[0].call);
    if (status.ok()) status = check_parts(grid, own, number);
    if (status.ok()) continue;
    return Status::failure(status.code, text("rank ", number, ": ", status.message),
                           status.argument);
  }
  return Status::success();
}

}  // namespace kw::distributed
