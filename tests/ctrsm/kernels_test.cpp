// Every kernel of complex systems on every device that is here, on every edge case, each residual
// against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "check/run_kernel.hpp"
#include "check/verify_ctrsm.hpp"
#include "ctrsm/ways.hpp"
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

// How a device with so many multiprocessors solves a block of one entry.
on_host::ComplexWayChoice way_of(const check::CtrsmCase& c, const Device& device) {
  on_host::ComplexBlock block{};
  block.size = static_cast<int>(c.k());
  block.lines = c.on_left ? c.n : c.m;
  block.line_step = c.on_left ? 1 : c.n;
  block.unit_diagonal = c.unit_diagonal;
  block.batch = c.batch;
  return on_host::choose_complex_way(block, device);
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
      for (const std::int64_t unknowns : {131, 203, 260}) {
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

// Each number of lines that a warp has, and warps a block has; lines and unknowns that fill neither
// a warp nor a square of the triangle; batches of few lines.
TEST(CtrsmBlocks, WarpsWithLinesOfTheirOwn) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  std::set<std::pair<int, int>> ways;
  std::uint64_t number = 0;
  for (const int multiprocessors : {1, 2, 16}) {
    host_simt::options().multiprocessors = multiprocessors;
    const std::unique_ptr<Runtime> runtime = open_device("host-simt");
    for (const std::int64_t unknowns : {13, 24, 33, 75, 128}) {
      for (const std::int64_t lines : {7, 60, 131, 700}) {
        if (unknowns > 40 && lines > 200 && multiprocessors > 1) continue;
        check::CtrsmCase c = numbered_case(unknowns, lines, ++number);
        c.batch = number % 5 == 0 && lines < 100 ? 3 : 1;
        c.misalign_a = c.misalign_c = number % 2 == 0 ? 1 : 0;
        const auto choice = way_of(c, runtime->device());
        if (choice.way != on_host::ComplexWay::warps) continue;
        ways.emplace(choice.warps.lines, choice.warps.warps);
        const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
  EXPECT_EQ(ways.size(), std::size(on_host::complex_warps_times));
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

// Few lines of many unknowns: chains of links of 32 over the blocks of a cluster, several links a
// block, the last one not whole; more unknowns than a chain; a line a cluster and two, the last one
// alone.
TEST(CtrsmBlocks, ChainsOfFewLines) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 36;  // four clusters side by side
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  std::uint64_t number = 0;
  for (const std::int64_t unknowns : {65, 96, 301, 550, 1040}) {
    for (const std::int64_t lines : {1, 3, 5}) {
      if (unknowns > 500 && lines == (unknowns < 1024 ? 3 : 5)) continue;
      for (int side = 0; side < 4; ++side) {
        check::CtrsmCase c = numbered_case(unknowns, lines, ++number);
        c.batch = unknowns < 100 && lines < 5 ? 2 : 1;
        c.shared_a = number % 2 == 0 && c.batch > 1;
        c.condition = number % 2 == 0 ? check::Condition::ill : check::Condition::graded;
        const auto choice = on_host::choose_complex_chain(33, lines, c.batch, runtime->device());
        ASSERT_TRUE(choice.is_possible());
        ASSERT_EQ(choice.lines, c.batch * lines > 4 ? 2 : 1);
        if (unknowns > 72 && unknowns <= on_host::complex_chain_size) {
          ASSERT_EQ(way_of(c, runtime->device()).way, on_host::ComplexWay::chain) << describe(c);
        }
        const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
  EXPECT_FALSE(on_host::choose_complex_chain(33, 9, 1, runtime->device()).is_possible());
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
// come before it: by warps with lines of their own, and by blocks.
TEST(CtrsmBlocks, RoundsAnUnknownAndNotEachPanel) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  std::set<on_host::ComplexWay> ways;
  for (const int multiprocessors : {1, 64}) {
    host_simt::options().multiprocessors = multiprocessors;
    const std::unique_ptr<Runtime> runtime = open_device("host-simt");
    for (const bool on_left : {true, false}) {
      for (const bool unit : {true, false}) {
        check::CtrsmCase c;
        c.on_left = on_left;
        c.m = on_left ? 128 : 70;
        c.n = on_left ? 70 : 128;
        c.unit_diagonal = unit;
        c.input = check::Input::normal;
        c.seed = run_seed();
        ways.insert(way_of(c, runtime->device()).way);
        const check::VerifyResult result = check::verify_ctrsm(*runtime, kernels[0], c);
        ASSERT_TRUE(result.ok()) << describe(c) << ": " << result.message;
        // Of u: 0.092 and 0.128; rounded before the unknown once more 0.12 and 0.148.
        EXPECT_LE(result.error.rms, unit ? 0.105 : 0.138) << describe(c);
      }
    }
  }
  EXPECT_EQ(ways.size(), 2u);
}

// An infinite element of a right-hand side leads to an infinity, in each kernel that solves lines,
// and to nothing in other lines.
TEST(CtrsmBlocks, KeepsInfinities) {
  const auto kernels = select_kernels(all_kernels<Ctrsm>(DeviceKind::host_simt), "ctrsm_blocks");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  const float infinity = std::numeric_limits<float>::infinity();
  constexpr std::size_t lines = 40;
  std::set<on_host::ComplexWay> ways;
  // Of so many multiprocessors that all lines are solved side by side, by chains.
  constexpr int many = 200;
  for (const auto& [unknowns, multiprocessors] :
       {std::pair{3u, 1}, std::pair{30u, 1}, std::pair{150u, 1}, std::pair{150u, many}}) {
    host_simt::options().multiprocessors = multiprocessors;
    const std::unique_ptr<Runtime> runtime = open_device("host-simt");
    check::Workbench bench(*runtime);
    check::CtrsmCase c;
    c.m = unknowns, c.n = lines;
    ways.insert(way_of(c, runtime->device()).way);
    std::vector<Complex> a(unknowns * unknowns, {0, 0}), x(unknowns * lines, {1, 1});
    for (std::size_t i = 0; i < unknowns; ++i) a[i * (unknowns + 1)] = {2, 0};
    x[lines] = {infinity, 0};
    check::DeviceBuffer of_a(*runtime, a.size() * sizeof(Complex)),
        of_x(*runtime, x.size() * sizeof(Complex));
    ASSERT_TRUE(
        runtime->copy(of_a.data(), a.data(), a.size() * sizeof(Complex), bench.stream()).ok());
    ASSERT_TRUE(
        runtime->copy(of_x.data(), x.data(), x.size() * sizeof(Complex), bench.stream()).ok());
    Ctrsm p;
    p.m = static_cast<std::int64_t>(unknowns), p.n = lines;
    p.a = of_a.as<Complex>(), p.lda = p.m;
    p.c = of_x.as<Complex>(), p.ldc = p.n;
    const check::VerifyResult run = check::run_kernel(bench, kernels[0], p, 0);
    ASSERT_TRUE(run.ok()) << run.message;
    ASSERT_TRUE(
        runtime->copy(x.data(), of_x.data(), x.size() * sizeof(Complex), bench.stream()).ok());
    bench.synchronize();
    EXPECT_EQ(x[0].re, 0.5f) << unknowns;
    EXPECT_EQ(x[lines].re, infinity) << unknowns;
    EXPECT_TRUE(std::isnan(x[2 * lines].re)) << unknowns << ": 0 times an infinity is taken";
    for (std::size_t i = 0; i < unknowns; ++i) {
      EXPECT_EQ(x[i * lines + 1].re, 0.5f) << unknowns << ", unknown " << i;
      EXPECT_EQ(x[i * lines + 1].im, 0.5f) << unknowns << ", unknown " << i;
    }
  }
  EXPECT_EQ(ways.size(), 4u);
}

}  // namespace
}  // namespace kw
