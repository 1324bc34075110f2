// Complex triangular systems on the command line: which sizes, triangles, sides, operations and
// diagonals are meant.
#pragma once

#include <cstdint>

#include "check/verify_ctrsm.hpp"
#include "commands/form_options.hpp"

namespace kw {

// The options that choose problems, as typed.
struct CtrsmChoice : FormChoice {
  float alpha = 1, alpha_im = 0;

  void add_options(CLI::App& to);
};

using ChosenCtrsm = Chosen<check::CtrsmCase>;

ChosenCtrsm chosen_ctrsm(const CtrsmChoice& choice, const Device& device, check::Input input,
                         std::uint64_t seed);

}  // namespace kw
