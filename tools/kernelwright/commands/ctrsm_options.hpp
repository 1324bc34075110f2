// Complex triangular systems on the command line: which sizes, triangles, sides, operations and
// diagonals are meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/row.hpp"
#include "check/verify_ctrsm.hpp"
#include "commands/commands.hpp"

namespace kw {

// The options that choose problems, as typed.
struct CtrsmChoice {
  std::string shape, sweep;
  std::string uplo = "lower", side = "left", trans = "n", diag = "n";
  std::optional<std::int64_t> count;
  float alpha = 1, alpha_im = 0;

  void add_options(CLI::App& to);
  bool is_random() const { return sweep == "random"; }
};

struct ChosenCtrsm {
  std::vector<check::CtrsmCase> cases;
  std::vector<bench::SweepRow> labels;  // of a sweep at random
  std::string left_out;
};

ChosenCtrsm chosen_ctrsm(const CtrsmChoice& choice, const Device& device, check::Input input,
                         std::uint64_t seed);

}  // namespace kw
