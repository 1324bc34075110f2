// side_by_side: a product as two beside each other on the device, each with tiles that fit it.
//
// Idea        349 rows are three tiles of 128, of which the last one is a quarter empty. As 256
//             rows and 93 rows they are two tiles of 128 and one of 96. Each part has as many
//             multiprocessors' worth of blocks as its work asks for: the first launch leaves room
//             on the device, and the second one, which does not wait for it, takes that. So both
//             begin and end together, and each cuts its own k for its own blocks.
// Prediction  219x4603x7717: 128x128 takes 365 us, for 256 rows; 128x256 and 96x128 beside each
//             other multiply 224.
// Limits      The second part reads all of one operand once more.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sgemm/beside.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/part_workspaces.hpp"
#include "sgemm/production.hpp"
#include "sgemm/side_by_side_plan.hpp"

namespace KW_TARGET {
namespace {

const KernelList<Sgemm>& tiles() {
  static const KernelList<Sgemm> chosen = [] {
    const KernelList<Sgemm> rows = stream_tile_rows();
    KernelList<Sgemm> found;
    for (const std::string_view name : side_by_side_tiles)
      found.push_back(rows[static_cast<std::size_t>(row_of_tile(name))]);
    return found;
  }();
  return chosen;
}

// The tile that takes least time, from number `first` on.
Choice<Sgemm> select_tile(const Sgemm& p, const Device& device, std::size_t first) {
  Choice<Sgemm> best;
  for (std::size_t i = first; i < tiles().size(); ++i) {
    std::optional<Plan<Sgemm>> plan = candidate_plan(tiles()[i], p, device);
    if (plan && plan->time_us < best.plan.time_us) best = {&tiles()[i], std::move(*plan)};
  }
  return best;
}

Choice<Sgemm> select_part(const SideBySideParts& parts, const Device& own, int i) {
  return select_tile(parts.part[i], own, i == 0 ? 0 : side_by_side_alone);
}

struct Pair {
  SideBySideCut cut;
  Choice<Sgemm> part[2];
  double time_us = std::numeric_limits<double>::infinity();

  double us(int i) const { return part[i].plan.time_us; }
};

// Both parts beside each other, the second one on so many multiprocessors.
Pair pair_of(const SideBySideParts& parts, const Device& device, SideBySideCut cut, int sms) {
  constexpr SideBySideTuning t = side_by_side_tuning;
  cut.sms = std::clamp(sms, 1, std::max(1, device.sm_count - 1));
  Pair pair{cut, {}};
  double longest = 0;
  for (int i = 0; i < 2; ++i) {
    pair.part[i] = select_part(parts, device_of_part(device, cut, i), i);
    longest = std::max(longest, pair.us(i) + t.exposed * memory_us(parts.part[1 - i], device));
  }
  pair.time_us = t.longer * longest;
  return pair;
}

// A cut, and how long its parts take on all of the device.
struct Apart {
  SideBySideCut cut;
  double first_us, second_us;
  double both_us() const { return first_us + second_us; }
};

std::vector<Apart> all_cuts(const Sgemm& p, const Device& device) {
  std::vector<Apart> all;
  each_side_by_side_cut(p, [&](const SideBySideCut& cut) {
    const SideBySideParts parts(p, cut);
    all.push_back({cut, select_part(parts, device, 0).plan.time_us,
                   select_part(parts, device, 1).plan.time_us});
  });
  return all;
}

// The device is cut so that both parts take as long: from a guess on towards the one that takes
// longer.
Pair plan_pair(const Sgemm& p, const Device& device, const Apart& apart) {
  const SideBySideParts parts(p, apart.cut);
  const double share = apart.second_us / apart.both_us();
  Pair best =
      pair_of(parts, device, apart.cut, static_cast<int>(std::lround(device.sm_count * share)));
  for (int step = 0; step < side_by_side_tuning.steps; ++step) {
    const int more = best.us(1) > best.us(0) ? 1 : -1;
    Pair other = pair_of(parts, device, apart.cut, best.cut.sms + more);
    if (!(other.time_us < best.time_us)) break;
    best = std::move(other);
  }
  return best;
}

// Of the cuts whose parts take nearly the least one after the other.
Pair plan_best_pair(const Sgemm& p, const Device& device) {
  const std::vector<Apart> all = all_cuts(p, device);
  double least_us = std::numeric_limits<double>::infinity();
  for (const Apart& apart : all) least_us = std::min(least_us, apart.both_us());
  Pair best;
  for (const Apart& apart : all) {
    if (apart.both_us() > side_by_side_tuning.near * least_us) continue;
    Pair pair = plan_pair(p, device, apart);
    if (pair.time_us < best.time_us) best = std::move(pair);
  }
  return best;
}

void complete_plan(const Sgemm& p, const Device& device, Plan<Sgemm>& plan) {
  if (!plan.parts.empty()) return;
  Pair pair = plan_best_pair(p, device);
  plan.time_us = plan.cost = pair.time_us;
  plan.data.set(pair.cut);
  for (Choice<Sgemm>& part : pair.part) plan.parts.push_back(std::move(part));
  plan.workspace_bytes = bytes_of_parts(plan);
}

std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
  std::optional<Plan<Sgemm>> plan;
  // The last tile is one of either part.
  if (!has_sides(p) || !candidate_plan(tiles().back(), p, device)) return plan;
  plan.emplace();
  // Smaller products are not worth choosing tiles for their parts; the cost stays infinite.
  if (p.flops() >= side_by_side_tuning.min_flops) complete_plan(p, device, *plan);
  return plan;
}

Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                   Workspace workspace, Stream stream) {
  const auto cut = plan.data.get<SideBySideCut>();
  const SideBySideParts parts(p, cut);
  PartWorkspaces workspaces(workspace);
  for (int i = 0; i < 2; ++i) {
    const Choice<Sgemm>& part = plan.parts[static_cast<std::size_t>(i)];
    const Workspace own =
        workspaces.next(part.plan, static_cast<std::size_t>(i) * (ticket_count / 2));
    const Status status =
        launch_planned(part, parts.part[i], device_of_part(device, cut, i), own, stream);
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace

KernelList<Sgemm> side_by_side_rows() {
  return {{.name = "side_by_side",
           .parent = nullptr,
           .idea = "two parts beside each other on the device, with tiles that fit them",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .complete_plan = complete_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
