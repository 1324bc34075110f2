// Host: who has a plain row in registers (plain_rows.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "rowwise/packs.hpp"
#include "rowwise/problem.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

// Who has a row: lanes of a warp, or warps of each of a cluster's blocks.
struct PlainCut {
  int lanes = 0;  // 0: nobody
  int packs = 0;  // of a thread
  int warps = 1, blocks = 1;
  int part_packs = 0;  // of a warp

  bool is_large() const { return blocks > plain_most_blocks; }
};

// So many blocks' warps, which have parts of one length, whole sectors of memory.
inline PlainCut cut_of_blocks(std::int64_t packs, bool is_wide, int blocks) {
  const int of_thread = is_wide       ? plain_packs_of_4
                        : blocks == 1 ? plain_block_packs_of_2
                                      : plain_most_packs_of_2;
  // More than a warp's lanes hold: those would have a pack less where they begin with a sector.
  const std::int64_t least = blocks == 1 ? 2 : 1;
  const std::int64_t warps =
      std::max(ceil_div(packs, std::int64_t{warp_lanes} * of_thread * blocks), least);
  const std::int64_t part = ceil_div(ceil_div(packs, warps * blocks), std::int64_t{2}) * 2;
  return {warp_lanes, of_thread, static_cast<int>(warps), blocks, static_cast<int>(part)};
}

inline bool is_large_call(const Rowwise& p, const Device& device) {
  return p.bytes() >= static_cast<double>(device.sm_count * plain_large_call_bytes);
}

// Lanes that have a row of a 16-bit type alone; null: there are none.
inline const LoneTeam* lone_team_of_2(const Rowwise& p, const Device& device, std::int64_t packs) {
  const bool is_large = device.compute_capability == 90 && is_large_call(p, device);
  const auto first_of = [&](const auto& teams) -> const LoneTeam* {
    const auto found = std::ranges::find_if(teams, [&](const LoneTeam& team) {
      return packs <= std::int64_t{team.lanes} * team.packs && (is_large || !team.for_large);
    });
    return found != teams.end() ? &*found : nullptr;
  };
  if (is_softmax(p.op)) return first_of(plain_lone_softmax_of_2);
  const bool is_in_place_with_gaps = p.x == p.y && p.rows > 1 && p.ldx != p.cols;
  return is_in_place_with_gaps && packs >= plain_lone_norm_least_packs_of_2
             ? first_of(plain_lone_norm_of_2)
             : nullptr;
}

// Of each of so many lanes that have a softmax's row of float32 alone, fewer than of those that
// have another one on its way; 0: there are none.
inline int lone_packs_of_4(int lanes, std::int64_t packs) {
  for (const LoneRow& lone : plain_lone_rows_of_4)
    if (lone.packs < plain_packs_of_4 && plain_has_lone_row_of_4(lanes, lone.packs) &&
        packs < std::int64_t{lanes} * lone.packs)
      return lone.packs;
  return 0;
}

// Of a block that has a row alone, where clusters have longer ones.
inline int threads_before_clusters(const Rowwise& p) {
  const bool is_wide = p.type == DataType::float32;
  if (is_norm(p.op) && p.bytes() < plain_norm_in_clusters_bytes)
    return is_wide ? plain_norm_before_clusters_of_4 : plain_norm_before_clusters_of_2;
  return is_wide ? plain_softmax_before_clusters_of_4 : plain_softmax_before_clusters_of_2;
}

