// Every cgemm kernel on every device that is here, on every edge case, each component of each
// element against float64.
#include <gtest/gtest.h>

#include "check/verify_cgemm.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class CgemmKernels : public testing::TestWithParam<Subject<Cgemm>> {};

TEST_P(CgemmKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  check::Workbench bench(*runtime);
  const Kernel<Cgemm>& kernel = GetParam().kernel;
  int verified = 0;
  for (const check::CgemmCase& c : check::cgemm_edge_cases(run_seed())) {
    const check::VerifyResult result = check::CgemmTrial(bench, c).verify(kernel);
    if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c))
      continue;
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
    ++verified;
  }
  EXPECT_GT(verified, 20);
}

INSTANTIATE_TEST_SUITE_P(Registry, CgemmKernels, testing::ValuesIn(subjects<Cgemm>()),
                         subject_name<Cgemm>);

}  // namespace
}  // namespace kw
