// cpu_level3_loop: level 3 as plain loops; threads share the elements, or the lines of C.
#include "cpu/kernels.hpp"
#include "level3/loop.hpp"

namespace kw::cpu {

bool cpu_level3_loop_supports(const Level3& p, const Device&) { return !p.factors(); }

Status cpu_level3_loop(const Level3& call, const Device&, Workspace, Stream) {
  const Level3 p = level3::with_scalars(call);
  const std::int64_t count = level3::loop_items(p);
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t item = 0; item < count; ++item) level3::loop_item(p, item);
  return Status::success();
}

}  // namespace kw::cpu
