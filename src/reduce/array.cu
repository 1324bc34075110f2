// reduce_array: the launch of array.hpp.
#include "reduce/array.hpp"

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
    const auto chunks = static_cast<unsigned>(chunk_count<T>(problem.cols));
    return gpu::launch(
        reduce_array_kernel<kind, T>, {dim3(chunks), dim3(order_threads), 0, stream, true},
        static_cast<const T*>(problem.data), problem.cols, chunk_elements<T>(problem.cols),
        reinterpret_cast<Letter*>(workspace.tickets),
        {problem.op, problem.out, problem.correction});
  }
};

}  // namespace

Status reduce_array(const Reduce& problem, const Device&, Workspace workspace, Stream stream) {
  return dispatch(problem.op, problem.type, LaunchArray{problem, workspace, stream});
}

}  // namespace KW_TARGET
