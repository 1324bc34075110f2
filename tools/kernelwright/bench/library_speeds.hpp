// What predictions of distributed products take from the library itself: which kernel it takes for
// a plain product, and how long that one plans to need. No device is asked.
#pragma once

#include <string>

#include "distributed/simulate.hpp"

namespace kw::bench {

// The rates of the kind of GPU that the name is of, as src/distributed/rates.hpp has them, with the
// time of plain products by the kernel of the library's choice, where this build has GPU kernels.
distributed::Speeds library_speeds(const std::string& gpu);

}  // namespace kw::bench
