// Every level-3 kernel on every device that is here, on every edge case; and the product's kernels
// that take problems which are not full, one by one.
#include <gtest/gtest.h>

#include "check/run_kernel.hpp"
#include "check/verify_level3.hpp"
#include "host_simt/host_simt.hpp"
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
  const host_simt::Options before = host_simt::options();
  host_simt::options().multiprocessors = 1;  // split products are worth it then
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const auto kernels =
      select_kernels(all_kernels<Level3>(DeviceKind::host_simt), "triangle_product_split");
  for (const bool on_left : {true, false}) {
    for (const float alpha : {1.5f, 0.0f}) {
      check::Level3Case c = check::level3_case(Routine::trmm, 300, 300, 300, on_left);
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
  host_simt::options() = before;
}

INSTANTIATE_TEST_SUITE_P(Registry, Level3Kernels, testing::ValuesIn(subjects<Level3>()),
                         subject_name<Level3>);

}  // namespace
}  // namespace kw
