// The adapter's rules: the environment, the judgement of arguments and times, cuBLAS's predicted
// time.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "judge.hpp"
#include "policy.hpp"
#include "vendor_time.hpp"

namespace kw::cublas {
namespace {

// What `read_policy` finds in the environment.
std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> set;
  return set;
}
const char* get(const char* name) {
  const auto found = variables().find(name);
  return found == variables().end() ? nullptr : found->second.c_str();
}
Policy policy_of(const std::map<std::string, std::string>& set, std::size_t complaints = 0) {
  variables() = set;
  std::vector<std::string> said;
  Policy policy = read_policy(get, &said);
  EXPECT_EQ(said.size(), complaints);
  for (const std::string& line : said) EXPECT_NE(line.find("its default holds"), line.npos) << line;
  return policy;
}

TEST(AdapterPolicy, Defaults) {
  const Policy policy = policy_of({});
  EXPECT_EQ(policy.math, Arithmetic::fp32_split);
  EXPECT_EQ(policy.pedantic, Arithmetic::fp32);
  EXPECT_FALSE(policy.take_slower || policy.take_unmeasured || policy.on_cpu);
  EXPECT_EQ(policy.log, LogLevel::warnings);
  EXPECT_EQ(policy.verify_every, 0);
}

TEST(AdapterPolicy, EveryWord) {
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_MATH", "fp32"}}).math, Arithmetic::fp32);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_MATH", "off"}}).math, Arithmetic::off);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_PEDANTIC", "fp32_split"}}).pedantic, Arithmetic::fp32_split);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_PEDANTIC", "forward"}}).pedantic, Arithmetic::off);
  EXPECT_TRUE(policy_of({{"KERNELWRIGHT_SLOWER", "take"}}).take_slower);
  EXPECT_TRUE(policy_of({{"KERNELWRIGHT_UNMEASURED", "take"}}).take_unmeasured);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_LOG", "summary"}}).log, LogLevel::summary);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_SMALLEST", "2e6"}}).smallest, 2e6);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_WORKSPACE_MIB", "64"}}).workspace_bytes, 64u << 20);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_CAPTURE_MIB", "0.5"}}).capture_bytes, 512u << 10);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_VERIFY", "100"}}).verify_every, 100);
  EXPECT_EQ(policy_of({{"KERNELWRIGHT_LOG_FILE", "/x y"}}).log_file, "/x y");
}

TEST(AdapterPolicy, AnEmptyValueIsNone) {
  std::map<std::string, std::string> empty;
  for (const std::string& name : policy_variables()) empty[name] = "";
  EXPECT_EQ(policy_of(empty).math, Arithmetic::fp32_split);
}

TEST(AdapterPolicy, WhatAVariableCannotSayIsToldAndItsDefaultHolds) {
  const Policy standard;
  for (const std::string& name : policy_variables()) {
    if (name == "KERNELWRIGHT_LOG_FILE" || name == "KERNELWRIGHT_RECORD") continue;  // any path
    for (const char* value : {"fp16", "-1", "1e", "nan", " ", "take it", "FP32"}) {
      SCOPED_TRACE(name + "=" + value);
      const Policy policy = policy_of({{name, value}}, 1);
      EXPECT_EQ(policy.math, standard.math);
      EXPECT_EQ(policy.smallest, standard.smallest);
      EXPECT_EQ(policy.workspace_bytes, standard.workspace_bytes);
      EXPECT_EQ(policy.log, standard.log);
      EXPECT_EQ(policy.verify_every, standard.verify_every);
    }
  }
  policy_of({{"KERNELWRIGHT_VERIFY", "1.5"}}, 1);
}

TEST(AdapterPolicy, ATypoInOneLeavesTheOthers) {
  const Policy policy =
      policy_of({{"KERNELWRIGHT_MATH", "tf32"}, {"KERNELWRIGHT_LOG", "calls"}}, 1);
  EXPECT_EQ(policy.math, Arithmetic::fp32_split);
  EXPECT_EQ(policy.log, LogLevel::calls);
}

TEST(AdapterPolicy, EveryVariableIsInTheDocument) {
  std::ostringstream text;
  text << std::ifstream(KW_DROP_IN_DOCUMENT).rdbuf();
  for (const std::string& name : policy_variables()) {
    EXPECT_NE(text.str().find("| `" + name + "` |"), std::string::npos) << name;
  }
}

Product product(std::int64_t m, std::int64_t n, std::int64_t k) {
  static const float one = 1;
  static float data[4];
  Product p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.lda = p.ldc = m;
  p.ldb = k;
  p.alpha = p.beta = &one;
  p.a = p.b = p.c = data;
  return p;
}

