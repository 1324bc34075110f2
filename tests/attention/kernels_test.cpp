// Every attention kernel on every device that is here, on every edge case.
#include <gtest/gtest.h>

#include "check/verify_attention.hpp"
#include "choice.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t every_attention_case = 3;
#else
constexpr std::size_t every_attention_case = 1;
#endif

class AttentionKernels : public testing::TestWithParam<Subject<Attention>> {};

TEST_P(AttentionKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  int verified = 0;
  const std::vector<check::AttentionCase> cases = check::attention_edge_cases(run_seed());
  for (std::size_t i = 0; i < cases.size(); i += every_attention_case) {
    const check::AttentionCase& c = cases[i];
    const check::VerifyResult result = check::verify_attention(*runtime, GetParam().kernel, c);
    if (result.outcome == check::Outcome::unsupported) continue;
    ++verified;
    EXPECT_TRUE(result.ok()) << GetParam().kernel.name << " " << describe(c) << ": "
                             << result.message;
  }
  EXPECT_GT(verified, 0);
}

// Of kernels with more than one way: which one is taken is decided by the data.
class AttentionPaths : public AttentionKernels {};

TEST_P(AttentionPaths, TheDataAloneSelectThem) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  using check::AttentionData;
  const auto path_of = [&](AttentionData data) {
    check::AttentionCase c{1, 2, 1, 70, 100, 64};
    c.data = data;
    const check::VerifyResult result = check::verify_attention(*runtime, GetParam().kernel, c);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    return std::string(result.path != nullptr ? result.path : "none");
  };
  for (const AttentionData data : {AttentionData::uniform, AttentionData::dominant,
                                   AttentionData::equal, AttentionData::large})
    EXPECT_EQ(path_of(data), "fp16x3") << check::to_string(data);
  EXPECT_EQ(path_of(AttentionData::special), "fp32");
  EXPECT_EQ(path_of(AttentionData::uneven), "fp32");
}

INSTANTIATE_TEST_SUITE_P(Registry, AttentionKernels, testing::ValuesIn(subjects<Attention>()),
                         subject_name<Attention>);

auto with_paths() {
  auto found = subjects<Attention>();
  std::erase_if(found, [](const auto& subject) {
    return subject.kernel.path_taken == nullptr || is_choice(subject.kernel.name);
  });
  return found;
}
INSTANTIATE_TEST_SUITE_P(Registry, AttentionPaths, testing::ValuesIn(with_paths()),
                         subject_name<Attention>);

}  // namespace
}  // namespace kw
