// Every reduction kernel of every list on every device that is here, host SIMT included, on every
// edge case. Kernels come from the registries: a new one is tested without being named here.
#include <gtest/gtest.h>

#include <algorithm>

#include "check/reduce/case.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// An address sanitizer makes everything some fifteen times slower: it gets every eighth case, of
// each run others.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t every_case = 8;
#else
constexpr std::size_t every_case = 1;
#endif

class ReduceKernels : public testing::TestWithParam<Subject<Reduce>> {};

TEST_P(ReduceKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  check::Workbench bench(*runtime);
  const Kernel<Reduce>& kernel = GetParam().kernel;
  int computed = 0;
  const std::vector<check::ReduceCase> cases = check::reduce_edge_cases(run_seed());
  for (std::size_t i = run_seed() % every_case; i < cases.size(); i += every_case) {
    const check::ReduceCase& c = cases[i];
    const check::VerifyResult result = check::ReduceTrial(bench, c).verify(kernel);
    if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c)) {
      continue;
    }
    EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
    ++computed;
  }
  EXPECT_GT(computed, 0) << "a kernel that takes no case is not tested";
}

// Floats of whole arrays are what every rung takes: more lengths and alignments of them, and enough
// elements for several blocks.
TEST_P(ReduceKernels, FloatSums) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  check::Workbench bench(*runtime);
  const Kernel<Reduce>& kernel = GetParam().kernel;
  for (const std::int64_t length : {0, 1, 5, 31, 32, 33, 255, 257, 511, 513, 2047, 4097, 65537}) {
    for (std::int64_t misalign = 0; misalign < 4; ++misalign) {
      check::ReduceCase c;
      c.cols = length;
      c.misalign = misalign;
      c.input = misalign % 2 == 0 ? check::Input::unit : check::Input::normal;
      c.guard = misalign < 2 ? 0 : 1024;
      c.seed = static_cast<std::uint64_t>(length) + run_seed();
      const check::VerifyResult result = check::ReduceTrial(bench, c).verify(kernel);
      if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c)) {
        continue;
      }
      EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
    }
  }
}

TEST_P(ReduceKernels, HasNameAndIdea) {
  const Kernel<Reduce>& kernel = GetParam().kernel;
  EXPECT_NE(std::string(kernel.name), "");
  EXPECT_NE(std::string(kernel.idea), "");
  const std::vector<Subject<Reduce>> all = subjects<Reduce>();
  const auto named = [&](const char* name) {
    return std::count_if(all.begin(), all.end(), [&](const Subject<Reduce>& other) {
      return std::string(other.device) == GetParam().device &&
             std::string(other.kernel.name) == name;
    });
  };
  EXPECT_EQ(named(kernel.name), 1) << "names are unique on a device";
}

INSTANTIATE_TEST_SUITE_P(Registry, ReduceKernels, testing::ValuesIn(subjects<Reduce>()),
                         subject_name<Reduce>);

TEST(ReduceRegistry, ParentsExist) {
  const std::vector<Subject<Reduce>> all = subjects<Reduce>();
  ASSERT_FALSE(all.empty());
  for (const Subject<Reduce>& subject : all) {
    if (subject.kernel.parent == nullptr) continue;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [&](const Subject<Reduce>& other) {
                              return std::string(other.kernel.name) == subject.kernel.parent;
                            }))
        << subject.kernel.name << " improves on " << subject.kernel.parent;
  }
}

// Production kernels may share the work, but each case has one, on each device.
TEST(ReduceRegistry, ProductionKernelsTakeEveryCase) {
  add_developer_backends();
  for (const Backend& backend : backends()) {
    if (backend.device_count() == 0) continue;
    std::unique_ptr<Runtime> runtime;
    ASSERT_TRUE(backend.open(0, &runtime).ok());
    check::Workbench bench(*runtime);
    const KernelList<Reduce> kernels = backend.reduce();
    for (const check::ReduceCase& c : check::reduce_edge_cases()) {
      const check::ReduceTrial trial(bench, c);
      EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(),
                              [&](const Kernel<Reduce>& kernel) {
                                return kernel.role == Role::production &&
                                       supports(kernel, trial.problem(), runtime->device());
                              }))
          << to_string(backend.kind) << " " << describe(c);
    }
  }
}

}  // namespace
}  // namespace kw
