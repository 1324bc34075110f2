// The reduction ladder's table: one row a rung, in the order of the walk. A new rung is one file,
// its name in rungs.hpp and one row here.
#include "rungs.hpp"

#include "reduce/kernels.hpp"

namespace KW_TARGET {
namespace {

// The rungs teach the sum of an array: any length, any alignment, one operation, one type.
bool sum_of_floats(const Reduce& p, const Device&) {
  return p.op == ReduceOp::sum && p.type == DataType::float32 && p.shape == ReduceShape::whole;
}

}  // namespace

// clang-format off
KernelList<Reduce> reduce_rungs() {
  using WorkspaceBytes = std::size_t(const Reduce&, const Device&);
  const auto rung = [](const char* name, const char* parent, KernelLaunch<Reduce>* launch, const char* idea,
                       WorkspaceBytes* workspace_bytes) {
    return Kernel<Reduce>{.name = name, .parent = parent, .idea = idea, .role = Role::rung, .math = Math::fp32,
                          .supports = sum_of_floats, .workspace_bytes = workspace_bytes, .launch = launch};
  };
  return {
      rung("r01_modulo_tree", nullptr, r01_modulo_tree, "tree in shared memory, every second thread, every fourth, ...", two_partials<one_element>),
      rung("r02_strided_index", "r01_modulo_tree", r02_strided_index, "the first threads work, at strided places", two_partials<one_element>),
      rung("r03_sequential", "r02_strided_index", r03_sequential, "the first threads work, at neighbouring places: no bank conflicts", two_partials<one_element>),
      rung("r04_first_add", "r03_sequential", r04_first_add, "first addition during the load, half the blocks", two_partials<two_elements>),
      rung("r05_unrolled_warp", "r04_first_add", r05_unrolled_warp, "last six steps in one warp, without barriers", two_partials<two_elements>),
      rung("r06_unrolled", "r05_unrolled_warp", r06_unrolled, "block size known when compiling: no loop at all", two_partials<two_elements>),
      rung("r07_many_loads", "r06_unrolled", r07_many_loads, "as many blocks as fit, many elements a thread", two_partials<many_elements>),
      rung("r08_shuffle", "r07_many_loads", r08_shuffle, "lanes pass sums through registers, one barrier", two_partials<many_elements>),
      rung("r09_vector_loads", "r08_shuffle", r09_vector_loads, "16-byte loads, four in flight a thread", two_partials<many_vectors>),
      rung("r10_one_launch", "r09_vector_loads", r10_one_launch, "the last block to finish adds up the partial sums", one_partial<many_vectors>),
  };
}
// clang-format on

}  // namespace KW_TARGET
