// reduce_rows and reduce_segments: which translation unit has a problem's element type.
#include "gpu/gpu.hpp"
#include "reduce/gpu_kernels.hpp"

namespace KW_TARGET {
namespace {

// One segment is an array, unless a warp takes it alone (results/h200/explored-reduce-few.txt).
bool is_only_segment(const Reduce& problem) {
  constexpr std::int64_t most_bytes_of_warp = 6 << 10;
  return problem.shape == ReduceShape::segments && problem.segments == 1 &&
         problem.bytes() > static_cast<double>(most_bytes_of_warp);
}

std::size_t workspace_of(const Reduce& problem, const Device& device) {
  if (is_only_segment(problem)) return 0;
  return is_floating(problem.type) ? floating_sequences_workspace(problem, device)
                                   : integral_sequences_workspace(problem, device);
}

}  // namespace

// One row is an array.
Status reduce_rows(const Reduce& problem, const Device& device, Workspace workspace,
                   Stream stream) {
  if (problem.rows == 1) return reduce_array(problem, device, workspace, stream);
  return reduce_segments(problem, device, workspace, stream);
}
Status reduce_segments(const Reduce& problem, const Device& device, Workspace workspace,
                       Stream stream) {
  if (is_only_segment(problem)) return reduce_array(problem, device, workspace, stream);
  return is_floating(problem.type) ? reduce_floating_sequences(problem, device, workspace, stream)
                                   : reduce_integral_sequences(problem, device, workspace, stream);
}

std::size_t reduce_rows_workspace(const Reduce& problem, const Device& device) {
  return workspace_of(problem, device);
}
std::size_t reduce_segments_workspace(const Reduce& problem, const Device& device) {
  return workspace_of(problem, device);
}

}  // namespace KW_TARGET
