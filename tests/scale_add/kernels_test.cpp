// Every scale_add kernel on every device that is here, on every edge case; the result must be that
// of one fused multiply-add an element, so all devices give the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/cases.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class ScaleAddKernels : public testing::TestWithParam<Subject<ScaleAdd>> {};

TEST_P(ScaleAddKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  for (const check::ScaleAddCase& c : check::scale_add_edge_cases(run_seed())) {
    const check::VerifyResult result = check::verify_scale_add(*runtime, GetParam().kernel, c);
    EXPECT_TRUE(result.ok()) << GetParam().kernel.name << " " << describe(c) << ": "
                             << result.message;
  }
}

// Without the check's own arithmetic: against fmaf on this CPU.
TEST_P(ScaleAddKernels, SameBitsAsTheCpu) {
  constexpr std::int64_t rows = 37;
  constexpr std::int64_t cols = 211;
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  check::Workbench bench(*runtime);
  const check::DeviceBuffer a(*runtime, rows * cols * sizeof(float));
  const check::DeviceBuffer b(*runtime, rows * cols * sizeof(float));
  std::vector<float> values(rows * cols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = check::input_value({check::Input::normal, 5, check::Operand::a},
                                   static_cast<std::int64_t>(i));
  }
  check::require(runtime->copy(a.data(), values.data(), a.bytes(), bench.stream()));
  const ScaleAdd problem{rows, cols, 0.1f, a.as<float>(), cols, -0.3f, b.as<float>(), cols};
  ASSERT_TRUE(GetParam().kernel.supports(problem, runtime->device()));
  check::require(GetParam().kernel.launch(problem, runtime->device(), {}, bench.stream()));
  std::vector<float> got(values.size());
  check::require(runtime->copy(got.data(), b.data(), b.bytes(), bench.stream()));
  for (float& value : values) value = std::fmaf(0.1f, value, -0.3f);
  EXPECT_EQ(std::memcmp(got.data(), values.data(), b.bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Registry, ScaleAddKernels, testing::ValuesIn(subjects<ScaleAdd>()),
                         subject_name<ScaleAdd>);

}  // namespace
}  // namespace kw
