// Which team of threads has a row in its registers: of those that are large enough the one that
// leaves the fewest places empty, the first of equals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kw {

struct RowTeam {
  int most_columns;
  int values;  // a thread
  int lanes;   // most of a team: up to 32 are part of a warp, more are a block
};

// Shares of the copy bandwidth on an H200, softmax of float32 from memory (results/h200/
// rowwise.json has many more).
inline constexpr std::array<RowTeam, 4> row_teams = {{
    {256, 8, 32},
    {768, 24, 32},
    {6144, 16, 384},
    {9216, 24, 384},
}};

inline constexpr int most_block_threads = 384;
inline constexpr int warp_block_threads = 256;  // of the teams that are part of a warp

// Plain rows (plain_rows.hpp). A thread has so many packs of 16 bytes; a row has as many warps as
// hold it, or lanes of one; more warps than a block has are those of a cluster. Of 16-bit types
// long rows are kept as they are in memory, and a thread has more of them: in blocks of several
// warps, and where a warp is alone or a cluster has a row.
inline constexpr int plain_packs_of_4 = 5, plain_packs_of_2 = 4;
inline constexpr int plain_block_packs_of_2 = 7, plain_most_packs_of_2 = 8;
// In large calls, which move so much a multiprocessor, lanes of a warp have a pack more of 16-bit
// types rather than be twice as many, half of them without anything to do: rows of 257 to 319, 513
// to 639 and 1025 to 1279 elements. And one warp has rows of up to 2559, which two warps' packs
// hold half as well (results/h200/explored-rowwise-clusters.txt).
inline constexpr int plain_some_packs_of_2 = 5, plain_alone_packs_of_2 = 10;
inline constexpr std::int64_t plain_large_call_bytes = 496 << 10;
// Where a warp is alone with a norm's row of float32, of up to so many columns, of calls that move
// so much a multiprocessor: of fewer rows two warps each end sooner.
inline constexpr int plain_norm_alone_packs_of_4 = 8, plain_norm_alone_columns_of_4 = 960;
inline constexpr std::int64_t plain_norm_alone_bytes_of_4 = 124 << 10;
// A softmax's row of float32 that has its lanes to itself, with no other one on its way, by the
// packs of a lane: so a multiprocessor has so many blocks of lanes. More than five packs are a
// whole warp's, whose row two warps' packs hold half (results/h200/explored-rowwise-gaps.txt).
// Fewer are those of a row that five packs of the same lanes hold half, three of any lanes, four of
// a whole warp's, in calls that move so much a multiprocessor (results/h200/
// explored-rowwise-packs.txt).
struct LoneRow {
  int packs, blocks;
};
inline constexpr std::array<LoneRow, 4> plain_lone_rows_of_4 = {{{3, 10}, {4, 8}, {6, 7}, {8, 5}}};
constexpr bool plain_has_lone_row_of_4(int lanes, int packs) {
  return lanes == 32 || packs == plain_lone_rows_of_4.front().packs;
}
inline constexpr std::int64_t plain_few_packs_bytes_of_4 = 62 << 10;
inline constexpr int plain_lone_rows_of_sm = 12;  // of fewer rows two warps each end sooner
constexpr int plain_lone_blocks_of_4(int packs) {
  for (const LoneRow& row : plain_lone_rows_of_4)
    if (packs <= row.packs) return row.blocks;
  return plain_lone_rows_of_4.back().blocks;
}
// Lanes of a warp that have a row of a 16-bit type alone, and the packs of each: a block has a row
// for each such team and ends, so registers hold no row behind it, and more warps fit. A softmax's
// rows of up to 2560 elements are theirs, by the first team that holds one; so are those of norms
// in place that have gaps between them, from so many packs on, and norms' rows in five packs a lane
// (results/h200/explored-rowwise-lone.txt). Five and ten packs a lane are for large calls, which
// have rows enough for few lanes each.
struct LoneTeam {
  int lanes, packs;
  bool for_large = false;
};
inline constexpr std::array<LoneTeam, 12> plain_lone_softmax_of_2 = {{{8, 2},
                                                                      {8, 3},
                                                                      {8, 4},
                                                                      {8, 5, true},
                                                                      {16, 3},
                                                                      {16, 4},
                                                                      {16, 5, true},
                                                                      {32, 3},
                                                                      {32, 4},
                                                                      {32, 5, true},
                                                                      {32, 8},
                                                                      {32, 10, true}}};
