// GPT-2's forward pass on the library: embeddings, blocks, final norm, logits, the largest of them.
//
// Memory     All of it is taken once: weights, a cache of keys and values, the activations of the
//            largest call. A product of a block writes queries, keys and values side by side into
//            the cache, where attention reads them: nothing is copied.
// Fused      Biases, GELU and the residual additions are epilogues of the products; a row's
// positions
//            are added where its tokens are looked up.
// Order      Everything is queued on the context's stream. A generation waits for nothing but its
// end:
//            the largest logit's index is the next call's token where it lies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/context_state.hpp"
#include "config.hpp"
#include "kernelwright/context.hpp"
#include "kernelwright/math.hpp"

namespace kw::gpt2 {

// An array in the memory of a context's device.
class DeviceArray {
 public:
  DeviceArray(Context& context, std::int64_t bytes);
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray();

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Runtime& runtime_;
  void* data_ = nullptr;
};

// Every part of a pass goes through this: it may be timed, or looked at afterwards.
using OnPart =
    std::function<void(const char* part, std::int64_t layer, const std::function<void()>& work)>;

class Gpt2 {
 public:
  // `batch` sequences of up to `length` tokens, of which one call adds up to `at_once`.
  Gpt2(Context& context, const Config& config, const Tensors& weights, std::int64_t batch,
       std::int64_t length, std::int64_t at_once, Math math);

  // Adds `count` tokens to each sequence, whose first `past` ones were added before: `tokens` are
  // batch x count of them on the device. Afterwards `logits` has a row for each of them, or for
  // each sequence's last one where `last_only`.
  void forward(const std::int64_t* tokens, std::int64_t count, std::int64_t past, bool last_only);
  // batch x (prompt + count) tokens: the prompt, and what follows it greedily.
  std::vector<std::int64_t> generate(const std::vector<std::int64_t>& prompt, std::int64_t count);

  // Queues the same: `prompt` has batch x given tokens on the device, `next` gets count x batch.
  void queue_generation(const std::int64_t* prompt, std::int64_t given, std::int64_t* next,
                        std::int64_t count);

  const float* logits() const { return logits_.as<float>(); }
  const float* hidden() const { return hidden_.as<float>(); }  // what the last layer left
  const char* attention_form() const { return fused_ ? "attention" : "products and softmax"; }
  void on_part(OnPart observe) { observe_ = std::move(observe); }

  // To and from the device; waits.
  void put(const std::vector<std::int64_t>& values, std::int64_t* to);
  template <class T>
  std::vector<T> get(const T* from, std::int64_t count);

 private:
  void part(const char* name, std::int64_t layer, const std::function<void()>& work);
  const float* weight(const std::string& name) const;
  void embed(const std::int64_t* tokens, std::int64_t count, std::int64_t past);
  void block(std::int64_t layer, std::int64_t count, std::int64_t past);
  void write_cache(std::int64_t layer, std::int64_t count, std::int64_t past);
  void attend(std::int64_t layer, std::int64_t count, std::int64_t past);
  void attend_unfused(const float* cache, std::int64_t count, std::int64_t past);
  void make_mask();
  float* cache_of(std::int64_t layer) const;

  Context& context_;
  Config config_;
  std::int64_t batch_, length_, at_once_;
  Math math_;
  bool fused_ = true;  // whether the library has attention on this device
  std::map<std::string, std::unique_ptr<DeviceArray>> weights_;
  DeviceArray cache_, hidden_, normed_, attended_, inner_, logits_;
  std::unique_ptr<DeviceArray> scores_, mask_;  // of attention that is not fused
  OnPart observe_;
};

}  // namespace kw::gpt2
