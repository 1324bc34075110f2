// The ladder's rungs on the CPU; rungs.cu has those on a GPU.
#include "cpu_rungs.hpp"

#include "sgemm/kernels.hpp"

namespace kw::cpu {
namespace {

bool plain_on_the_cpu(const Sgemm& p, const Device& device) {
  return device.kind == DeviceKind::cpu && p.op_a == Op::none && p.op_b == Op::none && p.plain();
}

}  // namespace

KernelList<Sgemm> sgemm_rungs() {
  return {
      {.name = "r00_cpu_loop",
       .parent = nullptr,
       .idea = "three loops on one core",
       .role = Role::rung,
       .math = Math::fp32,
       .supports = plain_on_the_cpu,
       .workspace_bytes = no_workspace<Sgemm>,
       .launch = r00_cpu_loop},
      {.name = "s5_cpu_double",
       .parent = "r00_cpu_loop",
       .idea = "three loops whose sums are double",
       .role = Role::rung,
       .math = Math::fp32,
       .supports = plain_on_the_cpu,
       .workspace_bytes = no_workspace<Sgemm>,
       .launch = s5_cpu_double},
  };
}

}  // namespace kw::cpu
