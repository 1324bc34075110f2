// Host SIMT as a device: memory that catches what a kernel does beside it, and the production
// kernels compiled for it.
#pragma once

#include <cstdint>
#include <memory>

#include "backends.hpp"

namespace kw::host_simt {

// There is one device, ordinal 0. It has the limits of a Hopper GPU, its "multiprocessors" are
// workers, and its warp size is that of options() when it is opened.
Status open(int ordinal, std::unique_ptr<Runtime>* runtime);

// For kw::add_backend.
const Backend& backend();

// Allocations of this program that were found damaged beside their ends when they were released.
// Always 0 under AddressSanitizer, which reports the access itself.
std::int64_t damaged_allocations();

}  // namespace kw::host_simt
