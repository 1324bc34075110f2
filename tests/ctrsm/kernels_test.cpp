// Every kernel of complex systems on every device that is here, on every edge case, each residual
// against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "check/verify_ctrsm.hpp"
#include "ctrsm/block.hpp"
#include "ctrsm/strips.hpp"
#include "host_simt/host_simt.hpp"
#include "support/kept_options.hpp"
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

// A system with some unknowns and lines, whose other forms follow from a number.
check::CtrsmCase numbered_case(std::int64_t unknowns, std::int64_t lines, std::uint64_t number) {
  check::CtrsmCase c;
  c.on_left = number % 2 == 0;
  c.m = c.on_left ? unknowns : lines;
  c.n = c.on_left ? lines : unknowns;
  c.triangle = number % 4 < 2 ? Triangle::lower : Triangle::upper;
  c.op_a = number % 3 == 0 ? Op::transpose : Op::none;
  c.conj_a = number % 8 < 4;
  c.unit_diagonal = number % 5 == 0;
  c.alpha = 0.5f, c.alpha_im = -1.25f;
  c.scalars_on_device = number % 7 == 0;
  c.lda_pad = c.ldc_pad = static_cast<std::int64_t>(number % 3);
  c.seed = run_seed() + number;
  return c;
}

// Each way to launch a strip of lines, the last one not whole; more unknowns than a block.
TEST(CtrsmBlocks, AllWidthsOfStrips) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  std::set<std::pair<int, int>> strips;
  std::uint64_t number = 0;
  for (const int multiprocessors : {1, 4, 8, 16}) {
    host_simt::options().multiprocessors = multiprocessors;
    const std::unique_ptr<Runtime> runtime = open_device("host-simt");
    for (const bool turned : {false, true}) {
      for (const std::int64_t unknowns : {17, 131, 260}) {
        check::CtrsmCase c = numbered_case(unknowns, 50, 2 * ++number + (turned ? 1 : 0));
        c.batch = 2;
        c.shared_a = number % 2 == 0;
        const auto strip = on_host::choose_complex_strip(static_cast<int>(unknowns), c.batch * 50,
                                                         runtime->device());
        strips.emplace(strip.strip.lines, strip.strip.per_sm);
        const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
  EXPECT_EQ(strips.size(), std::size(on_host::complex_strips));
}

// Few unknowns, a line a thread: each size of a block and those beside it, more lines than a block
// has, and batches.
TEST(CtrsmBlocks, FewUnknowns) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  std::uint64_t number = 0;
  for (const std::int64_t unknowns : {1, 4, 5, 8, 9, 12, 13, 16, 17, 24, 25}) {
    for (const std::int64_t lines : {17, 64, 65, 150}) {
      for (int side = 0; side < 2; ++side) {
        check::CtrsmCase c = numbered_case(unknowns, lines, ++number);
        c.batch = number % 7 == 0 ? 3 : 1;
        const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
}

// One line of many unknowns: chains of links of 32 over the blocks of a cluster, several links a
// block, the last one not whole; more unknowns than a chain.
TEST(CtrsmBlocks, ChainsOfOneLine) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t number = 0;
  for (const std::int64_t unknowns : {65, 96, 301, 550, 1040}) {
    for (int side = 0; side < 4; ++side) {
      check::CtrsmCase c = numbered_case(unknowns, 1, ++number);
      c.batch = unknowns < 100 ? 2 : 1;
      c.shared_a = number % 2 == 0 && c.batch > 1;
      c.condition = number % 2 == 0 ? check::Condition::ill : check::Condition::graded;
      ASSERT_TRUE(on_host::complex_solves_by_chain(65, 1, c.batch, runtime->device()));
      const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
      EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    }
  }
}

// Where unknowns grow, what the one before takes is most of a sum, and not rounded with it.
TEST(CtrsmBlocks, RoundsTheLargestTermWithTheUnknown) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::CtrsmCase c;
  c.m = 128;
  c.n = 64;
  c.unit_diagonal = true;
  c.condition = check::Condition::ill;
  // One system's error differs from the next one's by 0.0014.
  constexpr int systems = 8;
  double squares = 0;
  for (int i = 0; i < systems; ++i) {
    c.seed = run_seed() + static_cast<std::uint64_t>(i);
    const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
    ASSERT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    squares += result.error.rms * result.error.rms / systems;
  }
  // Of u: 0.1587; rounded with the sum 0.166.
  EXPECT_LE(std::sqrt(squares), 0.1625);
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
