// GPT-2's forward pass in float64 with plain loops: what the program's is verified against.
#pragma once

#include <cstdint>
#include <vector>

#include "config.hpp"

namespace kw::gpt2 {

struct Reference {
  // Of each layer: what comes out of it, tokens x width; before them what goes into the first one.
  std::vector<std::vector<double>> hidden;
  std::vector<double> logits;  // tokens x vocabulary
};

// Of one sequence.
Reference reference(const Config& config, const Tensors& weights,
                    const std::vector<std::int64_t>& tokens);

}  // namespace kw::gpt2
