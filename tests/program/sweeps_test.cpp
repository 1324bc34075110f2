// The sweeps of products: what random_products draws, what the table of programs holds, what limits
// a device's work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "bench/problems.hpp"
#include "bench/roofline.hpp"
#include "commands/product_options.hpp"
#include "kernels.hpp"
#include "support/run_seed.hpp"
#include "sweeps/program_products.hpp"
#include "sweeps/random_products.hpp"

namespace kw {
namespace {

using check::SgemmCase;

auto drawn_fields(const SgemmCase& c) {
  return std::tuple(c.m, c.n, c.k, c.op_a, c.op_b, c.lda_pad, c.ldb_pad, c.ldc_pad);
}

std::int64_t drawn_operand(const SgemmCase& c) {
  return std::max({c.m * c.k, c.k * c.n, c.m * c.n});
}

TEST(RandomProducts, StayWithinTheirBoundsForEverySeed) {
  std::set<std::int64_t> paddings;
  std::map<std::string, int> ops;
  for (unsigned number = 0; number < 20; ++number) {
    const std::uint64_t seed = number < 10 ? number : seed_of(number);
    for (const SgemmCase& c : random_products(seed, 99)) {
      for (const std::int64_t extent : {c.m, c.n, c.k}) {
        EXPECT_GE(extent, 1);
        EXPECT_LE(extent, 16384);
      }
      const double operations = 2.0 * static_cast<double>(c.m * c.n * c.k);
      EXPECT_GE(operations, 1e5) << describe(c);
      EXPECT_LE(operations, 6e11) << describe(c);
      EXPECT_LE(drawn_operand(c), 150000000) << describe(c);
      EXPECT_EQ(c.batch, 1);
      paddings.insert({c.lda_pad, c.ldb_pad, c.ldc_pad});
      ++ops[std::string(c.op_a == Op::none ? "N" : "T") + (c.op_b == Op::none ? "N" : "T")];
    }
  }
  EXPECT_EQ(paddings, (std::set<std::int64_t>{0, 1, 4, 5, 32}));
  // 495 expected of each; 380 is six standard deviations away.
  EXPECT_EQ(ops.size(), 4u);
  for (const auto& [pair, count] : ops) EXPECT_GE(count, 380) << pair;
}

TEST(RandomProducts, ComeInEqualThirds) {
  for (const std::uint64_t seed : {1u, seed_of(1)}) {
    const std::vector<SgemmCase> products = random_products(seed, 301);
    ASSERT_EQ(products.size(), 301u);
    std::map<std::string, int> count;
    for (const SgemmCase& c : products) {
      // As random-shape rows state it: 62 TFLOP/s, 4.4 TB/s, 7 where 60 MiB hold it, 2 us.
      const double bytes = 4.0 * static_cast<double>(c.m * c.k + c.k * c.n + c.m * c.n);
      const double us = std::max({2.0 * static_cast<double>(c.m * c.n * c.k) / 62e6,
                                  bytes / (bytes <= 62914560 ? 7e6 : 4.4e6), 2.0});
      ++count[us < 4 ? "short" : us <= 50 ? "middle" : "long"];
    }
    EXPECT_EQ(count["short"], 101);
    EXPECT_EQ(count["middle"], 100);
    EXPECT_EQ(count["long"], 100);
  }
}

TEST(RandomProducts, FollowFromTheSeedAndALongerListBeginsWithTheShorter) {
  const std::uint64_t seed = seed_of(2);
  const auto fields = [](std::uint64_t from, std::int64_t count) {
    std::vector<decltype(drawn_fields({}))> all;
    for (const SgemmCase& c : random_products(from, count)) all.push_back(drawn_fields(c));
    return all;
  };
  const auto longer = fields(seed, 60);
  EXPECT_EQ(fields(seed, 60), longer);
  EXPECT_NE(fields(seed + 1, 60), longer);
  const auto shorter = fields(seed, 17);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Op, Op>> shapes;
  for (const SgemmCase& c : random_products(seed, 3000)) {
    EXPECT_TRUE(shapes.emplace(c.m, c.n, c.k, c.op_a, c.op_b).second) << describe(c);
  }
}

// A published seed must mean the same products for ever, with every compiler and library.
TEST(RandomProducts, OfOneSeedAreThese) {
  std::vector<std::string> found;
  for (const SgemmCase& c : random_products(7, 6)) {
    const std::string text = describe(c);
    found.push_back(text.substr(0, text.find(" alpha")));
  }
  EXPECT_EQ(found, (std::vector<std::string>{
                       "2596x16x2 NT lda+5 ldb+4", "10431x3x842 TN lda+1 ldb+5 ldc+1",
                       "4334x13567x1604 NT ldc+5", "6140x1x78 NT lda+4 ldb+4 ldc+1",
                       "58x3936x3227 NN lda+1 ldb+5 ldc+5", "15998x14x3739 NT ldb+32 ldc+4"}));
}

std::vector<double> sorted_logs(const std::vector<std::int64_t>& extents) {
  std::vector<double> logs(extents.size());
  std::transform(extents.begin(), extents.end(), logs.begin(),
                 [](std::int64_t x) { return std::log2(static_cast<double>(x)); });
  std::sort(logs.begin(), logs.end());
  return logs;
}

TEST(RandomProducts, DrawExtentsLogUniformly) {
  std::mt19937_64 engine(seed_of(3));
  constexpr std::size_t count = 20000;
  std::vector<std::int64_t> extents(count);
  for (std::int64_t& x : extents) x = random_extent(engine);
  const std::vector<double> logs = sorted_logs(extents);
  // From the sixth octave on whole numbers lie close enough for a continuous quantile. The standard
  // deviation of such a quantile is at most 0.05 of the 14 octaves.
  for (const double share : {0.45, 0.6, 0.75, 0.9, 0.99}) {
    EXPECT_NEAR(logs[static_cast<std::size_t>(share * count)], 14 * share, 0.3) << share;
  }
  // A fourteenth each, 1429 expected; 220 is six standard deviations.
  EXPECT_NEAR(static_cast<double>(std::count(extents.begin(), extents.end(), 1)), count / 14.0,
              220);
}

// The largest difference of the two shares of values up to any value (Kolmogorov and Smirnov). Of
// two samples of n each from one distribution it exceeds 3.3 sqrt(2 / n) once in 10^9.
double distance(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double largest = 0;
  for (const std::int64_t x : a) {
    const auto share = [x](const std::vector<std::int64_t>& of) {
      const auto up_to = std::ranges::upper_bound(of, x) - of.begin();
      return static_cast<double>(up_to) / static_cast<double>(of.size());
    };
    largest = std::max(largest, std::abs(share(a) - share(b)));
  }
  return largest;
}

// What is left of log-uniform extents within bounds and a third, by other means than the generator:
// each extent must be distributed in the same way.
TEST(RandomProducts, AreLogUniformWithinTheirBoundsAndThird) {
  constexpr std::size_t each = 2000;
  std::map<bench::Third, std::vector<std::int64_t>> drawn[3], wanted[3];
  for (const SgemmCase& c : random_products(seed_of(4), 3 * each)) {
    const bench::Third third = bench::third_of(c);
    const std::int64_t extents[] = {c.m, c.n, c.k};
    for (int i = 0; i < 3; ++i) drawn[i][third].push_back(extents[i]);
  }
  std::mt19937_64 engine(seed_of(5));
  std::uniform_real_distribution<double> exponent(0, 14);
  const auto extent = [&] { return static_cast<std::int64_t>(std::exp2(exponent(engine))); };
  for (int missing = bench::thirds; missing > 0;) {
    SgemmCase c;
    c.m = extent();
    c.n = extent();
    c.k = extent();
    const double operations = 2.0 * static_cast<double>(c.m * c.n * c.k);
    if (operations < 1e5 || operations > 6e11 || drawn_operand(c) > 150000000) continue;
    const bench::Third third = bench::third_of(c);
    if (wanted[0][third].size() == each) continue;
    const std::int64_t extents[] = {c.m, c.n, c.k};
    for (int i = 0; i < 3; ++i) wanted[i][third].push_back(extents[i]);
    if (wanted[0][third].size() == each) --missing;
  }
  for (int i = 0; i < 3; ++i) {
    for (auto& [third, extents] : drawn[i]) {
      EXPECT_LT(distance(extents, wanted[i][third]), 3.3 * std::sqrt(2.0 / each))
          << "extent " << i << ", " << to_string(third);
    }
  }
}

TEST(ProgramProducts, AreNamedOnceEachAndFitAGpu) {
  std::set<std::string_view> names;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Op, Op, std::int64_t>> shapes;
  EXPECT_GE(program_products.size(), 40u);
  for (const ProgramProduct& p : program_products) {
    EXPECT_TRUE(names.insert(p.program).second) << p.program;
    EXPECT_TRUE(shapes.emplace(p.m, p.n, p.k, p.op_a, p.op_b, p.batch).second) << p.program;
    EXPECT_GE(std::min({p.m, p.n, p.k, p.batch}), 1) << p.program;
    SgemmCase c;
    c.m = p.m;
    c.n = p.n;
    c.k = p.k;
    c.batch = p.batch;
    EXPECT_LE(bench::compulsory_bytes(c), 4e9) << p.program;
    EXPECT_LE(bench::work(c), 6e11) << p.program;
  }
}

Device device_of(DeviceKind kind) {
  Device device;
  device.kind = kind;
  return device;
}

TEST(ProductChoices, LeaveOutWhatADeviceDoesNotDoInReasonableTime) {
  ProductChoice choice;
  choice.sweep = "random";
  choice.count = 30;
  const auto chosen = [&](DeviceKind kind) {
    return chosen_products(choice, device_of(kind), check::Input::unit, 5);
  };
  const ChosenProducts all = chosen(DeviceKind::cuda);
  EXPECT_EQ(all.cases.size(), 30u);
  EXPECT_EQ(all.left_out, "");
  for (std::size_t i = 0; i < all.cases.size(); ++i) {
    EXPECT_EQ(all.labels[i].sweep, "random");
    EXPECT_EQ(all.labels[i].seed, 5u);
    EXPECT_EQ(all.labels[i].number, static_cast<std::int64_t>(i));
    EXPECT_EQ(all.labels[i].third, bench::to_string(bench::third_of(all.cases[i])));
    EXPECT_EQ(all.cases[i].input, check::Input::unit);
    EXPECT_EQ(all.cases[i].seed, 5u);
  }
  const ChosenProducts some = chosen(DeviceKind::cpu);
  ASSERT_LT(some.cases.size(), 30u);
  ASSERT_GT(some.cases.size(), 10u);
  EXPECT_NE(some.left_out.find("of 30 products are left out: more than 2e+09 operations"),
            std::string::npos)
      << some.left_out;
  for (std::size_t i = 0; i < some.cases.size(); ++i) {
    EXPECT_LE(bench::work(some.cases[i]), 2e9);
    const auto number = static_cast<std::size_t>(some.labels[i].number);
    EXPECT_EQ(drawn_fields(some.cases[i]), drawn_fields(all.cases[number]));
  }
  choice.max_work = 1e12;
  EXPECT_EQ(chosen(DeviceKind::cpu).cases.size(), 30u);
  EXPECT_LT(default_max_work(device_of(DeviceKind::host_simt)), 2e9);
}

TEST(Rooflines, AreTheLongestOfOperationsBytesAndALaunch) {
  const bench::Roofline device = {50, 3000, 6000, 50000000, 1.5};
  SgemmCase c;
  c.m = c.n = c.k = 1000;
  EXPECT_DOUBLE_EQ(device.time_us(c), 2e9 / 50e6);
  c.k = 1;
  EXPECT_DOUBLE_EQ(device.time_us(c), 4 * 1002000 / 6e6 > 1.5 ? 0 : 1.5);
  c.m = 10000;
  EXPECT_DOUBLE_EQ(device.time_us(c), 4 * (10000 + 1000 + 1e7) / 6e6) << "the cache holds it";
  c.batch = 2;
  EXPECT_DOUBLE_EQ(device.time_us(c), 8 * (10000 + 1000 + 1e7) / 3e6);
  c.beta = 1;
  EXPECT_DOUBLE_EQ(device.time_us(c), 8 * (10000 + 1000 + 2e7) / 3e6) << "C is read, too";
  const bench::Roofline unknown_cache = {50, 3000, 0, 50000000, 0};
  c.batch = 1;
  c.beta = 0;
  EXPECT_DOUBLE_EQ(unknown_cache.time_us(c), 2 * 1e7 / 50e6);
}

TEST(Rooflines, OfADeviceAreWhatWasMeasured) {
  bench::Ceilings ceilings;
  Device device = device_of(DeviceKind::cuda);
  device.l2_bytes = 1000;
  EXPECT_FALSE(bench::roofline_of(ceilings, device, false)) << "as host SIMT has it";
  ceilings.fp32_tflops = 60;
  ceilings.read_gbs = 4000;
  ceilings.cache_gbs = 7000;
  ceilings.empty_kernel = bench::EmptyKernel{0.5, 5.5};
  const auto roofline = bench::roofline_of(ceilings, device, false);
  ASSERT_TRUE(roofline);
  EXPECT_EQ(roofline->fp32_tflops, 60);
  EXPECT_EQ(roofline->memory_gbs, 4000);
  EXPECT_EQ(roofline->cache_gbs, 7000);
  EXPECT_EQ(roofline->cache_bytes, 1000u);
  EXPECT_EQ(roofline->launch_us, 0.5);
  EXPECT_EQ(bench::roofline_of(ceilings, device, true)->launch_us, 5.5);
}

}  // namespace
}  // namespace kw
