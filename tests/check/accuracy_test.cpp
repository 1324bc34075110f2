// The accuracy suite: its kinds of data, its measure, and what its rule must reject.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "check/accuracy/trial.hpp"
#include "kernels.hpp"

namespace kw::check {
namespace {

constexpr float float_infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t suite_side = 24;

const AccuracyClass& class_named(const std::string& name) {
  const auto& all = accuracy_classes();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == name; });
  EXPECT_NE(found, all.end()) << name;
  return *found;
}

std::vector<float> values(const AccuracyClass& of, Operand operand, std::int64_t k,
                          std::uint64_t seed = 1) {
  std::vector<float> found;
  for (std::int64_t outer = 0; outer < suite_side; ++outer) {
    for (std::int64_t p = 0; p < k; ++p) {
      found.push_back(of.value({seed, operand, outer, p, suite_side, k}));
    }
  }
  return found;
}

bool same_bits(const std::vector<float>& one, const std::vector<float>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

struct Range {
  double least = INFINITY, most = 0;  // of what is not zero, in size
};

Range range(const char* name, Operand operand, std::int64_t k = 512) {
  Range found;
  for (const float value : values(class_named(name), operand, k)) {
    if (value == 0) continue;
    found.least = std::min<double>(found.least, std::fabs(value));
    found.most = std::max<double>(found.most, std::fabs(value));
  }
  return found;
}

TEST(AccuracyInputs, NamesAreDistinct) {
  std::set<std::string> names;
  for (const AccuracyClass& of : accuracy_classes()) EXPECT_TRUE(names.insert(of.name).second);
  EXPECT_GE(names.size(), 30u);
}

TEST(AccuracyInputs, SeedAndOperandDecideEveryValue) {
  for (const AccuracyClass& of : accuracy_classes()) {
    for (const Operand operand : {Operand::a, Operand::b}) {
      const std::vector<float> once = values(of, operand, 64);
      EXPECT_TRUE(same_bits(once, values(of, operand, 64))) << of.name;
      EXPECT_FALSE(same_bits(once, values(of, operand, 64, 2))) << of.name;
    }
    EXPECT_FALSE(same_bits(values(of, Operand::a, 64), values(of, Operand::b, 64))) << of.name;
  }
}

TEST(AccuracyInputs, OnlyPatternsHoldWhatIsNotFinite) {
  for (const AccuracyClass& of : accuracy_classes()) {
    if (of.demand == Demand::pattern) continue;
    for (const Operand operand : {Operand::a, Operand::b, Operand::c}) {
      for (const float value : values(of, operand, 64))
        ASSERT_TRUE(std::isfinite(value)) << of.name;
    }
  }
}

TEST(AccuracyInputs, FillTheirRanges) {
  EXPECT_GE(range("near_one", Operand::a).least, 1);
  EXPECT_LE(range("near_one", Operand::a).most, 1.001f);
  for (const int e : {8, 20, 60}) {
    const std::string name = "exponents_" + std::to_string(e);
    const Range found = range(name.c_str(), Operand::b, 4096);
    EXPECT_EQ(std::ilogb(found.least), -e);
    EXPECT_EQ(std::ilogb(found.most), e);
  }
  EXPECT_EQ(std::ilogb(range("graded_60", Operand::a, 4096).most), 59);
  EXPECT_EQ(std::ilogb(range("tiny_a", Operand::a).least), -149);
  EXPECT_EQ(std::ilogb(range("tiny_a", Operand::a).most), -100);
  EXPECT_GE(range("tiny_a", Operand::b).least, 0x1p80);
  EXPECT_GE(range("near_max", Operand::a).least, 0x1p127);
  EXPECT_LT(512 * range("near_max", Operand::a).most * range("near_max", Operand::b).most, 0x1p127);
}

TEST(AccuracyInputs, GradesCancelBetweenTheOperands) {
  const AccuracyClass& graded = class_named("graded_60");
  const AccuracyClass& plain = class_named("uniform");
  for (std::int64_t p = 0; p < 100; ++p) {
    const AccuracyElement a = {7, Operand::a, 3, p, suite_side, 100},
                          b = {7, Operand::b, 5, p, suite_side, 100};
    EXPECT_EQ(double{graded.value(a)} * graded.value(b), double{plain.value(a)} * plain.value(b));
  }
}

TEST(AccuracyInputs, OneRowOrElementIsHuge) {
  std::set<std::int64_t> rows;
  std::int64_t elements = 0;
  for (std::int64_t outer = 0; outer < suite_side; ++outer) {
    for (std::int64_t p = 0; p < 64; ++p) {
      const AccuracyElement e = {1, Operand::a, outer, p, suite_side, 64};
      if (std::fabs(class_named("huge_row").value(e)) > 1) rows.insert(outer);
      if (std::fabs(class_named("huge_element").value(e)) > 1) ++elements;
      ASSERT_LE(std::fabs(class_named("huge_column").value(e)), 1);
    }
  }
  EXPECT_EQ(rows.size(), 1u);
  EXPECT_EQ(elements, 1);
}

TEST(AccuracyInputs, IntegersSumExactly) {
  for (const std::int64_t k : {1, 8, 64, 4096, 65536}) {
    const Range a = range("integers", Operand::a, k), b = range("integers", Operand::b, k);
    EXPECT_LE(static_cast<double>(k) * a.most * b.most, 0x1p24) << k;
    for (const float value :
         values(class_named("integers"), Operand::a, std::min<std::int64_t>(k, 64)))
      ASSERT_EQ(value, std::round(value));
  }
}

// A product as plain loops with a chance to go wrong.
using Product = float (*)(float a, float b, float sum);

template <Product add>
Status multiply(const Sgemm& p, const Device&, Workspace, Stream) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < p.loop_k(); ++l) {
        sum = add(p.a[p.op_a == Op::none ? i * p.lda + l : l * p.lda + i],
                  p.b[p.op_b == Op::none ? l * p.ldb + j : j * p.ldb + l], sum);
      }
      float& c = p.c[i * p.ldc + j];
      c = p.beta == 0 ? p.alpha * sum : std::fma(p.alpha, sum, p.beta * c);
    }
  }
  return Status::success();
}

