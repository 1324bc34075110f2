// The ladder's rungs on the CPU; rungs.cu has those on a GPU.
#include "cpu_rungs.hpp"

#include "sgemm/kernels.hpp"

namespace kw::cpu {

KernelList<Sgemm> sgemm_rungs() {
  return {
      {.name = "r00_cpu_loop",
       .parent = nullptr,
       .idea = "three loops on one core",
       .role = Role::rung,
       .math = Math::fp32,
       .supports =
           [](const Sgemm& p, const Device& device) {
             return device.kind == DeviceKind::cpu && p.op_a == Op::none && p.op_b == Op::none &&
                    p.plain();
           },
       .workspace_bytes = no_workspace<Sgemm>,
       .launch = r00_cpu_loop},
  };
}

}  // namespace kw::cpu
