// Transfers of GPUs; src/gpu/transfer_gpu.cu, compiled once for each vendor.
#pragma once

#include <memory>

#include "gpu/transfer.hpp"

namespace kw {
namespace on_cuda {
std::unique_ptr<Transfer> gpu_transfer(int ordinal);
}  // namespace on_cuda
namespace on_hip {
std::unique_ptr<Transfer> gpu_transfer(int ordinal);
}  // namespace on_hip
}  // namespace kw