TEST(AdapterJudge, PredictedTimes) {
  Policy policy;
  const Product p = product(100, 100, 100);
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 1, 2), Reason::none);
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 2, 2), Reason::slower);  // a tie is a risk
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 2, 1), Reason::slower);
  EXPECT_EQ(judge_times(policy, false, operations_of(p), 1, 0), Reason::unmeasured);
  // The CPU predicts nothing.
  EXPECT_EQ(judge_times(policy, true, operations_of(p), std::numeric_limits<double>::infinity(), 0),
            Reason::none);
  policy.take_slower = true;
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 2, 1), Reason::none);
  EXPECT_EQ(judge_times(policy, false, operations_of(p), 2, 0), Reason::unmeasured);
  policy.take_unmeasured = true;
  EXPECT_EQ(judge_times(policy, false, operations_of(p), 2, 0), Reason::none);
  policy.smallest = 2e6;
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 1, 2), Reason::none);
  policy.smallest = 2.1e6;
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 1, 2), Reason::small);
}

TEST(AdapterJudge, AnEpilogueTakesTime) {
  Product p = product(8192, 3072, 768);
  EXPECT_EQ(epilogue_us(p), 0);
  p.activation = KW_ACTIVATION_RELU;
  const double large = epilogue_us(p);
  EXPECT_GT(large, 50);  // about what it takes where it was measured
  p.m = p.n = 1;
  EXPECT_GT(epilogue_us(p), 1);
  EXPECT_LT(epilogue_us(p), large);
  p.activation = KW_ACTIVATION_NONE;
  static const float bias = 1;
  p.bias = &bias;
  EXPECT_GT(epilogue_us(p), 1);
}

TEST(AdapterJudge, ATriangleIsHalfTheOperations) {
  Policy policy;
  policy.smallest = 1e6;
  Product p = product(100, 100, 100);
  p.routine = Routine::syrk;
  p.triangle = Triangle::upper;
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 1, 2), Reason::none);
  policy.smallest = 1.1e6;
  EXPECT_EQ(judge_times(policy, true, operations_of(p), 1, 2), Reason::small);
}

TEST(AdapterJudge, ArgumentsInEveryLayout) {
  EXPECT_EQ(check_arguments(product(3, 4, 5)), Reason::none);
  for (const kwLayout_t layout : {KW_ROW_MAJOR, KW_COL_MAJOR}) {
    for (const kwOp_t op_a : {KW_OP_NONE, KW_OP_TRANSPOSE}) {
      for (const kwOp_t op_b : {KW_OP_NONE, KW_OP_TRANSPOSE}) {
        Product p = product(3, 4, 5);
        p.layout = layout;
        p.op_a = op_a;
        p.op_b = op_b;
        const bool by_rows = layout == KW_ROW_MAJOR;
        p.lda = by_rows == (op_a == KW_OP_NONE) ? 5 : 3;
        p.ldb = by_rows == (op_b == KW_OP_NONE) ? 4 : 5;
        p.ldc = by_rows ? 4 : 3;
        EXPECT_EQ(check_arguments(p), Reason::none);
        for (std::int64_t* const ld : {&p.lda, &p.ldb, &p.ldc}) {
          --*ld;
          EXPECT_EQ(check_arguments(p), Reason::arguments);
          ++*ld;
        }
      }
    }
  }
}

TEST(AdapterJudge, NullsAndNegativeNumbers) {
  const auto changed = [](auto change) {
    Product p = product(3, 4, 5);
    change(p);
    return check_arguments(p);
  };
  EXPECT_EQ(changed([](Product& p) { p.m = -1; }), Reason::arguments);
  EXPECT_EQ(changed([](Product& p) { p.batch = -1; }), Reason::arguments);
  EXPECT_EQ(changed([](Product& p) { p.stride_b = -1; }), Reason::arguments);
  EXPECT_EQ(changed([](Product& p) { p.a = nullptr; }), Reason::arguments);
  EXPECT_EQ(changed([](Product& p) { p.c = nullptr; }), Reason::arguments);
  EXPECT_EQ(changed([](Product& p) { p.alpha = nullptr; }), Reason::arguments);
  EXPECT_EQ(changed([](Product& p) { p.k = 0; }), Reason::nothing_to_do);
  EXPECT_EQ(changed([](Product& p) { p.batch = 0; }), Reason::nothing_to_do);
}

TEST(AdapterJudge, WhatLiesBesideC) {
  const auto changed = [](kwLayout_t layout, auto change) {
    Product p = product(4, 4, 4);
    p.layout = layout;
    p.source = p.bias = static_cast<const float*>(p.a);
    p.ld_source = 4;
    change(p);
    return check_arguments(p);
  };
  for (const kwLayout_t layout : {KW_ROW_MAJOR, KW_COL_MAJOR}) {
    EXPECT_EQ(changed(layout, [](Product&) {}), Reason::none);
    EXPECT_EQ(changed(layout, [](Product& p) { p.ld_source = 3; }), Reason::arguments);
    EXPECT_EQ(changed(layout, [](Product& p) { p.stride_source = -1; }), Reason::arguments);
    EXPECT_EQ(changed(layout, [](Product& p) { p.stride_bias = -1; }), Reason::arguments);
  }
}