float fused(float a, float b, float sum) { return std::fma(a, b, sum); }

float to_bf16(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x8000u) & 0xFFFF0000u);
}
float rounded_to_bf16(float a, float b, float sum) { return std::fma(to_bf16(a), to_bf16(b), sum); }

float without_nan(float a, float b, float sum) {
  const float next = std::fma(a, b, sum);
  return std::isnan(next) ? float_infinity : next;
}

// As a split without a guard: an infinity's second piece is infinity - infinity.
float split(float a, float b, float sum) {
  const float rest = a - to_bf16(a);
  return std::fma(rest, b, std::fma(to_bf16(a), b, sum));
}

float without_subnormals(float a, float b, float sum) {
  const auto flushed = [](float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; };
  return std::fma(flushed(a), flushed(b), sum);
}

float changing(float a, float b, float sum) {
  static int calls = 0;
  return std::fma(a, b, sum) + (++calls % 1001 == 0 ? 1e-7f : 0.0f);
}

Kernel<Sgemm> subject_of(KernelLaunch<Sgemm> launch) {
  return {"planted",           nullptr,    "",
          Role::production,    Math::fp32, [](const Sgemm&, const Device&) { return true; },
          no_workspace<Sgemm>, launch};
}

// The verdict on a product beside the one of fused multiply-adds.
AccuracyVerdict verdict(const char* name, KernelLaunch<Sgemm> launch, std::int64_t k = 64) {
  std::unique_ptr<Runtime> runtime;
  EXPECT_TRUE(find_backend(DeviceKind::cpu)->open(0, &runtime).ok());
  Workbench bench(*runtime);
  const AccuracyClass& of = class_named(name);
  const SgemmCase c = accuracy_case(of, suite_side, k, 1);
  AccuracyTrial trial(bench, of, c);
  const ErrorSummary peer = summary_of(trial.run(subject_of(multiply<fused>)), c.k, of.demand);
  const AccuracyRun run = trial.run(subject_of(launch));
  return judge_accuracy(run, summary_of(run, c.k, of.demand), of.demand, &peer,
                        accuracy_limits(Math::fp32));
}

