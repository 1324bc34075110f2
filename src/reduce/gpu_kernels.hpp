// The launch functions of the GPU's reductions; registry.cu makes the table of them.
#pragma once

#include "gpu/gpu.hpp"
#include "reduce/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Reduce> reduce_array, reduce_rows, reduce_columns, reduce_segments;

// Rows and segments by element type: sequences_floating.cu and sequences_integral.cu.
KernelLaunch<Reduce> reduce_floating_sequences, reduce_integral_sequences;

std::size_t floating_sequences_workspace(const Reduce& problem, const Device& device);
std::size_t integral_sequences_workspace(const Reduce& problem, const Device& device);
std::size_t reduce_rows_workspace(const Reduce& problem, const Device& device);
std::size_t reduce_columns_workspace(const Reduce& problem, const Device& device);
std::size_t reduce_segments_workspace(const Reduce& problem, const Device& device);

}  // namespace KW_TARGET
