// Every level-3 kernel on every device that is here, on every edge case; and the product's kernels
// that take problems which are not full, one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "check/run_kernel.hpp"
#include "check/verify_level3.hpp"
#include "host_simt/host_simt.hpp"
#include "level3/solve_ways.hpp"
#include "support/kept_options.hpp"
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

// The split kernels read a triangle where it lies; where the scalars take plain FP32, the copy is
// made after all.
TEST(TriangleProduct, OfWhatIsStored) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;  // split products are worth it then
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const auto kernels =
      select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_product_split");
  for (const bool on_left : {true, false}) {
    for (const float alpha : {1.5f, 0.0f}) {
      constexpr std::int64_t size = 1000, lines = 65;
      check::Level3Case c = check::level3_case(Routine::trmm, on_left ? size : lines,
                                               on_left ? lines : size, size, on_left);
      c.triangle = on_left ? Triangle::lower : Triangle::upper;
      c.op_a = on_left ? Op::none : Op::transpose;
      c.unit_diagonal = on_left;
      c.lda_pad = 3;
      c.alpha = alpha;
      c.scalars_on_device = true;
      c.seed = run_seed();
      check::Level3Trial trial(bench, c);
      const auto plan = plan_for(kernels[0], trial.problem(), runtime->device());
      ASSERT_TRUE(plan.has_value());
      EXPECT_EQ(plan->parts.size(), 2u) << "a split product and what it may leave to plain FP32";
      const check::VerifyResult result = trial.verify(kernels[0]);
      EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    }
  }
}

// Tiles that are cut along k: those that one multiprocessor has left over, and all of them where it
// has room for more blocks.
TEST(Level3Lean, TilesThatAreCut) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  std::uint64_t number = 0;
  for (const auto& kernel :
       select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "level3_lean*")) {
    int cut = 0;
    for (const Routine routine : {Routine::syrk, Routine::syrkx, Routine::syr2k}) {
      for (const auto& [m, k] : {std::pair{190, 550}, {61, 437}, {250, 301}}) {
        for (const Op op : {Op::none, Op::transpose}) {
          check::Level3Case c = check::level3_case(routine, m, m, k);
          c.triangle = ++number % 2 == 0 ? Triangle::lower : Triangle::upper;
          c.op_a = c.op_b = op;
          c.alpha = -0.5f;
          c.beta = number % 3 == 0 ? 1.25f : 0.0f;
          c.scalars_on_device = number % 5 == 0;
          c.ldc_pad = number % 4;
          c.seed = run_seed() + number;
          check::Level3Trial trial(bench, c);
          const auto plan = plan_for(kernel, trial.problem(), runtime->device());
          ASSERT_TRUE(plan.has_value());
          cut += plan->workspace_bytes > 0 ? 1 : 0;
          const check::VerifyResult result = trial.verify(kernel);
          EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
        }
      }
    }
    EXPECT_EQ(cut > 3, std::string_view(kernel.name) == "level3_lean") << kernel.name;
  }
}

// Each size of a block's A and those beside it, more lines than a block has, C in place of B.
TEST(Level3Lines, AllFormsAndSizes) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "level3_lines");
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t number = 0;
  for (const Routine routine : {Routine::trmm, Routine::symm}) {
    for (const std::int64_t size : {1, 8, 9, 16, 17, 31, 32}) {
      for (const bool on_left : {true, false}) {
        for (const Op op : {Op::none, Op::transpose}) {
          ++number;
          const std::int64_t lines = number % 3 == 0 ? 150 : 33;
          check::Level3Case c = check::level3_case(routine, on_left ? size : lines,
                                                   on_left ? lines : size, size, on_left);
          c.triangle = number % 2 == 0 ? Triangle::lower : Triangle::upper;
          c.op_a = routine == Routine::trmm && number % 5 < 2 ? Op::transpose : Op::none;
          c.unit_diagonal = routine == Routine::trmm && number % 7 < 3;
          c.in_place = routine == Routine::trmm && op == Op::none && number % 3 == 1;
          c.op_b = c.in_place ? Op::none : op;
          c.beta = routine == Routine::symm && number % 4 == 0 ? -1.5f : 0.0f;
          c.lda_pad = 1;
          c.ldb_pad = c.ldc_pad = 3;
          c.seed = run_seed() + number;
          const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
          EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
        }
      }
    }
  }
}

