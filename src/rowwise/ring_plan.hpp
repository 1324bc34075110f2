// How blocks share rows in ring.hpp: phases of teams, and what a block's shared memory holds.
#pragma once

#include <cstdint>

#include "rowwise/tuning.hpp"

namespace kw {

// Rows first_row to end_row, each one team's: team t has those `teams` apart from first_row + t on.
struct RingPhase {
  std::int64_t first_row, end_row;
  int blocks;           // of a team
  int teams;            // blocks that are left over have no row
  int packs, one_more;  // of a block's slice; blocks of a lower rank than one_more have one more
  int first_ticket;     // of the teams' tickets
  int first_found;      // of what they found, in workspace
};

struct RingPlan {
  RingPhase phases[2];  // the second may have no rows
  int piece;            // packs, at most
  int slots;            // of pieces
  int on_way;           // pieces that a block has asked for and that are not there, at most
  int plane_packs;      // of gamma's and beta's planes; 0: there are none
};

}  // namespace kw
