// The work of tools.hpp on a GPU.
#include "check/rowwise/tools.hpp"

#include "check/each_kernels.hpp"

namespace KW_TARGET::check {

const kw::check::RowwiseTools& rowwise_tools() {
  static const kw::check::RowwiseTools table = {run_each<kw::check::RowwiseOracle>,
                                                run_judge<kw::check::JudgeRowwise>};
  return table;
}

}  // namespace KW_TARGET::check
