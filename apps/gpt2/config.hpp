// GPT-2's sizes and weights (Radford et al. 2019), under the names that files of it have.
#pragma once

#include <cstdint>
#include <string>

#include "safetensors.hpp"

namespace kw::gpt2 {

struct Config {
  std::int64_t layers = 12, heads = 12, width = 768, vocabulary = 50257, positions = 1024;

  std::int64_t head_size() const { return width / heads; }
};

// "124M", "355M", "774M", "1.5B", or "tiny", which tests take. Throws std::runtime_error for
// others.
Config named_config(const std::string& name);

// Of a file's tensors; `heads` where it is not width / 64. Names may begin with "transformer.".
// Throws std::runtime_error naming the tensor that is missing or has another shape.
Config config_of(Tensors& tensors, std::int64_t heads = 0);

// Normally distributed with deviation 0.02, 0.02 / sqrt(2 layers) where a block adds to its input;
// biases and gains about 0 and 1.
Tensors random_weights(const Config& config, std::uint64_t seed);

}  // namespace kw::gpt2
