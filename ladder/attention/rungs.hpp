// The rungs' launch functions, one a file. rungs.cu makes the table of them.
#pragma once

#include "attention/problem.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

KernelLaunch<Attention> r01_unfused, r02_online, r03_shared_tiles, r04_register_tiles,
    r05_async_copies;

// r01 has all scores in memory.
std::size_t bytes_of_scores(const Attention& p, const Device& device);

}  // namespace KW_TARGET
