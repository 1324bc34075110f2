// Float64, written from the formulas and from nothing of the library.
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kw::gpt2 {
namespace {

using Rows = std::vector<double>;

class Walk {
 public:
  Walk(const Config& config, const Tensors& weights, std::size_t tokens)
      : weights_(weights),
        tokens_(tokens),
        width_(static_cast<std::size_t>(config.width)),
        heads_(static_cast<std::size_t>(config.heads)) {}

  Rows embed(const std::vector<std::int64_t>& tokens) const {
    const auto& words = values("wte.weight");
    const auto& places = values("wpe.weight");
    Rows x(tokens_ * width_);
    for (std::size_t t = 0; t < tokens_; ++t) {
      const auto word = static_cast<std::size_t>(tokens[t]);
      for (std::size_t j = 0; j < width_; ++j) {
        x[t * width_ + j] = static_cast<double>(words[word * width_ + j]) +
                            static_cast<double>(places[t * width_ + j]);
      }
    }
    return x;
  }

  Rows norm(const Rows& x, const std::string& name) const {
    const auto& gain = values(name + ".weight");
    const auto& bias = values(name + ".bias");
    Rows y(x.size());
    for (std::size_t t = 0; t < tokens_; ++t) {
      const double* row = x.data() + t * width_;
      double mean = 0, squares = 0;
      for (std::size_t j = 0; j < width_; ++j) mean += row[j] / static_cast<double>(width_);
      for (std::size_t j = 0; j < width_; ++j) squares += (row[j] - mean) * (row[j] - mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(width_) + 1e-5);
      for (std::size_t j = 0; j < width_; ++j) {
        y[t * width_ + j] =
            (row[j] - mean) * scale * static_cast<double>(gain[j]) + static_cast<double>(bias[j]);
      }
    }
    return y;
  }

  Rows linear(const Rows& x, const std::string& name) const {
    const auto& weight = values(name + ".weight");
    const auto& bias = values(name + ".bias");
    const std::size_t out = bias.size(), in = weight.size() / out;
    Rows y(tokens_ * out);
    for (std::size_t t = 0; t < tokens_; ++t) {
      double* row = y.data() + t * out;
      for (std::size_t j = 0; j < out; ++j) row[j] = static_cast<double>(bias[j]);
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t j = 0; j < out; ++j)
          row[j] += x[t * in + i] * static_cast<double>(weight[i * out + j]);
      }
    }
    return y;
  }

  // Of packed queries, keys and values.
  Rows attend(const Rows& qkv) const {
    const std::size_t size = width_ / heads_, apart = 3 * width_;
    Rows y(tokens_ * width_);
    for (std::size_t h = 0; h < heads_; ++h) {
      for (std::size_t t = 0; t < tokens_; ++t) {
        const double* query = qkv.data() + t * apart + h * size;
        Rows weight(t + 1);
        for (std::size_t s = 0; s <= t; ++s) {
          const double* key = qkv.data() + s * apart + width_ + h * size;
          for (std::size_t d = 0; d < size; ++d) weight[s] += query[d] * key[d];
          weight[s] /= std::sqrt(static_cast<double>(size));
        }
        const double largest = *std::max_element(weight.begin(), weight.end());
        double sum = 0;
        for (double& each : weight) sum += each = std::exp(each - largest);
        for (std::size_t s = 0; s <= t; ++s) {
          const double* value = qkv.data() + s * apart + 2 * width_ + h * size;
          for (std::size_t d = 0; d < size; ++d)
            y[t * width_ + h * size + d] += weight[s] / sum * value[d];
        }
      }
    }
    return y;
  }

  Rows logits(const Rows& x) const {
    const auto& words = values("wte.weight");
    const std::size_t vocabulary = words.size() / width_;
    Rows y(tokens_ * vocabulary);
    for (std::size_t t = 0; t < tokens_; ++t) {
      for (std::size_t v = 0; v < vocabulary; ++v) {
        for (std::size_t j = 0; j < width_; ++j)
          y[t * vocabulary + v] += x[t * width_ + j] * static_cast<double>(words[v * width_ + j]);
      }
    }
    return y;
  }

 private:
  const std::vector<float>& values(const std::string& name) const {
    return weights_.at(name).values;
  }

  const Tensors& weights_;
  std::size_t tokens_, width_, heads_;
};

void add_to(Rows& x, const Rows& more) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += more[i];
}

double gelu(double x) {
  constexpr double sqrt_2_over_pi = 0.79788456080286535588;
  return 0.5 * x * (1 + std::tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

}  // namespace

Reference reference(const Config& config, const Tensors& weights,
                    const std::vector<std::int64_t>& tokens) {
  const Walk walk(config, weights, tokens.size());
  Reference found;
  Rows x = walk.embed(tokens);
  found.hidden.push_back(x);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string block = fmt::format("h.{}.", i);
    const Rows qkv = walk.linear(walk.norm(x, block + "ln_1"), block + "attn.c_attn");
    add_to(x, walk.linear(walk.attend(qkv), block + "attn.c_proj"));
    Rows inner = walk.linear(walk.norm(x, block + "ln_2"), block + "mlp.c_fc");
    for (double& each : inner) each = gelu(each);
    add_to(x, walk.linear(inner, block + "mlp.c_proj"));
    found.hidden.push_back(x);
  }
  found.logits = walk.logits(walk.norm(x, "ln_f"));
  return found;
}

}  // namespace kw::gpt2
