// Level 3 on the command line: which routines, sizes, triangles, sides and diagonals are meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/row.hpp"
#include "check/verify_level3.hpp"
#include "commands/commands.hpp"

namespace kw {

// The options that choose problems, as typed.
struct Level3Choice {
  std::string ops = "all", shape, sweep;
  std::string uplo = "lower", side = "left", trans = "n", diag = "n";
  std::optional<std::int64_t> count;
  float alpha = 1, beta = 0;

  void add_options(CLI::App& to);
  bool is_random() const { return sweep == "random"; }
};

// "ssyrk,strsm" or "all"; throws UsageError naming what is unknown.
std::vector<Routine> parse_routines(const std::string& text);

struct ChosenLevel3 {
  std::vector<check::Level3Case> cases;
  std::vector<bench::SweepRow> labels;  // of a sweep at random
  std::string left_out;
};

ChosenLevel3 chosen_level3(const Level3Choice& choice, const Device& device, check::Input input,
                           std::uint64_t seed);

// What `verify level3 --shape` checks.
std::vector<check::Level3Case> level3_of_shapes(const std::string& shapes,
                                                const std::vector<Routine>& routines,
                                                check::Input input, std::uint64_t seed);

}  // namespace kw