TEST(AdapterJudge, KindsOfEpiloguesDiffer) {
  const float one = 1;
  std::set<std::int64_t> kinds;
  for (const float* bias : {static_cast<const float*>(nullptr), &one}) {
    for (const float* source : {static_cast<const float*>(nullptr), &one}) {
      for (const kwActivation_t activation : {KW_ACTIVATION_NONE, KW_ACTIVATION_RELU,
                                              KW_ACTIVATION_GELU_TANH, KW_ACTIVATION_GELU_ERF}) {
        Product p;
        p.bias = bias;
        p.source = source;
        p.activation = activation;
        kinds.insert(epilogue_kind(p));
      }
    }
  }
  EXPECT_EQ(kinds.size(), 16u);
  EXPECT_EQ(*kinds.begin(), 0);
  EXPECT_EQ(*kinds.rbegin(), 15);
}

TEST(AdapterVendorTime, OnlyTheModelsThatWereMeasured) {
  EXPECT_NE(vendor_times_of("NVIDIA H200"), nullptr);
  EXPECT_NE(vendor_times_of("NVIDIA H100 80GB HBM3"), nullptr);
  for (const char* name : {"NVIDIA H100 PCIe", "NVIDIA H200 NVL", "NVIDIA A100-SXM4-80GB", ""}) {
    EXPECT_EQ(vendor_times_of(name), nullptr) << name;
  }
}

double predicted(double m, double n, double k, double batch = 1, bool aligned = true) {
  return predict_vendor_us(*vendor_times_of("NVIDIA H200"),
                           {false, false, aligned, m, n, k, batch});
}

// Products of results/h200/sgemm-squares.json and sgemm-programs.json, within a quarter.
TEST(AdapterVendorTime, IsNearWhatWasMeasured) {
  EXPECT_NEAR(predicted(4096, 4096, 4096) / 2710, 1, 0.25);
  EXPECT_NEAR(predicted(8192, 8192, 8192) / 21560, 1, 0.25);
  EXPECT_NEAR(predicted(1024, 1024, 1024) / 53, 1, 0.25);
}

TEST(AdapterVendorTime, GrowsWithTheProduct) {
  for (double size = 64; size < 16384; size *= 2) {
    EXPECT_GT(predicted(2 * size, 2 * size, 2 * size), predicted(size, size, size)) << size;
    EXPECT_GE(predicted(size, size, size, 8), predicted(size, size, size)) << size;
    EXPECT_GE(predicted(size, size, size, 1, false), predicted(size, size, size)) << size;
  }
  for (const double vector : {1.0, 1e2, 1e5, 1e9}) {
    EXPECT_TRUE(std::isfinite(predicted(vector, 1, 100)) && predicted(vector, 1, 100) > 0);
    EXPECT_TRUE(std::isfinite(predicted(1, 1, vector)));
  }
}

TEST(AdapterVendorTime, ARowMajorProductIsTheOtherWayRound) {
  Product p = product(30, 40, 50);
  p.layout = KW_ROW_MAJOR;
  p.op_a = KW_OP_TRANSPOSE;
  p.lda = 32;
  p.ldb = 41;
  const VendorShape shape = vendor_shape(p);
  EXPECT_EQ(shape.m, 40);
  EXPECT_EQ(shape.n, 30);
  EXPECT_FALSE(shape.transposed_a);
  EXPECT_TRUE(shape.transposed_b);
  EXPECT_FALSE(shape.aligned);
}

