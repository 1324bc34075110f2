// kernelwright_gpt2: a forward pass, or a generation, timed part by part and as a whole, and
// verified against float64.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/results.hpp"
#include "bench/statistics.hpp"
#include "kernels.hpp"
#include "model.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "shapes.hpp"

namespace kw::gpt2 {
namespace {

struct Options {
  std::string command, weights, size = "124M", device = "auto", math = "fp32", prompt, json, save;
  std::int64_t heads = 0, batch = 1, length = 0, generate = 0, repeats = 5;
  std::uint64_t seed = 1;
  bool verify = false, graph = false;
};

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Of a drawn prompt: as asked for, else what fits, up to 64.
std::int64_t length_of(const Options& options, const Config& config) {
  if (options.length > 0) return options.length;
  return std::clamp<std::int64_t>(config.positions - options.generate, 1, 64);
}

std::vector<std::int64_t> tokens_of(const Options& options, const Config& config) {
  std::vector<std::int64_t> tokens;
  if (!options.prompt.empty()) {
    for (const Extents& one : parse_extents(options.prompt, 1, 0, "token ids: 464,3290"))
      tokens.push_back(one.values.front());
    for (const std::int64_t token : tokens) {
      if (token >= config.vocabulary) {
        throw UsageError(fmt::format("--prompt: token {} is outside of a vocabulary of {}", token,
                                     config.vocabulary));
      }
    }
    return tokens;
  }
  std::mt19937_64 engine(options.seed);
  tokens.resize(static_cast<std::size_t>(options.batch * length_of(options, config)));
  for (std::int64_t& token : tokens)
    token = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(config.vocabulary));
  return tokens;
}

// A part's time over all layers and its share, in the order of the pass.
class Parts {
 public:
  Parts(Context& context, Gpt2& model) : state_(detail::ContextAccess::state(context)) {
    model.on_part([this](const char* part, std::int64_t layer, const std::function<void()>& work) {
      double us = 0;
      detail::throw_unless_ok(state_.runtime().time_us(
          [&](Stream) {
            work();
            return Status::success();
          },
          state_.stream(), &us));
      if (times_.count(part) == 0) order_.emplace_back(part);
      times_[part] += us;
      if (layer >= 0) layers_[layer] += us;
    });
  }
  void forget() { times_.clear(), layers_.clear(), order_.clear(); }
  void print() const {
    double all = 0;
    for (const auto& [part, us] : times_) all += us;
    for (const std::string& part : order_) {
      const double us = times_.at(part);
      fmt::print("  {:<12} {:>12.1f} us  {:>5.1f} %\n", part, us, 100 * us / all);
    }
    for (const auto& [layer, us] : layers_) fmt::print("  layer {:<6} {:>12.1f} us\n", layer, us);
  }
  nlohmann::ordered_json json() const {
    nlohmann::ordered_json found = nlohmann::ordered_json::object();
    for (const std::string& part : order_) found[part] = times_.at(part);
    return found;
  }

 private:
  detail::ContextState& state_;
  std::map<std::string, double> times_;
  std::map<std::int64_t, double> layers_;
  std::vector<std::string> order_;
};

// The logits' error in 2^-24 of the largest logit of the reference: root mean square and largest.
struct LogitError {
  double rms = 0, max = 0;
};
LogitError logit_error(const std::vector<float>& got, const std::vector<double>& want) {
  double largest = 0, squares = 0;
  LogitError error;
  for (const double each : want) largest = std::max(largest, std::fabs(each));
  const double unit = largest * 0x1p-24;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double off = (static_cast<double>(got[i]) - want[i]) / unit;
    if (!(std::fabs(off) <= error.max)) error.max = std::fabs(off);
    squares += off * off;
  }
  error.rms = std::sqrt(squares / static_cast<double>(want.size()));
  return error;
}

nlohmann::ordered_json row_of(const Options& options, const std::string& app,
                              const std::vector<double>& samples) {
  const bench::TimeStatistics time = bench::summarise_times(samples);
  return {{"op", "app"},
          {"kernel", options.math},
          {"role", "production"},
          {"app", app},
          {"variant", options.math},
          {"math", options.math},
          {"timing", "clock"},
          {"time_us",
           {{"min", time.min},
            {"median", time.median},
            {"mean", time.mean},
            {"max", time.max},
            {"iqr", time.iqr},
            {"repeats", time.repeats}}},
          {"verified", true}};
}

