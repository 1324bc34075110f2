// Reductions: an array becomes rows or columns of matrices, each of which is one call.
#include "core/reduction.hpp"

#include <array>

#include "core/error.hpp"

namespace kw::python {

namespace {

// `times` matrices, `step` elements apart: each sequence is a row (along == rows) or a column.
struct Walk {
  bool by_columns = false;
  std::int64_t sequences = 1, length = 0, ld = 1;
  std::int64_t times = 1, step = 0;
};

bool counts_places(kwReduceOp_t op) { return op == KW_REDUCE_ARGMIN || op == KW_REDUCE_ARGMAX; }

// The order of addends does not matter but for places, so an array that is dense in another order
// of its dimensions is one sequence, too.
bool is_dense_in_some_order(const Strided& array) {
  std::array<bool, most_dimensions> used{};
  std::int64_t step = 1;
  for (int found = 0; found < array.dimensions; ++found) {
    int next = -1;
    for (int i = 0; i < array.dimensions; ++i) {
      if (!used[i] && array.stride[i] == step) next = i;
    }
    if (next < 0) return false;
    used[next] = true;
    step *= array.size[next];
  }
  return true;
}

bool find_walk(const Reduction& reduction, Walk* walk) {
  Strided kept = coalesced(reduction.kept);
  Strided reduced = coalesced(reduction.reduced);
  walk->length = reduction.reduced.elements();
  const std::int64_t sequences = reduction.kept.elements();
  if (sequences == 0 || walk->length == 0) {
    walk->sequences = sequences;
    walk->ld = walk->length > 0 ? walk->length : 1;
    return true;
  }
  if (reduced.dimensions > 1 && !counts_places(reduction.op) && is_dense_in_some_order(reduced)) {
    reduced.dimensions = 1;
    reduced.size[0] = walk->length;
    reduced.stride[0] = 1;
  }
  if (reduced.dimensions > 1 || kept.dimensions > 2) return false;
  // One element a sequence: any stride will do.
  const std::int64_t along = reduced.dimensions == 0 ? 1 : reduced.stride[0];
  const bool is_row = reduced.dimensions == 0 || along == 1;
  const std::int64_t inner = kept.dimensions - 1;
  if (kept.dimensions == 2) {
    walk->times = kept.size[0];
    walk->step = kept.stride[0];
    if (walk->step < 0) return false;
  }
  walk->sequences = kept.dimensions == 0 ? 1 : kept.size[inner];
  const std::int64_t across = kept.dimensions == 0 ? walk->length : kept.stride[inner];
  if (is_row && across >= walk->length) {
    walk->ld = across;
    return true;
  }
  walk->by_columns = true;
  walk->ld = along;
  // Columns follow each other without gaps.
  return (kept.dimensions == 0 || across == 1) && along >= walk->sequences;
}

}  // namespace

std::size_t bytes_of(kwDataType_t type) {
  switch (type) {
    case KW_FLOAT64:
    case KW_INT64: return 8;
    case KW_FLOAT32:
    case KW_INT32: return 4;
    case KW_FLOAT16:
    case KW_BFLOAT16: return 2;
    default: return 1;
  }
}

std::int64_t results_each(kwReduceOp_t op) { return op == KW_REDUCE_MIN_MAX ? 2 : 1; }

bool is_walkable(const Reduction& reduction) {
  Walk walk;
  return find_walk(reduction, &walk);
}

void reduce(Context& context, const Reduction& reduction) {
  Walk walk;
  if (!find_walk(reduction, &walk)) refuse("a's elements lie at strides that no call can walk");
  if (walk.sequences == 0) return;
  kwDataType_t result = KW_FLOAT32;
  const kwStatus_t known = kwReduceResultType(reduction.op, reduction.type, &result);
  if (known != KW_STATUS_OK) throw Failure(known, kwLastErrorMessage(nullptr));
  if (reduction.op == KW_REDUCE_VARIANCE) {
    context.check(kwSetVarianceCorrection(context.handle, reduction.correction));
  }
  const auto* data = static_cast<const char*>(reduction.kept.data);
  auto* out = static_cast<char*>(reduction.out);
  const std::int64_t data_step = walk.step * static_cast<std::int64_t>(bytes_of(reduction.type));
  const std::int64_t out_step =
      walk.sequences * results_each(reduction.op) * static_cast<std::int64_t>(bytes_of(result));
  const kwHandle_t handle = context.handle;
  for (std::int64_t i = 0; i < walk.times; ++i, data += data_step, out += out_step) {
    if (walk.by_columns) {
      context.check(kwReduceColumns(handle, KW_ROW_MAJOR, reduction.op, reduction.type, walk.length,
                                    walk.sequences, data, walk.ld, out));
    } else if (walk.sequences == 1) {
      context.check(kwReduceArray(handle, reduction.op, reduction.type, walk.length, data, out));
    } else {
      context.check(kwReduceRows(handle, KW_ROW_MAJOR, reduction.op, reduction.type, walk.sequences,
                                 walk.length, data, walk.ld, out));
    }
  }
}

}  // namespace kw::python
