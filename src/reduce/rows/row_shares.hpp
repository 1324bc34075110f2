// Which rows are shared among blocks as segments are (segments/segment_shares.hpp), a warp a chunk,
// and not walked by blocks of 256 threads (chunks/chunk_blocks.hpp): by what they hold.
#pragma once

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

bool rows_have_shares(const Reduce& problem, const Device& device);

}  // namespace kw
