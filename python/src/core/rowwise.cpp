// Row-wise operations: an array becomes matrices whose rows lie along one of its dimensions, each
// of which is one call.
#include "core/rowwise.hpp"

#include <array>

#include "core/error.hpp"
#include "core/reduction.hpp"

namespace kw::python {

namespace {

constexpr int row_arrays = 3;

struct RowMatrices {
  std::int64_t cols = 0, rows = 1, times = 1;
  // Of x, y and the residual: elements from one of a row to the next, from row to row, and from
  // matrix to matrix.
  std::array<std::int64_t, row_arrays> step{}, ld{}, apart{};
};

// Dimensions beside the axis, neighbours put together where one stride serves both in every array.
bool find_row_matrices(const RowwiseOf& call, RowMatrices* found) {
  const std::array<const Strided*, row_arrays> arrays = {&call.x, &call.y, &call.residual};
  const int used = call.residual.data != nullptr ? row_arrays : row_arrays - 1;
  std::array<Strided, row_arrays> kept;
  for (int i = 0; i < call.x.dimensions; ++i) {
    const std::int64_t size = call.x.size[i];
    if (i == call.axis) {
      found->cols = size;
      for (int a = 0; a < used; ++a) {
        const std::int64_t stride = arrays[a]->stride[i];
        found->step[a] = size > 1 ? stride : 1;
        if (found->step[a] < 1 || (a == 2 && found->step[a] != 1)) return false;
      }
      continue;
    }
    if (size == 1) continue;
    const int last = kept[0].dimensions - 1;
    bool joins = last >= 0;
    for (int a = 0; a < used && joins; ++a)
      joins = kept[a].stride[last] == arrays[a]->stride[i] * size;
    for (int a = 0; a < used; ++a) {
      if (joins) {
        kept[a].size[last] *= size;
        kept[a].stride[last] = arrays[a]->stride[i];
      } else {
        kept[a].append(size, arrays[a]->stride[i]);
      }
      if (arrays[a]->stride[i] < 0 || (a == 1 && arrays[a]->stride[i] == 0)) return false;
    }
  }
  const int dimensions = kept[0].dimensions;
  if (dimensions > 2) return false;
  if (dimensions > 0) found->rows = kept[0].size[dimensions - 1];
  if (dimensions > 1) found->times = kept[0].size[0];
  for (int a = 0; a < used; ++a) {
    found->ld[a] = dimensions > 0 ? kept[a].stride[dimensions - 1] : found->cols * found->step[a];
    found->apart[a] = dimensions > 1 ? kept[a].stride[0] : 0;
  }
  return true;
}

}  // namespace

bool is_walkable(const RowwiseOf& call) {
  RowMatrices matrices;
  return call.x.elements() == 0 || find_row_matrices(call, &matrices);
}

void rowwise(Context& context, const RowwiseOf& call) {
  if (call.x.elements() == 0) return;
  RowMatrices m;
  if (!find_row_matrices(call, &m)) refuse("a's elements lie at strides that no call can walk");
  const auto bytes = static_cast<std::int64_t>(bytes_of(call.type));
  for (std::int64_t i = 0; i < m.times; ++i) {
    const auto at = [&](const Strided& array, int a) {
      char* const data = static_cast<char*>(array.data);
      return data == nullptr ? nullptr : data + i * m.apart[a] * bytes;
    };
    kwRowwiseOptions options = {};
    options.gamma = call.gamma;
    options.beta = call.beta;
    options.bias = call.bias;
    options.epsilon = call.epsilon;
    options.residual = at(call.residual, 2);
    options.ld_residual = m.ld[2];
    options.step_x = m.step[0];
    options.step_y = m.step[1];
    context.check(kwRowwise(context.handle, call.op, call.type, m.rows, m.cols, at(call.x, 0),
                            m.ld[0], at(call.y, 1), m.ld[1], &options));
  }
}

}  // namespace kw::python
