// The accuracy fuzzer: what it draws, how it writes it down and makes it simpler, and its rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "check/accuracy/fuzz_case.hpp"
#include "check/accuracy/fuzz_trial.hpp"
#include "check/accuracy/pooled.hpp"
#include "kernels.hpp"

namespace kw::check {
namespace {

std::string line_of(const FuzzCase& c) {
  return to_text(c.data) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
         std::to_string(c.k) + " " + std::to_string(c.seed);
}

TEST(FuzzCases, SeedAndNumberDecide) {
  std::map<std::string, int> lines;
  for (std::int64_t i = 0; i < 300; ++i) {
    const FuzzCase c = draw_case(7, i, FuzzShapes::large);
    EXPECT_EQ(line_of(c), line_of(draw_case(7, i, FuzzShapes::large)));
    ++lines[line_of(c)];
    ++lines[line_of(draw_case(8, i, FuzzShapes::large))];
  }
  EXPECT_EQ(lines.size(), 600u);
}

// Each property of data is drawn, and text gives the same data again.
TEST(FuzzCases, EveryPropertyIsDrawnAndWritten) {
  std::map<std::string, int> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const Distribution data = draw_case(3, i, FuzzShapes::small).data;
    const std::string text = to_text(data);
    EXPECT_EQ(to_text(parse_distribution(text)), text);
    for (std::size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
      ++seen[text.substr(at, text.find('=', at) - at)];
      if (text.find(',', at) == std::string::npos) break;
    }
  }
  for (const char* name :
       {"body", "spread", "one_sign", "outliers", "outlier_size", "outlier_pick", "zeros",
        "zero_pick", "row_range", "k_range", "subnormals", "diagonal"}) {
    EXPECT_GT(seen[std::string("a.") + name], 5) << name;
    EXPECT_GT(seen[std::string("b.") + name], 5) << name;
  }
  EXPECT_GT(seen["graded"], 5);
  EXPECT_GT(seen["cancelling"], 5);
  EXPECT_GT(seen["met"], 5);
  EXPECT_GT(seen["met_size"], 5);
}

// Elements near whole numbers beside far larger ones are an eighth of the draws: on the diagonal or
// elsewhere, of A, of B and of both, there also at the same places of k.
TEST(FuzzCases, PeaksBesideWholeNumbersAreDrawn) {
  int on_diagonal = 0, elsewhere = 0, met = 0, of_a = 0, of_b = 0, of_both = 0, whole = 0;
  for (std::int64_t i = 0; i < 1200; ++i) {
    const Distribution data = draw_case(3, i, FuzzShapes::large).data;
    const bool a = data.a.diagonal + data.a.outliers > 0, b = data.b.diagonal + data.b.outliers > 0;
    if (data.a.body != static_cast<int>(Body::near_whole) || !(a || b || data.met > 0)) continue;
    ++whole;
    EXPECT_EQ(data.b.body, data.a.body);
    EXPECT_EQ(data.b.spread, data.a.spread);
    met += data.met > 0 ? 1 : 0;
    if (data.met > 0) continue;
    ++(data.a.diagonal + data.b.diagonal > 0 ? on_diagonal : elsewhere);
    ++(a && b ? of_both : a ? of_a : of_b);
  }
  EXPECT_NEAR(whole, 130, 45);
  for (const int count : {on_diagonal, elsewhere, met, of_a, of_b, of_both}) EXPECT_GT(count, 5);
}

// Windows of which all leave the same remainder, in products with a long k, are an eighth as well.
TEST(FuzzCases, LongSumsOfNumbersNearWholeOnesAreDrawn) {
  int alone = 0, beside_outliers = 0;
  for (std::int64_t i = 0; i < 800; ++i) {
    const FuzzCase c = draw_case(3, i, FuzzShapes::large);
    const DrawnOperand &a = c.data.a, &b = c.data.b;
    const bool is_near =
        a.body == static_cast<int>(Body::near_one) || a.body == static_cast<int>(Body::near_whole);
    const bool same = is_near && a.one_sign == 1 && a.body == b.body && a.spread == b.spread;
    if (!same || a.outliers + a.diagonal + b.diagonal + c.data.met > 0 || c.k < 2016) continue;
    ++(b.outliers > 0 ? beside_outliers : alone);
  }
  EXPECT_GT(alone, 20);
  EXPECT_GT(beside_outliers, 40);
}

TEST(FuzzCases, WrongTextIsToldApart) {
  const auto message = [](const char* text) -> std::string {
    try {
      static_cast<void>(parse_distribution(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message("a.body=normal,b.zeros=5,graded=2"), "");
  EXPECT_EQ(message("a.body"), "\"a.body\" is not NAME=VALUE");
  EXPECT_EQ(message("a.colour=3"), "no property of data is called \"a.colour\"");
  EXPECT_EQ(message("c.body=normal"), "no property of data is called \"c.body\"");
  EXPECT_EQ(message("a.body=cauchy"),
            "a.body: \"cauchy\" is not one of uniform, normal, longtail, exponents, near_one, "
            "near_whole");
  EXPECT_EQ(message("b.zeros=1000001"),
            "b.zeros: \"1000001\" is not a whole number from 0 to 1000000");
  EXPECT_EQ(message("a.row_range=3x"), "a.row_range: \"3x\" is not a whole number from 0 to 60");
}

// Going on with any simpler case ends, with nothing that could still be left out.
TEST(FuzzCases, SimplerCasesComeToAnEnd) {
  for (std::int64_t i = 0; i < 100; ++i) {
    FuzzCase c = draw_case(5, i, FuzzShapes::large);
    int steps = 0;
    for (auto simpler = simpler_cases(c); !simpler.empty(); simpler = simpler_cases(c)) {
      for (const FuzzCase& next : simpler) ASSERT_NE(line_of(next), line_of(c));
      c = simpler[static_cast<std::size_t>(i) % simpler.size()];
      ASSERT_LT(++steps, 3000) << line_of(c);
    }
    EXPECT_EQ(to_text(c.data), "a.body=uniform");
    EXPECT_LT(c.k, 2);
  }
}

std::vector<float> values(const Distribution& data, Operand operand, std::int64_t outers,
                          std::int64_t k) {
  std::vector<float> found;
  for (std::int64_t outer = 0; outer < outers; ++outer)
    for (std::int64_t p = 0; p < k; ++p)
      found.push_back(drawn_value(data, {9, operand, outer, p, k}));
  return found;
}

TEST(DrawnValues, AreFiniteAndNoSumOverflows) {
  for (std::int64_t i = 0; i < 400; ++i) {
    const FuzzCase c = draw_case(11, i, FuzzShapes::large);
    double largest[2] = {};
    for (const Operand operand : {Operand::a, Operand::b}) {
      for (const float x : values(c.data, operand, 40, 64)) {
        ASSERT_TRUE(std::isfinite(x)) << to_text(c.data);
        double& most = largest[operand == Operand::a ? 0 : 1];
        most = std::max<double>(most, std::fabs(x));
      }
    }
    EXPECT_LT(largest[0] * largest[1] * 16384, 0x1p127) << to_text(c.data);
  }
}

double share(const std::vector<float>& of, bool (*counts)(float)) {
  return static_cast<double>(std::count_if(of.begin(), of.end(), counts)) /
         static_cast<double>(of.size());
}

TEST(DrawnValues, FeaturesDoWhatTheySay) {
  const auto a_of = [](const char* text) {
    return values(parse_distribution(text), Operand::a, 100, 100);
  };
  EXPECT_NEAR(share(a_of("a.zeros=300000"), [](float x) { return x == 0; }), 0.3, 0.02);
  EXPECT_NEAR(
      share(a_of("a.outliers=100000,a.outlier_size=40"), [](float x) { return std::fabs(x) > 1; }),
      0.1, 0.01);
  EXPECT_EQ(share(a_of("a.body=normal,a.one_sign=1"), [](float x) { return x < 0; }), 0);
  EXPECT_NEAR(share(a_of("a.body=longtail,a.spread=4"), [](float x) { return x > 1; }), 0.25, 0.02);
  EXPECT_NEAR(share(a_of("a.subnormals=100000"),
                    [](float x) { return x != 0 && std::fabs(x) < 0x1p-126f; }),
              0.1, 0.01);
  for (const float x : a_of("a.body=near_one,a.spread=10")) ASSERT_NEAR(x, 1, 0x1.01p-10);
  for (const float x : a_of("a.body=near_whole,a.spread=10")) {
    ASSERT_NEAR(x, std::round(x), 0x1.01p-10);
    ASSERT_TRUE(std::fabs(x) > 0.5 && std::fabs(x) < 8.5) << x;
  }
  for (const float x : a_of("a.body=exponents,a.spread=3"))
    ASSERT_TRUE(std::fabs(x) >= 0x1p-3 && std::fabs(x) < 0x1p4) << x;

  // Whole rows and places of k.
  const std::vector<float> rows = a_of("a.zeros=300000,a.zero_pick=row"),
                           places = a_of("a.zeros=300000,a.zero_pick=k");
  for (std::size_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(rows[i] == 0, rows[i / 100 * 100] == 0);
    EXPECT_EQ(places[i] == 0, places[i % 100] == 0);
  }
  // The same places of both operands, of all rows.
  const Distribution meeting = parse_distribution(
      "a.body=near_one,a.spread=9,b.body=near_one,b.spread=9,met=100000,met_size=12");
  const std::vector<float> of_a = values(meeting, Operand::a, 3, 1000),
                           of_b = values(meeting, Operand::b, 3, 1000);
  EXPECT_NEAR(share(of_a, [](float x) { return x > 2048; }), 0.1, 0.03);
  for (std::size_t i = 0; i < 3000; ++i) EXPECT_EQ(of_a[i] > 2048, of_b[i % 1000] > 2048) << i;
  // The second half of k takes the first back.
  const std::vector<float> taken_back = a_of("a.body=normal,cancelling=10");
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_NEAR(taken_back[i + 50] / taken_back[i], -1, 0x1.1p-10);
  // D and its inverse.
  const Distribution graded = parse_distribution(
      "a.body=near_one,a.spread=20,graded=9"
      ",b.body=near_one,b.spread=20");
  for (std::int64_t p = 0; p < 100; ++p) {
    const float x = drawn_value(graded, {4, Operand::a, 3, p, 100}),
                y = drawn_value(graded, {4, Operand::b, 5, p, 100});
    EXPECT_NEAR(x * y, 1, 1e-5);
  }
}

Partial partial(double rms, std::int64_t count = 1000) {
  return {rms, 0, rms * rms * static_cast<double>(count), count, 0, Partial::no_failure};
}

// The standard error comes from the products: their mean squares differ by 0.2 and 0.4 in turn.
TEST(PooledErrors, CountStandardErrorsOfTheDifference) {
  PooledErrors errors;
  for (int i = 0; i < 8; ++i) errors.add(partial(std::sqrt(i % 2 == 0 ? 1.2 : 1.4)), partial(1));
  EXPECT_EQ(errors.products(), 8);
  EXPECT_EQ(errors.outputs(), 8000);
  EXPECT_NEAR(errors.rms(), std::sqrt(1.3), 1e-12);
  EXPECT_NEAR(errors.ratio(), std::sqrt(1.3), 1e-12);
  const double deviation = std::sqrt(8 * 0.01 / 7);
  EXPECT_NEAR(errors.excess(), 0.3 / (deviation / std::sqrt(8.0)), 1e-9);
  EXPECT_TRUE(errors.is_violation());
}

TEST(PooledErrors, WhatIsWithinThreeStandardErrorsPasses) {
  PooledErrors same, noisy, equal_but_for_one;
  for (int i = 0; i < 8; ++i) {
    same.add(partial(0.4), partial(0.4));
    noisy.add(partial(i % 2 == 0 ? 0.1 : 2), partial(i % 2 == 0 ? 0.9 : 1.5));
    equal_but_for_one.add(partial(i == 0 ? 2 : 1), partial(1));
  }
  EXPECT_EQ(same.excess(), 0);
  EXPECT_EQ(same.ratio(), 1);
  EXPECT_FALSE(same.is_violation());
  EXPECT_GT(noisy.ratio(), 1);
  EXPECT_FALSE(noisy.is_violation());
  EXPECT_NEAR(equal_but_for_one.excess(), 1, 1e-9);
}

TEST(PooledErrors, ALimitIsOnTheRootMeanSquare) {
  PooledErrors within, beyond;
  for (int i = 0; i < 8; ++i) {
    within.add(partial(1.41), partial(1), plain_fp32_limit);
    beyond.add(partial(1.42), partial(1), plain_fp32_limit);
  }
  EXPECT_FALSE(within.is_violation());
  EXPECT_TRUE(beyond.is_violation());
}

TEST(PooledErrors, InfiniteErrorsAndWrongKindsFail) {
  PooledErrors infinite, kinds, no_error;
  Partial wrong = partial(0.1);
  wrong.failures = 1;
  Partial without_bound = partial(0.1);
  without_bound.max = INFINITY;
  for (int i = 0; i < 8; ++i) {
    infinite.add(i == 3 ? without_bound : partial(0.1), partial(0.4));
    kinds.add(i == 5 ? wrong : partial(0.1), partial(0.4));
    no_error.add(partial(0), partial(0));
  }
  EXPECT_TRUE(infinite.is_violation());
  EXPECT_TRUE(kinds.is_violation());
  EXPECT_FALSE(no_error.is_violation());
  EXPECT_EQ(no_error.ratio(), 1);
}

// A product as plain loops with a chance to go wrong.
using Rounds = float (*)(float a, float b, float sum);
template <Rounds add>
Status plain_loops(const Sgemm& p, const Device&, Workspace, Stream) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l) sum = add(p.a[i * p.lda + l], p.b[l * p.ldb + j], sum);
      p.c[i * p.ldc + j] = sum;
    }
  }
  return Status::success();
}

