// The check of scale_add: it finds a second rounding.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "check/cases.hpp"
#include "kernels.hpp"

namespace kw::check {
namespace {

TEST(ScaleAddCheck, CatchesASecondRounding) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  ScaleAddCase c;
  c.rows = 16;
  c.cols = 64;
  c.scale = 0.1f;
  c.shift = 0.3f;
  const auto subject = [](KernelLaunch<ScaleAdd>* launch) {
    return Kernel<ScaleAdd>{"subject",
                            nullptr,
                            "",
                            Role::production,
                            Math::fp32,
                            [](const ScaleAdd&, const Device&) { return true; },
                            no_workspace<ScaleAdd>,
                            launch};
  };
  const VerifyResult fused =
      verify_scale_add(*runtime, subject([](const ScaleAdd& p, const Device&, Workspace, Stream) {
        for (std::int64_t i = 0; i < p.rows * p.cols; ++i) {
          p.b[i] = std::fmaf(p.scale, p.a[i], p.shift);
        }
        return Status::success();
      }),
                       c);
  EXPECT_TRUE(fused.ok()) << fused.message;
  const VerifyResult twice_rounded =
      verify_scale_add(*runtime, subject([](const ScaleAdd& p, const Device&, Workspace, Stream) {
        for (std::int64_t i = 0; i < p.rows * p.cols; ++i) {
          const volatile float product = p.scale * p.a[i];
          p.b[i] = product + p.shift;
        }
        return Status::success();
      }),
                       c);
  EXPECT_EQ(twice_rounded.outcome, Outcome::failed);
  EXPECT_GT(twice_rounded.failures, 0);
}

}  // namespace
}  // namespace kw::check
