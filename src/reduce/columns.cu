// reduce_columns: the launch of columns.hpp.
#include "reduce/columns.hpp"

#include "reduce/dispatch.hpp"
#include "reduce/gpu_kernels.hpp"

namespace KW_TARGET {
namespace {

struct LaunchColumns {
  const Reduce& p;
  Workspace workspace;
  Stream stream;

  template <ReduceKind kind, class T, int width>
  Status launch() const {
    using Total = typename Accumulator<kind, T>::Total;
    ColumnShape shape = {
        p.rows, p.cols, p.ld, column_chunk_rows(p.rows), column_chunk_count(p.rows), 0};
    shape.strips = ceil_div(p.cols, std::int64_t{warp_lanes} * width);
    const ResultSink sink = {p.op, p.out, p.correction};
    auto* totals = static_cast<Total*>(workspace.data);
    const auto blocks = static_cast<unsigned>(shape.strips * shape.chunks);
    Status status = gpu::launch(reduce_columns_kernel<kind, T, width>,
                                {dim3(blocks), dim3(order_threads), 0, stream},
                                static_cast<const T*>(p.data), shape, totals, sink);
    if (!status.ok() || shape.chunks == 1) return status;
    const auto merging = static_cast<unsigned>(ceil_div(p.cols, order_threads));
    return gpu::launch(merge_columns_kernel<kind, T>,
                       {dim3(merging), dim3(order_threads), 0, stream}, shape, totals, sink);
  }

  template <ReduceKind kind, class T>
  Status operator()() const {
    constexpr int width = order_width<T>;
    const bool wide = reinterpret_cast<std::uintptr_t>(p.data) % 16 == 0 && p.cols % width == 0 &&
                      p.ld % width == 0;
    return wide ? launch<kind, T, width>() : launch<kind, T, 1>();
  }
};

struct WorkspaceBytes {
  const Reduce& p;

  template <ReduceKind kind, class T>
  std::size_t operator()() const {
    const std::int64_t chunks = column_chunk_count(p.rows);
    return chunks > 1 ? static_cast<std::size_t>(p.cols * chunks) *
                            sizeof(typename Accumulator<kind, T>::Total)
                      : 0;
  }
};

}  // namespace

Status reduce_columns(const Reduce& problem, const Device&, Workspace workspace, Stream stream) {
  return dispatch(problem.op, problem.type, LaunchColumns{problem, workspace, stream});
}
std::size_t reduce_columns_workspace(const Reduce& problem, const Device&) {
  return dispatch(problem.op, problem.type, WorkspaceBytes{problem});
}

}  // namespace KW_TARGET