inline constexpr std::array<LoneTeam, 2> plain_lone_norm_of_2 = {{{8, 3, true}, {8, 5, true}}};
inline constexpr int plain_lone_norm_least_packs_of_2 = 17;
// Blocks of a multiprocessor, by the packs of a lane.
constexpr int plain_lone_blocks_of_2(int packs) {
  return packs <= plain_some_packs_of_2 ? 8 : packs <= plain_most_packs_of_2 ? 6 : 5;
}
// Whether lanes of a warp that have so many packs of a row each have no row behind it on its way. A
// whole warp's norms have one.
constexpr bool plain_is_lone(bool softmax, std::size_t size, int lanes, int packs) {
  if (size == 4) return softmax && packs != plain_packs_of_4;
  return softmax || (lanes <= 16 && (packs == plain_lone_norm_of_2[0].packs ||
                                     packs == plain_lone_norm_of_2[1].packs));
}
inline constexpr int plain_threads_of_4 = 384, plain_threads_of_2 = 320;  // of a block, at most
// Where clusters follow. Blocks that have a few rows each fill gamma and beta anew, clusters stay:
// norms of less than 300 MiB (results/h200/explored-rowwise-norms.txt), of float32 from 2560
// columns on, have 93.0 % of the copy bandwidth in place of 89.6, and 0 of 25 are below 85 in place
// of 5; 16-bit types from 5376 on 87.6 in place of 85.7. Of more bytes blocks may have 5 points
// more.
inline constexpr int plain_softmax_before_clusters_of_4 = 384;
inline constexpr int plain_softmax_before_clusters_of_2 = 192;
inline constexpr int plain_norm_before_clusters_of_4 = 128;
inline constexpr int plain_norm_before_clusters_of_2 = 96;
inline constexpr std::int64_t plain_norm_in_clusters_bytes = std::int64_t{300} << 20;
// Of a cluster's block, at most: a quarter of them, half of them, or all; of four blocks that have
// a norm's row of float32 fewer than a quarter.
inline constexpr int plain_cluster_threads_of_4 = 640, plain_cluster_threads_of_2 = 512;
inline constexpr int plain_norm_threads_of_four_blocks = 128;
// For which a multiprocessor has registers, by the packs of a thread.
constexpr int plain_sm_threads(int packs) {
  return packs > plain_block_packs_of_2 ? 512 : packs > plain_packs_of_4 ? 640 : 768;
}
// Clusters of sixteen blocks, of which two share a multiprocessor: threads of a block, at most, of
// a softmax and of norms.
inline constexpr int plain_large_blocks = 16;
inline constexpr int plain_large_softmax_of_4 = 448, plain_large_norm_of_4 = 320;
inline constexpr int plain_large_softmax_of_2 = 320, plain_large_norm_of_2 = 256;
constexpr int plain_large_threads(bool softmax, std::size_t size) {
  if (size == 4) return softmax ? plain_large_softmax_of_4 : plain_large_norm_of_4;
  return softmax ? plain_large_softmax_of_2 : plain_large_norm_of_2;
}
// Rows from so many bytes on are theirs, if they hold them (results/h200/
// explored-rowwise-blocks.txt).
inline constexpr int plain_large_softmax_bytes_of_4 = 144 << 10;
inline constexpr int plain_large_softmax_bytes_of_2 = 160 << 10;
inline constexpr int plain_large_norm_bytes_of_4 = 120 << 10;
inline constexpr int plain_large_norm_bytes_of_2 = 200 << 10;
constexpr int plain_large_bytes(bool softmax, std::size_t size) {
  if (size == 4) return softmax ? plain_large_softmax_bytes_of_4 : plain_large_norm_bytes_of_4;
  return softmax ? plain_large_softmax_bytes_of_2 : plain_large_norm_bytes_of_2;
}
// Norms' rows from so many bytes on are theirs or fewer blocks', by the number of rounds and this:
// gigabytes a second that clusters move, where multiprocessors have several blocks of them and so
// many warps on average, and where they do not.
inline constexpr double plain_several_gbs = 4100, plain_single_gbs = 3500;
inline constexpr double plain_several_warps = 12.5;
inline constexpr int plain_either_norm_bytes_of_4 = 200 << 10;
inline constexpr int plain_either_norm_bytes_of_2 = 325 << 10;
// Blocks of clusters that have several teams, each with a row of a norm, which share gamma and
// beta: threads of a block and of a team, at most. A team's row may begin anywhere, so no cluster
// is left out where rows of 16-bit types begin in eight ways; and threads have fewer registers, so
// a multiprocessor has more of them. Where rows begin in fewer ways and the others fill all
// multiprocessors as well, those have less to do (results/h200/explored-rowwise-teams.txt).
constexpr int plain_teams_threads(bool large, std::size_t size) {
  if (size == 4) return 896;
  return large ? 640 : 512;
}
constexpr int plain_team_threads(std::size_t size) { return size == 4 ? 448 : 320; }
// Of 16-bit types where rows begin in so many ways; long ones are sixteen blocks' with so many
// warps (results/h200/explored-rowwise-draws.txt).
constexpr int plain_teams_ways_of_2(bool is_long) { return is_long ? 4 : 8; }
inline constexpr int plain_long_teams_warps_of_2 = 5;
inline constexpr int plain_teams_bytes_of_4 = 120 << 10;
// Rows from so many bytes to fewer than so many, where clusters have them, are such teams' of few
// blocks with half of the threads: some blocks share a multiprocessor. Of large calls, or where
// rows of 16-bit types begin in eight ways (results/h200/explored-rowwise-paced.txt,
// explored-rowwise-turns.txt).
struct FewBlocks {
  int least_bytes, end_bytes;
  int blocks, most_teams;
  int least_ways = 1, most_ways = 8;  // in which rows begin past a boundary
  bool centres = true;                // layer norms too
};
inline constexpr std::array<FewBlocks, 4> plain_few_blocks_of_4 = {{{8 << 10, 12800, 2, 4},
                                                                    {12800, 29 << 10, 4, 7},
                                                                    {29 << 10, 39 << 10, 8, 4},
                                                                    {84 << 10, 120 << 10, 16, 3}}};
