// The tuning of the split pass, as data: its blocks and samples, how it is cut, and from where on
// outliers and light elements make a call take another path.
#pragma once

#include <cstdint>

namespace kw::hopper {

// What the split pass runs for: the pieces of bf16x6; the scales of fp16x3's rows; its pieces by
// these; its pieces by scales that each block samples for itself.
enum class SplitPass { bf16, sample, fp16, sampled_fp16 };
// Four blocks move more at a time: 4096 cubed from 629 to 618 us. Where blocks sample, three have
// longer items for that; in bf16 1536 cubed takes 77 us with three and 78 with four.
constexpr int split_blocks_per_sm(SplitPass pass) { return pass == SplitPass::fp16 ? 4 : 3; }
constexpr int stages_at_once = 2;         // stages whose loads are under way together
constexpr int sampled_stages = 4;         // of 32 along k, of each row
constexpr int sample_room = 2;            // by so much a sample may miss a row's largest exponent
constexpr int largest_diagonal = 11;      // by so much a row's diagonal may outweigh its sample
constexpr int max_range_blocks = 512;     // blocks that write ranges
constexpr unsigned listed_outliers = 64;  // that a work item's list holds
// How long an outlier of A and one of B take in a tile (H200: 4096 in A of 8192 cubed 0.13 us each,
// 1024 in B of 4096 cubed 1.9 us), and which share of the product's time all of them may take:
// bf16x6 would take twice the product's. So many are few in any product.
constexpr int outlier_ns[] = {150, 2000};
constexpr double outlier_share = 0.25;
constexpr int few_outliers = 256;
// The elements of C that terms.hpp looks at, at so many places of k each, and from which share of
// their sum on a product counts: below, FP32 hardly adds it either.
constexpr int sampled_elements = 32, sampled_terms = 512;
// So many of them a block looks at. A load along a column looks up 32 lines, and with eight warps
// in a block that sets the time: 1024 cubed took 27 us with eight, 26 with four.
constexpr unsigned elements_per_block = 4;
constexpr float least_term = 0x1p-22f;
// More of them that FP32 computes as well, and the call takes another path.
constexpr float share_of_light_elements = 1.0f / 8;
// The segments of k of a row block (split_segments): at most so many; a work item's start costs as
// much as so many stages; in a single round of blocks the slower operand's items, those of an
// operand that does not lie along k, set the time.
constexpr std::int64_t max_segments = 64;
constexpr double segment_start_stages = 0.5;
constexpr double slower_operand = 4.0 / 3.0;
// What decides how fp16x3's pass is cut (split_cut.hpp), in stages of an A along k: a stage of any
// other operand, an item's sample, a launch that samples all rows; and to which share of the
// others' time such a launch, and one round, must be predicted to come: from 6144 on neither wins.
// Fitted to 1536 to 4096 cubed with all transposes (results/h200/explored-squares.txt): 56.0
// to 53.2 us at 1536, 106 to 103 at 2048.
constexpr double slow_stage = 1.75;
constexpr double sample_stages = 4;
constexpr double sample_launch_stages = 7;
constexpr double launch_share = 0.97;
constexpr double one_round_share = 0.95;

}  // namespace kw::hopper
