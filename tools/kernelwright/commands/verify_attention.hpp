// kernelwright verify attention: every kernel on every edge case.
#pragma once

#include <cstdint>
#include <string>

#include "check/workbench.hpp"

namespace kw {

// Prints a line a kernel unless `quiet`; whether nothing failed. `globs` chooses kernels.
bool verify_attention_kernels(check::Workbench& workbench, const std::string& globs,
                              std::uint64_t seed, bool quiet);

}  // namespace kw
