// Host SIMT as a device: memory that catches what a kernel does beside it.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/runtime.hpp"

namespace kw::host_simt {

// There is one device, ordinal 0. It has the limits of a Hopper GPU, its multiprocessors and
// its warp size are those of options() when it is opened.
Status open(int ordinal, std::unique_ptr<Runtime>* runtime);

// Allocations of this program that were found damaged beside their ends when they were released.
// Always 0 under AddressSanitizer, which reports the access itself.
std::int64_t damaged_allocations();

}  // namespace kw::host_simt
