// The split kernels as rows of the registry: one a tile. A call is a chain of launches on the
// stream, of which those leave at once that the data does not need:
//
//   bf16x6   split, product                                    | fp32
//   fp16x3   sample, split, product | split and product in bf16  | fp32
#pragma once

#include <limits>
#include <optional>

#include "device/tile.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/hopper_tile.hpp"
#include "sgemm/hopper/plan.hpp"
#include "sgemm/hopper/split.hpp"
#include "sgemm/one_launch.hpp"
#include "sgemm/production.hpp"
#include "text.hpp"

namespace KW_TARGET::hopper {

// split.cu
Status launch_prepare(Task task, const Preparation& all, const Device& device, Stream stream);

// The same product for a plain kernel, which takes over where the pieces do not hold the data.
inline Sgemm fallback_of(const Sgemm& problem) {
  Sgemm own = problem;
  own.is_fallback = true;
  return own;
}

// bf16x6.cu: the row with the shortest prediction
const TileRow& bf16x6_row(const Sgemm& problem, const Device& device);
Status launch_bf16x6(const Work& work, const Device& device, Stream stream);

// The addresses of a call.
struct Call {
  Preparation prepare;
  Work work;

  Call(const Sgemm& p, const Memory& memory, const Workspace& workspace, const Device& device)
      : work{p, Image(p.m, p.k), Image(p.n, p.k)} {
    char* const base = static_cast<char*>(workspace.data);
    auto* const control = reinterpret_cast<Control*>(base);
    const auto ints = [&](std::size_t at) { return reinterpret_cast<int*>(base + at); };
    work.image_a = base + memory.image_a;
    work.image_b = base + memory.image_b;
    work.scales_a = ints(memory.scales_a);
    work.scales_b = ints(memory.scales_b);
    work.control = control;
    work.part_sums = reinterpret_cast<float*>(base + memory.part_sums);
    work.tickets = workspace.tickets;
    const bool along_k_a = p.op_a == Op::none, along_k_b = p.op_b != Op::none;
    prepare = {.problem = p,
               .sources = {{work.a, along_k_a, batch_aligned_16(p, p.a, p.lda, p.stride_a),
                            base + memory.image_a, ints(memory.scales_a)},
                           {work.b, along_k_b, batch_aligned_16(p, p.b, p.ldb, p.stride_b),
                            base + memory.image_b, ints(memory.scales_b)}},
               .units = {},
               .control = control,
               .looks = true,
               .seen_blocks = 0};
    const unsigned slices = slices_of(p, device);
    for (int i = 0; i < 2; ++i) prepare.units[i] = units_of(prepare.sources[i].image, slices);
    prepare.seen_blocks = work.seen_blocks =
        static_cast<int>(prepare_blocks(Task::bf16, prepare, device));
  }

  // So many that the blocks that the SMs hold have as much work each: units of both operands, of
  // which one may take longer, or units so short that it hardly matters.
  static unsigned slices_of(const Sgemm& p, const Device& device) {
    constexpr std::int64_t most = 64;
    constexpr double beginning = 0.5;     // of a unit, in stages
    constexpr double longer = 4.0 / 3.0;  // units of an operand that does not lie along k
    const std::int64_t across = Image(p.m, p.k).blocks + Image(p.n, p.k).blocks;
    const std::int64_t stages = Image(p.m, p.k).stages;
    std::int64_t best = 1;
    double least = std::numeric_limits<double>::max();
    for (std::int64_t slices = 1; slices <= most; ++slices) {
      if (slices > 1 && stages < slices * stages_at_once) break;
      const std::int64_t units = p.batch * across * slices;
      const std::int64_t rounds = gpu::ceil_div(units, prepare_blocks_per_sm * device.sm_count);
      const std::int64_t of_one = gpu::ceil_div(stages, slices * stages_at_once) * stages_at_once;
      const double time = static_cast<double>(rounds) * (rounds == 1 ? longer : 1) *
                          (static_cast<double>(of_one) + beginning);
      if (time < least) best = slices, least = time;
    }
    return static_cast<unsigned>(best);
  }
};

template <bool fp16, int row>
Status launch_tile(const Work& work, const Device& device, Stream stream) {
  constexpr Tile tile = tile_row(fp16, row).tile;
  Work own = work;
  own.parts = parts_of(tile, work.problem, device);
  const std::int64_t blocks = tiles_of(tile, work.problem) * own.parts;
  const gpu::LaunchConfig config = {
      .grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(blocks, device.sm_count))),
      .block = dim3(tile_threads),
      .shared_bytes = sizeof(Shared<scheme_of(fp16), tile>),
      .stream = stream,
      .overlap = true};
  return gpu::launch(hopper_tile<fp16, row>, config, own);
}

// Calls one after the other as long as they succeed.
template <class... Launch>
Status in_turn(Launch... launch) {
  Status status;
  static_cast<void>(((status = launch()).ok() && ...));
  return status;
}

template <bool fp16, int index>
struct Row {
  static constexpr TileRow row = tile_row(fp16, index);
  static constexpr Tile tile = row.tile;

