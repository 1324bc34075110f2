// The GPUs of this machine as devices; src/gpu/runtime_gpu.cu, compiled once for each vendor.
#pragma once

#include <memory>

#include "gpu/runtime.hpp"

namespace kw {
namespace on_cuda {
int device_count();  // 0 where there is no driver
Status open(int ordinal, std::unique_ptr<Runtime>* runtime);
}  // namespace on_cuda
namespace on_hip {
int device_count();
Status open(int ordinal, std::unique_ptr<Runtime>* runtime);
}  // namespace on_hip
}  // namespace kw
