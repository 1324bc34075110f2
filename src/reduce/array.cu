// reduce_array: the launch of array.hpp, of an array or of its only segment.
#include "reduce/array.hpp"

#include <algorithm>

#include "reduce/dispatch.hpp"
#include "reduce/gpu_kernels.hpp"

namespace KW_TARGET {
namespace {

struct LaunchArray {
  const Reduce& problem;
  Workspace workspace;
  Stream stream;

  template <ReduceKind kind, class T>
  Status operator()() const {
    if (problem.shape == ReduceShape::segments) return segment<kind, T>();
    const auto chunks = static_cast<unsigned>(chunk_count<T>(problem.cols));
    return gpu::launch(
        reduce_array_kernel<kind, T>, {dim3(chunks), dim3(order_threads), 0, stream, true},
        static_cast<const T*>(problem.data), problem.cols, chunk_elements<T>(problem.cols),
        reinterpret_cast<Letter*>(workspace.tickets),
        {problem.op, problem.out, problem.correction});
  }
  template <ReduceKind kind, class T>
  Status segment() const {
    const Sequences own = {1, 0, 0, problem.offsets, problem.cols};
    const auto chunks = static_cast<unsigned>(
        std::clamp<std::int64_t>(ceil_div(problem.cols, smallest_chunk<T>), 1, max_chunks));
    const std::int64_t share = ceil_div(problem.cols, std::int64_t{chunks});
    return gpu::launch(reduce_one_segment_kernel<kind, T>,
                       {dim3(chunks), dim3(order_threads), 0, stream, true},
                       static_cast<const T*>(problem.data), own, share,
                       reinterpret_cast<Letter*>(workspace.tickets),
                       ResultSink{problem.op, problem.out, problem.correction});
  }
};

}  // namespace

Status reduce_array(const Reduce& problem, const Device&, Workspace workspace, Stream stream) {
  return dispatch(problem.op, problem.type, LaunchArray{problem, workspace, stream});
}

}  // namespace KW_TARGET