// Few lines of many unknowns: chains of links of 32 over the blocks of a cluster, several links a
// warp's block, the last one not whole; lines in one cluster and in two.
TEST(TriangleSolve, ChainsOfFewLines) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t number = 0;
  for (const std::int64_t size : {33, 64, 301, 550}) {
    for (const std::int64_t lines : {1, 2, 3, 5}) {
      ++number;
      const bool on_left = number % 2 == 0;
      check::Level3Case c = check::level3_case(Routine::trsm, on_left ? size : lines,
                                               on_left ? lines : size, size, on_left);
      c.triangle = number % 4 < 2 ? Triangle::lower : Triangle::upper;
      c.op_a = number % 3 == 0 ? Op::transpose : Op::none;
      c.unit_diagonal = number % 5 == 0;
      c.batch = size < 100 ? 2 : 1;
      c.shared_a = number % 7 == 0 && c.batch > 1;
      c.scalars_on_device = number % 3 == 1;
      c.alpha = -1.5f;
      c.lda_pad = c.ldc_pad = 3;
      c.condition = number % 2 == 0 ? check::Condition::ill : check::Condition::graded;
      c.seed = run_seed() + number;
      const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
      EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    }
  }
}

// What is left of a right-hand side is rounded with the unknown, and a quotient once: the residual
// of each is that of two roundings, however many panels of 16 unknowns come before it.
TEST(TriangleSolve, RoundsAnUnknownAndNotEachPanel) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  ASSERT_EQ(kernels.size(), 1u);
  for (const bool on_left : {true, false}) {
    for (const bool unit : {true, false}) {
      check::Level3Case c =
          check::level3_case(Routine::trsm, on_left ? 256 : 16, on_left ? 16 : 256, 256, on_left);
      c.triangle = on_left ? Triangle::lower : Triangle::upper;
      c.unit_diagonal = unit;
      c.input = check::Input::normal;
      c.seed = run_seed();
      const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
      ASSERT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      // Of u: 0.17 and 0.21. Rounded before the unknown once more 0.21 and 0.24, with each panel
      // 0.38 and 0.43.
      EXPECT_LE(result.error.rms, unit ? 0.187 : 0.225) << describe(c);
    }
  }
}

// Where unknowns grow, what the one before takes is most of a sum, and not rounded with it.
TEST(TriangleSolve, RoundsTheLargestTermWithTheUnknown) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  ASSERT_EQ(kernels.size(), 1u);
  check::Level3Case c = check::level3_case(Routine::trsm, 128, 64, 128, true);
  c.unit_diagonal = true;
  c.condition = check::Condition::ill;
  c.seed = run_seed();
  const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
  ASSERT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  // Of u: 0.29; rounded with the sum 0.31.
  EXPECT_LE(result.error.rms, 0.301) << describe(c);
}

// A system with some unknowns and lines, whose other forms follow from a number.
check::Level3Case numbered_system(std::int64_t unknowns, std::int64_t lines, std::uint64_t number) {
  const bool on_left = number % 2 == 0;
  check::Level3Case c = check::level3_case(Routine::trsm, on_left ? unknowns : lines,
                                           on_left ? lines : unknowns, unknowns, on_left);
  c.triangle = number % 8 < 4 ? Triangle::lower : Triangle::upper;
  c.op_a = number % 3 == 0 ? Op::none : Op::transpose;
  c.unit_diagonal = number % 5 < 2;
  c.alpha = number % 4 < 2 ? 1.0f : -1.5f;
  c.batch = number % 7 == 0 ? 3 : 1;
  c.lda_pad = c.ldc_pad = number % 3;
  c.seed = run_seed() + number;
  return c;
}

// How a device solves it, where it is one block.
on_host::SolveWayChoice way_of(const check::Level3Case& c, const Device& device) {
  on_host::SolveBlock block{};
  block.size = static_cast<int>(c.on_left ? c.m : c.n);
  block.lines = c.on_left ? c.n : c.m;
  block.line_step = c.on_left ? 1 : c.n;
  block.unit_diagonal = c.unit_diagonal;
  block.batch = c.batch;
  return on_host::choose_solve_way(block, device);
}

