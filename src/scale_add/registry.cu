// The GPU kernels that compute ScaleAdd, most special first.
#include "gpu/gpu.hpp"
#include "scale_add/kernels.hpp"

namespace KW_TARGET {

KernelLaunch<ScaleAdd> scale_add_stream;

namespace {
bool always(const ScaleAdd&, const Device&) { return true; }
}  // namespace

KernelList<ScaleAdd> scale_add_production() {
  return {{"scale_add_stream", nullptr, "16-byte accesses, four independent ones per thread",
           Role::production, Math::fp32, always, no_workspace<ScaleAdd>, scale_add_stream}};
}

}  // namespace KW_TARGET