  static bool supports(const Sgemm& p, const Device& device) {
    const bool has_instructions =
        device.kind == DeviceKind::cuda
            ? device.compute_capability == 90
            : device.kind == DeviceKind::host_simt && device.warp_size == 32;
    return has_instructions &&
           device.shared_bytes_per_block_optin >= sizeof(Shared<scheme_of(fp16), tile>) &&
           has_work(p) && p.k >= scheme_of(fp16).min_k && p.only_if == nullptr &&
           is_small_enough(p);
  }
  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!supports(p, device)) return std::nullopt;
    const double us = hopper::predicted_us(row, fp16, p, device);
    return Plan<Sgemm>{.time_us = us,
                       .cost = us,
                       .workspace_bytes = Memory(p, fp16, device).end,
                       .min_workspace_bytes = min_workspace_bytes(p, device)};
  }
  // With the fallback.
  static void complete_plan(const Sgemm& p, const Device& device, Plan<Sgemm>& plan) {
    plan.parts = {select_in_one_launch(fallback_of(p), device)};
    plan.workspace_bytes += plan.parts[0].plan.workspace_bytes;
  }
  static std::size_t min_workspace_bytes(const Sgemm& p, const Device& device) {
    Sgemm least = p;
    least.batch = 1;
    if (p.a_array == nullptr) {
      least.m = std::min<std::int64_t>(p.m, block_rows);
      least.n = std::min<std::int64_t>(p.n, block_rows);
    }
    return Memory(least, fp16, device).end;
  }
  static const char* path_taken(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                                const PathWords& words) {
    switch (path_of(words[0] != 0, words[1])) {
      case Path::fp16x3: return row.name;
      case Path::bf16x6: return fp16 ? bf16x6_row(p, device).name : row.name;
      case Path::ffma: return plan.parts[0].kernel->name;
    }
    return row.name;
  }

  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                            Workspace workspace, Stream stream) {
    const std::size_t fp32_bytes = plan.parts[0].plan.workspace_bytes;
    const std::size_t own_bytes = plan.workspace_bytes - fp32_bytes;
    if (plan.workspace_bytes <= workspace.bytes)
      return launch_whole(p, Memory(p, fp16, device), plan.parts[0], device, workspace, stream);
    if (own_bytes <= workspace.bytes) {
      const Choice<Sgemm> fp32 =
          select_in_one_launch(fallback_of(p), device, workspace.bytes - own_bytes);
      return launch_whole(p, Memory(p, fp16, device), fp32, device, workspace, stream);
    }
    return launch_halves(p, device, workspace, stream);
  }
  static Status launch_halves(const Sgemm& p, const Device& device, Workspace workspace,
                              Stream stream) {
    const auto halves = in_halves(p);
    if (!halves) {
      return Status::failure(
          StatusCode::workspace_too_small,
          text("the split kernels need a larger workspace: ", Memory(p, fp16, device).end,
               " bytes for ", p.m, " x ", p.n, " x ", p.k, ", given ", workspace.bytes,
               "; give more, or a smaller batch"),
          "workspace");
    }
    Status status;
    for (const Sgemm& half : {halves->first, halves->second}) {
      Plan<Sgemm> plan = *make_plan(half, device);
      complete_plan(half, device, plan);
      static_cast<void>(status = launch_plan(half, device, plan, workspace, stream));
      if (!status.ok()) break;
    }
    return status;
  }

  // From the first product on the launches run beside each other: the data have been looked at, and
  // one of them works, or two, the second of which waits for the first. Only the last one waits at
  // its beginning, to read what the first product found.
  static Status launch_whole(const Sgemm& p, const Memory& memory, const Choice<Sgemm>& fallback,
                             const Device& device, const Workspace& workspace, Stream stream) {
    Call call(p, memory, workspace, device);
    const auto beside = [](Sgemm problem, bool is_first) {
      problem.overlaps_previous = !is_first;
      problem.next_overlaps = true;
      return problem;
    };
    const auto prepare = [&](Task task) {
      return launch_prepare(task, call.prepare, device, stream);
    };
    const auto product = [&] {
      call.work.problem = beside(p, true);
      return launch_tile<fp16, index>(call.work, device, stream);
    };
    const auto second_prepare = [&] {
      call.prepare.looks = false;
      call.prepare.problem = beside(p, false);
      return launch_prepare(Task::bf16, call.prepare, device, stream);
    };
    const auto second_product = [&] {
      call.work.problem = beside(p, false);
      return launch_bf16x6(call.work, device, stream);
    };
    const auto fp32 = [&] {
      const Workspace rest{static_cast<char*>(workspace.data) + memory.end,
                           workspace.bytes - memory.end, workspace.tickets};
      Sgemm problem = fallback_of(p);
      problem.only_if = &call.work.control->takes_ffma;
      return launch_planned(fallback, problem, device, rest, stream);
    };
    if constexpr (fp16) {
      return in_turn([&] { return prepare(Task::sample); }, [&] { return prepare(Task::fp16); },
                     product, second_prepare, second_product, fp32);
    } else {
      return in_turn([&] { return prepare(Task::bf16); }, product, fp32);
    }
  }

  static Kernel<Sgemm> kernel() {
    return {.name = row.name,
            .parent = nullptr,
            .idea = fp16 ? "tensor cores: three products of scaled fp16 pieces"
                         : "tensor cores: six products of bf16 pieces",
            .role = Role::production,
            .math = Math::fp32_split,
            .make_plan = make_plan,
            .complete_plan = complete_plan,
            .launch_plan = launch_plan,
            .path_taken = path_taken};
  }
};

// Calls body(index) for each row of a table.
template <const auto& rows, class Body>
void each_row(Body body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, static_cast<int>(std::size(rows))>());
}

}  // namespace KW_TARGET::hopper