// The smallest team that holds a row.
inline PlainCut plain_cut(const Rowwise& p, const Device& device) {
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t packs = p.cols / (is_wide ? 4 : 8);
  if (!is_wide)
    if (const LoneTeam* const team = lone_team_of_2(p, device, packs))
      return {team->lanes, team->packs};
  // Of lanes the first may have a pack less.
  const int few = is_wide ? plain_packs_of_4 : plain_packs_of_2;
  const bool is_large = device.compute_capability == 90 && is_large_call(p, device);
  const int some = is_wide || !is_large ? few : plain_some_packs_of_2;
  const bool may_be_lone =
      is_wide && is_softmax(p.op) && device.compute_capability == 90 &&
      p.bytes() >= static_cast<double>(device.sm_count * plain_few_packs_bytes_of_4);
  for (int lanes = plain_least_lanes; lanes <= warp_lanes; lanes *= 2) {
    if (may_be_lone)
      if (const int lone = lone_packs_of_4(lanes, packs); lone > 0) return {lanes, lone};
    for (const int of_thread : {few, some})
      if (packs < std::int64_t{lanes} * of_thread) return {lanes, of_thread};
  }
  if (!is_wide && packs < std::int64_t{warp_lanes} * plain_most_packs_of_2)
    return {warp_lanes, plain_most_packs_of_2};
  if (!is_wide && is_large && packs < std::int64_t{warp_lanes} * plain_alone_packs_of_2)
    return {warp_lanes, plain_alone_packs_of_2};
  if (is_wide && is_softmax(p.op) && device.compute_capability == 90 &&
      p.rows >= std::int64_t{device.sm_count} * plain_lone_rows_of_sm)
    for (const LoneRow& lone : plain_lone_rows_of_4)
      if (packs < std::int64_t{warp_lanes} * lone.packs) return {warp_lanes, lone.packs};
  if (is_wide && is_norm(p.op) && p.cols <= plain_norm_alone_columns_of_4 &&
      p.bytes() >= static_cast<double>(device.sm_count * plain_norm_alone_bytes_of_4))
    return {warp_lanes, plain_norm_alone_packs_of_4};
  const bool has_clusters = device.compute_capability == 90 && gpu::has_nvidia_kernels;
  const int block_threads = has_clusters ? threads_before_clusters(p)
                            : is_wide    ? plain_threads_of_4
                                         : plain_threads_of_2;
  const PlainCut alone = cut_of_blocks(packs, is_wide, 1);
  if (alone.warps * warp_lanes <= block_threads) return alone;
  if (!has_clusters) return {};
  // Blocks of which four share a multiprocessor, or two, else those that have one to themselves.
  const int most = is_wide ? plain_cluster_threads_of_4 : plain_cluster_threads_of_2;
  for (const int share : {4, 2}) {
    for (int blocks = 2; blocks <= plain_most_blocks; blocks *= 2) {
      const PlainCut cut = cut_of_blocks(packs, is_wide, blocks);
      const bool has_fewer = share == 4 && blocks == 4 && is_wide && is_norm(p.op);
      const int threads = has_fewer ? plain_norm_threads_of_four_blocks : most / share;
      if (cut.warps * warp_lanes <= threads) return cut;
    }
  }
  const PlainCut cut = cut_of_blocks(packs, is_wide, plain_most_blocks);
  return cut.warps * warp_lanes <= most ? cut : PlainCut{};
}

// A cluster of many blocks, for long rows.
inline PlainCut large_cut(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !gpu::has_nvidia_kernels) return {};
  // A small part of a device may have no cluster of so many, and a ring holds the row too.
  if (device.sm_count < plain_large_blocks) return {};
  const bool is_wide = p.type == DataType::float32;
  if (p.row_bytes() < plain_large_bytes(is_softmax(p.op), size_of(p.type))) return {};
  const PlainCut large = cut_of_blocks(p.cols / (is_wide ? 4 : 8), is_wide, plain_large_blocks);
  const int threads = plain_large_threads(is_softmax(p.op), size_of(p.type));
  return large.warps * warp_lanes <= threads ? large : PlainCut{};
}

// Rows of norms that begin alike past a boundary are so far apart.
inline int rows_alike(const Rowwise& p) {
  if (!is_norm(p.op)) return 1;
  const std::int64_t past = p.ldx * static_cast<std::int64_t>(size_of(p.type)) % pack_bytes;
  return static_cast<int>(pack_bytes / std::gcd<std::int64_t>(pack_bytes, past));
}

// Rows of 16-bit types that rings have although clusters hold them.
inline bool is_of_rings(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || p.type == DataType::float32 || !is_large_call(p, device))
    return false;
  const std::int64_t bytes = p.row_bytes();
  if (p.op == RowwiseOp::softmax) return bytes >= plain_end_of_softmax_of_2;
  return p.op == RowwiseOp::layer_norm && bytes >= plain_layers_of_rings_of_2.least &&
         bytes < plain_layers_of_rings_of_2.end && rows_alike(p) >= plain_ways_of_rings_of_2;
}

// Packs of a block's planes.
inline int plane_packs(const Rowwise& p, const PlainCut& cut) {
  return cut.blocks > 1 ? cut.warps * cut.part_packs
                        : static_cast<int>(p.cols / (p.type == DataType::float32 ? 4 : 8));
}

}  // namespace KW_TARGET::rowwise
