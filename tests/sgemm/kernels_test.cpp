// Every matrix-product kernel of every list on every device that is here, host SIMT
// included, on every edge case. Kernels come from the registries: a new one is tested without being
// named here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "check/cases.hpp"
#include "select.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// An address sanitizer makes everything some fifteen times slower: a kernel gets every eighth case,
// others than its neighbours in the list, and others each run.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t case_step = 8;
#else
constexpr std::size_t case_step = 1;
#endif

// Of how many rows the table is that a kernel is a row of: rows are called after it and their
// sizes.
std::size_t rows_of_table(const Subject<Sgemm>& subject) {
  const auto table = [](std::string_view name) {
    return name.substr(0, name.find_first_of("0123456789"));
  };
  const std::vector<Subject<Sgemm>> all = subjects<Sgemm>();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const Subject<Sgemm>& other) {
        return std::string_view(other.device) == subject.device &&
               table(other.kernel.name) == table(subject.kernel.name);
      }));
}

// Host SIMT takes its time. Tensor cores are the slowest there: a sixth of the cases, others each
// run. Of a table whose rows share one text a row gets a third, and each case ten rows; with
// KW_TEST_EVERY_CASE all.
std::size_t step_of(const Subject<Sgemm>& subject) {
  if (subject.device != std::string("host-simt")) return case_step;
  if (subject.kernel.math == Math::fp32_split) return 6 * case_step;
  const bool is_one_of_many =
      subject.kernel.role == Role::production && rows_of_table(subject) >= 10;
  return is_one_of_many && std::getenv("KW_TEST_EVERY_CASE") == nullptr ? 3 * case_step : case_step;
}

class SgemmKernels : public testing::TestWithParam<Subject<Sgemm>> {
 protected:
  // One case in `sparsely` of those that this subject computes.
  void check_all(const std::vector<check::SgemmCase>& cases, std::size_t sparsely = 1) {
    const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
    const Kernel<Sgemm>& kernel = GetParam().kernel;
    int computed = 0;
    int tried = 0;
    const std::size_t step = step_of(GetParam()) * sparsely;
    const auto name = static_cast<unsigned>(std::hash<std::string>()(kernel.name));
    const std::size_t first = seed_of(name) % step;
    for (std::size_t i = std::min(first, cases.size() - 1); i < cases.size(); i += step) {
      check::SgemmCase c = cases[i];
      c.seed += run_seed();
      const check::VerifyResult result = check::verify_sgemm(*runtime, kernel, c);
      if (kernel.role == Role::peer && c.epilogue.any()) {
        EXPECT_EQ(result.outcome, check::Outcome::unsupported) << kernel.name;
        continue;
      }
      ++tried;
      if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c)) {
        continue;
      }
      EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
      ++computed;
    }
    if (kernel.role == Role::peer || kernel.role == Role::reference) {
      EXPECT_EQ(computed, tried);
    }
  }
};

TEST_P(SgemmKernels, EdgeCases) { check_all(check::sgemm_edge_cases()); }
TEST_P(SgemmKernels, Transposes) { check_all(check::sgemm_transpose_cases()); }
TEST_P(SgemmKernels, BatchesAndScalarsOnTheDevice) { check_all(check::sgemm_batch_cases()); }
TEST_P(SgemmKernels, Epilogues) { check_all(check::sgemm_epilogue_cases()); }
TEST_P(SgemmKernels, ThinProducts) {
  const bool is_made_for_them = GetParam().kernel.name == std::string("thin");
  check_all(check::sgemm_thin_cases(), is_made_for_them ? 1 : 6);
  if (!is_made_for_them) return;
  // Lines of many steps, all but the last of which lie inside of the operand.
  check_all(check::sgemm_cases_of_shape(1, 290, 5003, check::Input::uniform, 9));
  check_all(check::sgemm_cases_of_shape(291, 1, 4100, check::Input::uniform, 10));
}

// Errors of a wrong k step or a lost partial sum hide in short products.
TEST_P(SgemmKernels, LongProducts) {
  check_all(check::sgemm_cases_of_shape(33, 65, 2049, check::Input::uniform, 7), 2);
  check_all(check::sgemm_cases_of_shape(65, 33, 1536, check::Input::unit, 8), 2);
}

// Whole tiles with aligned rows, which tiled kernels compute without guards: odd and even counts of
// tiles along k, with and without beta.
TEST_P(SgemmKernels, WholeAlignedTiles) {
  std::vector<check::SgemmCase> cases;
  for (const std::int64_t k : {8, 16, 24, 48, 80, 128, 256}) {
    for (const float beta : {0.0f, -1.5f}) {
      check::SgemmCase c;
      c.m = k == 48 ? 384 : 128;
      c.n = k % 16 == 0 ? 256 : 128;
      c.k = k;
      c.lda_pad = c.ldb_pad = c.ldc_pad = beta == 0 ? 0 : 4;
      c.alpha = beta == 0 ? 1.0f : -1.5f;
      c.beta = beta;
      c.seed = static_cast<std::uint64_t>(k);
      cases.push_back(c);
    }
  }
  check_all(cases);
}