inline constexpr std::array<FewBlocks, 5> plain_few_blocks_of_2 = {
    {{21 << 10, 32 << 10, 4, 4},
     {42 << 10, 50 << 10, 8, 4, 2, 4, false},
     {50 << 10, 62 << 10, 8, 4, 2, 4},
     {86 << 10, 98 << 10, 8, 2, 2, 4, false},
     {172 << 10, 192 << 10, 16, 3, 8, 8}}};
// Layer norms of 16-bit types, whose rows of so many bytes begin in eight ways: a block of a
// cluster has one of them, which is 2 to 11 points quicker than several teams; other lengths are
// not (results/h200/explored-rowwise-turns.txt).
struct BytesRange {
  int least, end;
};
inline constexpr std::array<BytesRange, 2> plain_layers_alone_of_2 = {
    {{40 << 10, 43 << 10}, {64 << 10, 75 << 10}}};
// And rows of so many bytes that begin in so many ways, of large calls, are rings' of clusters: 2
// to 9 points up, where those that begin in fewer ways are 3 down to 4 up (results/h200/
// explored-rowwise-gaps.txt).
inline constexpr BytesRange plain_layers_of_rings_of_2 = {340 << 10, 440 << 10};
inline constexpr int plain_ways_of_rings_of_2 = 4;
// From so many bytes on a softmax's rows of 16-bit types, whose exponentials are found twice, are
// rings' in large calls.
inline constexpr int plain_end_of_softmax_of_2 = 384 << 10;
// Blocks of a cluster for rows of 16-bit types below so many bytes.
inline constexpr int plain_two_blocks_bytes = 40 << 10, plain_eight_blocks_bytes = 200 << 10;
// Warps of a block that has one row of float32, of which as many as there is room for fill a
// multiprocessor.
constexpr bool plain_fills_sm_of_4(int warps) { return warps == 5 || warps == 10; }
// Clusters of which one may be left out.
inline constexpr int plain_least_even_of_4 = 16, plain_least_even_of_2 = 3;
inline constexpr int plain_least_lanes = 8;
inline constexpr int plain_most_blocks = 8;     // of a cluster
inline constexpr int plain_lane_threads = 128;  // of a block whose rows are lanes' of a warp

// Rows of up to so many bytes: how many a team has, one after the other, and the threads of a block
// whose rows are warps'. Norms fill planes of gamma and beta first; 16-bit types start more work
// for a byte, and how many of those rows lanes have is in plain_lane_turns_of_2.
struct PlainRows {
  std::int64_t most_bytes;
  int of_lanes, of_warps, warp_threads;
};
inline constexpr std::int64_t plain_any_bytes = std::int64_t{1} << 40;
inline constexpr std::array<PlainRows, 2> plain_softmax_of_4 = {
    {{1024, 1, 1, 256}, {plain_any_bytes, 2, 3, 256}}};