// Each size of a block of few unknowns and those beside it, more lines than a block has, and
// batches.
TEST(TriangleSolve, FewUnknowns) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t number = 0;
  int by_lines = 0;
  for (const std::int64_t unknowns : {1, 7, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29, 32, 33}) {
    for (const std::int64_t lines : {1, 64, 65, 150}) {
      for (int side = 0; side < 2; ++side) {
        const check::Level3Case c = numbered_system(unknowns, lines, ++number);
        by_lines += way_of(c, runtime->device()).way == on_host::SolveWay::lines ? 1 : 0;
        const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
  EXPECT_GT(by_lines, 50);
}

// An unknown a lane: one to four of them, the last not for all lanes; 2 and 4 lines a warp, the
// last warps without any; batches.
TEST(TriangleSolve, AnUnknownALane) {
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 16;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  std::set<std::pair<std::int64_t, int>> ways;  // unknowns, lines of a warp
  std::uint64_t number = 0;
  for (const std::int64_t unknowns : {17, 32, 33, 64, 65, 96, 107, 128}) {
    for (const std::int64_t lines : {5, 67, 131, 300, 500}) {
      for (int side = 0; side < 2; ++side) {
        const check::Level3Case c = numbered_system(unknowns, lines, ++number);
        const auto choice = way_of(c, runtime->device());
        if (choice.way != on_host::SolveWay::lanes) continue;
        ways.emplace(unknowns, choice.lines_of_warp);
        const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
        EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
      }
    }
  }
  EXPECT_GE(ways.size(), 12u);
}

// Each number of lines that a warp has, and warps a block has; lines and unknowns that fill neither
// a warp nor a square of the triangle; batches of few lines.
TEST(TriangleSolve, WarpsWithLinesOfTheirOwn) {
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  ASSERT_EQ(kernels.size(), 1u);
  const test::KeptOptions kept;
  std::set<std::pair<int, int>> ways;
  std::uint64_t number = 0;
  for (const int multiprocessors : {1, 2, 16}) {
    host_simt::options().multiprocessors = multiprocessors;
    const std::unique_ptr<Runtime> runtime = open_device("host-simt");
    for (const std::int64_t unknowns : {33, 40, 75, 128}) {
      for (const std::int64_t lines : {60, 131, 300, 1500}) {
        if (lines > 300 && (unknowns < 128 || multiprocessors > 1)) continue;
        for (int side = 0; side < 2; ++side) {
          const check::Level3Case c = numbered_system(unknowns, lines, ++number);
          const auto choice = way_of(c, runtime->device());
          if (choice.way != on_host::SolveWay::warps) continue;
          ways.emplace(choice.warps.lines, choice.warps.warps);
          const check::VerifyResult result = check::verify_level3(*runtime, kernels[0], c);
          EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
        }
      }
    }
  }
  EXPECT_EQ(ways.size(), std::size(on_host::solve_warps_times));
}

// An infinite element of a right-hand side, and a diagonal of zero, lead to infinities first; by
// each of the kernels that solve.
TEST(TriangleSolve, KeepsInfinities) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_solve");
  const float infinity = std::numeric_limits<float>::infinity();
  struct System {
    std::size_t unknowns, lines;
    on_host::SolveWay way;
  };
  for (const auto& [unknowns, lines, way] : {System{3, 2, on_host::SolveWay::lines},
                                             {20, 2, on_host::SolveWay::lanes},
                                             {200, 2, on_host::SolveWay::chain},
                                             {150, 70, on_host::SolveWay::block},
                                             {40, 300, on_host::SolveWay::warps}}) {
    std::vector<float> a(unknowns * unknowns, 0.0f), c(lines * unknowns, 1.0f);
    for (std::size_t i = 0; i < unknowns; ++i) a[i * (unknowns + 1)] = 1;
    a[0] = 2, a[unknowns + 1] = 3, a[2 * (unknowns + 1)] = 0;
    const std::vector<float> first = {1, 6, infinity, 2, -3, 5};
    for (std::size_t i = 0; i < first.size(); ++i) c[i / 2 * lines + i % 2] = first[i];
    check::DeviceBuffer of_a(*runtime, a.size() * sizeof(float)),
        of_c(*runtime, c.size() * sizeof(float));
    check::Workbench bench(*runtime);
    ASSERT_TRUE(
        runtime->copy(of_a.data(), a.data(), a.size() * sizeof(float), bench.stream()).ok());
    ASSERT_TRUE(
        runtime->copy(of_c.data(), c.data(), c.size() * sizeof(float), bench.stream()).ok());
    Level3 p;
    p.routine = Routine::trsm;
    p.m = p.k = static_cast<std::int64_t>(unknowns);
    p.n = static_cast<std::int64_t>(lines);
    p.a = of_a.as<float>();
    p.lda = p.k;
    p.c = of_c.as<float>();
    p.ldc = p.n;
    on_host::SolveBlock block{};
    block.size = static_cast<int>(unknowns), block.lines = p.n, block.batch = 1;
    block.line_step = 1;
    EXPECT_EQ(on_host::choose_solve_way(block, runtime->device()).way, way) << unknowns;
    const check::VerifyResult run = check::run_kernel(bench, kernels[0], p, 0);
    ASSERT_TRUE(run.ok()) << run.message;
    std::vector<float> x(c.size());
    ASSERT_TRUE(
        runtime->copy(x.data(), of_c.data(), x.size() * sizeof(float), bench.stream()).ok());
    bench.synchronize();
    const auto at = [&, n = lines](std::size_t row, std::size_t line) { return x[row * n + line]; };
    EXPECT_EQ(at(0, 0), 0.5f) << unknowns;
    EXPECT_EQ(at(0, 1), 3.0f) << unknowns;
    EXPECT_EQ(at(1, 0), infinity) << unknowns;
    EXPECT_FLOAT_EQ(at(1, 1), 2.0f / 3) << unknowns;
    EXPECT_TRUE(std::isnan(at(2, 0))) << unknowns << ": 0 times an infinity is taken from it";
    EXPECT_EQ(at(2, 1), infinity) << unknowns;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Level3Kernels, testing::ValuesIn(subjects<Level3>()),
                         subject_name<Level3>);

}  // namespace
}  // namespace kw
