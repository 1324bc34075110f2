// The split kernels that host SIMT can run, as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "select.hpp"
#include "support/registry_subjects.hpp"

namespace kw {

// What GoogleTest prints for a parameter.
inline void PrintTo(const Kernel<Sgemm>& kernel, std::ostream* out) { *out << kernel.name; }

inline std::unique_ptr<Runtime> open_host_simt() {
  add_developer_backends();
  return open_device("host-simt");
}

// The rows that choose by the data and that host SIMT can run.
inline KernelList<Sgemm> split_kernels() {
  const std::unique_ptr<Runtime> runtime = open_host_simt();
  Sgemm small;
  small.m = small.n = small.k = 64;
  KernelList<Sgemm> found = find_backend(DeviceKind::host_simt)->sgemm();
  std::erase_if(found, [&](const Kernel<Sgemm>& kernel) {
    return kernel.path_taken == nullptr || !supports(kernel, small, runtime->device());
  });
  return found;
}

// Whether it takes calls that read C.
inline bool takes_c(const Kernel<Sgemm>& kernel) {
  Sgemm small;
  small.m = small.n = small.k = 64;
  small.beta = 1;
  return supports(kernel, small, open_host_simt()->device());
}

// Those whose product splits an operand itself, which may not read C.
inline KernelList<Sgemm> direct_kernels() {
  KernelList<Sgemm> found = split_kernels();
  std::erase_if(found, takes_c);
  return found;
}

inline std::string kernel_name(const testing::TestParamInfo<Kernel<Sgemm>>& info) {
  return info.param.name;
}

}  // namespace kw
