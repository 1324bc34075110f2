// Every kernel of complex systems on every device that is here, on every edge case, each residual
// against float64.
#include <gtest/gtest.h>

#include "check/verify_ctrsm.hpp"
#include "host_simt/host_simt.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class CtrsmKernels : public testing::TestWithParam<Subject<Ctrsm>> {};

TEST_P(CtrsmKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  check::Workbench bench(*runtime);
  const Kernel<Ctrsm>& kernel = GetParam().kernel;
  int verified = 0;
  for (const check::CtrsmCase& c : check::ctrsm_edge_cases(run_seed())) {
    const check::VerifyResult result = check::CtrsmTrial(bench, c).verify(kernel);
    if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c))
      continue;
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
    ++verified;
  }
  EXPECT_GT(verified, 20);
}

INSTANTIATE_TEST_SUITE_P(Registry, CtrsmKernels, testing::ValuesIn(subjects<Ctrsm>()),
                         subject_name<Ctrsm>);

// Each number of lines that a block of threads may have, more unknowns than a block, lines along
// rows and columns, one A for all systems.
TEST(CtrsmBlocks, AllWidthsOfStrips) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const host_simt::Options before = host_simt::options();
  std::uint64_t number = 0;
  for (const int multiprocessors : {1, 2, 8}) {
    host_simt::options().multiprocessors = multiprocessors;
    const std::unique_ptr<Runtime> runtime = open_device("host-simt");
    for (const bool on_left : {true, false}) {
      for (const std::int64_t unknowns : {17, 131}) {
        ++number;
        check::CtrsmCase c;
        c.on_left = on_left;
        c.m = on_left ? unknowns : 50;
        c.n = on_left ? 50 : unknowns;
        c.triangle = number % 2 == 0 ? Triangle::lower : Triangle::upper;
        c.op_a = number % 3 == 0 ? Op::transpose : Op::none;
        c.conj_a = number % 4 < 2;
        c.alpha = 0.5f, c.alpha_im = -1.25f;
        c.batch = 2;
        c.shared_a = number % 2 == 0;
        c.seed = run_seed() + number;
        const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
  host_simt::options() = before;
}

// What is left of a right-hand side is rounded with the unknown, however many panels of 8 unknowns
// come before it.
TEST(CtrsmBlocks, RoundsAnUnknownAndNotEachPanel) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  for (const bool on_left : {true, false}) {
    for (const bool unit : {true, false}) {
      check::CtrsmCase c;
      c.on_left = on_left;
      c.m = on_left ? 128 : 16;
      c.n = on_left ? 16 : 128;
      c.unit_diagonal = unit;
      c.input = check::Input::normal;
      c.seed = run_seed();
      const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
      ASSERT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      EXPECT_LE(result.error.rms, 1) << describe(c);
    }
  }
}

}  // namespace
}  // namespace kw
