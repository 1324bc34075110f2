// The GPU kernels that compute attention, most special first.
#include "attention/kernels.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

KernelList<Attention> attention_production() { return {}; }

}  // namespace KW_TARGET
