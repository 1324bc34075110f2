// `bench attention`: shapes as typed, problems at random, what a row of it says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bench/problems.hpp"
#include "bench/row.hpp"
#include "commands/attention_options.hpp"
#include "program.hpp"
#include "support/run_seed.hpp"
#include "sweeps/random_attention.hpp"

namespace kw {
namespace {

using check::AttentionCase;

std::vector<AttentionCase> chosen(const char* shape, const char* causal = "") {
  AttentionChoice choice;
  choice.shape = shape;
  choice.causal = causal;
  return chosen_attention(choice, Device{}, check::Input::normal, 3).cases;
}

TEST(AttentionOptions, ShapesAreReadInBothForms) {
  const auto cases = chosen("2x16x4096x128,1x32/8x1x8192x64", "none,from_end");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(bench::size_text(cases[0]), "2x16x4096x4096x128");
  EXPECT_EQ(bench::size_text(cases[1]), "2x16x4096x4096x128 from_end");
  EXPECT_EQ(bench::size_text(cases[2]), "1x32/8x1x8192x64");
  EXPECT_EQ(cases[3].causal, Causal::from_end);
  EXPECT_EQ(cases[3].data, check::AttentionData::normal);
  for (const char* wrong :
       {"8", "2x3x4", "1x2x3x4x5x6", "1x3/2x4x5", "1x4/x4x5", "1x1x1x257", "1xax2x3", "1x1x0x8"})
    EXPECT_THROW(chosen(wrong), UsageError) << wrong;
  EXPECT_THROW(chosen("1x1x8x8", "upwards"), UsageError);
}

TEST(AttentionOptions, OperationsOfACausalProblemAreThoseOfVisiblePairs) {
  EXPECT_EQ(bench::work(chosen("1x1x3x5x8")[0]), 4.0 * 8 * 15);
  EXPECT_EQ(bench::work(chosen("1x1x3x5x8", "from_end")[0]), 4.0 * 8 * (3 + 4 + 5));
  EXPECT_EQ(bench::work(chosen("1x1x3x5x8", "from_start")[0]), 4.0 * 8 * (1 + 2 + 3));
}

TEST(RandomAttention, TheSameListForTheSameSeedWithinItsBounds) {
  const std::uint64_t seed = seed_of(11);
  const auto all = random_attention(seed, 200), few = random_attention(seed, 20);
  std::set<std::int64_t> dims;
  int causal = 0, one_query = 0, grouped = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const AttentionCase& c = all[i];
    if (i < few.size()) {
      EXPECT_EQ(bench::size_text(c), bench::size_text(few[i]));
    }
    EXPECT_LE(attention_products(c), most_attention_products);
    EXPECT_EQ(c.heads % c.kv_heads, 0);
    dims.insert(c.dim);
    causal += c.causal != Causal::none;
    one_query += c.queries == 1;
    grouped += c.heads != c.kv_heads;
  }
  EXPECT_GE(dims.size(), 6u);
  for (const int count : {causal, one_query, grouped}) {
    EXPECT_GT(count, 20);
    EXPECT_LT(count, 160);
  }
}

TEST(AttentionRows, SayTheirProblem) {
  const AttentionCase c{2, 4, 2, 5, 9, 16, Causal::from_start};
  Attention problem;
  problem.batch = 2, problem.heads = 4, problem.kv_heads = 2;
  problem.queries = 5, problem.keys = 9, problem.dim = 16;
  problem.causal = c.causal;
  const Kernel<Attention> kernel{"some", nullptr, "", Role::production, Math::fp32};
  const auto json = bench::to_json(bench::make_row(kernel, problem, c, {}));
  EXPECT_EQ(json["op"], "attention");
  EXPECT_EQ(json["heads"], 4);
  EXPECT_EQ(json["kv_heads"], 2);
  EXPECT_EQ(json["keys"], 9);
  EXPECT_EQ(json["causal"], "from_start");
  EXPECT_FALSE(json.contains("m"));
}

}  // namespace
}  // namespace kw
