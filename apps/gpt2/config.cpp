// What a GPT-2 has: its tensors with their shapes, in one list.
#include "config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

namespace kw::gpt2 {
namespace {

enum class Kind { weight, projection, bias, gain };

using OnTensor =
    std::function<void(const std::string& name, const std::vector<std::int64_t>& shape, Kind kind)>;

void each_tensor(const Config& c, const OnTensor& body) {
  body("wte.weight", {c.vocabulary, c.width}, Kind::weight);
  body("wpe.weight", {c.positions, c.width}, Kind::weight);
  const auto norm = [&](const std::string& name) {
    body(name + ".weight", {c.width}, Kind::gain);
    body(name + ".bias", {c.width}, Kind::bias);
  };
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out, Kind kind) {
    body(name + ".weight", {in, out}, kind);
    body(name + ".bias", {out}, Kind::bias);
  };
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string block = fmt::format("h.{}.", i);
    norm(block + "ln_1");
    linear(block + "attn.c_attn", c.width, 3 * c.width, Kind::weight);
    linear(block + "attn.c_proj", c.width, c.width, Kind::projection);
    norm(block + "ln_2");
    linear(block + "mlp.c_fc", c.width, 4 * c.width, Kind::weight);
    linear(block + "mlp.c_proj", 4 * c.width, c.width, Kind::projection);
  }
  norm("ln_f");
}

const Tensor& find_tensor(const Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw std::runtime_error(fmt::format("the weights have no tensor {}: is it GPT-2's?", name));
  return found->second;
}

void remove_prefix(Tensors& tensors) {
  static const std::string prefix = "transformer.";
  for (auto it = tensors.begin(); it != tensors.end();) {
    if (it->first.rfind(prefix, 0) != 0) {
      ++it;
      continue;
    }
    tensors[it->first.substr(prefix.size())] = std::move(it->second);
    it = tensors.erase(it);
  }
}

}  // namespace

Config named_config(const std::string& name) {
  if (name == "124M") return {12, 12, 768, 50257, 1024};
  if (name == "355M") return {24, 16, 1024, 50257, 1024};
  if (name == "774M") return {36, 20, 1280, 50257, 1024};
  if (name == "1.5B") return {48, 25, 1600, 50257, 1024};
  if (name == "tiny") return {2, 3, 48, 101, 40};
  throw std::runtime_error(fmt::format("\"{}\" is not one of 124M, 355M, 774M, 1.5B, tiny", name));
}

Config config_of(Tensors& tensors, std::int64_t heads) {
  remove_prefix(tensors);
  Config c;
  const Tensor& tokens = find_tensor(tensors, "wte.weight");
  const Tensor& places = find_tensor(tensors, "wpe.weight");
  if (tokens.shape.size() != 2 || places.shape.size() != 2)
    throw std::runtime_error("wte.weight and wpe.weight must be matrices");
  c.vocabulary = tokens.shape[0];
  c.width = tokens.shape[1];
  c.positions = places.shape[0];
  c.layers = 0;
  while (tensors.count(fmt::format("h.{}.ln_1.weight", c.layers)) > 0) ++c.layers;
  c.heads = heads > 0 ? heads : c.width / 64;
  if (c.heads < 1 || c.width % c.heads != 0) {
    throw std::runtime_error(
        fmt::format("{} heads do not divide a width of {}: pass their number", c.heads, c.width));
  }
  each_tensor(c, [&](const std::string& name, const std::vector<std::int64_t>& shape, Kind) {
    const Tensor& tensor = find_tensor(tensors, name);
    if (tensor.shape == shape) return;
    throw std::runtime_error(fmt::format("{} is {}, but by wte.weight it must be {}", name,
                                         fmt::join(tensor.shape, " x "), fmt::join(shape, " x ")));
  });
  return c;
}

Tensors random_weights(const Config& config, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  const float narrow = 0.02f / std::sqrt(2.0f * static_cast<float>(config.layers));
  Tensors tensors;
  each_tensor(config,
              [&](const std::string& name, const std::vector<std::int64_t>& shape, Kind kind) {
                std::int64_t count = 1;
                for (const std::int64_t extent : shape) count *= extent;
                Tensor& tensor = tensors[name];
                tensor.shape = shape;
                tensor.values.resize(static_cast<std::size_t>(count));
                for (float& value : tensor.values) {
                  value = (kind == Kind::projection ? narrow : 0.02f) * normal(engine);
                  if (kind == Kind::gain) value += 1;
                }
              });
  return tensors;
}

}  // namespace kw::gpt2
