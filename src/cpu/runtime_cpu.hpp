// The CPU as a device.
#pragma once

#include <memory>

#include "gpu/runtime.hpp"

namespace kw::cpu {

int device_count();
Status open(int ordinal, std::unique_ptr<Runtime>* runtime);

}  // namespace kw::cpu
