// The vendors' host interfaces under one set of names: KW_GPU_API(Malloc) is cudaMalloc or
// hipMalloc. What differs by more than the prefix has a function here.
#pragma once

#include <string>

#if defined(__CUDACC__)
#include "gpu/launch_facts.hpp"
#define KW_TARGET kw::on_cuda
#define KW_GPU_API(name) cuda##name
#else
#include <hip/hip_runtime.h>
#define KW_TARGET kw::on_hip
#define KW_GPU_API(name) hip##name
#endif

#include "gpu/device.hpp"
#include "kernel.hpp"
#include "status.hpp"
#include "text.hpp"

namespace KW_TARGET {

#if defined(__CUDACC__)
constexpr kw::DeviceKind device_kind = kw::DeviceKind::cuda;
constexpr const char* vendor_name = "CUDA";
constexpr auto sm_clock_attribute = cudaDevAttrClockRate;
constexpr auto memory_clock_attribute = cudaDevAttrMemoryClockRate;

// Launches ask the driver anew.
inline void forget_launch_facts() { ++gpu::detail::devices_opened; }

inline cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
  return cudaGraphInstantiate(exec, graph, 0);
}
inline std::string architecture(const cudaDeviceProp& properties) {
  return "sm_" + std::to_string(properties.major * 10 + properties.minor);
}
inline int compute_capability(const cudaDeviceProp& properties) {
  return properties.major * 10 + properties.minor;
}
inline std::size_t shared_bytes_optin(const cudaDeviceProp& properties) {
  return properties.sharedMemPerBlockOptin;
}
inline std::size_t shared_bytes_per_sm(const cudaDeviceProp& properties) {
  return properties.sharedMemPerMultiprocessor;
}
inline int registers_per_sm(const cudaDeviceProp& properties) {
  return properties.regsPerMultiprocessor;
}
// 13000 stands for 13.0.
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
using DeviceProperties = cudaDeviceProp;
#else
constexpr kw::DeviceKind device_kind = kw::DeviceKind::hip;
constexpr const char* vendor_name = "HIP";
constexpr auto sm_clock_attribute = hipDeviceAttributeClockRate;
constexpr auto memory_clock_attribute = hipDeviceAttributeMemoryClockRate;

inline void forget_launch_facts() {}

inline hipError_t instantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  return hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}
inline std::string architecture(const hipDeviceProp_t& properties) {
  const std::string name = properties.gcnArchName;  // "gfx90a:sramecc+:xnack-"
  return name.substr(0, name.find(':'));
}
inline int compute_capability(const hipDeviceProp_t&) { return 0; }
inline std::size_t shared_bytes_optin(const hipDeviceProp_t& properties) {
  return properties.sharedMemPerBlock;
}
inline std::size_t shared_bytes_per_sm(const hipDeviceProp_t& properties) {
  return properties.maxSharedMemoryPerMultiProcessor;
}
inline int registers_per_sm(const hipDeviceProp_t& properties) { return properties.regsPerBlock; }
// 50221153 stands for 5.2.21153.
inline std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
         std::to_string(version % 100000);
}
using DeviceProperties = hipDeviceProp_t;
#endif

using Error = KW_GPU_API(Error_t);
constexpr Error success = KW_GPU_API(Success);

// The runtime also keeps a failed call's error for whoever asks next; it is told here, so it is
// taken away.
inline Status check(Error error, const char* what) {
  if (error == success) return Status::success();
  (void)KW_GPU_API(GetLastError)();
  return Status::failure(StatusCode::device_error,
                         text(what, ": ", KW_GPU_API(GetErrorString)(error)));
}

inline KW_GPU_API(Stream_t) native(Stream stream) {
  return static_cast<KW_GPU_API(Stream_t)>(stream.handle);
}

}  // namespace KW_TARGET
