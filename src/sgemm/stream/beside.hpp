// The launch of tiles and of what is beside them (beside.cu).
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/beside.hpp"

namespace KW_TARGET {

// By tile number `tile` of beside_tiles; `plan` is that of its row for the tiles alone.
Status launch_beside(int tile, const Sgemm& tiles, const Device& device, const Plan<Sgemm>& plan,
                     Workspace workspace, Stream stream, const Beside& beside);

}  // namespace KW_TARGET
