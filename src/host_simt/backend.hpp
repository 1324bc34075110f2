// Host SIMT's device (runtime.hpp) with the production kernels compiled for it, for
// kw::add_backend.
#pragma once

#include "backends.hpp"
#include "host_simt/runtime.hpp"

namespace kw::host_simt {

const Backend& backend();

}  // namespace kw::host_simt
