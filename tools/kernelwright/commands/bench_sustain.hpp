// `bench sgemm --sustain SECONDS`: each kernel for so long, back to back.
#pragma once

#include <string>

#include "commands/commands.hpp"
#include "commands/product_options.hpp"

namespace kw {

struct SustainRequest {
  double seconds = 0;  // 0: the option was not given
  bool no_peer = false, no_ceilings = false;
};

// The exit code of the command. `product.default_sweep` is set.
int run_sustained(const SustainRequest& request, const CommonOptions& options,
                  ProductChoice product, const std::string& command);

}  // namespace kw