TEST_P(SgemmKernels, HasNameAndIdea) {
  const Kernel<Sgemm>& kernel = GetParam().kernel;
  EXPECT_NE(std::string(kernel.name), "");
  EXPECT_NE(std::string(kernel.idea), "");
  EXPECT_TRUE(kernel.role == Role::rung || kernel.extra_error == nullptr) << "only a rung may err";
  const std::vector<Subject<Sgemm>> all = subjects<Sgemm>();
  const auto named = [&](const char* name) {
    return std::count_if(all.begin(), all.end(), [&](const Subject<Sgemm>& other) {
      return std::string(other.device) == GetParam().device &&
             std::string(other.kernel.name) == name;
    });
  };
  EXPECT_EQ(named(kernel.name), 1) << "names are unique on a device";
}

// A sum of one term hides nothing of what its factors lose: here the rungs' own bounds are
// tightest.
TEST(SgemmRungs, KeepTheirOwnBoundsWhereKIsOne) {
  int tried = 0;
  bool has_host_simt = false;
  for (const Subject<Sgemm>& subject : subjects<Sgemm>()) {
    has_host_simt |= subject.device == std::string("host-simt");
    if (subject.kernel.extra_error == nullptr) continue;
    const std::unique_ptr<Runtime> runtime = open_device(subject.device);
    for (const std::uint64_t seed : {std::uint64_t{991302}, std::uint64_t{run_seed()}}) {
      check::SgemmCase c;
      c.m = 310;
      c.n = 477;
      c.k = 1;
      c.seed = seed;
      const check::VerifyResult result = check::verify_sgemm(*runtime, subject.kernel, c);
      if (result.outcome == check::Outcome::unsupported) continue;
      EXPECT_TRUE(result.ok()) << subject.kernel.name << " " << describe(c) << ": "
                               << result.message;
      ++tried;
    }
  }
  EXPECT_TRUE(tried >= 6 || !has_host_simt) << "r17, r18 and r21 run in host SIMT";
}

INSTANTIATE_TEST_SUITE_P(Registry, SgemmKernels, testing::ValuesIn(subjects<Sgemm>()),
                         subject_name<Sgemm>);

// A production kernel may refuse a problem, but not all of a list, nor one of them every problem.
class SgemmProduction : public testing::TestWithParam<DeviceKind> {};

TEST_P(SgemmProduction, TogetherTakeEveryProblem) {
  const Backend* backend = find_backend(GetParam());
  const KernelList<Sgemm> kernels = backend->sgemm();
  std::unique_ptr<Runtime> runtime;
  ASSERT_TRUE(backend->open(0, &runtime).ok());
  check::Workbench bench(*runtime);
  std::vector<int> taken(kernels.size());
  for (const auto& cases :
       {check::sgemm_edge_cases(), check::sgemm_transpose_cases(), check::sgemm_batch_cases(),
        check::sgemm_epilogue_cases(), check::sgemm_thin_cases()}) {
    for (const check::SgemmCase& c : cases) {
      const check::SgemmTrial trial(bench, c);
      EXPECT_TRUE(select_kernel(trial.problem(), bench.device(), kernels)) << describe(c);
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        taken[i] += supports(kernels[i], trial.problem(), bench.device());
      }
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) EXPECT_GT(taken[i], 0) << kernels[i].name;
}

std::vector<DeviceKind> kinds_that_are_here() {
  add_developer_backends();
  std::vector<DeviceKind> kinds;
  for (const Backend& backend : backends()) {
    if (backend.device_count() > 0) kinds.push_back(backend.kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Registry, SgemmProduction, testing::ValuesIn(kinds_that_are_here()),
                         [](const auto& kind) {
                           return kind.param == DeviceKind::host_simt ? "host_simt"
                                                                      : to_string(kind.param);
                         });

TEST(SgemmRegistry, ParentsExist) {
  const std::vector<Subject<Sgemm>> all = subjects<Sgemm>();
  ASSERT_FALSE(all.empty());
  for (const Subject<Sgemm>& subject : all) {
    if (subject.kernel.parent == nullptr) continue;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [&](const Subject<Sgemm>& other) {
                              return std::string(other.kernel.name) == subject.kernel.parent;
                            }))
        << subject.kernel.name << " improves on " << subject.kernel.parent;
  }
}

}  // namespace
}  // namespace kw
