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
        scales_(p.scales()),
        has_groups_(ring_has_groups(is_softmax(p.op), size_of(p.type)) &&
                    p.row_bytes() >= ring_groups_least_bytes &&
                    p.row_bytes() < ring_groups_end_bytes &&
                    p.bytes() >= static_cast<double>(device.sm_count * plain_large_call_bytes)) {}

  // Of teams that meet through memory, by so many groups of threads; nothing where a slice does not
  // fit.
  std::optional<RingPlan> plan_through_memory(int blocks, int groups) const {
    if (!is_possible(blocks)) return std::nullopt;
    RingPlan plan = teams_of(blocks, blocks_ / blocks);
    plan.groups = groups;
    return fitted(plan, 0);
  }

  // Of teams that are clusters, about as many as run at once.
  std::optional<RingPlan> plan_of_clusters(int blocks) const {
    if (!is_possible(blocks)) return std::nullopt;
    const int clusters = blocks_ * ring_share_of_clusters.first / ring_share_of_clusters.second;
    return fitted(teams_of(blocks, std::max(clusters / blocks, 1)),
                  sizeof(RingLetters) + pack_bytes);
  }

  // In nanoseconds.
  double time(const RingPlan& plan) const {
    const RingTimes& times = times_of(plan);
    const double moving = moving_time(plan);
    const double turns = static_cast<double>(ceil_div(p_.rows, std::int64_t{plan.teams}));
    return turns * turn_time(plan, moving) + times.begin_ns + (scales_ ? times.planes_ns : 0) +
           times.first_slices * moving;
  }

  // The quickest one, of teams that are clusters or of those that meet through memory.
  std::optional<RingPlan> best_of_clusters() const {
    Quickest quickest(*this);
    for (const int blocks : {plain_most_blocks, plain_large_blocks})
      quickest.consider(plan_of_clusters(blocks));
    return quickest.plan;
  }
  std::optional<RingPlan> best_through_memory() const {
    Quickest quickest(*this);
    for (const int blocks : team_sizes)
      quickest.consider(plan_through_memory(blocks, has_groups_ ? ring_groups : 1));
    return quickest.plan;
  }
  std::optional<RingPlan> best() const {
    Quickest quickest(*this);
    quickest.consider(best_through_memory());
    quickest.consider(best_of_clusters());
    return quickest.plan;
  }

 private:
  static constexpr int most_side_by_side = 8;  // of host SIMT
  static constexpr std::array team_sizes = {1, 2, 3, 4, 6, 8, 11, 16, 22, 33, 44, 66, 132};

  bool is_possible(int blocks) const {
    return blocks <= blocks_ && (blocks == 1 || least_packs_ / blocks >= ring_least_packs);
  }

  // At most so many teams.
  RingPlan teams_of(int blocks, int teams) const {
    RingPlan plan = {};
    plan.blocks = blocks;
    plan.groups = 1;
    plan.teams = static_cast<int>(std::min<std::int64_t>(teams, p_.rows));
    plan.packs = static_cast<int>(least_packs_ / blocks);
    plan.one_more = static_cast<int>(least_packs_ % blocks);
    return plan;
  }
  // The plan with a ring of what room is left beside planes, and `letters` bytes.
  std::optional<RingPlan> fitted(RingPlan plan, std::int64_t letters) const {
    const std::int64_t most = slice_packs(plan.blocks);
    if (scales_) plan.plane_packs = static_cast<int>(most);
    const std::int64_t planes =
        scales_ ? static_cast<std::int64_t>(ring_plane_bytes(plan.plane_packs, p_)) : 0;
    const std::int64_t pieces = ceil_div(most, std::int64_t{ring_most_piece});
    plan.pieces = static_cast<int>(pieces);
    plan.piece = static_cast<int>(ceil_div(ceil_div(most, pieces), std::int64_t{8}) * 8);
    const std::int64_t room = shared_bytes_ - ring_pieces_begin(plan.groups) - planes - letters;
    if (room < pieces * plan.piece * pack_bytes) return std::nullopt;
    plan.slots = static_cast<int>(
        std::min<std::int64_t>(room / (std::int64_t{plan.piece} * pack_bytes), ring_most_slots));
    const int piece_bytes = plan.piece * static_cast<int>(pack_bytes);
    if (letters > 0)
      plan.letters_begin =
          ring_planes_begin(plan) +
          static_cast<int>(ceil_div(planes, std::int64_t{pack_bytes}) * pack_bytes);
    const int on_way = letters > 0 ? ring_cluster_bytes_on_way : ring_bytes_on_way;
    plan.on_way = std::clamp((on_way + piece_bytes / 2) / piece_bytes, 1, plan.slots);
    return plan;
  }

  struct Quickest {
    const RingChoice& choice;
    std::optional<RingPlan> plan;
    double time = 0;

    explicit Quickest(const RingChoice& choice_) : choice(choice_) {}
    void consider(const std::optional<RingPlan>& one) {
      if (!one) return;
      const double its_time = choice.time(*one);
      if (plan && its_time >= time) return;
      plan = one;
      time = its_time;
    }
  };

  // Of a block at most.
  std::int64_t slice_packs(int blocks) const {
    return blocks == 1 ? p_.cols / a_pack_ : ceil_div(least_packs_, std::int64_t{blocks}) + 1;
  }
  static const RingTimes& times_of(const RingPlan& plan) {
    return plan.letters_begin > 0 ? ring_of_clusters
           : plan.groups > 1      ? ring_of_groups
                                  : ring_through_memory;
  }
  // Of a slice of each block.
  double moving_time(const RingPlan& plan) const {
    const double bytes = 2 * static_cast<double>(slice_packs(plan.blocks)) * pack_bytes;
    const double active = static_cast<double>(plan.blocks) * plan.teams;
    const RingTimes& times = times_of(plan);
    const double sm_gbs = p_.type == DataType::float32 ? times.sm_gbs_of_4 : times.sm_gbs_of_2;
    return bytes * std::max(active / times.device_gbs, 1 / sm_gbs);
  }
  // From one row of a team to its next.
  double turn_time(const RingPlan& plan, double moving) const {
    const double packs = static_cast<double>(slice_packs(plan.blocks));
    const bool is_wide = p_.type == DataType::float32;
    const double pieces = std::max(1.0, packs / plan.piece);
    const double held = std::min<double>(plan.slots / pieces, ring_rows_held(plan.groups));
    const RingTimes& times = times_of(plan);
    const double row = is_norm(p_.op) ? is_wide ? times.norm_row_of_4_ns : times.norm_row_of_2_ns
                       : is_wide      ? times.softmax_row_of_4_ns
                                      : times.softmax_row_of_2_ns;
    return moving + row + way_time(plan) / std::max(held - times.rows_beyond, 0.1);
  }
  // Of what a team's blocks found, to all of them.
  static double way_time(const RingPlan& plan) {
    if (plan.letters_begin > 0)
      return plan.blocks <= plain_most_blocks ? ring_eight_ns : ring_sixteen_ns;
    if (plan.blocks == 1) return ring_alone_ns;
    return plan.groups > 1 ? ring_team_of_groups_ns : ring_team_ns;
  }

  Rowwise p_;
  std::int64_t a_pack_, least_packs_;
  int blocks_;
  std::int64_t shared_bytes_;
  bool scales_;
  bool has_groups_;  // of threads, which take rows by turns
};

inline int grid_of(const RingPlan& plan) { return plan.teams * plan.blocks; }
inline std::size_t shared_bytes_of(const RingPlan& plan, const Rowwise& p) {
  if (plan.letters_begin > 0)
    return static_cast<std::size_t>(plan.letters_begin) + sizeof(RingLetters);
  const std::size_t planes = plan.plane_packs == 0 ? 0 : ring_plane_bytes(plan.plane_packs, p);
  return static_cast<std::size_t>(ring_planes_begin(plan)) + planes;
}
// What a team's blocks give each other through memory.
inline std::size_t given_bytes_of(const RingPlan& plan) {
  return static_cast<std::size_t>(grid_of(plan) * ring_rows_given(plan.groups)) * sizeof(WarpFound);
}

}  // namespace KW_TARGET::rowwise
