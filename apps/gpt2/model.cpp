// The calls of a pass, one after the other.
#include "model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernelwright/attention.hpp"
#include "kernelwright/reduce.hpp"
#include "kernelwright/rowwise.hpp"
#include "kernelwright/sgemm.hpp"

namespace kw::gpt2 {
namespace {

constexpr std::int64_t float_bytes = sizeof(float);

detail::ContextState& state_of(Context& context) { return detail::ContextAccess::state(context); }

SgemmOptions with_bias(Math math, const float* bias, Activation activation = Activation::none) {
  SgemmOptions options;
  options.math = math;
  options.epilogue.bias = bias;
  options.epilogue.bias_of = BiasOf::columns;
  options.epilogue.activation = activation;
  return options;
}

HeadsView<float> heads_in_cache(float* data, const Config& c, std::int64_t batch, std::int64_t rows,
                                std::int64_t length) {
  const std::int64_t ld = 3 * c.width;
  return {data, batch, c.heads, rows, c.head_size(), length * ld, c.head_size(), ld};
}

bool has_attention(const Context& context, const Config& c) {
  float* none = nullptr;
  const HeadsView<float> one = heads_in_cache(none, c, 1, 1, 1);
  const HeadsView<float> out = token_heads(none, 1, 1, c.heads, c.head_size(), c.width);
  try {
    static_cast<void>(attention_workspace_bytes(context, one, one, one, out));
    return true;
  } catch (const Error& error) {
    if (error.code() == StatusCode::unsupported) return false;
    throw;
  }
}

}  // namespace

DeviceArray::DeviceArray(Context& context, std::int64_t bytes)
    : runtime_(state_of(context).runtime()) {
  detail::throw_unless_ok(runtime_.allocate(&data_, static_cast<std::size_t>(bytes)));
}
DeviceArray::~DeviceArray() { runtime_.release(data_); }

Gpt2::Gpt2(Context& context, const Config& config, const Tensors& weights, std::int64_t batch,
           std::int64_t length, std::int64_t at_once, Math math)
    : context_(context),
      config_(config),
      batch_(batch),
      length_(length),
      at_once_(at_once),
      math_(math),
      fused_(has_attention(context, config)),
      cache_(context, config.layers * batch * length * 3 * config.width * float_bytes),
      hidden_(context, batch * at_once * config.width * float_bytes),
      normed_(context, batch * at_once * config.width * float_bytes),
      attended_(context, batch * at_once * config.width * float_bytes),
      inner_(context, batch * at_once * 4 * config.width * float_bytes),
      logits_(context, batch * at_once * config.vocabulary * float_bytes) {
  if (length > config.positions) {
    throw std::runtime_error(fmt::format(
        "{} tokens a sequence, but these weights have {} positions", length, config.positions));
  }
  detail::ContextState& state = state_of(context);
  for (const auto& [name, tensor] : weights) {
    const std::size_t bytes = tensor.values.size() * sizeof(float);
    auto& array = weights_[name];
    array = std::make_unique<DeviceArray>(context, static_cast<std::int64_t>(bytes));
    detail::throw_unless_ok(
        state.runtime().copy(array->as<float>(), tensor.values.data(), bytes, state.stream()));
  }
  if (!fused_) make_mask();
}

// Element (t, s): 0 where token t sees token s, else -infinity.
void Gpt2::make_mask() {
  scores_ =
      std::make_unique<DeviceArray>(context_, config_.heads * at_once_ * length_ * float_bytes);
  mask_ = std::make_unique<DeviceArray>(context_, length_ * length_ * float_bytes);
  std::vector<float> mask(static_cast<std::size_t>(length_ * length_));
  for (std::int64_t t = 0; t < length_; ++t) {
    for (std::int64_t s = t + 1; s < length_; ++s)
      mask[static_cast<std::size_t>(t * length_ + s)] = -std::numeric_limits<float>::infinity();
  }
  detail::ContextState& state = state_of(context_);
  detail::throw_unless_ok(state.runtime().copy(mask_->as<float>(), mask.data(),
                                               mask.size() * sizeof(float), state.stream()));
}

void Gpt2::part(const char* name, std::int64_t layer, const std::function<void()>& work) {
  if (observe_) {
    observe_(name, layer, work);
  } else {
    work();
  }
}

const float* Gpt2::weight(const std::string& name) const { return weights_.at(name)->as<float>(); }

float* Gpt2::cache_of(std::int64_t layer) const {
  return cache_.as<float>() + layer * batch_ * length_ * 3 * config_.width;
}

void Gpt2::embed(const std::int64_t* tokens, std::int64_t count, std::int64_t past) {
  const std::int64_t width = config_.width;
  embedding(context_, rows_view(weight("wte.weight"), config_.vocabulary, width), tokens,
            rows_output(hidden_.as<float>(), batch_ * count, width),
            weight("wpe.weight") + past * width, count);
}

// Queries, keys and values of the new tokens, behind the older ones of their sequences.
void Gpt2::write_cache(std::int64_t layer, std::int64_t count, std::int64_t past) {
  const std::int64_t width = config_.width, ld = 3 * width;
  const std::string name = fmt::format("h.{}.attn.c_attn", layer);
  const auto w = row_major(weight(name + ".weight"), width, ld);
  const SgemmOptions options = with_bias(math_, weight(name + ".bias"));
  float* to = cache_of(layer) + past * ld;
  const float* from = normed_.as<float>();
  if (batch_ == 1 || count == length_) {
    sgemm(context_, 1, row_major(from, batch_ * count, width), w, 0,
          row_major(to, batch_ * count, ld), options);
  } else if (count == 1) {
    sgemm(context_, 1, row_major(from, batch_, width), w, 0,
          row_major(to, batch_, ld, length_ * ld), options);
  } else {
    sgemm_batched(context_, 1, row_major(from, count, width), w, 0, row_major(to, count, ld),
                  batch_, count * width, 0, length_ * ld, options);
  }
}

void Gpt2::attend(std::int64_t layer, std::int64_t count, std::int64_t past) {
  float* cache = cache_of(layer);
  if (!fused_) return attend_unfused(cache, count, past);
  const std::int64_t width = config_.width, keys = past + count;
  AttentionOptions options;
  options.causal = Causal::from_end;
  options.math = math_;
  attention(
      context_, heads_in_cache(cache + past * 3 * width, config_, batch_, count, length_),
      heads_in_cache(cache + width, config_, batch_, keys, length_),
      heads_in_cache(cache + 2 * width, config_, batch_, keys, length_),
      token_heads(attended_.as<float>(), batch_, count, config_.heads, config_.head_size(), width),
      options);
}

// Products and a softmax between them, a sequence after the other; the mask is what the softmax
// adds, the same for all heads.
void Gpt2::attend_unfused(const float* cache, std::int64_t count, std::int64_t past) {
  const std::int64_t width = config_.width, ld = 3 * width, size = config_.head_size();
  const std::int64_t keys = past + count;
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  float* scores = scores_->as<float>();
  SgemmOptions options;
  options.math = math_;
  RowwiseOptions masked;
  if (count > 1) {
    masked.residual = mask_->as<float>() + past * length_;
    masked.ld_residual = length_;
    masked.residual_rows = count;
  }
  for (std::int64_t b = 0; b < batch_; ++b) {
    const float* first = cache + b * length_ * ld;
    const auto queries = row_major(first + past * ld, count, size, ld);
    const auto k = row_major(first + width, keys, size, ld);
    const auto v = row_major(first + 2 * width, keys, size, ld);
    const auto weights = row_major(scores, count, keys);
    sgemm_batched(context_, scale, queries, transposed(k), 0, weights, config_.heads, size, size,
                  count * keys, options);
    const std::int64_t rows = config_.heads * count;
    rowwise(context_, RowwiseOp::softmax, rows_view<float>(scores, rows, keys),
            rows_output(scores, rows, keys), masked);
    sgemm_batched(context_, 1, MatrixView<const float>(weights), v, 0,
                  row_major(attended_.as<float>() + b * count * width, count, size, width),
                  config_.heads, count * keys, size, size, options);
  }
}

void Gpt2::block(std::int64_t layer, std::int64_t count, std::int64_t past) {
  const std::int64_t width = config_.width, rows = batch_ * count;
  const std::string name = fmt::format("h.{}.", layer);
  const auto hidden = row_major(hidden_.as<float>(), rows, width);
  const auto norm = [&](const std::string& which) {
    layer_norm(context_, rows_view<float>(hidden.data, rows, width),
               weight(name + which + ".weight"), weight(name + which + ".bias"),
               rows_output(normed_.as<float>(), rows, width));
  };
  // hidden += x W + bias
  const auto project = [&](const float* x, std::int64_t in, const std::string& which) {
    sgemm(context_, 1, row_major(x, rows, in), row_major(weight(which + ".weight"), in, width), 1,
          hidden, with_bias(math_, weight(which + ".bias")));
  };
  part("layer norm", layer, [&] { norm("ln_1"); });
  part("q, k, v", layer, [&] { write_cache(layer, count, past); });
  part("attention", layer, [&] { attend(layer, count, past); });
  part("projection", layer, [&] { project(attended_.as<float>(), width, name + "attn.c_proj"); });
  part("layer norm", layer, [&] { norm("ln_2"); });
  part("mlp in", layer, [&] {
    sgemm(context_, 1, row_major<const float>(normed_.as<float>(), rows, width),
          row_major(weight(name + "mlp.c_fc.weight"), width, 4 * width), 0,
          row_major(inner_.as<float>(), rows, 4 * width),
          with_bias(math_, weight(name + "mlp.c_fc.bias"), Activation::gelu_tanh));
  });
  part("mlp out", layer, [&] { project(inner_.as<float>(), 4 * width, name + "mlp.c_proj"); });
}

void Gpt2::forward(const std::int64_t* tokens, std::int64_t count, std::int64_t past,
                   bool last_only) {
  if (count < 1 || count > at_once_ || past < 0 || past + count > length_) {
    throw std::runtime_error(
        fmt::format("{} tokens after {} do not fit a model made for {} of {} at once", count, past,
                    length_, at_once_));
  }
  const std::int64_t width = config_.width, rows = last_only ? batch_ : batch_ * count;
  part("embedding", -1, [&] { embed(tokens, count, past); });
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) block(layer, count, past);
  part("final norm", -1, [&] {
    RowsView x = rows_view<float>(hidden_.as<float>(), rows, width);
    if (last_only) {
      x.data = hidden_.as<float>() + (count - 1) * width;
      x.ld = count * width;
    }
    layer_norm(context_, x, weight("ln_f.weight"), weight("ln_f.bias"),
               rows_output(normed_.as<float>(), rows, width));
  });
  part("logits", -1, [&] {
    SgemmOptions options;
    options.math = math_;
    sgemm(context_, 1, row_major<const float>(normed_.as<float>(), rows, width),
          transposed(row_major(weight("wte.weight"), config_.vocabulary, width)), 0,
          row_major(logits_.as<float>(), rows, config_.vocabulary), options);
  });
}

