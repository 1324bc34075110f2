// Attention on the command line: which shapes are meant, and which keys queries see.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "check/input.hpp"
#include "check/verify_attention.hpp"
#include "commands/chosen.hpp"
#include "gpu/device.hpp"

namespace kw {

// The options of `bench attention` that choose problems, as typed; empty where not given.
struct AttentionChoice {
  std::string shape, sweep, causal;
  std::optional<std::int64_t> count;

  bool is_random() const { return sweep == "random"; }
  void add_options(CLI::App& to);
};

using ChosenAttention = Chosen<check::AttentionCase>;

// The data are uniform or normal.
ChosenAttention chosen_attention(const AttentionChoice& choice, const Device& device,
                                 check::Input input, std::uint64_t seed);

}  // namespace kw
