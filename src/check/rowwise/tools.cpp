// The work of tools.hpp in host memory, and the choice of the table for a device.
#include "check/rowwise/tools.hpp"

#include "check/each.hpp"

namespace kw::check {

const RowwiseTools& rowwise_tools_for([[maybe_unused]] const Device& device) {
#ifdef KW_HAVE_CUDA
  if (device.kind == DeviceKind::cuda) return on_cuda::check::rowwise_tools();
#endif
#ifdef KW_HAVE_HIP
  if (device.kind == DeviceKind::hip) return on_hip::check::rowwise_tools();
#endif
  static const RowwiseTools table = {run_each<RowwiseOracle>, run_judge<JudgeRowwise>};
  return table;
}

}  // namespace kw::check
