// Level 3 on the command line: which routines, sizes, triangles, sides and diagonals are meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/verify_level3.hpp"
#include "commands/form_options.hpp"

namespace kw {

// The options that choose problems, as typed.
struct Level3Choice : FormChoice {
  std::string ops = "all";
  float alpha = 1, beta = 0;

  void add_options(CLI::App& to);
};

// "ssyrk,strsm" or "all"; throws UsageError naming what is unknown.
std::vector<Routine> parse_routines(const std::string& text);

using ChosenLevel3 = Chosen<check::Level3Case>;

ChosenLevel3 chosen_level3(const Level3Choice& choice, const Device& device, check::Input input,
                           std::uint64_t seed);

// What `verify level3 --shape` checks.
std::vector<check::Level3Case> level3_of_shapes(const std::string& shapes,
                                                const std::vector<Routine>& routines,
                                                check::Input input, std::uint64_t seed);

}  // namespace kw