class Program {
 public:
  explicit Program(const Options& options)
      : options_(options),
        runtime_(open_device(options.device)),
        context_(detail::open_context(runtime_->device().kind, runtime_->device().ordinal)) {
    if (options.weights.empty()) {
      config_ = named_config(options.size);
      weights_ = random_weights(config_, options.seed);
    } else {
      weights_ = read_safetensors(options.weights);
      config_ = config_of(weights_, options.heads);
    }
    if (!options.save.empty()) write_safetensors(options.save, weights_);
    tokens_ = tokens_of(options, config_);
    count_ = static_cast<std::int64_t>(tokens_.size()) / options.batch;
    const Math math = options.math == "fp32_split" ? Math::fp32_split : Math::fp32;
    const std::int64_t length = count_ + options.generate;
    if (length > config_.positions) {
      throw UsageError(fmt::format(
          "{} tokens of a prompt and --generate {}: these weights have {} positions; ask for {} "
          "fewer by --length, --prompt or --generate",
          count_, options.generate, config_.positions, length - config_.positions));
    }
    model_ =
        std::make_unique<Gpt2>(context_, config_, weights_, options.batch, length, count_, math);
  }

  int run() {
    fmt::print("GPT-2 of {} layers, {} heads, width {} on {}, {}, attention by {}\n",
               config_.layers, config_.heads, config_.width, context_.device_name(), options_.math,
               model_->attention_form());
    const bool fine = !options_.verify || verify();
    if (!fine) return exit_not_verified;
    if (options_.generate > 0) {
      options_.graph ? time_graph() : time_generation();
    } else {
      time_forward();
    }
    if (!options_.json.empty()) {
      auto file = bench::head_json(options_.command, runtime_->device(), {});
      file["rows"] = rows_;
      bench::write_json(options_.json, file);
    }
    return exit_fine;
  }

 private:
  // Of the first sequence: every logit of every token.
  bool verify() {
    const DeviceArray tokens(context_, static_cast<std::int64_t>(tokens_.size()) * 8);
    model_->put(tokens_, tokens.as<std::int64_t>());
    model_->forward(tokens.as<std::int64_t>(), count_, 0, false);
    const std::vector<float> got = model_->get(model_->logits(), count_ * config_.vocabulary);
    const Reference want =
        reference(config_, weights_, {tokens_.begin(), tokens_.begin() + count_});
    const LogitError error = logit_error(got, want.logits);
    // One FP32 rounding after another through every layer: some tens of units.
    const double bound = 40 + 8 * static_cast<double>(config_.layers);
    const bool fine = error.max <= bound;
    fmt::print(
        "{} logits against float64: rms {:.2f} u, largest {:.2f} u of the largest logit, {}\n",
        want.logits.size(), error.rms, error.max, fine ? "verified" : "WRONG");
    return fine;
  }

  void time_forward() {
    const DeviceArray tokens(context_, static_cast<std::int64_t>(tokens_.size()) * 8);
    model_->put(tokens_, tokens.as<std::int64_t>());
    const auto pass = [&] {
      model_->forward(tokens.as<std::int64_t>(), count_, 0, false);
      context_.synchronize();
    };
    report(fmt::format("gpt2 {} forward {} x {}", options_.size, options_.batch, count_), pass);
  }

  void time_generation() {
    std::vector<std::int64_t> found;
    report(fmt::format("gpt2 {} generate {} after {} x {}", options_.size, options_.generate,
                       options_.batch, count_),
           [&] { found = model_->generate(tokens_, options_.generate); });
    fmt::print("tokens:");
    const std::int64_t shown = std::min<std::int64_t>(count_ + options_.generate, 40);
    for (std::int64_t i = 0; i < shown; ++i) fmt::print(" {}", found[static_cast<std::size_t>(i)]);
    fmt::print("\n");
  }

