// Verification of attention.
#include "check/verify_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "check/run_kernel.hpp"

namespace kw::check {

namespace {

constexpr std::int64_t guard_words = 256;
constexpr std::int64_t score_bytes_at_once = std::int64_t{1} << 30;

// The strides of an operand, and the words that it spans.
struct HeadsShape {
  HeadStrides strides;
  std::int64_t words;
};

HeadsShape heads_shape(const AttentionCase& c, std::int64_t heads, std::int64_t rows,
                       std::int64_t dim, bool is_input) {
  const bool packed = c.offsets;  // entries one behind the other, by their offsets
  if (c.layout == AttentionLayout::tokens) {
    const std::int64_t ld = heads * dim + (is_input ? 16 : 0);
    return {{packed ? 0 : rows * ld, dim, ld}, c.batch * rows * ld};
  }
  const std::int64_t row = dim + (c.layout == AttentionLayout::odd ? 3 : 0);
  if (packed) return {{0, c.batch * rows * row, row}, heads * c.batch * rows * row};
  return {{heads * rows * row, rows * row, row}, c.batch * heads * rows * row};
}

HeadsShape mask_shape(const AttentionCase& c) {
  const std::int64_t row = c.keys + (c.layout == AttentionLayout::odd ? 1 : 0);
  switch (c.mask) {
    case AttentionMask::none: break;
    case AttentionMask::full:
      return {{c.heads * c.queries * row, c.queries * row, row},
              c.batch * c.heads * c.queries * row};
    case AttentionMask::shared:
    case AttentionMask::hiding: return {{0, 0, row}, c.queries * row};
    case AttentionMask::of_keys: return {{row, 0, 0}, c.batch * row};
  }
  return {};
}

std::int64_t misalignment(const AttentionCase& c) {
  return c.layout == AttentionLayout::odd ? 1 : 0;
}

GuardedMatrix heads_words(Workbench& bench, const AttentionCase& c, const HeadsShape& shape) {
  return {bench, 1, shape.words, shape.words, guard_words, misalignment(c)};
}

std::size_t result_bytes(const AttentionCase& c) {
  return static_cast<std::size_t>(c.batch * c.heads * c.queries * c.dim) * sizeof(double);
}

}  // namespace

const char* to_string(AttentionData data) {
  constexpr const char* names[] = {"uniform", "normal", "dominant", "equal",  "tails",
                                   "large",   "wide",   "uneven",   "special"};
  return names[static_cast<int>(data)];
}
const char* to_string(AttentionMask mask) {
  constexpr const char* names[] = {"none", "full", "shared", "of keys", "hiding"};
  return names[static_cast<int>(mask)];
}
const char* to_string(AttentionLayout layout) {
  constexpr const char* names[] = {"dense", "tokens", "odd"};
  return names[static_cast<int>(layout)];
}

std::string describe(const AttentionCase& c) {
  constexpr const char* causal[] = {"", " causal from start", " causal from end"};
  std::string text = fmt::format("[{}, {}/{}, {}x{}, {}]{} {} {}", c.batch, c.heads, c.kv_heads,
                                 c.queries, c.keys, c.dim, causal[static_cast<int>(c.causal)],
                                 to_string(c.layout), to_string(c.data));
  if (c.mask != AttentionMask::none) text += fmt::format(" mask {}", to_string(c.mask));
  if (c.offsets) text += " offsets";
  if (c.scale != 0) text += fmt::format(" scale={}", c.scale);
  return text + fmt::format(" seed={}", c.seed);
}

double AttentionTrial::bytes(const AttentionCase& c, const Device&) {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const double q = number(c.batch) * number(c.heads) * number(c.queries) * number(c.dim + 16);
  const double k = number(c.batch) * number(c.kv_heads) * number(c.keys) * number(c.dim + 16);
  const double scores =
      std::max(16.0 * number(c.queries) * number(c.keys),
               std::min(16.0 * number(c.batch * c.heads) * number(c.queries) * number(c.keys),
                        number(score_bytes_at_once)));
  return 4 * (2 * q + 2 * k) + 4 * 8 * q + scores + 4 * number(mask_shape(c).words);
}

struct AttentionTrial::Tensor {
  const GuardedMatrix& memory;
  HeadsElements elements;
};

AttentionTrial::AttentionTrial(Workbench& bench, const AttentionCase& c)
    : bench_(bench),
      case_(c),
      q_(heads_words(bench, c, heads_shape(c, c.heads, c.queries, c.dim, true))),
      k_(heads_words(bench, c, heads_shape(c, c.kv_heads, c.keys, c.dim, true))),
      v_(heads_words(bench, c, heads_shape(c, c.kv_heads, c.keys, c.dim, true))),
      o_(heads_words(bench, c, heads_shape(c, c.heads, c.queries, c.dim, false))),
      mask_(heads_words(bench, c, mask_shape(c))),
      want_(bench.runtime(), result_bytes(c)),
      unit_(bench.runtime(), result_bytes(c)),
      tolerance_(bench.runtime(), result_bytes(c)),
      of_pieces_(bench.runtime(), result_bytes(c)) {
  const HeadStrides of_q = heads_shape(c, c.heads, c.queries, c.dim, true).strides,
                    of_k = heads_shape(c, c.kv_heads, c.keys, c.dim, true).strides,
                    of_o = heads_shape(c, c.heads, c.queries, c.dim, false).strides;
  Attention& p = problem_;
  p.batch = c.batch, p.heads = c.heads, p.kv_heads = c.kv_heads;
  p.queries = c.queries, p.keys = c.keys, p.dim = c.dim;
  p.scale = c.scale != 0 ? c.scale : 1.0f / std::sqrt(static_cast<float>(c.dim));
  p.causal = c.causal;
  p.q = q_.data(), p.k = k_.data(), p.v = v_.data(), p.o = o_.data();
  p.q_strides = of_q, p.k_strides = p.v_strides = of_k, p.o_strides = of_o;
  if (c.mask != AttentionMask::none && c.keys > 0) {
    p.mask = mask_.data();
    p.mask_strides = mask_shape(c).strides;
  }
  if (c.offsets) make_offsets();
  for (GuardedMatrix* memory : {&q_, &k_, &v_, &o_, &mask_}) memory->fill({}, false);
  const Tensor q = {q_, {c.batch, c.heads, c.queries, c.dim, of_q, p.query_offsets}},
               k = {k_, {c.batch, c.kv_heads, c.keys, c.dim, of_k, p.key_offsets}},
               v = {v_, k.elements};
  fill(q, HeadsOperand::q, false);
  fill(k, HeadsOperand::k, false);
  fill(v, HeadsOperand::v, false);
  if (p.mask != nullptr) {
    // Where all share it, all write the same.
    const HeadStrides of_mask = mask_shape(c).strides;
    FillHeads filled{mask_.data(),
                     {of_mask.batch != 0 ? c.batch : 1, of_mask.head != 0 ? c.heads : 1,
                      of_mask.row != 0 ? c.queries : 1, c.keys, of_mask, nullptr},
                     HeadsOperand::mask,
                     c.data,
                     c.mask,
                     c.seed,
                     false,
                     0};
    require(bench_.tools().fill_heads(filled, bench_.stream()));
  }
  const double scale = std::fabs(static_cast<double>(p.scale)), dim = static_cast<double>(c.dim);
  make_oracle_result(scale * dim * largest(q) * largest(k), largest(v));
}

// Entry b has 1/(b + 1) of the most, the second none.
void AttentionTrial::make_offsets() {
  const auto put = [&](std::int64_t most, std::int64_t empty, DeviceBuffer* buffer) {
    std::vector<std::int64_t> offsets = {0};
    for (std::int64_t b = 0; b < case_.batch; ++b)
      offsets.push_back(offsets.back() + (b == empty ? 0 : (most + b) / (b + 1)));
    *buffer = DeviceBuffer(bench_.runtime(), offsets.size() * sizeof(std::int64_t));
    require(
        bench_.runtime().copy(buffer->data(), offsets.data(), buffer->bytes(), bench_.stream()));
  };
  put(case_.queries, 1, &query_offsets_);
  put(case_.keys, 2, &key_offsets_);
  problem_.query_offsets = query_offsets_.as<std::int64_t>();
  problem_.key_offsets = key_offsets_.as<std::int64_t>();
}

void AttentionTrial::fill(const Tensor& tensor, HeadsOperand operand, bool canary) {
  const float large = 3e4f / (problem_.scale * std::sqrt(static_cast<float>(case_.dim)));
  require(bench_.tools().fill_heads({tensor.memory.data(), tensor.elements, operand, case_.data,
                                     case_.mask, case_.seed, canary, large},
                                    bench_.stream()));
}

double AttentionTrial::largest(const Tensor& tensor) {
  const LargestOfHeads of{tensor.memory.data(), tensor.elements};
  return bench_.find(bench_.tools().largest_of_heads, of).max;
}

void AttentionTrial::make_oracle_result(double largest_score, double largest_value) {
  const std::int64_t heads = case_.batch * case_.heads, scores = case_.queries * case_.keys;
  const std::int64_t at_once =
      std::clamp<std::int64_t>(score_bytes_at_once / (16 * std::max<std::int64_t>(scores, 1)), 1,
                               std::max<std::int64_t>(heads, 1));
  const auto bytes = static_cast<std::size_t>(at_once * scores) * sizeof(double);
  const DeviceBuffer x(bench_.runtime(), bytes), sizes(bench_.runtime(), bytes),
      lines(bench_.runtime(), static_cast<std::size_t>(at_once * case_.queries) * sizeof(double));
  const double score_factor = 8 + std::sqrt(static_cast<double>(case_.dim)) / 2;
  const double sum_factor = 4 * std::sqrt(static_cast<double>(case_.keys)) + 16;
  for (std::int64_t first = 0; first < heads; first += at_once) {
    const AttentionPart part{problem_, first, std::min(at_once, heads - first)};
    const Tools& tools = bench_.tools();
    require(tools.attention_scores({part, x.as<double>(), sizes.as<double>()}, bench_.stream()));
    require(tools.attention_weights({part, x.as<double>(), sizes.as<double>(), lines.as<double>()},
                                    bench_.stream()));
    require(tools.attention_sums(
        {part, x.as<double>(), sizes.as<double>(), lines.as<double>(), want_.as<double>(),
         unit_.as<double>(), tolerance_.as<double>(), of_pieces_.as<double>(), score_factor,
         sum_factor, largest_score, largest_value},
        bench_.stream()));
    bench_.synchronize();
  }
}

VerifyResult AttentionTrial::verify(const Kernel<Attention>& kernel) {
  return guarded([&] {
    o_.fill({}, false);
    return run_and_judge(bench_, kernel, problem_, guard_words, [&](const VerifyResult& run) {
      VerifyResult result = judge(run.path != nullptr && std::string_view(run.path) == "fp16x3");
      add_failure(find_stray_write(), result);
      return result;
    });
  });
}

VerifyResult AttentionTrial::judge(bool of_pieces) {
  VerifyResult result;
  result.outcome = Outcome::verified;
  const JudgeAttention judge{problem_, want_.as<double>(), unit_.as<double>(),
                             tolerance_.as<double>(),
                             of_pieces ? of_pieces_.as<double>() : nullptr};
  summarise(bench_.find(bench_.tools().judge_attention, judge), 0, case_.dim, result);
  if (result.failures == 0) return result;
  const std::int64_t element = result.first_row * case_.dim + result.first_col;
  const AttentionHead head = head_of(problem_, result.first_row / case_.queries / case_.heads,
                                     result.first_row / case_.queries % case_.heads);
  result.first_got = static_cast<double>(bench_.read(
      head.o + result.first_row % case_.queries * problem_.o_strides.row + result.first_col));
  result.first_want = bench_.read(want_.as<double>() + element);
  result.message = fmt::format(
      "{} of {} elements wrong, first in head {}, query {}, column {}: {:.9g}, want {:.9g} within "
      "{:.3g}",
      result.failures, judge.size(), result.first_row / case_.queries,
      result.first_row % case_.queries, result.first_col, result.first_got, result.first_want,
      bench_.read(tolerance_.as<double>() + element) +
          (of_pieces ? bench_.read(of_pieces_.as<double>() + element) : 0));
  return result;
}

// Once canaries lie over all that the call may write, every word must be one.
std::string AttentionTrial::find_stray_write() {
  const HeadsElements elements{case_.batch, case_.heads,        case_.queries,
                               case_.dim,   problem_.o_strides, problem_.query_offsets};
  fill({o_, elements}, HeadsOperand::q, true);
  return o_.find_change("O", false);
}

VerifyResult verify_attention(Runtime& runtime, const Kernel<Attention>& kernel,
                              const AttentionCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return AttentionTrial(bench, c).verify(kernel);
  });
}

