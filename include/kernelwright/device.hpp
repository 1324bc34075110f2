// The families of devices that a context can work on.
#pragma once

namespace kw {

enum class DeviceKind : int {
  cpu = 0,
  cuda = 1,       ///< an NVIDIA GPU
  hip = 2,        ///< an AMD GPU
  host_simt = 3,  ///< GPU kernels executed on the CPU; for this project's own tests
};

}  // namespace kw