void Gpt2::queue_generation(const std::int64_t* prompt, std::int64_t given, std::int64_t* next,
                            std::int64_t count) {
  for (std::int64_t step = 0; step < count; ++step) {
    std::int64_t* to = next + step * batch_;
    if (step == 0) {
      forward(prompt, given, 0, true);
    } else {
      forward(to - batch_, 1, given + step - 1, true);
    }
    part("argmax", -1, [&] {
      reduce(context_, ReduceOp::argmax, rows_of(row_major(logits(), batch_, config_.vocabulary)),
             output_view(to, batch_));
    });
  }
}

std::vector<std::int64_t> Gpt2::generate(const std::vector<std::int64_t>& prompt,
                                         std::int64_t count) {
  const auto given = static_cast<std::int64_t>(prompt.size()) / batch_;
  const DeviceArray first(context_, static_cast<std::int64_t>(prompt.size()) * 8);
  const DeviceArray next(context_, std::max<std::int64_t>(count, 1) * batch_ * 8);
  put(prompt, first.as<std::int64_t>());
  queue_generation(first.as<std::int64_t>(), given, next.as<std::int64_t>(), count);
  const std::vector<std::int64_t> found = get(next.as<std::int64_t>(), count * batch_);
  std::vector<std::int64_t> all;
  for (std::int64_t b = 0; b < batch_; ++b) {
    all.insert(all.end(), prompt.begin() + b * given, prompt.begin() + (b + 1) * given);
    for (std::int64_t step = 0; step < count; ++step)
      all.push_back(found[static_cast<std::size_t>(step * batch_ + b)]);
  }
  return all;
}

void Gpt2::put(const std::vector<std::int64_t>& values, std::int64_t* to) {
  detail::ContextState& state = state_of(context_);
  detail::throw_unless_ok(state.runtime().copy(
      to, values.data(), values.size() * sizeof(std::int64_t), state.stream()));
}

template <class T>
std::vector<T> Gpt2::get(const T* from, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  detail::ContextState& state = state_of(context_);
  detail::throw_unless_ok(
      state.runtime().copy(values.data(), from, values.size() * sizeof(T), state.stream()));
  return values;
}
template std::vector<float> Gpt2::get(const float*, std::int64_t);
template std::vector<std::int64_t> Gpt2::get(const std::int64_t*, std::int64_t);

}  // namespace kw::gpt2