std::vector<AttentionCase> attention_edge_cases(std::uint64_t seed) {
  using C = AttentionCase;
  constexpr auto end = Causal::from_end, start = Causal::from_start, none = Causal::none;
  using L = AttentionLayout;
  using M = AttentionMask;
  using D = AttentionData;
  std::vector<C> cases = {
      {1, 1, 1, 1, 1, 64},
      {1, 2, 1, 1, 300, 64, none, L::dense, M::none, D::normal},
      {2, 4, 2, 1, 513, 128, end, L::tokens},
      {1, 3, 3, 5, 70, 32, end, L::odd, M::full},
      {1, 2, 2, 130, 67, 64, start, L::tokens, M::none, D::normal},
      {1, 1, 1, 65, 193, 128, end, L::dense, M::hiding, D::uniform},
      {1, 2, 1, 66, 129, 80, none, L::odd, M::of_keys, D::tails},
      {1, 1, 1, 37, 64, 256, start, L::dense, M::shared},
      {2, 1, 1, 129, 31, 64, end, L::dense, M::none, D::dominant},
      {1, 2, 2, 64, 128, 64, none, L::dense, M::none, D::equal},
      {1, 1, 1, 40, 150, 128, none, L::dense, M::none, D::large},
      {1, 1, 1, 64, 96, 64, none, L::tokens, M::none, D::wide},
      {1, 4, 4, 33, 80, 64, none, L::dense, M::hiding, D::special},
      {4, 2, 1, 50, 90, 64, end, L::tokens, M::none, D::uniform, true},
      {3, 2, 2, 35, 129, 40, none, L::odd, M::hiding, D::normal, true},
      {1, 1, 1, 9, 40, 1, none, L::odd},
      {1, 1, 1, 20, 0, 64},
      {1, 2, 2, 17, 100, 200, end, L::dense, M::none, D::tails, false, -0.3f},
  };
  for (C& c : cases) c.seed = seed++;
  return cases;
}

}  // namespace kw::check
