// cuSOLVER's Cholesky factorisation as a kernel. The library is opened where it is there, so that
// the program runs without it.
#include "level3/kernels.hpp"

#if defined(KW_HAVE_CUDA) && __has_include(<cusolverDn.h>)
#define KW_HAVE_CUSOLVER
#include <cusolverDn.h>
#include <dlfcn.h>

#include <map>
#include <string>
#include <type_traits>
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUSOLVER
namespace {

struct CuSolver {
  decltype(&cusolverDnCreate) create = nullptr;
  decltype(&cusolverDnSetStream) set_stream = nullptr;
  decltype(&cusolverDnSpotrf_bufferSize) buffer_size = nullptr;
  decltype(&cusolverDnSpotrf) spotrf = nullptr;

  CuSolver() {
    void* const library = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    };
    find(&create, "cusolverDnCreate");
    find(&set_stream, "cusolverDnSetStream");
    find(&buffer_size, "cusolverDnSpotrf_bufferSize");
    find(&spotrf, "cusolverDnSpotrf");
  }
  bool is_there() const { return create && set_stream && buffer_size && spotrf; }
};
const CuSolver& cusolver() {
  static const CuSolver library;
  return library;
}

// One a device and thread, kept to the end of the process. Null where there is none.
cusolverDnHandle_t handle_of(int ordinal) {
  thread_local std::map<int, cusolverDnHandle_t> handles;
  const auto known = handles.find(ordinal);
  if (known != handles.end()) return known->second;
  cusolverDnHandle_t handle = nullptr;
  if (!cusolver().is_there() || cusolver().create(&handle) != CUSOLVER_STATUS_SUCCESS)
    handle = nullptr;
  return handles[ordinal] = handle;
}

// cuSOLVER is column-major: the other triangle of the same memory.
cublasFillMode_t fill_of(const Level3& p) {
  return p.triangle == Triangle::lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

int floats_of(const Level3& p, const Device& device) {
  int floats = 0;
  const cusolverStatus_t status =
      cusolver().buffer_size(handle_of(device.ordinal), fill_of(p), static_cast<int>(p.m), p.c,
                             static_cast<int>(p.ldc), &floats);
  return status == CUSOLVER_STATUS_SUCCESS ? floats : 0;
}

bool supports(const Level3& p, const Device& device) {
  constexpr std::int64_t most = 1 << 30;
  return device.kind == DeviceKind::cuda && p.factors() && p.m > 0 && p.m < most && p.ldc < most &&
         handle_of(device.ordinal) != nullptr;
}
std::size_t workspace_bytes(const Level3& p, const Device& device) {
  return static_cast<std::size_t>(floats_of(p, device)) * sizeof(float);
}
Status launch(const Level3& p, const Device& device, Workspace workspace, Stream stream) {
  const cusolverDnHandle_t handle = handle_of(device.ordinal);
  cusolverStatus_t status = cusolver().set_stream(handle, static_cast<cudaStream_t>(stream.handle));
  if (status == CUSOLVER_STATUS_SUCCESS)
    status = cusolver().spotrf(handle, fill_of(p), static_cast<int>(p.m), p.c,
                               static_cast<int>(p.ldc), static_cast<float*>(workspace.data),
                               static_cast<int>(workspace.bytes / sizeof(float)), p.info);
  if (status == CUSOLVER_STATUS_SUCCESS) return Status::success();
  return Status::failure(StatusCode::device_error,
                         "cusolverDnSpotrf: status " + std::to_string(static_cast<int>(status)));
}

}  // namespace

KernelList<Level3> cholesky_cuda() {
  if (!cusolver().is_there()) return {};
  return {{"cusolver", nullptr, "NVIDIA cuSOLVER", Role::peer, Math::fp32, supports,
           workspace_bytes, launch}};
}
#else
KernelList<Level3> cholesky_cuda() { return {}; }
#endif

}  // namespace kw::peers
