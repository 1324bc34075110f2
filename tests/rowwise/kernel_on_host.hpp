// A row-wise kernel by its name on host SIMT, for tests of which rows it takes.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "check/rowwise/case.hpp"
#include "host_simt/host_simt.hpp"
#include "support/registry_subjects.hpp"

namespace kw::test {

// The kernel of a name on host SIMT, with its options as they are now.
class KernelOnHost {
 public:
  explicit KernelOnHost(const char* name)
      : kernels_(select_kernels(all_kernels<Rowwise>(DeviceKind::host_simt), name)) {
    EXPECT_EQ(kernels_.size(), 1u) << name;
  }
  check::VerifyResult result_of(const check::RowwiseCase& c) {
    return check::RowwiseTrial(bench_, c).verify(kernels_.at(0));
  }
  // It must compute the case.
  void verify(const check::RowwiseCase& c) {
    const check::VerifyResult result = result_of(c);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    ++computed_;
  }
  int computed() const { return computed_; }

 private:
  KernelList<Rowwise> kernels_;
  const std::unique_ptr<Runtime> runtime_ = open_device("host-simt");
  check::Workbench bench_{*runtime_};
  int computed_ = 0;
};

}  // namespace kw::test
