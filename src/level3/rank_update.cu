// rank_update: syrk, syrkx and syr2k as products of which one triangle is computed, by the
// product's own kernels: tiles outside of the triangle are left out of their schedules.
//
// Prediction  Half of the tiles of a product and those on the diagonal: 0.51 of its time at 8192,
//             and the split pass, which stays as it is. ssyr2k of 4614 with a k of 362 as one
//             product of copies: 355 us and 20 to copy; two products take 445.
#include <algorithm>
#include <iterator>

#include "level3/production.hpp"
#include "level3/updates.hpp"

namespace KW_TARGET {
namespace {

// What a product of which one triangle is computed takes of its predicted time; the kernels in
// plain FP32 know it themselves (results/h200/level3-syrk.json).
constexpr double triangle_share(Math math) { return math == Math::fp32 ? 1.0 : 1.15; }

// What a product in plain FP32 takes longer than its kernel predicts where it reads C, in
// microseconds: so much, and so much for each 128 x 128 of the triangle a multiprocessor has
// (results/h200/explored-lean-cut.txt, run 6).
constexpr double reads_c_us = 1, reads_c_tile_us = 7;

double reading_c_us(const Sgemm& product, const Device& device) {
  if (product.beta == 0 && product.beta_at == nullptr) return 0;
  const auto m = static_cast<double>(product.m);
  const double tiles = m * (m + 1) / 2 / (128 * 128) / std::max(1, device.sm_count);
  return reads_c_us + reads_c_tile_us * tiles;
}

// What the product's operands are.
enum class Operands { stored, joined, turned };

// Where the product of copies is planned, its part comes before those of what is stored, which need
// less workspace.
struct UpdatePlan {
  Operands operands = Operands::stored;
  std::size_t copied_bytes = 0;  // the least with which the product of copies works

  bool copies(std::size_t bytes) const {
    return operands != Operands::stored && bytes >= copied_bytes;
  }
};

template <Math math>
struct RankUpdate {
  static bool add_product(const Sgemm& product, const Device& device, Plan<Level3>& plan) {
    auto part = choose_product(product, device, math);
    if (!part) return false;
    const double share = triangle_share(part->kernel->math);
    const double more_us = part->kernel->math == Math::fp32 ? reading_c_us(product, device) : 0;
    part->plan.time_us = part->plan.time_us * share + more_us;
    part->plan.cost = part->plan.cost * share + more_us;
    add_part(std::move(*part), plan);
    return true;
  }
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!p.updates_triangle()) return std::nullopt;
    const Updates updates(p);
    Plan<Level3> plan;
    for (int i = 0; i < updates.count; ++i)
      if (!add_product(updates.product[i], device, plan)) return std::nullopt;
    plan.data.set(UpdatePlan{});
    if (JoinedUpdate::has(p)) {
      constexpr double launch_us = 2, bytes_per_us = 4e6;
      const JoinedUpdate joined(p);
      consider(Operands::joined, joined.product, 2 * joined.bytes_of_one,
               launch_us + 3 * static_cast<double>(joined.bytes_of_one) / bytes_per_us, device,
               plan);
    }
    if (math == Math::fp32 && TurnedUpdate::has(p)) {
      const TurnedUpdate turned(p);
      consider(Operands::turned, turned.product, turned.bytes, turned.copy_us(), device, plan);
    }
    return plan;
  }
  // Puts a product of copies into the plan, where it is predicted to be quicker with them.
  static void consider(Operands operands, const Sgemm& product, std::size_t bytes, double copy_us,
                       const Device& device, Plan<Level3>& plan) {
    Plan<Level3> other;
    if (!add_product(product, device, other)) return;
    other.time_us += copy_us;
    other.cost += copy_us;
    if (!(other.cost < plan.cost)) return;
    other.workspace_bytes = std::max(other.workspace_bytes + bytes, plan.workspace_bytes);
    other.data.set(UpdatePlan{operands, *other.min_workspace_bytes + bytes});
    other.min_workspace_bytes = plan.min_workspace_bytes;
    std::move(plan.parts.begin(), plan.parts.end(), std::back_inserter(other.parts));
    plan = std::move(other);
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    const auto own = plan.data.get<UpdatePlan>();
    if (own.copies(workspace.bytes))
      return launch_copied(p, own.operands, device, plan.parts[0], workspace, stream);
    const Updates updates(p);
    for (int i = 0; i < updates.count; ++i) {
      const auto number = static_cast<std::size_t>(i + (own.operands != Operands::stored ? 1 : 0));
      const Status status =
          launch_planned(plan.parts[number], updates.product[i], device, workspace, stream);
      if (!status.ok()) return status;
    }
    return Status::success();
  }
  static Status launch_copied(const Level3& p, Operands operands, const Device& device,
                              const Choice<Sgemm>& part, Workspace workspace, Stream stream) {
    const bool reads = p.alpha_at != nullptr || p.alpha != 0;
    if (operands == Operands::turned) {
      const TurnedUpdate turned(p, workspace.data);
      const Status copied = reads ? turned.copy(p, workspace.data, stream) : Status::success();
      if (!copied.ok()) return copied;
      return launch_planned(part, turned.product, device, behind(workspace, turned.bytes), stream);
    }
    const JoinedUpdate joined(p, workspace.data);
    const Status copied = reads ? copy_joined(joined.copy, stream) : Status::success();
    if (!copied.ok()) return copied;
    return launch_planned(part, joined.product, device, behind(workspace, 2 * joined.bytes_of_one),
                          stream);
  }
  static const char* path_taken(const Level3& p, const Device& device, const Plan<Level3>& plan,
                                const PathWords& words) {
    if (plan.data.get<UpdatePlan>().operands != Operands::stored) return plan.parts[0].kernel->name;
    const auto& [kernel, own] = plan.parts.back();
    if (kernel->path_taken == nullptr) return kernel->name;
    const Updates updates(p);
    return kernel->path_taken(updates.product[updates.count - 1], device, own, words);
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "products of which one triangle is computed",
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan,
            .path_taken = path_taken};
  }
};

}  // namespace

KernelList<Level3> rank_update_rows() {
  return {RankUpdate<Math::fp32_split>::row("rank_update_split"),
          RankUpdate<Math::fp32>::row("rank_update")};
}

}  // namespace KW_TARGET
