// Host: which teams have the rows of ring.hpp, by a model of the time.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "arithmetic.hpp"
#include "rowwise/ring.hpp"

namespace KW_TARGET::rowwise {

// What teams of so many blocks do with a problem's rows.
class RingChoice {
 public:
  RingChoice(const Rowwise& p, const Device& device)
      : p_(p),
        a_pack_(static_cast<std::int64_t>(pack_bytes / size_of(p.type))),
        // Wherever a row begins.
        least_packs_((p.cols - (a_pack_ - 1)) / a_pack_),
        blocks_(device.kind == DeviceKind::host_simt ? std::min(device.sm_count, most_side_by_side)
                                                     : std::min(device.sm_count, ring_most_blocks)),
        shared_bytes_(static_cast<std::int64_t>(device.shared_bytes_per_block_optin)),
        scales_(p.scales()) {}

  // Teams of `first` blocks for whole rounds, of `rest` for what is left; nothing where a slice
  // does not fit.
  std::optional<RingPlan> plan(int first, int rest) const {
    RingPlan plan = {};
    const std::int64_t at_once = std::min<std::int64_t>(blocks_ / first, p_.rows);
    const std::int64_t left = first == rest ? 0 : p_.rows % at_once;
    set_phase(&plan.phases[0], 0, p_.rows - left, first, 1, 0);
    const RingPhase& before = plan.phases[0];
    set_phase(&plan.phases[1], p_.rows - left, p_.rows, left > 0 ? rest : 1,
              1 + before.teams * ring_rows_given, before.teams * before.blocks * ring_rows_given);
    std::int64_t most = slice_packs(first);
    if (left > 0) most = std::max(most, slice_packs(rest));
    if (scales_) plan.plane_packs = static_cast<int>(most);
    const std::int64_t planes =
        scales_ ? static_cast<std::int64_t>(ring_plane_bytes(plan.plane_packs, p_.type)) : 0;
    const std::int64_t pieces = ceil_div(most, std::int64_t{ring_most_piece});
    plan.piece = static_cast<int>(ceil_div(ceil_div(most, pieces), std::int64_t{8}) * 8);
    const std::int64_t room = shared_bytes_ - ring_pieces_begin - planes;
    if (room < pieces * plan.piece * pack_bytes) return std::nullopt;
    plan.slots = static_cast<int>(
        std::min<std::int64_t>(room / (std::int64_t{plan.piece} * pack_bytes), ring_most_slots));
    const int piece_bytes = plan.piece * static_cast<int>(pack_bytes);
    plan.on_way = std::clamp((ring_bytes_on_way + piece_bytes / 2) / piece_bytes, 1, plan.slots);
    return plan;
  }

  // In nanoseconds.
  double time(const RingPlan& plan) const {
    double time = 0;
    for (const RingPhase& phase : plan.phases) {
      if (phase.first_row == phase.end_row) continue;
      const std::int64_t rows = phase.end_row - phase.first_row;
      time +=
          static_cast<double>(ceil_div(rows, std::int64_t{phase.teams})) * turn_time(plan, phase);
      time += scales_ ? ring_phase_ns + ring_planes_ns : ring_phase_ns;
      time += ring_first_slices * moving_time(phase);
    }
    return time;
  }

  std::optional<RingPlan> best() const {
    std::optional<RingPlan> best;
    double best_time = 0;
    const auto consider = [&](int first, int rest) {
      const std::optional<RingPlan> one = plan(first, rest);
      if (!one) return;
      const double its_time = time(*one);
      if (best && its_time >= best_time) return;
      best = one;
      best_time = its_time;
    };
    for (const int first : team_sizes) {
      if (!is_possible(first)) continue;
      for (const int rest : team_sizes)
        if (rest >= first && is_possible(rest)) consider(first, rest);
    }
    return best;
  }

  bool is_possible(int blocks) const {
    return blocks <= blocks_ && (blocks == 1 || least_packs_ / blocks >= ring_least_packs);
  }

 private:
  static constexpr int most_side_by_side = 8;  // of host SIMT
  static constexpr std::array team_sizes = {1, 2, 3, 4, 6, 8, 11, 16, 22, 33, 44, 66, 132};

  // Of a block at most.
  std::int64_t slice_packs(int blocks) const {
    return blocks == 1 ? p_.cols / a_pack_ : ceil_div(least_packs_, std::int64_t{blocks}) + 1;
  }
  void set_phase(RingPhase* phase, std::int64_t first, std::int64_t end, int blocks, int ticket,
                 int found) const {
    const std::int64_t teams = std::min<std::int64_t>(blocks_ / blocks, end - first);
    *phase = {first,
              end,
              blocks,
              static_cast<int>(teams),
              static_cast<int>(least_packs_ / blocks),
              static_cast<int>(least_packs_ % blocks),
              ticket,
              found};
  }
  // Of a slice of each block.
  double moving_time(const RingPhase& phase) const {
    const double bytes = 2 * static_cast<double>(slice_packs(phase.blocks)) * pack_bytes;
    const double active = static_cast<double>(phase.blocks) * phase.teams;
    const double sm_gbs = p_.type == DataType::float32 ? ring_sm_gbs_of_4 : ring_sm_gbs_of_2;
    return bytes * std::max(active / ring_device_gbs, 1 / sm_gbs);
  }
  // From one row of a team to its next.
  double turn_time(const RingPlan& plan, const RingPhase& phase) const {
    const double packs = static_cast<double>(slice_packs(phase.blocks));
    const bool is_wide = p_.type == DataType::float32;
    const double pieces = std::max(1.0, packs / plan.piece);
    const double held = std::min<double>(plan.slots / pieces, ring_rows_held);
    const double wait = phase.blocks == 1 ? ring_alone_ns : ring_team_ns;
    const double row = is_norm(p_.op) ? is_wide ? ring_norm_row_of_4_ns : ring_norm_row_of_2_ns
                       : is_wide      ? ring_softmax_row_of_4_ns
                                      : ring_softmax_row_of_2_ns;
    return moving_time(phase) + row + wait / std::max(held - 0.5, 0.1);
  }

  Rowwise p_;
  std::int64_t a_pack_, least_packs_;
  int blocks_;
  std::int64_t shared_bytes_;
  bool scales_;
};

inline int grid_of(const RingPlan& plan) {
  const auto of = [](const RingPhase& phase) { return phase.teams * phase.blocks; };
  return std::max(of(plan.phases[0]), of(plan.phases[1]));
}
inline std::size_t shared_bytes_of(const RingPlan& plan, DataType type) {
  const std::size_t planes = plan.plane_packs == 0 ? 0 : ring_plane_bytes(plan.plane_packs, type);
  return static_cast<std::size_t>(ring_planes_begin(plan)) + planes;
}
inline std::size_t given_bytes_of(const RingPlan& plan) {
  const RingPhase& last = plan.phases[1];
  return static_cast<std::size_t>(last.first_found + last.teams * last.blocks * ring_rows_given) *
         sizeof(WarpFound);
}

}  // namespace KW_TARGET::rowwise
