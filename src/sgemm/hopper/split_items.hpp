// The geometry of the split pass: what a block does at a time, and where a thread's elements lie.
#pragma once

#include <algorithm>

#include "gpu/device.hpp"
#include "host_device.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace kw::hopper {

constexpr bool is_fp16(SplitPass pass) {
  return pass == SplitPass::fp16 || pass == SplitPass::sampled_fp16;
}

constexpr int chunk_k = 8;          // elements along k that a thread loads and splits at a time
constexpr int split_threads = 256;  // a chunk each of a stage of 64 rows x 32 along k

// The work items of one operand: a block of 64 rows each, and a segment of its stages along k. The
// segments are as equal as can be. A sample of its own takes whole rows. Divisions on the GPU would
// cost a call of 512 cubed a microsecond, so the host divides.
struct SplitItems {
  unsigned row_blocks = 0, segments = 0;
  unsigned stages = 0, longer = 0;  // of a segment; so many of the first segments have one more

  KW_HOST_DEVICE unsigned per_entry() const { return row_blocks * segments; }
  KW_HOST_DEVICE unsigned first_stage(unsigned segment) const {
    return segment * stages + (segment < longer ? segment : longer);
  }
};
inline SplitItems split_items(const PackedLayout& layout, unsigned segments) {
  const auto stages = static_cast<unsigned>(layout.stages);
  if (segments == 0) return {};  // the product splits the operand itself
  return {static_cast<unsigned>(layout.blocks), segments, stages / segments, stages % segments};
}

// Whether the first blocks of a launch weigh elements of C (terms.hpp). That takes longer than the
// sample of a row, so it runs beside the pieces.
constexpr bool weighs_terms(SplitPass pass) { return pass != SplitPass::sample; }
constexpr unsigned term_blocks = sampled_elements / elements_per_block;
static_assert(sampled_elements % elements_per_block == 0 &&
              elements_per_block * 32 <= split_threads);

// So many blocks run beside those at one time. One more would begin when others end, and the
// product would wait for it.
inline int split_blocks_at_once(SplitPass pass, const Device& device) {
  const int all = split_blocks_per_sm(pass) * device.sm_count,
            others = static_cast<int>(term_blocks);
  return all > others ? all - others : 1;
}

// The other blocks of a launch, which take the items of both operands in turn.
inline unsigned split_blocks(SplitPass pass, std::int64_t batch, const SplitItems (&items)[2],
                             const Device& device) {
  unsigned count = 0;
  for (const SplitItems& own : items)
    count += pass == SplitPass::sample ? own.row_blocks : own.per_entry();
  count *= static_cast<unsigned>(batch);
  const int most = std::min(split_blocks_at_once(pass, device), max_range_blocks);
  return std::min(count, static_cast<unsigned>(most));
}

// One of them.
struct SplitItem {
  int operand;
  std::int64_t entry, row_block;
  unsigned segment;
};

// `along_k`: segments of a row block are neighbours in memory; else row blocks are.
KW_HOST_DEVICE inline SplitItem split_item_at(const SplitItems& items, bool along_k, int operand,
                                              unsigned index) {
  SplitItem item{};
  item.operand = operand;
  const unsigned inner = along_k ? items.segments : items.row_blocks;
  if (index >= items.per_entry()) {
    item.entry = index / items.per_entry();
    index %= items.per_entry();
  }
  const unsigned outer_index = index / inner, inner_index = index - outer_index * inner;
  item.segment = along_k ? inner_index : outer_index;
  item.row_block = along_k ? outer_index : inner_index;
  return item;
}

// Which row of a work item and which chunk of its stages a thread has: neighbouring threads have
// neighbours in memory.
struct ThreadChunk {
  int row, chunk;

  KW_HOST_DEVICE ThreadChunk(int tid, bool along_k)
      : row(along_k ? tid / 4 : tid % block_rows), chunk(along_k ? tid % 4 : tid / block_rows) {}
};

}  // namespace kw::hopper
