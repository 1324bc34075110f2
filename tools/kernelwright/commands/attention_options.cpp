// From words to attention problems.
#include "commands/attention_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "commands/commands.hpp"
#include "program.hpp"
#include "shapes.hpp"
#include "sweeps/random_attention.hpp"

namespace kw {
namespace {

using check::AttentionCase;

constexpr std::int64_t default_attention = 60;
constexpr const char* attention_forms =
    "BATCHxHEADSxQUERIESxDIM or BATCHxHEADSxQUERIESxKEYSxDIM, HEADS as 32/8 where 8 heads of K and "
    "V serve 32";

const char* default_attention_shapes(const Device& device) {
  if (device.kind == DeviceKind::host_simt) return "1x2x70x64,1x4/2x1x300x128";
  if (device.kind == DeviceKind::cpu) return "1x12x256x64,1x12x1x1024x64";
  return "2x16x4096x128,8x12x1024x64,1x32/8x2048x128,4x16x512x2048x64,2x8x1024x256,4x16x1024x32,"
         "1x12x1x1024x64,8x32/8x1x8192x128,1x16x16x16384x128";
}

[[noreturn]] void refuse_shape(const std::string& typed) {
  throw UsageError(fmt::format("--shape: \"{}\" is not of the form {}", typed, attention_forms));
}

// "32/8", or "32".
std::int64_t kv_heads_of(std::string& typed) {
  const std::size_t slash = typed.find('/');
  if (slash == std::string::npos) return 0;
  const std::size_t end = typed.find('x', slash);
  const std::string number = typed.substr(slash + 1, end - slash - 1);
  const bool digits = !number.empty() && number.size() < 10 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) refuse_shape(typed);
  typed.erase(slash, 1 + number.size());
  return std::stoll(number);
}

AttentionCase parse_attention(const std::string& text) {
  std::string typed = text;
  const std::int64_t kv_heads = kv_heads_of(typed);
  const auto factors = std::count(typed.begin(), typed.end(), 'x');
  if (factors != 3 && factors != 4) refuse_shape(text);
  const int numbers = static_cast<int>(factors) + 1;
  const std::vector<std::int64_t> n =
      parse_extents(typed, numbers, 1, attention_forms).front().values;
  AttentionCase c;
  c.batch = n[0];
  c.heads = n[1];
  c.kv_heads = kv_heads != 0 ? kv_heads : c.heads;
  c.queries = n[2];
  c.keys = n[n.size() - 2];
  c.dim = n.back();
  if (c.heads % c.kv_heads != 0) {
    throw UsageError(fmt::format("--shape: \"{}\" has {} heads, no multiple of the {} of K and V",
                                 text, c.heads, c.kv_heads));
  }
  if (c.dim > most_attention_dim) {
    throw UsageError(fmt::format("--shape: \"{}\" has a head size of {}, more than {}", text, c.dim,
                                 most_attention_dim));
  }
  return c;
}

std::vector<Causal> parse_causal(const std::string& text) {
  constexpr std::array<const char*, 3> names = {"none", "from_start", "from_end"};
  std::vector<Causal> rules;
  for (const std::string& name : split(text.empty() ? "none" : text, ',')) {
    const auto* const at =
        std::find_if(names.begin(), names.end(), [&](const char* known) { return name == known; });
    if (at == names.end()) {
      throw UsageError(
          fmt::format("--causal: \"{}\" is not one of none, from_start, from_end", name));
    }
    rules.push_back(static_cast<Causal>(at - names.begin()));
  }
  return rules;
}

check::AttentionData data_of(check::Input input) {
  if (input == check::Input::uniform) return check::AttentionData::uniform;
  if (input == check::Input::normal) return check::AttentionData::normal;
  throw UsageError("--input: attention takes uniform or normal");
}

ChosenAttention drawn_attention(const AttentionChoice& choice, const Device& device,
                                std::uint64_t seed) {
  const double most = device.is_gpu()                  ? most_attention_products
                      : device.kind == DeviceKind::cpu ? 1 << 26
                                                       : 1 << 20;
  const auto all = random_attention(seed, choice.count.value_or(default_attention));
  ChosenAttention chosen = labelled(
      all, seed, [&](const AttentionCase& c) { return attention_products(c) <= most; },
      [](const AttentionCase& c) { return third_of(c); });
  if (chosen.cases.size() < all.size()) {
    chosen.left_out = fmt::format("{} of {} are left out: more than {:.0f} multiply-adds",
                                  all.size() - chosen.cases.size(), all.size(), most);
  }
  return chosen;
}

}  // namespace

void AttentionChoice::add_options(CLI::App& to) {
  CLI::Option* shape_option =
      to.add_option("--shape", shape, fmt::format("{},...", attention_forms));
  shape_option->type_name("LIST")->check(not_empty());
  CLI::Option* causal_option = to.add_option(
      "--causal", causal, "none, from_start or from_end, or some of them (default: none)");
  causal_option->type_name("LIST")->check(not_empty());
  CLI::Option* sweep_option =
      to.add_option("--sweep", sweep, "random")->check(CLI::IsMember({"random"}));
  sweep_option->excludes(shape_option)->excludes(causal_option);
  to.add_option(
        "--count", count,
        fmt::format("Of --sweep random (default: {}); --seed draws them", default_attention))
      ->check(whole_number(1, 100000))
      ->needs(sweep_option);
}

ChosenAttention chosen_attention(const AttentionChoice& choice, const Device& device,
                                 check::Input input, std::uint64_t seed) {
  const check::AttentionData data = data_of(input);
  ChosenAttention chosen;
  if (choice.is_random()) {
    chosen = drawn_attention(choice, device, seed);
  } else {
    const std::string shapes =
        choice.shape.empty() ? default_attention_shapes(device) : choice.shape;
    const std::vector<Causal> rules = parse_causal(choice.causal);
    for (const std::string& text : split(shapes, ',')) {
      for (const Causal rule : rules) {
        AttentionCase& c = chosen.cases.emplace_back(parse_attention(text));
        c.causal = rule;
      }
    }
  }
  for (AttentionCase& c : chosen.cases) {
    c.data = data;
    c.seed = seed;
  }
  return chosen;
}

}  // namespace kw
