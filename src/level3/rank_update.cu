// rank_update: syrk, syrkx and syr2k as products of which one triangle is computed, by the
// product's own kernels: tiles outside of the triangle are left out of their schedules.
//
// Prediction  Half of the tiles of a product and those on the diagonal: 0.51 of its time at 8192,
//             and the split pass, which stays as it is.
#include "level3/production.hpp"
#include "level3/updates.hpp"

namespace KW_TARGET {
namespace {

// What a product of which one triangle is computed takes of its predicted time: 1.05 to 1.3 in
// results/h200/level3-random.json and level3-syrk.json.
constexpr double triangle_share = 1.15;

template <Math math>
struct RankUpdate {
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!p.updates_triangle()) return std::nullopt;
    const Updates updates(p);
    Plan<Level3> plan;
    for (int i = 0; i < updates.count; ++i) {
      auto part = choose_product(updates.product[i], device, math);
      if (!part) return std::nullopt;
      part->plan.time_us *= triangle_share;
      part->plan.cost *= triangle_share;
      add_part(std::move(*part), plan);
    }
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    const Updates updates(p);
    for (int i = 0; i < updates.count; ++i) {
      const Status status = launch_planned(plan.parts[static_cast<std::size_t>(i)],
                                           updates.product[i], device, workspace, stream);
      if (!status.ok()) return status;
    }
    return Status::success();
  }
  static const char* path_taken(const Level3& p, const Device& device, const Plan<Level3>& plan,
                                const PathWords& words) {
    const Updates updates(p);
    const auto& [kernel, own] = plan.parts.back();
    return kernel->path_taken != nullptr
               ? kernel->path_taken(updates.product[updates.count - 1], device, own, words)
               : kernel->name;
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
