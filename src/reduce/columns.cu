// reduce_columns: the launches of columns.hpp and low_columns.hpp.
#include "reduce/columns/columns.hpp"

#include <algorithm>

#include "reduce/columns/low_columns.hpp"
#include "reduce/dispatch.hpp"
#include "reduce/gpu_kernels.hpp"

namespace KW_TARGET {
namespace {

struct MakePlan {
  const Reduce& p;
  int sm_count;
  bool off_boundary;

  template <ReduceKind kind, class T>
  ColumnPlan operator()() const {
    using A = Accumulator<kind, T>;
    constexpr int width = column_width<A, T>;
    const ColumnElement element = {width,
                                   width * static_cast<int>(sizeof(T)),
                                   column_blocks_per_sm<kind, T>,
                                   sizeof(ColumnPlace<A>),
                                   sizeof(typename A::Total),
                                   off_boundary};
    return plan_columns(p, element, sm_count);
  }
};

// Before there is a pointer: the most of both cases.
struct WorkspaceBytes {
  const Reduce& p;
  int sm_count;

  template <ReduceKind kind, class T>
  std::size_t operator()() const {
    std::int64_t totals = 0;
    if (p.cols == 0 || are_low_columns(p, sm_count)) return 0;
    for (const bool off_boundary : {false, true}) {
      const ColumnPlan plan = MakePlan{p, sm_count, off_boundary}.template operator()<kind, T>();
      totals = std::max(totals, plan.waiting_totals());
    }
    return static_cast<std::size_t>(totals) * sizeof(typename Accumulator<kind, T>::Total);
  }
};

struct LaunchColumns {
  const Reduce& p;
  const Device& device;
  Workspace workspace;
  Stream stream;

  template <ReduceKind kind, class T>
  Status operator()() const {
    using Total = typename Accumulator<kind, T>::Total;
    if (p.cols == 0) return Status::success();
    if (are_low_columns(p, device.sm_count)) return launch_low<kind, T>();
    constexpr int width = column_width<Accumulator<kind, T>, T>;
    const bool off_boundary =
        reinterpret_cast<std::uintptr_t>(p.data) % (width * sizeof(T)) != 0 || p.ld % width != 0;
    const ColumnPlan plan =
        MakePlan{p, device.sm_count, off_boundary}.template operator()<kind, T>();
    const auto blocks = static_cast<unsigned>(plan.strips * plan.blocks);
    const auto threads = static_cast<unsigned>(plan.threads);
    return gpu::launch(reduce_columns_kernel<kind, T>,
                       {dim3(blocks), dim3(threads), plan.shared_bytes, stream, true},
                       static_cast<const T*>(p.data), plan, static_cast<Total*>(workspace.data),
                       workspace.tickets, {p.op, p.out, p.correction});
  }

  template <ReduceKind kind, class T>
  Status launch_low() const {
    if (p.rows > column_chunk_rows) {
      return gpu::launch(
          reduce_low_chunks_kernel<kind, T>,
          {dim3(static_cast<unsigned>(ceil_div(p.cols, std::int64_t{low_chunk_threads}))),
           dim3(low_chunk_threads), 0, stream, true},
          static_cast<const T*>(p.data), LowMatrix{p.cols, p.ld, static_cast<int>(p.rows), 1},
          {p.op, p.out, p.correction});
    }
    if (p.rows == 1) return launch_lanes<kind, T, 1>();
    if (p.rows <= 4) return launch_lanes<kind, T, 4>();
    return launch_lanes<kind, T, column_lanes>();
  }

  template <ReduceKind kind, class T, int lanes>
  Status launch_lanes() const {
    const std::int64_t few = std::int64_t{device.sm_count} * low_threads;
    const auto each =
        static_cast<int>(std::clamp<std::int64_t>(p.cols / few, 1, low_columns_each(lanes)));
    const auto blocks = static_cast<unsigned>(ceil_div(p.cols, std::int64_t{each} * low_threads));
    return gpu::launch(
        reduce_low_columns_kernel<kind, T, lanes>,
        {dim3(blocks), dim3(low_threads), 0, stream, true}, static_cast<const T*>(p.data),
        LowMatrix{p.cols, p.ld, static_cast<int>(p.rows), each}, {p.op, p.out, p.correction});
  }
};

}  // namespace

Status reduce_columns(const Reduce& problem, const Device& device, Workspace workspace,
                      Stream stream) {
  return dispatch(problem.op, problem.type, LaunchColumns{problem, device, workspace, stream});
}
std::size_t reduce_columns_workspace(const Reduce& problem, const Device& device) {
  return dispatch(problem.op, problem.type, WorkspaceBytes{problem, device.sm_count});
}

}  // namespace KW_TARGET
