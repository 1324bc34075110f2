// The accuracy suite of triangular systems: residuals of kernels beside the vendor's.
#pragma once

#include <string>

#include "commands/commands.hpp"

namespace CLI {
class App;
}

namespace kw {

// `accuracy strsm` and `accuracy ctrsm`.
void add_accuracy_strsm(CLI::App& accuracy, Invocation& invocation);

}  // namespace kw