inline constexpr std::array<PlainRows, 2> plain_softmax_of_2 = {
    {{8192, 0, 4, 192}, {plain_any_bytes, 0, 3, 192}}};
inline constexpr std::array<PlainRows, 4> plain_norm_of_4 = {
    {{1024, 2, 2, 384}, {1279, 2, 3, 384}, {1791, 3, 3, 384}, {plain_any_bytes, 2, 3, 384}}};
inline constexpr std::array<PlainRows, 2> plain_norm_of_2 = {
    {{4096, 0, 4, 256}, {plain_any_bytes, 0, 3, 320}}};
// Of 16-bit types, where rows are lanes' of a warp, by the bytes that a block has at once: how
// often a block of a softmax has so many, and of a norm; some 15 KiB in all
// (results/h200/explored-rowwise-turns.txt).
struct LaneTurns {
  std::int64_t most_bytes;
  int of_softmax, of_norm;
};
inline constexpr std::array<LaneTurns, 5> plain_lane_turns_of_2 = {
    {{5000, 4, 4}, {6200, 3, 3}, {8191, 2, 2}, {9500, 4, 4}, {plain_any_bytes, 4, 3}}};
// The last blocks have a row each: so many as share the work of a quarter of those that run at
// once.
inline constexpr int plain_last_blocks = 4;
// Where blocks before them come in few waves, and a last wave would be no more than a part of one,
// its rows are those of blocks that have one each.
inline constexpr int plain_few_waves = 5;
inline constexpr double plain_part_of_wave = 0.4;

// Tiles of short rows (tile_rows.hpp): threads of a block, bytes of a tile, and lanes of a row with
// what a lane has of it, and most columns.
inline constexpr int tile_threads = 128;
// More where a row has more than a lane's eight values and much to do: else a tile has eight rows.
constexpr int tile_bytes(bool softmax, std::size_t size, int values) {
  return (softmax && size == 4) || values <= 8 ? 2048 : 3072;
}
inline constexpr int tile_sm_threads = 1024;
inline constexpr int tile_warps_of_sm = 24;  // have a tile each where rows are few
struct TileTeam {
  int lanes, values, most_columns;
};
inline constexpr std::array<TileTeam, 4> tile_teams = {
    {{4, 8, 32}, {4, 16, 64}, {4, 20, 80}, {4, 24, 89}}};
// Rows of a multiple of so many bytes all begin in one bank of shared memory. From so many values a
// lane on others have them: words of 16-bit types, registers of float32.
inline constexpr int tile_banks_bytes = 128, tile_banks_values = 16;
// So many of these, the first ones: longer rows of 16-bit types are words, and a softmax's are
// quicker in registers.
constexpr std::size_t tile_team_count(bool softmax, std::size_t size) {
  if (size == 2) return 2;
  return softmax ? 3 : 4;
}
// Teams for rows that registers have too, with more values than so many, want so many halves of
// the rows that are computed at once.
inline constexpr int tile_few_values = 16, tile_half_waves = 3;
// Somewhat longer ones of 16-bit types (tile_words.hpp): lanes of a row, bytes of a tile, and most
// columns. From some columns on rowwise_plain has rows that all begin at a boundary, and those that
// are fewer than so many halves of what is computed at once.
inline constexpr int tile_word_lanes = 4, tile_word_bytes = 4352;
inline constexpr int tile_word_most_columns = 280, tile_word_before_registers = 136;
inline constexpr int tile_word_half_waves = 3;
inline constexpr int tile_word_threads = 128, tile_word_sm_threads = 1152;
inline constexpr std::int64_t tile_word_least_rows = 4096;  // whose banks are looked at

// Rows with gaps between them (results/h200/explored-rowwise-gaps.txt). Long gaps, which are read
// with the rows, want short rows. Of 16-bit types registers have longer rows where y is not in
// place of x: of sectors written in part both wait for the rest. In place tiles have norms longer
// than a softmax, where there are so many halves of what is computed at once.
inline constexpr int tile_least_gap_row_bytes = 16;
inline constexpr int tile_short_gap_bytes = 32;
inline constexpr int tile_long_gap_bytes = 128, tile_long_gap_row_bytes = 160;
inline constexpr int tile_word_apart_columns = 112;
inline constexpr int tile_word_gap_half_waves = 7;
// From so many columns on registers have those of a softmax, and of norms with gaps, whatever they
// are (results/h200/explored-rowwise-lone.txt).
inline constexpr int tile_word_registers_from = 160;
inline constexpr std::size_t tile_gap_team_count = 3;  // of tile_teams, at most
// From so many values of float32 on a lane writes an element of a row's ends. And the copy engine
// asks for the gaps of a softmax's longer rows.
inline constexpr int tile_gap_element_values = 16, tile_gap_engine_columns_of_4 = 48;

