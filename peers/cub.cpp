// NVIDIA's CUB as a row of the list: DeviceReduce for whole arrays, DeviceSegmentedReduce for rows
// and segments. It has no columns, no mean, no variance and no norms.
#include "reduce/kernels.hpp"
#include "versions.hpp"

#ifdef KW_HAVE_CUDA
#include <fmt/format.h>

#include <limits>

#include "cub_calls.hpp"
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUDA
namespace {

// Counts and offsets of 32 bits are CUB's faster ones, so a longer array is refused.
bool fits_32_bits(const Reduce& p) {
  return p.rows * p.ld <= std::numeric_limits<int>::max() &&
         p.segments <= std::numeric_limits<int>::max();
}

CubCall* find_call(const Reduce& p) {
  if (p.shape == ReduceShape::rows) return find_cub_rows(p.op, p.type);
  if (p.shape == ReduceShape::segments) return find_cub_segments(p.op, p.type);
  if (p.shape == ReduceShape::columns) return nullptr;
  switch (p.op) {
    case ReduceOp::sum: return find_cub_sum(p.type);
    case ReduceOp::min:
    case ReduceOp::max: return find_cub_extremum(p.op, p.type);
    case ReduceOp::argmin:
    case ReduceOp::argmax:  // of nothing CUB says 1
      return p.cols > 0 ? find_cub_arg(p.op, p.type) : nullptr;
    default: return nullptr;
  }
}

Status check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status::success();
  return Status::failure(StatusCode::device_error,
                         fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

bool supports(const Reduce& p, const Device& device) {
  return device.kind == DeviceKind::cuda && fits_32_bits(p) && find_call(p) != nullptr;
}

// CUB sizes its grid by the current device. 0, which launch refuses, where there is none.
std::size_t workspace_bytes(const Reduce& p, const Device& device) {
  std::size_t bytes = 0;
  if (cudaSetDevice(device.ordinal) != cudaSuccess) return 0;
  return find_call(p)(p, nullptr, bytes, nullptr) == cudaSuccess ? bytes : 0;
}

Status launch(const Reduce& p, const Device&, Workspace workspace, Stream stream) {
  if (p.results() == 0) return Status::success();
  if (workspace.data == nullptr) {
    return Status::failure(StatusCode::device_error,
                           "cub: no workspace, as CUB could not tell how much it takes");
  }
  return check(
      find_call(p)(p, workspace.data, workspace.bytes, static_cast<cudaStream_t>(stream.handle)),
      "cub");
}

}  // namespace

KernelList<Reduce> reduce_cuda() {
  return {{"cub", nullptr, "NVIDIA CUB, DeviceReduce and DeviceSegmentedReduce", Role::peer,
           Math::fp32, supports, workspace_bytes, launch}};
}

std::string cub_version() { return cub_compiled_version(); }
#else
KernelList<Reduce> reduce_cuda() { return {}; }

std::string cub_version() { return {}; }
#endif

}  // namespace kw::peers
