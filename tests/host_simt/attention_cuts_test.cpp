// Every configuration of attention_tile and attention_rows, whole and with its keys cut, of
// attention_pair, and both ways of attention_split, also where no prediction chooses them on this
// machine.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "attention/kernels.hpp"
#include "attention/production.hpp"
#include "attention/split_layout.hpp"
#include "check/verify_attention.hpp"
#include "host_simt/host_simt.hpp"
#include "support/kernel_named.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
TileSchedule forced_tiles;

PairSchedule forced_pairs;
RowsSchedule forced_rows;

Kernel<Attention> kernel_named(const std::string& name) {
  return test::kernel_named(on_host::attention_production(), name);
}

Kernel<Attention> tile_with_forced_cut() {
  Kernel<Attention> kernel = kernel_named("attention_tile");
  kernel.make_plan = [](const Attention& p,
                        const Device& device) -> std::optional<Plan<Attention>> {
    return on_host::attention_tile_plan_of(p, device, forced_tiles);
  };
  return kernel;
}

class AttentionCuts : public testing::TestWithParam<int> {};

TEST_P(AttentionCuts, EveryConfigurationWholeAndInParts) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const TileConfig& c = tile_configs[GetParam()];
  const Kernel<Attention> kernel = tile_with_forced_cut();
  for (const int parts : {1, 3}) {
    forced_tiles.config = GetParam();
    forced_tiles.parts = parts;
    // More than one tile of queries and a tile of keys for each part, neither of them whole.
    check::AttentionCase of_cut{1, 2, 1, c.rows() + 5, 3 * c.keys - 7, c.dim - 3};
    of_cut.causal = parts == 1 ? Causal::from_start : Causal::none;
    of_cut.layout = check::AttentionLayout::odd;
    of_cut.data = check::AttentionData::normal;
    of_cut.seed = run_seed();
    const check::VerifyResult result = check::verify_attention(*runtime, kernel, of_cut);
    EXPECT_TRUE(result.ok()) << describe(of_cut) << " in " << parts << ": " << result.message;
  }
}

class AttentionPairs : public testing::TestWithParam<int> {};

TEST_P(AttentionPairs, EveryConfiguration) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const PairConfig& c = pair_configs[GetParam()];
  Kernel<Attention> kernel = kernel_named("attention_pair");
  kernel.make_plan = [](const Attention& p,
                        const Device& device) -> std::optional<Plan<Attention>> {
    return on_host::attention_pair_plan_of(p, device, forced_pairs);
  };
  struct Cut {
    bool causal;
    int parts, first_share;
  };
  for (const Cut cut : {Cut{true, 3, 0}, Cut{true, 3, 40}, Cut{false, 1, 0}}) {
    const bool causal = cut.causal;
    // Where causal, the second tile of queries of the first head is cut, and the second head's.
    forced_pairs = {GetParam(), cut.parts, cut.first_share, 1};
    // Rings go round, and neither the last tile of queries nor that of keys is whole.
    check::AttentionCase of_pair{1,
                                 2,
                                 1,
                                 causal ? c.rows() + 5 : c.warp_rows() + 3,
                                 2 * c.keys() + 23,
                                 causal ? c.dim : c.dim - 3};
    of_pair.causal = causal ? Causal::from_end : Causal::none;
    if (!causal) of_pair.layout = check::AttentionLayout::odd;
    of_pair.data = check::AttentionData::normal;
    of_pair.seed = run_seed();
    const check::VerifyResult result = check::verify_attention(*runtime, kernel, of_pair);
    EXPECT_TRUE(result.ok()) << describe(of_pair) << ": " << result.message;
#if defined(__SANITIZE_ADDRESS__)
    break;  // one is enough of each
#endif
  }
}

bool forced_split_first;

// Blocks take several tiles of queries each, of several heads that share keys; the first tiles, or
// one of the two warpgroups, see no key.
class AttentionSplits : public testing::TestWithParam<bool> {};

TEST_P(AttentionSplits, SeveralTilesABlock) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  forced_split_first = GetParam();
  Kernel<Attention> kernel = kernel_named("attention_split");
  kernel.make_plan = [](const Attention& p,
                        const Device& device) -> std::optional<Plan<Attention>> {
    std::optional<Plan<Attention>> plan = on_host::attention_split_make_plan(p, device);
    if (plan) plan->data.set(attention_split::SplitSchedule{forced_split_first});
    return plan;
  };
  for (const std::int64_t dim : {20, 48, 64, 100, 136, 230}) {
    const bool is_wide = dim > 128;  // always by a launch in front
    if (is_wide && !forced_split_first) continue;
    check::AttentionCase c{1, dim < 64 ? 6 : 2, 1, is_wide ? 190 : 330, dim > 64 ? 70 : 200, dim};
    c.causal = Causal::from_end;
    c.layout = dim % 8 == 4 ? check::AttentionLayout::odd : check::AttentionLayout::dense;
    c.data = check::AttentionData::normal;
    c.seed = run_seed();
    const check::VerifyResult result = check::verify_attention(*runtime, kernel, c);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    EXPECT_STREQ(result.path, "fp16x3");
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionSplits, testing::Bool());

class AttentionRows : public testing::TestWithParam<int> {};

TEST_P(AttentionRows, EveryConfigurationWholeAndInParts) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  const RowsConfig& c = rows_configs[GetParam()];
  Kernel<Attention> kernel = kernel_named("attention_rows");
  kernel.make_plan = [](const Attention& p,
                        const Device& device) -> std::optional<Plan<Attention>> {
    return on_host::attention_rows_plan_of(p, device, forced_rows);
  };
  for (const int parts : {1, 3}) {
    forced_rows = {GetParam(), parts};
    // Two heads share K and V, a block has queries of both, and no tile is whole.
    check::AttentionCase of_rows{2, 4, 2, c.rows - 1, 3 * c.keys - 7, c.dim - (parts == 1 ? 3 : 0)};
    of_rows.causal = parts == 1 ? Causal::from_start : Causal::from_end;
    if (parts == 1) of_rows.layout = check::AttentionLayout::odd;
    of_rows.data = check::AttentionData::normal;
    of_rows.seed = run_seed();
    const check::VerifyResult result = check::verify_attention(*runtime, kernel, of_rows);
    EXPECT_TRUE(result.ok()) << describe(of_rows) << " in " << parts << ": " << result.message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionRows, testing::Range(0, rows_config_count));
INSTANTIATE_TEST_SUITE_P(All, AttentionPairs, testing::Range(0, pair_config_count));
INSTANTIATE_TEST_SUITE_P(All, AttentionCuts, testing::Range(0, tile_config_count));

}  // namespace
}  // namespace kw
