// Making and telling handles.
#include "cublas_handle.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <map>
#include <utility>

namespace kw::peers {

Status check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status::success();
  return Status::failure(StatusCode::device_error,
                         fmt::format("{}: {}", what, cublasGetStatusString(status)));
}

WarmHandle& warm_handle(int ordinal, cublasMath_t mode) {
  thread_local std::map<std::pair<int, cublasMath_t>, WarmHandle> handles;
  const auto known = handles.find({ordinal, mode});
  if (known != handles.end()) return known->second;
  cublasHandle_t handle = nullptr;
  if (cudaSetDevice(ordinal) != cudaSuccess || cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS ||
      cublasSetMathMode(handle, mode) != CUBLAS_STATUS_SUCCESS) {
    handle = nullptr;
  }
  WarmHandle& made = handles[{ordinal, mode}];
  made.handle = handle;
  return made;
}

Status WarmHandle::tell(Stream new_stream, Workspace new_workspace, bool on_device) {
  if (is_told && stream.handle == new_stream.handle && workspace.data == new_workspace.data &&
      workspace.bytes == new_workspace.bytes && scalars_on_device == on_device)
    return Status::success();
  is_told = false;
  // Setting the stream resets the workspace, so the order matters.
  Status status = check(cublasSetStream(handle, static_cast<cudaStream_t>(new_stream.handle)),
                        "cublasSetStream");
  if (status.ok())
    status = check(cublasSetWorkspace(handle, new_workspace.data, new_workspace.bytes),
                   "cublasSetWorkspace");
  if (status.ok())
    status = check(cublasSetPointerMode(
                       handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST),
                   "cublasSetPointerMode");
  *this = {handle, status.ok(), new_stream, new_workspace, on_device};
  return status;
}

}  // namespace kw::peers
