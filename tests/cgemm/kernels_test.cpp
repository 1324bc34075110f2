// Every cgemm kernel on every device that is here, on every edge case, each component of each
// element against float64.
#include <gtest/gtest.h>

#include <array>
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

// Tiles that are cut along k, halves of them too: those that two multiprocessors have left over,
// and all of them where they have room for more blocks.
TEST(ComplexLean, TilesThatAreCut) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 2;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  std::uint64_t number = 0;
  for (const auto& kernel :
       select_kernels(all_kernels<Cgemm>(DeviceKind::host_simt), "cgemm_lean_*")) {
    int cut = 0;
    for (const auto& [m, n, k] :
         {std::array{150, 60, 431}, {60, 45, 480}, {33, 70, 490}, {200, 30, 470}}) {
      for (int op = 0; op < 4; ++op) {
        check::CgemmCase c;
        c.m = m, c.n = n, c.k = k;
        c.op_a = op % 2 == 0 ? Op::none : Op::transpose;
        c.op_b = op / 2 == 0 ? Op::none : Op::transpose;
        c.conj_a = ++number % 3 == 0, c.conj_b = number % 5 < 2;
        c.alpha = -0.5f, c.alpha_im = 2;
        c.beta = number % 4 == 0 ? 1.25f : 0.0f;
        c.ldc_pad = number % 3;
        c.seed = run_seed() + number;
        check::CgemmTrial trial(bench, c);
        const auto plan = plan_for(kernel, trial.problem(), runtime->device());
        ASSERT_TRUE(plan.has_value());
        cut += plan->workspace_bytes > 0 ? 1 : 0;
        const check::VerifyResult result = trial.verify(kernel);
        EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
      }
    }
    EXPECT_EQ(cut > 0, !std::string_view(kernel.name).ends_with("k4")) << kernel.name;
  }
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
