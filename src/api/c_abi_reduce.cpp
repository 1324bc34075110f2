// The C interface: reductions.
#include "api/c_handle.hpp"
#include "api/calls.hpp"
#include "api/check_reduce.hpp"
#include "reduce/problem.hpp"

namespace {

using kw::DataType;
using kw::Determinism;
using kw::Layout;
using kw::ReduceOp;
using kw::ReduceShape;
using kw::ReduceView;
using kw::Status;
using kw::c_abi::error_without_handle;
using kw::c_abi::guarded;
using kw::c_abi::with_handle;
using kw::detail::invalid;
using kw::detail::ReduceCall;

static_assert(KW_REDUCE_SUM == static_cast<int>(ReduceOp::sum));
static_assert(KW_REDUCE_MEAN == static_cast<int>(ReduceOp::mean));
static_assert(KW_REDUCE_MIN == static_cast<int>(ReduceOp::min));
static_assert(KW_REDUCE_MAX == static_cast<int>(ReduceOp::max));
static_assert(KW_REDUCE_ARGMIN == static_cast<int>(ReduceOp::argmin));
static_assert(KW_REDUCE_ARGMAX == static_cast<int>(ReduceOp::argmax));
static_assert(KW_REDUCE_SUM_OF_SQUARES == static_cast<int>(ReduceOp::sum_of_squares));
static_assert(KW_REDUCE_L1_NORM == static_cast<int>(ReduceOp::l1_norm));
static_assert(KW_REDUCE_L2_NORM == static_cast<int>(ReduceOp::l2_norm));
static_assert(KW_REDUCE_MAX_NORM == static_cast<int>(ReduceOp::max_norm));
static_assert(KW_REDUCE_VARIANCE == static_cast<int>(ReduceOp::variance));
static_assert(KW_REDUCE_MIN_MAX == static_cast<int>(ReduceOp::min_max));
static_assert(KW_FLOAT32 == static_cast<int>(DataType::float32));
static_assert(KW_FLOAT64 == static_cast<int>(DataType::float64));
static_assert(KW_FLOAT16 == static_cast<int>(DataType::float16));
static_assert(KW_BFLOAT16 == static_cast<int>(DataType::bfloat16));
static_assert(KW_INT8 == static_cast<int>(DataType::int8));
static_assert(KW_INT32 == static_cast<int>(DataType::int32));
static_assert(KW_INT64 == static_cast<int>(DataType::int64));
static_assert(KW_DETERMINISM_RUN_TO_RUN == static_cast<int>(Determinism::run_to_run));
static_assert(KW_DETERMINISM_ANY_DEVICE == static_cast<int>(Determinism::any_device));

ReduceView array(kwDataType_t type, int64_t count, const void* data) {
  return {data,
          static_cast<DataType>(type),
          ReduceShape::whole,
          1,
          count,
          count,
          Layout::row_major,
          nullptr,
          0};
}

ReduceView matrix(ReduceShape shape, kwLayout_t layout, kwDataType_t type, int64_t rows,
                  int64_t cols, const void* data, int64_t ld) {
  return {data, static_cast<DataType>(type), shape,   rows, cols,
          ld,   static_cast<Layout>(layout), nullptr, 0};
}

ReduceView segments_view(kwDataType_t type, int64_t count, const void* data, int64_t segments,
                         const int64_t* offsets) {
  ReduceView view = array(type, count, data);
  view.shape = ReduceShape::segments;
  view.offsets = offsets;
  view.segments = segments;
  return view;
}

// `out` has the type and the number of elements that the call writes.
kwStatus_t reduce(kwHandle_t handle, kwReduceOp_t op, const ReduceView& view, void* out) {
  return with_handle(handle, [&](kwContext& context) {
    ReduceCall call{static_cast<ReduceOp>(op), view, {out, {}, 0}, context.reduce_options};
    Status status = kw::detail::check_reduce_shape(call, &call.out.count);
    if (!status.ok()) return status;
    call.out.type = kw::result_type(call.op, view.type);
    return kw::detail::reduce(*context.state, call);
  });
}

kwStatus_t workspace_bytes(kwHandle_t handle, kwReduceOp_t op, const ReduceView& view,
                           size_t* bytes) {
  return with_handle(handle, [&](kwContext& context) {
    if (bytes == nullptr) return invalid("bytes is null: pass the address of a size_t", "bytes");
    return kw::detail::reduce_workspace_bytes(
        *context.state, {static_cast<ReduceOp>(op), view, {}, context.reduce_options}, bytes);
  });
}

}  // namespace

