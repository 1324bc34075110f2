// Row-wise operations on the command line: which operations, element types and shapes are meant.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/rowwise/case.hpp"
#include "commands/chosen.hpp"
#include "gpu/device.hpp"

namespace kw {

// The options of `bench rowwise` that choose problems, as typed; empty where not given.
struct RowwiseChoice {
  std::string ops = "all", types = "float32", shape, sweep;
  std::int64_t misalign = 0, pad = 0;
  bool in_place = false, residual = false;
  double least_mib = 0;
  std::optional<std::int64_t> count;

  bool is_random() const { return sweep == "random"; }
  void add_options(CLI::App& to);
};

using ChosenRowwise = Chosen<check::RowwiseCase>;

ChosenRowwise chosen_rowwise(const RowwiseChoice& choice, const Device& device, check::Input input,
                             std::uint64_t seed);

// What `verify rowwise` checks: the edge cases, or shapes of ROWSxCOLS.
std::vector<check::RowwiseCase> rowwise_to_verify(const std::string& ops, const std::string& types,
                                                  const std::string& shapes, check::Input input,
                                                  std::uint64_t seed);

std::string rowwise_op_names();

}  // namespace kw
