// Every kernel of every registry with a device of this machine that it runs on: the parameters of
// tests that a new kernel gets without being named anywhere.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace kw {

template <class Problem>
struct Subject {
  const char* device;  // as the command line names it
  Kernel<Problem> kernel;

  // What GoogleTest prints for a parameter, the names of ctest included.
  friend void PrintTo(const Subject& subject, std::ostream* out) {
    *out << subject.kernel.name << " on " << subject.device;
  }
};

template <class Problem>
std::vector<Subject<Problem>> subjects() {
  add_developer_backends();
  std::vector<Subject<Problem>> found;
  for (const auto& [kind, device] :
       {std::pair{DeviceKind::host_simt, "host-simt"}, std::pair{DeviceKind::cpu, "cpu"},
        std::pair{DeviceKind::cuda, "gpu"}, std::pair{DeviceKind::hip, "hip"}}) {
    const Backend* backend = find_backend(kind);
    if (backend == nullptr || backend->device_count() == 0) continue;
    for (const Kernel<Problem>& kernel : all_kernels<Problem>(kind)) {
      found.push_back({device, kernel});
    }
  }
  return found;
}

template <class Problem>
std::string subject_name(const testing::TestParamInfo<Subject<Problem>>& info) {
  std::string name = std::string(info.param.device) + "_" + info.param.kernel.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace kw
