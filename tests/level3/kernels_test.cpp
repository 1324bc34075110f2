// Every level-3 kernel on every device that is here, on every edge case; and the product's kernels
// that take problems which are not full, one by one.
#include <gtest/gtest.h>

#include "check/run_kernel.hpp"
#include "check/verify_level3.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class Level3Kernels : public testing::TestWithParam<Subject<Level3>> {};

TEST_P(Level3Kernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  int computed = 0;
  for (const check::Level3Case& c : check::level3_edge_cases(run_seed())) {
    const check::VerifyResult result = check::verify_level3(*runtime, GetParam().kernel, c);
    if (result.outcome == check::Outcome::unsupported &&
        check::may_refuse(GetParam().kernel.role, c))
      continue;
    ++computed;
    EXPECT_TRUE(result.ok()) << GetParam().kernel.name << " " << describe(c) << ": "
                             << result.message;
  }
  EXPECT_GT(computed, 10);
}

INSTANTIATE_TEST_SUITE_P(Registry, Level3Kernels, testing::ValuesIn(subjects<Level3>()),
                         subject_name<Level3>);

}  // namespace
}  // namespace kw
