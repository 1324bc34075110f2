// Which rungs `verify` leaves out: those made of instructions that a device does not have.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "commands/verify_cases.hpp"
#include "gpu/device.hpp"
#include "gpu/runtime.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

std::vector<std::string> left_out(const Device& device) {
  std::vector<std::string> names;
  for (const Kernel<Sgemm>& kernel : all_kernels<Sgemm>(DeviceKind::host_simt)) {
    if (is_for_another_device(kernel, device)) names.emplace_back(kernel.name);
  }
  return names;
}

Device gpu(DeviceKind kind, const char* architecture, int compute_capability) {
  Device device;
  device.kind = kind;
  device.architecture = architecture;
  device.compute_capability = compute_capability;
  device.warp_size = kind == DeviceKind::cuda ? 32 : 64;
  return device;
}

using Names = std::vector<std::string>;

TEST(VerifyRungs, OfAnotherVendorsMatrixInstructionsAreLeftOut) {
  EXPECT_EQ(left_out(gpu(DeviceKind::cuda, "sm_90", 90)), Names{"amd_11_matrix_core"});
}

TEST(VerifyRungs, OfALaterDeviceAreLeftOut) {
  const Names names = left_out(gpu(DeviceKind::cuda, "sm_80", 80));
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(names.front(), "r15_warp_specialised");
  EXPECT_EQ(names.back(), "amd_11_matrix_core");
}

TEST(VerifyRungs, OfTheDeviceStay) {
  EXPECT_EQ(left_out(open_device("host-simt")->device()), Names{});
  for (const std::string& name : left_out(gpu(DeviceKind::hip, "gfx90a", 0)))
    EXPECT_NE(name, "amd_11_matrix_core");
}

}  // namespace
}  // namespace kw
