// Every attention kernel on every device that is here, on every edge case.
#include <gtest/gtest.h>

#include "check/verify_attention.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class AttentionKernels : public testing::TestWithParam<Subject<Attention>> {};

TEST_P(AttentionKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  int verified = 0;
  for (const check::AttentionCase& c : check::attention_edge_cases(run_seed())) {
    const check::VerifyResult result = check::verify_attention(*runtime, GetParam().kernel, c);
    if (result.outcome == check::Outcome::unsupported) continue;
    ++verified;
    EXPECT_TRUE(result.ok()) << GetParam().kernel.name << " " << describe(c) << ": "
                             << result.message;
  }
  EXPECT_GT(verified, 0);
}

INSTANTIATE_TEST_SUITE_P(Registry, AttentionKernels, testing::ValuesIn(subjects<Attention>()),
                         subject_name<Attention>);

}  // namespace
}  // namespace kw