float rounded_once(float a, float b, float sum) { return std::fma(a, b, sum); }
// As tensor cores: towards zero.
float cut(float a, float b, float sum) {
  const double exact = std::fma(static_cast<double>(a), b, static_cast<double>(sum));
  const auto near = static_cast<float>(exact);
  return std::fabs(static_cast<double>(near)) > std::fabs(exact) ? std::nextafter(near, 0.0f)
                                                                 : near;
}
float without_last_bit(float a, float b, float sum) {
  return std::fma(std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & ~1u), b, sum);
}
float unwritten(float, float, float) { return std::nanf(""); }

PooledErrors errors_of(KernelLaunch<Sgemm> launch, const char* data) {
  std::unique_ptr<Runtime> runtime;
  EXPECT_TRUE(find_backend(DeviceKind::cpu)->open(0, &runtime).ok());
  Workbench bench(*runtime);
  FuzzTrial::Scratch scratch(bench);
  const FuzzCase c = {parse_distribution(data), 40, 36, 50, 3};
  FuzzTrial trial(bench, scratch, c);
  const Kernel<Sgemm> kernel = {"planted",
                                nullptr,
                                "",
                                Role::production,
                                Math::fp32_split,
                                [](const Sgemm&, const Device&) { return true; },
                                no_workspace<Sgemm>,
                                launch};
  PooledErrors errors;
  for (int i = 0; i < fuzz_products(c, 1); ++i) {
    trial.fill(i);
    const char* path = nullptr;
    errors.add(trial.run(kernel, &path), trial.one_sum());
    EXPECT_STREQ(path, "planted");
  }
  return errors;
}

TEST(FuzzTrial, OneSumIsAsGoodAsItself) {
  for (const char* data : {"a.body=normal,b.body=normal", "a.zeros=900000,b.one_sign=1",
                           "a.subnormals=10000,b.body=exponents,b.spread=20"}) {
    const PooledErrors errors = errors_of(plain_loops<rounded_once>, data);
    EXPECT_EQ(errors.ratio(), 1) << data;
    EXPECT_EQ(errors.excess(), 0) << data;
    EXPECT_GT(errors.rms(), 0.2) << data;
    EXPECT_EQ(errors.outputs(), 8 * 40 * 36);
  }
}

TEST(FuzzTrial, WhatRoundsWorseIsFound) {
  for (const char* data : {"a.body=normal,b.body=normal", "a.one_sign=1,b.one_sign=1",
                           "a.zeros=900000,b.zeros=500000"}) {
    EXPECT_TRUE(errors_of(plain_loops<cut>, data).is_violation()) << data;
    EXPECT_TRUE(errors_of(plain_loops<unwritten>, data).is_violation()) << data;
  }
  EXPECT_TRUE(errors_of(plain_loops<without_last_bit>, "a.zeros=950000").is_violation());
}

}  // namespace
}  // namespace kw::check