kwStatus_t kwSetDeterminism(kwHandle_t handle, kwDeterminism_t determinism) {
  return with_handle(handle, [&](kwContext& context) {
    const auto wanted = static_cast<Determinism>(determinism);
    Status status = kw::detail::check_determinism(wanted);
    if (status.ok()) context.reduce_options.determinism = wanted;
    return status;
  });
}

kwStatus_t kwSetVarianceCorrection(kwHandle_t handle, int64_t correction) {
  return with_handle(handle, [&](kwContext& context) {
    Status status = kw::detail::check_size(correction, "correction");
    if (status.ok()) context.reduce_options.correction = correction;
    return status;
  });
}

kwStatus_t kwReduceArray(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type, int64_t count,
                         const void* data, void* out) {
  return reduce(handle, op, array(type, count, data), out);
}

kwStatus_t kwReduceRows(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op, kwDataType_t type,
                        int64_t rows, int64_t cols, const void* data, int64_t ld, void* out) {
  return reduce(handle, op, matrix(ReduceShape::rows, layout, type, rows, cols, data, ld), out);
}

kwStatus_t kwReduceColumns(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op, kwDataType_t type,
                           int64_t rows, int64_t cols, const void* data, int64_t ld, void* out) {
  return reduce(handle, op, matrix(ReduceShape::columns, layout, type, rows, cols, data, ld), out);
}

kwStatus_t kwReduceSegments(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type, int64_t count,
                            const void* data, int64_t segments, const int64_t* offsets, void* out) {
  return reduce(handle, op, segments_view(type, count, data, segments, offsets), out);
}

kwStatus_t kwReduceArrayWorkspaceBytes(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type,
                                       int64_t count, size_t* bytes) {
  return workspace_bytes(handle, op, array(type, count, nullptr), bytes);
}

kwStatus_t kwReduceRowsWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op,
                                      kwDataType_t type, int64_t rows, int64_t cols, int64_t ld,
                                      size_t* bytes) {
  const ReduceView view = matrix(ReduceShape::rows, layout, type, rows, cols, nullptr, ld);
  return workspace_bytes(handle, op, view, bytes);
}

kwStatus_t kwReduceColumnsWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op,
                                         kwDataType_t type, int64_t rows, int64_t cols, int64_t ld,
                                         size_t* bytes) {
  const ReduceView view = matrix(ReduceShape::columns, layout, type, rows, cols, nullptr, ld);
  return workspace_bytes(handle, op, view, bytes);
}

kwStatus_t kwReduceSegmentsWorkspaceBytes(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type,
                                          int64_t count, int64_t segments, size_t* bytes) {
  return workspace_bytes(handle, op, segments_view(type, count, nullptr, segments, nullptr), bytes);
}

kwStatus_t kwReduceResultType(kwReduceOp_t op, kwDataType_t type, kwDataType_t* result) {
  return guarded(error_without_handle, [&] {
    if (result == nullptr) {
      return invalid("result is null: pass the address of a kwDataType_t", "result");
    }
    const auto wanted = static_cast<ReduceOp>(op);
    const auto elements = static_cast<DataType>(type);
    Status status = kw::detail::check_reduce_types(wanted, elements);
    if (status.ok()) *result = static_cast<kwDataType_t>(kw::result_type(wanted, elements));
    return status;
  });
}
