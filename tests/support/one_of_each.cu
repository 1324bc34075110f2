// One instance of each of the library's kernel templates, for ./dev check-archs --quick and ./dev
// check-amd: whether their text compiles for an architecture, in the time that a test may take.
// Nothing links this.
#include "reduce/array.hpp"
#include "reduce/chunks/chunk_blocks.hpp"
#include "reduce/columns/columns.hpp"
#include "reduce/rows/few_rows.hpp"
#include "reduce/rows/row_spans.hpp"
#include "reduce/rows/staged_rows.hpp"
#include "reduce/segments/few_segments.hpp"
#include "reduce/segments/segment_pieces.hpp"
#include "reduce/segments/segment_shares.hpp"
#include "reduce/segments/segment_tiles.hpp"
#include "reduce/segments/staged_segments.hpp"
#include "reduce/short_sequences.hpp"
#include "rowwise/map.hpp"
#include "rowwise/plain_rows.hpp"
#include "rowwise/rows.hpp"
#include "rowwise/spread.hpp"
#if !defined(__HIP__)
#include "rowwise/ring.hpp"
#include "rowwise/shared_rows.hpp"
#include "rowwise/tile_words.hpp"
#include "sgemm/hopper/hopper_tile.hpp"
#include "sgemm/hopper/split.hpp"
#include "sgemm/stream/stream_tile.hpp"
#endif

namespace KW_TARGET {

#if !defined(__HIP__)
template <class Is>
constexpr int first_tile(Is is) {
  int row = 0;
  while (!is(stream_tiles[row].config)) ++row;
  return row;
}
// A tile that moves no registers: elsewhere than on sm_90a the kernels of the others are empty.
constexpr int on_every_architecture =
    first_tile([](const StreamTileConfig& config) { return !config.moves_registers(); });
constexpr int shaped = first_tile(
    [](const StreamTileConfig& config) { return !config.moves_registers() && config.shaped; });
#endif

// What is named here is compiled.
[[maybe_unused]] const auto one_of_each = [] {
  constexpr auto sum = ReduceKind::sum;
  const auto addresses = {
      reinterpret_cast<const void*>(reduce_array_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_one_segment_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_few_segments_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_columns_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_short_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_staged_kernel<sum, float, false>),
      reinterpret_cast<const void*>(reduce_staged_kernel<sum, float, true>),
      reinterpret_cast<const void*>(reduce_staged_segments_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_chunks_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_pieces_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_shares_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_few_rows_kernel<sum, float>),
      reinterpret_cast<const void*>(reduce_row_spans_kernel<ReduceKind::max, float>),
      reinterpret_cast<const void*>(reduce_tiles_kernel<sum, float>),
      reinterpret_cast<const void*>(
          rowwise::plain_rows_of_lanes<false, float16, 8, rowwise::plain_packs<float16>>),
      reinterpret_cast<const void*>(rowwise::rows_of_lanes<true, 8>),
      reinterpret_cast<const void*>(rowwise::rows_of_blocks<false, 16>),
      reinterpret_cast<const void*>(rowwise::spread_rows<true>),
      reinterpret_cast<const void*>(rowwise::map_rows),
#if !defined(__HIP__)
      reinterpret_cast<const void*>(rowwise::ring_rows<true, float, false, 1>),
      reinterpret_cast<const void*>(rowwise::ring_rows<false, float, false, ring_groups>),
      reinterpret_cast<const void*>(rowwise::ring_rows<false, float16, true, 1>),
      reinterpret_cast<const void*>(rowwise::rows_in_shared<true>),
      reinterpret_cast<const void*>(
          rowwise::tile_words_of_rows<true, float16, rowwise::TileGaps::none>),
      reinterpret_cast<const void*>(stream_tile::stream_tile<0>),
      reinterpret_cast<const void*>(stream_tile::stream_tile<on_every_architecture>),
      reinterpret_cast<const void*>(stream_tile::stream_shaped<shaped>),
      reinterpret_cast<const void*>(hopper::hopper_triangle<true, 0>),
      reinterpret_cast<const void*>(hopper::hopper_tile<false, 0, false>),
      reinterpret_cast<const void*>(hopper::hopper_tile<true, 0, false>),
      reinterpret_cast<const void*>(hopper::split_pass<hopper::SplitPass::sample>),
      reinterpret_cast<const void*>(hopper::split_pass<hopper::SplitPass::bf16>),
      reinterpret_cast<const void*>(hopper::split_pass<hopper::SplitPass::fp16>),
      reinterpret_cast<const void*>(hopper::split_pass<hopper::SplitPass::sampled_fp16>),
#endif
  };
  return addresses.size();
}();

}  // namespace KW_TARGET
