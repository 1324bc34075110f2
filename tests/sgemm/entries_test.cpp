// A batch of more entries than one grid has room for: async_tile takes 65535 at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "check/workbench.hpp"
#include "support/registry_subjects.hpp"

namespace kw {
namespace {

// Nothing is multiplied (k is 0), so that each block only writes its entry: C = 0.
TEST(SgemmEntries, BeyondOneGridAreComputedToo) {
  constexpr std::int64_t entries = 65535 + 3;
  for (const Subject<Sgemm>& subject : subjects<Sgemm>()) {
    if (subject.kernel.name != std::string("async_tile")) continue;
    const std::unique_ptr<Runtime> device = open_device(subject.device);
    check::Workbench bench(*device);
    const check::DeviceBuffer c(*device, entries * sizeof(float));
    std::vector<float> values(entries, 1.0f);
    check::require(device->copy(c.data(), values.data(), c.bytes(), bench.stream()));
    Sgemm p;
    p.m = p.n = p.lda = p.ldb = p.ldc = 1;
    p.c = c.as<float>();
    p.batch = entries;
    p.stride_c = 1;
    const auto plan = plan_for(subject.kernel, p, device->device());
    ASSERT_TRUE(plan);
    check::require(launch_planned(subject.kernel, p, device->device(), *plan,
                                  {nullptr, 0, bench.tickets()}, bench.stream()));
    check::require(device->copy(values.data(), c.data(), c.bytes(), bench.stream()));
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), entries) << subject.device;
  }
}

}  // namespace
}  // namespace kw
