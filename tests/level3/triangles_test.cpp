// Products with a triangle by lean tiles: the order of a tile's stages, and all forms and sizes on
// host SIMT. Updates whose A is turned over first.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>

#include "check/run_kernel.hpp"
#include "check/verify_level3.hpp"
#include "host_simt/host_simt.hpp"
#include "level3/lean_triangle_plan.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// Each k of a tile's range is of one stage, and those in the square on the diagonal are of a stage
// that knows it.
TEST(LeanTrianglePlan, StagesHaveEachKOnce) {
  constexpr int bk = 16;
  for (const int size : {48, 64, 128}) {
    for (const int k : {1, 16, 47, 64, 65, 130, 200, 333}) {
      for (const bool ends : {true, false}) {
        for (int line = 0; line < k; line += size) {
          const LeanTriangleStages s = lean_triangle_stages(line, size, bk, k, ends);
          std::multiset<int> seen;
          const auto add = [&](int at, int count, bool on_diagonal) {
            for (int i = at; i < at + count; ++i) {
              seen.insert(i);
              EXPECT_EQ(on_diagonal, i >= line && i < line + size) << i << " of " << line;
            }
          };
          add(s.first_at, s.first_depth, s.first_on_diagonal);
          add(s.diagonal_at, s.diagonal * bk, true);
          add(s.plain_at, s.plain * bk, false);
          const int first = ends ? 0 : line, end = ends ? std::min(k, line + size) : k;
          std::multiset<int> wanted;
          for (int i = first; i < end; ++i) wanted.insert(i);
          EXPECT_EQ(seen, wanted) << size << " k " << k << " from " << line
                                  << (ends ? " ends" : "");
          EXPECT_GT(s.first_depth, 0);
        }
      }
    }
  }
}

TEST(LeanTriangle, AllFormsAndSizes) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const auto kernels =
      select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_lean_*");
  ASSERT_EQ(kernels.size(), std::size(lean_triangle_tiles));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool on_left = lean_triangle_tiles[i].on_left;
    for (const std::int64_t size : {1, 17, 64, 131, 176}) {
      for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
        for (const Op op : {Op::none, Op::transpose}) {
          ++number;
          const std::int64_t lines = number % 3 == 0 ? 140 : 31;
          check::Level3Case c = check::level3_case(Routine::trmm, on_left ? size : lines,
                                                   on_left ? lines : size, size, on_left);
          c.triangle = triangle;
          c.op_a = op;
          c.unit_diagonal = number % 7 < 3;
          c.alpha = number % 4 == 0 ? -1.5f : 1.0f;
          c.scalars_on_device = number % 5 == 0;
          c.lda_pad = number % 2;
          c.ldb_pad = number % 3;
          c.ldc_pad = number % 4;
          c.in_place = size <= 17 && number % 2 == 0;
          c.seed = run_seed() + number;
          const check::VerifyResult result = check::verify_level3(*runtime, kernels[i], c);
          EXPECT_TRUE(result.ok())
              << kernels[i].name << " " << describe(c) << ": " << result.message;
        }
      }
    }
  }
}

// On one multiprocessor the copy is small beside the product.
TEST(RankUpdate, TurnsAOverWhereItLiesAlongK) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const auto kernels = select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "rank_update");
  ASSERT_EQ(kernels.size(), 1u);
  std::uint64_t number = 0;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (const float alpha : {1.25f, 0.0f}) {
      ++number;
      check::Level3Case c = check::level3_case(Routine::syrk, 390, 390, 517);
      c.triangle = triangle;
      c.alpha = alpha;
      c.beta = triangle == Triangle::lower ? -0.5f : 0.0f;
      c.scalars_on_device = true;
      c.lda_pad = 3;
      c.seed = run_seed() + number;
      check::Level3Trial trial(bench, c);
      const auto plan = plan_for(kernels[0], trial.problem(), runtime->device());
      ASSERT_TRUE(plan.has_value());
      EXPECT_EQ(plan->parts.size(), 2u) << "a product of the copy, and of what is stored";
      const check::VerifyResult result = trial.verify(kernels[0]);
      EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    }
  }
}

}  // namespace
}  // namespace kw