TEST(AccuracyRule, AProductOfFusedMultiplyAddsPassesEverywhere) {
  for (const AccuracyClass& of : accuracy_classes()) {
    for (const std::int64_t k : {1, 8, 64}) {
      const AccuracyVerdict found = verdict(of.name, multiply<fused>, k);
      EXPECT_TRUE(found.passes) << of.name << " k=" << k << ": " << found.message;
      EXPECT_EQ(found.rms_vs_peer.has_value(), of.demand == Demand::no_worse) << of.name;
      EXPECT_EQ(found.rms_vs_peer.value_or(1), 1) << of.name;
    }
  }
}

TEST(AccuracyRule, RoundedInputsFail) {
  for (const AccuracyClass& of : accuracy_classes()) {
    if (of.demand == Demand::pattern || of.empty_k) continue;
    EXPECT_FALSE(verdict(of.name, multiply<rounded_to_bf16>).passes) << of.name;
  }
}

TEST(AccuracyRule, AWrongKindOfNumberFails) {
  for (const char* name : {"one_nan_a", "one_nan_b", "infinities_and_zeros", "mixed"}) {
    const AccuracyVerdict found = verdict(name, multiply<without_nan>);
    EXPECT_FALSE(found.passes) << name;
    EXPECT_NE(found.message.find("NaN, infinite or finite"), std::string::npos) << found.message;
  }
  for (const char* name : {"one_inf_a", "infinities_and_zeros", "mixed"}) {
    EXPECT_FALSE(verdict(name, multiply<split>).passes) << name;
  }
}

TEST(AccuracyRule, FlushedSubnormalsFail) {
  EXPECT_FALSE(verdict("tiny_a", multiply<without_subnormals>).passes);
  EXPECT_FALSE(verdict("tiny_mixed", multiply<without_subnormals>).passes);
}

TEST(AccuracyRule, ChangingBitsFail) {
  const AccuracyVerdict found = verdict("uniform", multiply<changing>);
  EXPECT_FALSE(found.passes);
  EXPECT_NE(found.message.find("different bits"), std::string::npos) << found.message;
}

TEST(AccuracyRule, LimitsCountThePeersErrors) {
  const ErrorSummary peer = {2.0, 1.0, 0, 100};
  const auto passes = [&](double rms, double max, Math math) {
    const ErrorSummary error = {max, rms, 0, 100};
    return judge_accuracy({}, error, Demand::no_worse, &peer, accuracy_limits(math)).passes;
  };
  EXPECT_TRUE(passes(1.0, 3.0, Math::fp32_split));
  EXPECT_FALSE(passes(1.001, 2.0, Math::fp32_split));
  EXPECT_FALSE(passes(0.5, 3.01, Math::fp32_split));
  EXPECT_TRUE(passes(1.02, 2.5, Math::fp32));
  EXPECT_FALSE(passes(1.03, 2.0, Math::fp32));
  EXPECT_FALSE(passes(1.0, 2.51, Math::fp32));
  EXPECT_FALSE(passes(std::nan(""), 1.0, Math::fp32));
}

Partial element(float got, AccuracyWant want) {
  Partial found = empty_partial();
  add_element(got, want, 0, found);
  return found;
}

TEST(AccuracyMeasure, CountsInUnits) {
  EXPECT_EQ(element(3.0f, {2.0, 0.5}).max, 2);
  EXPECT_EQ(element(1.0f, {2.0, 0.5}).sum, -2);
  EXPECT_EQ(element(0.0f, {0.0, 0.0}).max, 0);
  EXPECT_EQ(element(0x1p-149f, {0.0, 0.0}).max, 0) << "the smallest subnormal";
  EXPECT_EQ(element(0x1p-148f, {0.0, 0.0}).max, INFINITY) << "an error without a unit";
}

TEST(AccuracyMeasure, TellsKindsOfNumbersApart) {
  const double nan = std::nan("");
  for (const auto& [got, want, fails] : {std::tuple{1.0f, nan, 1},
                                         {float_infinity, nan, 1},
                                         {std::nanf(""), nan, 0},
                                         {float_infinity, 1e39, 0},
                                         {-float_infinity, 1e39, 1},
                                         {3e38f, 1e39, 1},
                                         {float_infinity, 3e38, 1},
                                         {std::nanf(""), 1.0, 1},
                                         {-float_infinity, -1e300, 0}}) {
    EXPECT_EQ(element(got, {want, 1}).failures, fails) << got << " for " << want;
  }
}

}  // namespace
}  // namespace kw::check
