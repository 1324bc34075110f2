// Kernels in host SIMT with wavefronts of 64 lanes, as AMD's GFX9 has them: what counts on warps of
// 32 has to count on half a wavefront, whose other half may be elsewhere. Kernels come from the
// registries; one that is for warps of 32 only says so.
#include <gtest/gtest.h>

#include "check/cases.hpp"
#include "check/reduce/case.hpp"
#include "check/verify_attention.hpp"
#include "check/verify_cgemm.hpp"
#include "host_simt/host_simt.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"

namespace kw {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t every_case = 40;
#else
constexpr std::size_t every_case = 8;
#endif

template <class Problem>
std::vector<Subject<Problem>> in_host_simt() {
  std::vector<Subject<Problem>> found = subjects<Problem>();
  std::erase_if(found,
                [](const auto& subject) { return subject.device != std::string("host-simt"); });
  return found;
}

class Wavefronts : public testing::Test {
 protected:
  Wavefronts() { host_simt::options().warp_size = 64; }

 private:
  const test::KeptOptions kept_;
};

class SgemmWavefronts : public Wavefronts, public testing::WithParamInterface<Subject<Sgemm>> {};
class ReduceWavefronts : public Wavefronts, public testing::WithParamInterface<Subject<Reduce>> {};
class ScaleAddWavefronts : public Wavefronts,
                           public testing::WithParamInterface<Subject<ScaleAdd>> {};

class CgemmWavefronts : public Wavefronts, public testing::WithParamInterface<Subject<Cgemm>> {};

// A kernel that takes a problem where warps have 32 lanes, and not here, is for those alone: all of
// its problems are refused.
TEST_P(SgemmWavefronts, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const Kernel<Sgemm>& kernel = GetParam().kernel;
  Device with_warps = bench.device();
  with_warps.warp_size = 32;
  int computed = 0, only_in_warps = 0;
  std::vector<check::SgemmCase> cases = check::sgemm_edge_cases();
  for (const auto& more : {check::sgemm_thin_cases(),
                           check::sgemm_cases_of_shape(129, 130, 70, check::Input::uniform, 3)}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < cases.size(); i += every_case) {
    check::SgemmTrial trial(bench, cases[i]);
    if (!supports(kernel, trial.problem(), bench.device())) {
      only_in_warps += supports(kernel, trial.problem(), with_warps) ? 1 : 0;
      continue;
    }
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(cases[i]) << ": " << result.message;
    ++computed;
  }
  EXPECT_NE(computed > 0, only_in_warps > 0);
}

TEST_P(ReduceWavefronts, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const Kernel<Reduce>& kernel = GetParam().kernel;
  int computed = 0;
  const std::vector<check::ReduceCase> cases = check::reduce_edge_cases();
  for (const check::ReduceCase& c : cases) {
    if (!supports(kernel, check::ReduceTrial(bench, c).problem(), bench.device())) continue;
    if (computed++ % static_cast<int>(every_case) != 0) continue;
    const check::VerifyResult result = check::ReduceTrial(bench, c).verify(kernel);
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
  }
  EXPECT_GT(computed, 0) << "no kernel of reductions is for warps of 32 alone";
}

TEST_P(ScaleAddWavefronts, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  for (const check::ScaleAddCase& c : check::scale_add_edge_cases()) {
    const check::VerifyResult result = check::verify_scale_add(*runtime, GetParam().kernel, c);
    EXPECT_TRUE(result.ok()) << GetParam().kernel.name << " " << describe(c) << ": "
                             << result.message;
  }
}

// As those of sgemm: the complex stream tiles are for warps of 32 lanes alone.
TEST_P(CgemmWavefronts, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const Kernel<Cgemm>& kernel = GetParam().kernel;
  Device with_warps = bench.device();
  with_warps.warp_size = 32;
  const std::vector<check::CgemmCase> cases = check::cgemm_edge_cases();
  int computed = 0, only_in_warps = 0;
  for (std::size_t i = 0; i < cases.size(); i += every_case) {
    check::CgemmTrial trial(bench, cases[i]);
    if (!supports(kernel, trial.problem(), bench.device())) {
      only_in_warps += supports(kernel, trial.problem(), with_warps) ? 1 : 0;
      continue;
    }
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(cases[i]) << ": " << result.message;
    ++computed;
  }
  EXPECT_TRUE(computed > 0 || only_in_warps > 0);
}

class AttentionWavefronts : public Wavefronts,
                            public testing::WithParamInterface<Subject<Attention>> {};

TEST_P(AttentionWavefronts, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const std::vector<check::AttentionCase> cases = check::attention_edge_cases();
  for (std::size_t i = 1; i < cases.size(); i += every_case) {
    const check::AttentionCase& c = cases[i];
    const check::VerifyResult result = check::verify_attention(*runtime, GetParam().kernel, c);
    EXPECT_TRUE(result.ok() || result.outcome == check::Outcome::unsupported)
        << GetParam().kernel.name << " " << describe(c) << ": " << result.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, AttentionWavefronts,
                         testing::ValuesIn(in_host_simt<Attention>()), subject_name<Attention>);
INSTANTIATE_TEST_SUITE_P(Registry, CgemmWavefronts, testing::ValuesIn(in_host_simt<Cgemm>()),
                         subject_name<Cgemm>);
INSTANTIATE_TEST_SUITE_P(Registry, SgemmWavefronts, testing::ValuesIn(in_host_simt<Sgemm>()),
                         subject_name<Sgemm>);
INSTANTIATE_TEST_SUITE_P(Registry, ReduceWavefronts, testing::ValuesIn(in_host_simt<Reduce>()),
                         subject_name<Reduce>);
INSTANTIATE_TEST_SUITE_P(Registry, ScaleAddWavefronts, testing::ValuesIn(in_host_simt<ScaleAdd>()),
                         subject_name<ScaleAdd>);

}  // namespace
}  // namespace kw
