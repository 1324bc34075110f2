// Which compiler's build of the work that finds a GPU's limits belongs to a device.
#include "bench/gpu_ceilings.hpp"

namespace kw::bench {

const GpuWork* gpu_work(DeviceKind kind) {
#ifdef KW_HAVE_CUDA
  if (kind == DeviceKind::cuda) return &on_cuda::bench::gpu_work();
#endif
#ifdef KW_HAVE_HIP
  if (kind == DeviceKind::hip) return &on_hip::bench::gpu_work();
#endif
  static_cast<void>(kind);
  return nullptr;
}

}  // namespace kw::bench
