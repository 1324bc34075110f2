// Tensors of a safetensors file: eight bytes with the length of a JSON header, the header (name ->
// dtype, shape, data_offsets), the data, little-endian. github.com/huggingface/safetensors has the
// format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kw::gpt2 {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, Tensor>;

// All tensors of types F32, F16 and BF16, as floats; others are left out. Throws
// std::runtime_error, naming the file and what is wrong with it.
Tensors read_safetensors(const std::string& path);
// As F32.
void write_safetensors(const std::string& path, const Tensors& tensors);

}  // namespace kw::gpt2