// Rings of pieces in shared memory (ring.hpp): threads that write, threads that find totals, warps
// that meet the team's other blocks, packs of a piece, and how many rows a ring has parts of. With
// four warps that meet, norms of large teams waited for a fifth row while memory had room: the
// longest took a tenth longer (results/h200/explored-rowwise-turns.txt).
inline constexpr int ring_writers = 256, ring_finders = 256;
// Where teams meet through memory, threads that have norms of float32 may take rows by turns in two
// groups, and do for rows of so many bytes in large calls (results/h200/
// explored-rowwise-groups.txt).
constexpr bool ring_has_groups(bool softmax, std::size_t size) { return !softmax && size == 4; }
inline constexpr int ring_groups = 2;
inline constexpr std::int64_t ring_groups_least_bytes = 760 << 10,
                              ring_groups_end_bytes = 2000 << 10;
constexpr int ring_meeting_warps(bool softmax, int groups) {
  return groups > 1 ? 8 : softmax ? 4 : 6;
}
inline constexpr int ring_most_piece = 768, ring_most_slots = 64;
constexpr int ring_rows_held(int groups) { return groups > 1 ? 32 : 8; }  // parts of them, at most
inline constexpr int ring_bytes_on_way = 36 << 10;                        // to a block, at once
inline constexpr int ring_cluster_bytes_on_way = 64 << 10;
inline constexpr std::int64_t ring_least_bytes = 8192;      // of a row
inline constexpr std::int64_t ring_most_columns = 1 << 28;  // that fit an int, with slices added
inline constexpr int ring_most_blocks = 160;                // of a team
inline constexpr int ring_least_packs = 64;                 // of a slice, where a row is shared
// Of all multiprocessors those of which clusters of eight and sixteen, a block on each, leave none
// out: so many of so many.
inline constexpr std::pair<int, int> ring_share_of_clusters = {10, 11};
// What a row of a team costs: its bytes, read and written, at so many a nanosecond of the device or
// of a multiprocessor; a time beside them; and, divided by the rows that a ring holds beyond so
// many, the way from its first byte to the room that its last one leaves. And what a launch costs
// beside its rows, with gamma's and beta's planes more; its first slices, which nobody writes yet,
// are a part of their time. Chosen so that of some hundred problems, each by all teams, the
// quickest are found, and only then by their times: of clusters and of norms of 16-bit types
// results/h200/explored-rowwise-clusters.txt, of groups explored-rowwise-groups.txt.
struct RingTimes {
  double device_gbs, sm_gbs_of_4, sm_gbs_of_2;
  double softmax_row_of_4_ns, softmax_row_of_2_ns, norm_row_of_4_ns, norm_row_of_2_ns;
  double rows_beyond;
  double begin_ns, planes_ns, first_slices;
};
inline constexpr RingTimes ring_through_memory = {5766, 45.3, 200, 183,  194,  91,
                                                  593,  0.5,  108, 5885, 0.393};
inline constexpr RingTimes ring_of_groups = {6512, 53.5,  200, 183,  194, 203,
                                             593,  0.791, 0,   5279, 0};
inline constexpr RingTimes ring_of_clusters = {5766, 43, 33, 183, 194, 91, 593, 1.62, 9, 1, 0.393};
inline constexpr double ring_alone_ns = 4000, ring_team_ns = 4605, ring_team_of_groups_ns = 3248;
inline constexpr double ring_eight_ns = 472, ring_sixteen_ns = 1381;

// Rows in shared memory: tiles of a block, blocks of a cluster.
inline constexpr int shared_threads = 512, shared_values = 16;
inline constexpr int shared_tile = shared_threads * shared_values - 4;  // a row begins anywhere
inline constexpr int shared_most_tiles = 6, shared_most_blocks = 2;

// Slices of longer rows.
inline constexpr int spread_threads = 256, spread_values = 20;
inline constexpr int spread_tile = spread_threads * spread_values - 4;  // a row begins anywhere
inline constexpr int spread_tiles = 2;                                  // of a slice
inline constexpr int spread_most_slices = 2048;                         // a row

}  // namespace kw
