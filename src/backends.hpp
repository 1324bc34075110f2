// The families of devices that this program can use, each with the production kernels compiled for
// it. This is where devices and operations meet; what lies below knows of one of them only.
#pragma once

#include <memory>
#include <vector>

#include "attention/problem.hpp"
#include "cgemm/problem.hpp"
#include "ctrsm/problem.hpp"
#include "gpu/runtime.hpp"
#include "level3/problem.hpp"
#include "reduce/problem.hpp"
#include "rowwise/problem.hpp"
#include "scale_add/problem.hpp"
#include "sgemm/problem.hpp"

namespace kw {

struct Backend {
  DeviceKind kind;
  int (*device_count)();
  Status (*open)(int ordinal, std::unique_ptr<Runtime>* runtime);
  KernelList<Sgemm> (*sgemm)();
  KernelList<Level3> (*level3)();
  KernelList<ScaleAdd> (*scale_add)();
  KernelList<Reduce> (*reduce)();
  KernelList<Cgemm> (*cgemm)();
  KernelList<Ctrsm> (*ctrsm)();
  KernelList<Rowwise> (*rowwise)();
  KernelList<Attention> (*attention)();
};

// CPU first, then CUDA or HIP where compiled in, then what `add_backend` brought.
const std::vector<Backend>& backends();
const Backend* find_backend(DeviceKind kind);
// The tests and the command line add host SIMT; an application has no use for it. Called before
// contexts are made and threads are started. A kind that is there already stays as it is.
void add_backend(const Backend& backend);

}  // namespace kw
