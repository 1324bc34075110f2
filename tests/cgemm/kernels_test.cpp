// Every cgemm kernel on every device that is here, on every edge case, each component of each
// element against float64.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "check/verify_cgemm.hpp"
#include "support/h200.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class CgemmKernels : public testing::TestWithParam<Subject<Cgemm>> {};

// Host SIMT's numbers of multiprocessors: this machine's, or, where they decide which products a
// kernel cuts along k, several.
std::vector<int> multiprocessors_for(const Kernel<Cgemm>& kernel) {
  const std::string_view name = kernel.name;
  if (name.find("_parts_") == name.npos && name.find("_ragged") == name.npos) return {0};
  return {2, 3, 4, 5, 6, 8, 12};
}

int count_verified(const Subject<Cgemm>& subject) {
  const std::unique_ptr<Runtime> runtime = open_device(subject.device);
  check::Workbench bench(*runtime);
  const Kernel<Cgemm>& kernel = subject.kernel;
  int verified = 0;
  for (const check::CgemmCase& c : check::cgemm_edge_cases(run_seed())) {
    const check::VerifyResult result = check::CgemmTrial(bench, c).verify(kernel);
    if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c))
      continue;
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
    ++verified;
  }
  return verified;
}

TEST_P(CgemmKernels, EdgeCases) {
  const test::KeptOptions kept;
  int verified = 0;
  for (const int multiprocessors : multiprocessors_for(GetParam().kernel)) {
    host_simt::options().multiprocessors = multiprocessors;
    verified += count_verified(GetParam());
  }
  EXPECT_GT(verified, 20);
}

// As an H200 is, whose multiprocessors decide which products a kernel takes.
TEST(CgemmCases, EachProductionKernelComputesSome) {
  Device device = test::h200();
  device.kind = DeviceKind::host_simt;
  const auto kernels = all_kernels<Cgemm>(device.kind);
  std::vector<check::CgemmCase> cases = check::cgemm_edge_cases(run_seed());
  const auto more = check::cgemm_cases_of_kernels(kernels, cases, device, run_seed());
  EXPECT_FALSE(more.empty()) << "no edge case is one of cgemm_parts";
  cases.insert(cases.end(), more.begin(), more.end());
  for (const Kernel<Cgemm>& kernel : kernels)
    if (kernel.role == Role::production && kernel.math == Math::fp32) {
      EXPECT_TRUE(check::computes_one_of(kernel, cases, device)) << kernel.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, CgemmKernels, testing::ValuesIn(subjects<Cgemm>()),
                         subject_name<Cgemm>);

}  // namespace
}  // namespace kw