// Rather too little than too much, beside times of an H200 (results/h200/level3-*.json).
TEST(AdapterVendorTime, RoutinesOfLevel3TakeWhatWasMeasured) {
  struct Measured {
    Routine routine;
    std::int64_t size, k;
    double us;
  };
  constexpr Measured all[] = {{Routine::syrk, 8192, 8192, 10986}, {Routine::syrk, 3000, 500, 122},
                              {Routine::syrkx, 4096, 1024, 443},  {Routine::trmm, 4096, 4096, 1610},
                              {Routine::trmm, 8192, 8192, 10333}, {Routine::trsm, 256, 256, 62.4},
                              {Routine::trsm, 1024, 1024, 275},   {Routine::trsm, 4096, 4096, 2797},
                              {Routine::trsm, 8192, 8192, 14160}};
  const VendorTimes& times = *vendor_times_of("NVIDIA H200");
  for (const Measured& one : all) {
    Product p = product(one.size, one.size, one.k);
    p.routine = one.routine;
    EXPECT_LT(predict_vendor_us(times, p), 1.01 * one.us) << one.size;
    EXPECT_GT(predict_vendor_us(times, p), 0.7 * one.us) << one.size;
  }
  // A complex system with its triangle on the right, on an H200.
  for (const auto& [size, us] : {std::pair{256, 84.2}, std::pair{1024, 425.5},
                                 std::pair{4096, 6963.0}, std::pair{8192, 46408.0}}) {
    Product p = product(size, size, size);
    p.routine = Routine::trsm;
    p.is_complex = p.on_right = true;
    EXPECT_LT(predict_vendor_us(times, p), 1.01 * us) << size;
    EXPECT_GT(predict_vendor_us(times, p), 0.6 * us) << size;
  }
  // By triangle as cuSOLVER has it: level3-spotrf.json and level3-spotrf-large.json.
  const struct {
    Triangle triangle;
    std::int64_t n;
    double us;
  } factored[] = {{Triangle::lower, 1024, 324},     {Triangle::lower, 4096, 1547},
                  {Triangle::lower, 8192, 7676},    {Triangle::lower, 16384, 39827},
                  {Triangle::lower, 32768, 274973}, {Triangle::upper, 1024, 720},
                  {Triangle::upper, 4096, 4292},    {Triangle::upper, 16384, 57257}};
  for (const auto& one : factored) {
    Product p = product(one.n, one.n, one.n);
    p.routine = Routine::potrf;
    p.triangle = one.triangle;
    EXPECT_LT(predict_vendor_us(times, p), 1.01 * one.us) << one.n;
    EXPECT_GT(predict_vendor_us(times, p), 0.65 * one.us) << one.n;
  }
  Product p = product(4096, 4096, 4096);
  const double whole = predict_vendor_us(times, p);
  p.routine = Routine::syr2k;
  EXPECT_GT(predict_vendor_us(times, p), whole);
}

// Calls of results/h200/explored-grouped-2.csv, which nothing was fitted to.
TEST(AdapterVendorTime, GroupsTakeWhatWasMeasured) {
  const VendorTimes& times = *vendor_times_of("NVIDIA H200");
  const auto group = [](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
    Product p = product(m, n, k);
    p.batch = batch;
    return p;
  };
  const struct {
    std::vector<Product> groups;
    double us;
  } all[] = {{{group(13, 35, 43, 20), group(80, 45, 13, 36)}, 22.5},
             {{group(143, 55, 141, 226), group(15, 112, 47, 210), group(39, 146, 44, 58),
               group(28, 48, 11, 37)},
              94.5},
             {{group(2175, 2711, 2065, 1), group(1874, 1436, 365, 2), group(112, 2246, 262, 6),
               group(32, 48, 70, 3), group(1129, 354, 110, 1), group(111, 61, 317, 2)},
              825.8},
             {{group(697, 50, 361, 1), group(697, 17, 361, 1), group(697, 828, 361, 1),
               group(697, 79, 361, 1), group(697, 9, 361, 1)},
              50.1}};
  for (const auto& one : all) {
    const double us = predict_grouped_us(times, one.groups);
    EXPECT_GT(us, 0.7 * one.us);
    EXPECT_LT(us, 1.45 * one.us);
    std::vector<Product> more = one.groups;
    more.push_back(group(128, 128, 5000, 1));
    EXPECT_GT(predict_grouped_us(times, more), us);
    more.back().n = 0;  // nobody's
    EXPECT_EQ(predict_grouped_us(times, more), us);
  }
}

TEST(AdapterJudge, GroupsMayBeEmptyButNotAll) {
  Product full = product(3, 4, 5), empty = full, no_k = full;
  empty.m = 0;
  no_k.k = 0;
  EXPECT_EQ(check_arguments({full, empty}), Reason::none);
  EXPECT_EQ(check_arguments({empty, empty}), Reason::nothing_to_do);
  EXPECT_EQ(check_arguments({full, no_k}), Reason::nothing_to_do);
  full.lda = 0;
  EXPECT_EQ(check_arguments({empty, full}), Reason::arguments);
}

TEST(AdapterJudge, ASquareAHasItsSizeAsItsLine) {
  Product p = product(30, 40, 30);
  p.layout = KW_COL_MAJOR;
  p.op_a = p.op_b = KW_OP_NONE;
  p.routine = Routine::trmm;
  p.lda = 30, p.ldb = 30, p.ldc = 30;
  EXPECT_EQ(check_arguments(p), Reason::none);
  p.on_right = true;
  p.k = 40;
  EXPECT_EQ(check_arguments(p), Reason::arguments);
  p.lda = 40;
  EXPECT_EQ(check_arguments(p), Reason::none);
  p.ldb = 29;
  EXPECT_EQ(check_arguments(p), Reason::arguments);
}

}  // namespace
}  // namespace kw::cublas
