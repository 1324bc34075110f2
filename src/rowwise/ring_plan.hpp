// How blocks share rows in ring.hpp: teams, and what a block's shared memory holds.
#pragma once

#include "rowwise/tuning.hpp"

namespace kw {

struct RingPlan {
  // Team t has the rows that are `teams` apart from row t on.
  int blocks;  // of a team
  int teams;
  int packs, one_more;  // of a block's slice; blocks of a lower rank than one_more have one more
  int piece;            // packs, at most
  int pieces;           // of a slice
  int slots;            // of pieces
  int on_way;           // pieces that a block has asked for and that are not there, at most
  int plane_packs;      // of gamma's and beta's planes; 0: there are none
  int letters_begin;    // of RingLetters in shared memory: a team is a cluster; 0: teams meet
                        // through memory
  int groups;           // of threads, which take rows by turns
};

}  // namespace kw
