// The ladder's rungs on the CPU; rungs.cu has those on a GPU.
#include "cpu_rungs.hpp"

#include "reduce/kernels.hpp"

namespace kw::cpu {

KernelList<Reduce> reduce_rungs() {
  return {
      {.name = "r00_cpu_loop",
       .parent = nullptr,
       .idea = "one loop on one core",
       .role = Role::rung,
       .math = Math::fp32,
       .supports =
           [](const Reduce& p, const Device& device) {
             return device.kind == DeviceKind::cpu && p.op == ReduceOp::sum &&
                    p.type == DataType::float32 && p.shape == ReduceShape::whole;
           },
       .workspace_bytes = no_workspace<Reduce>,
       .launch = r00_cpu_loop},
  };
}

}  // namespace kw::cpu
