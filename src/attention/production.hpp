// What the files of the kernels give to registry.cu.
#pragma once

#include <optional>

#include "attention/pair_plan.hpp"
#include "attention/problem.hpp"
#include "attention/rows_plan.hpp"
#include "attention/tile_plan.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

// attention_cut.cu
std::optional<Plan<Attention>> attention_cut_make_plan(const Attention& p, const Device& device);
Status attention_cut_launch_plan(const Attention& p, const Device& device,
                                 const Plan<Attention>& plan, Workspace workspace, Stream stream);
// attention_tile.cu
std::optional<Plan<Attention>> attention_tile_make_plan(const Attention& p, const Device& device);
// The plan of a cut that need not be the one chosen.
Plan<Attention> attention_tile_plan_of(const Attention& p, const Device& device,
                                       TileSchedule schedule);
Status attention_tile_launch_plan(const Attention& p, const Device& device,
                                  const Plan<Attention>& plan, Workspace workspace, Stream stream);

// attention_rows.cu
std::optional<Plan<Attention>> attention_rows_make_plan(const Attention& p, const Device& device);
// The plan of a cut that need not be the one chosen.
Plan<Attention> attention_rows_plan_of(const Attention& p, const Device& device,
                                       RowsSchedule schedule);
Status attention_rows_launch_plan(const Attention& p, const Device& device,
                                  const Plan<Attention>& plan, Workspace workspace, Stream stream);

// attention_pair.cu
std::optional<Plan<Attention>> attention_pair_make_plan(const Attention& p, const Device& device);
// The plan of a cut that need not be the one chosen.
Plan<Attention> attention_pair_plan_of(const Attention& p, const Device& device,
                                       PairSchedule schedule);
Status attention_pair_launch_plan(const Attention& p, const Device& device,
                                  const Plan<Attention>& plan, Workspace workspace, Stream stream);

// attention_split.cu
std::optional<Plan<Attention>> attention_split_make_plan(const Attention& p, const Device& device);
void attention_split_complete_plan(const Attention& p, const Device& device, Plan<Attention>& plan);
Status attention_split_launch_plan(const Attention& p, const Device& device,
                                   const Plan<Attention>& plan, Workspace workspace, Stream stream);
const char* attention_split_path(const Attention& p, const Device& device,
                                 const Plan<Attention>& plan, const PathWords& words);

KernelList<Attention> attention_fp32();  // registry.cu: the rows in plain FP32

}  // namespace KW_TARGET