  // The whole generation as one graph, made once for this prompt's length and replayed.
  void time_graph() {
    Runtime& runtime = detail::ContextAccess::state(context_).runtime();
    const Stream stream = detail::ContextAccess::state(context_).stream();
    if (!runtime.supports_graphs())
      throw UsageError(fmt::format("--graph: {} has none", context_.device_name()));
    const std::vector<std::int64_t> want = model_->generate(tokens_, options_.generate);
    const std::int64_t steps = options_.generate * options_.batch;
    const DeviceArray prompt(context_, static_cast<std::int64_t>(tokens_.size()) * 8);
    const DeviceArray next(context_, steps * 8);
    model_->put(tokens_, prompt.as<std::int64_t>());
    std::unique_ptr<Runtime::Graph> graph;
    const Clock::time_point begin = Clock::now();
    detail::throw_unless_ok(runtime.capture(
        [&](Stream) {
          model_->queue_generation(prompt.as<std::int64_t>(), count_, next.as<std::int64_t>(),
                                   options_.generate);
          return Status::success();
        },
        stream, &graph));
    fmt::print("captured in {:.1f} us\n", microseconds_since(begin));
    const auto pass = [&] {
      detail::throw_unless_ok(graph->replay(stream));
      context_.synchronize();
    };
    pass();
    const std::vector<std::int64_t> got =
        model_->get(static_cast<const std::int64_t*>(next.as<std::int64_t>()), steps);
    if (options_.batch == 1 && !std::equal(got.begin(), got.end(), want.begin() + count_))
      throw std::runtime_error("the graph generates other tokens");
    std::vector<double> samples;
    for (std::int64_t i = 0; i < options_.repeats; ++i) {
      const Clock::time_point start = Clock::now();
      pass();
      samples.push_back(microseconds_since(start));
    }
    const std::string app = fmt::format("gpt2 {} generate {} after {} x {}", options_.size,
                                        options_.generate, options_.batch, count_);
    rows_.push_back(row_of(options_, app, samples));
    rows_.back()["kernel"] = rows_.back()["variant"] = options_.math + "_graph";
    fmt::print("{} as a graph: {:.1f} us, median of {}\n", app,
               bench::summarise_times(samples).median, samples.size());
  }

  template <class Pass>
  void report(const std::string& app, const Pass& pass) {
    pass();
    std::vector<double> samples;
    for (std::int64_t i = 0; i < options_.repeats; ++i) {
      const Clock::time_point begin = Clock::now();
      pass();
      samples.push_back(microseconds_since(begin));
    }
    rows_.push_back(row_of(options_, app, samples));
    fmt::print("{}: {:.1f} us, median of {}\n", app, bench::summarise_times(samples).median,
               samples.size());
    Parts parts(context_, *model_);
    pass();
    parts.forget();
    pass();
    parts.print();
    model_->on_part({});
    rows_.back()["parts_us"] = parts.json();
  }

  Options options_;
  std::unique_ptr<Runtime> runtime_;
  Context context_;
  Config config_;
  Tensors weights_;
  std::vector<std::int64_t> tokens_;
  std::int64_t count_ = 0;
  std::unique_ptr<Gpt2> model_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace
}  // namespace kw::gpt2

int main(int argc, char** argv) {
  kw::gpt2::Options options;
  CLI::App app("GPT-2's forward pass and greedy generation on the library");
  app.footer(
      "Examples:\n"
      "  kernelwright_gpt2 --size tiny --verify --device cpu\n"
      "  kernelwright_gpt2 --size 124M --batch 8 --length 1024 --device gpu\n"
      "  kernelwright_gpt2 --weights model.safetensors --prompt 464,3290 --generate 40");
  app.add_option("--weights", options.weights, "A safetensors file (default: random weights)");
  app.add_option("--size", options.size, "Of random weights: 124M, 355M, 774M, 1.5B or tiny")
      ->capture_default_str();
  app.add_option("--heads", options.heads, "Where they are not 64 wide");
  app.add_option("--device", options.device, "auto, cpu, gpu, gpu:NUMBER or host-simt")
      ->capture_default_str();
  app.add_option("--math", options.math, "Of products and attention")
      ->check(CLI::IsMember({"fp32", "fp32_split"}))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Sequences")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--length", options.length,
                 "Tokens of each, drawn by --seed (default: 64, or as many as have positions)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--prompt", options.prompt, "Token ids of one sequence, in place of --length");
  app.add_option("--generate", options.generate, "Tokens that follow, greedily, with a KV cache")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_flag("--graph", options.graph, "The generation as one CUDA graph");
  app.add_option("--repeats", options.repeats)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_flag("--verify", options.verify, "Every logit of the first sequence against float64");
  app.add_option("--save", options.save, "Write the weights to a safetensors file");
  app.add_option("--json", options.json, "Write a result file");
  CLI11_PARSE(app, argc, argv);
  options.command = "kernelwright_gpt2";
  for (int i = 1; i < argc; ++i) options.command += std::string(" ") + argv[i];
  kw::add_developer_backends();
  try {
    if (!options.prompt.empty()) options.batch = 1;
    return kw::gpt2::Program(options).run();
  } catch (const kw::UsageError& error) {
    fmt::print(stderr, "kernelwright_gpt2: {}\n", error.what());
    return kw::exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernelwright_gpt2: {}\n", error.what());
    return kw::exit_failed;
  }
}
