// What the check of attention does to each element, as elementwise.hpp has it: data of several
// classes, the float64 result in three passes, the judge.
#pragma once

#include <cmath>
#include <cstdint>

#include "attention/problem.hpp"
#include "check/elementwise.hpp"

namespace kw::check {

enum class AttentionData {
  uniform,
  normal,
  dominant,  // one key's score is far above the others
  equal,     // all keys are the same
  tails,     // V has long tails
  large,     // scores of about +-10^4
  wide,      // exponents of K and V lie up to 2^20 apart
  uneven,    // one key of V is 2^20 times as large as the others
  special,   // NaN and infinities among Q, K and V
};

enum class AttentionMask {
  none,
  full,     // numbers
  shared,   // one for all entries and heads
  of_keys,  // one row for all queries
  hiding,   // -Inf at some keys, and at all keys of some queries
};

enum class HeadsOperand : std::uint32_t { q = 11, k = 12, v = 13, mask = 14 };

KW_HOST_DEVICE inline bool is_finite_number(double x) { return fabs(x) <= 1.7976931348623157e308; }

// The elements of an operand: of entries with offsets those that their entry has.
struct HeadsElements {
  std::int64_t batch, heads, rows, cols;
  HeadStrides strides;
  const std::int64_t* offsets;

  KW_HOST_DEVICE std::int64_t size() const { return batch * heads * rows * cols; }
  // Where an element lies; -1 where there is none.
  KW_HOST_DEVICE std::int64_t at(std::int64_t element) const {
    const std::int64_t col = element % cols, row = element / cols % rows,
                       head = element / cols / rows, entry = head / heads;
    const EntryRows of_entry = entry_rows(offsets, entry, rows);
    if (row >= of_entry.count) return -1;
    return entry * strides.batch + head % heads * strides.head +
           (of_entry.first + row) * strides.row + col;
  }
};

// Writes the elements of an operand that the call may read; of O canaries over those it may write.
struct FillHeads {
  float* data;
  HeadsElements elements;
  HeadsOperand operand;
  AttentionData class_of_data;
  AttentionMask mask;
  std::uint64_t seed;
  bool canary;
  float large_factor;

  KW_HOST_DEVICE std::int64_t size() const { return elements.size(); }

  KW_HOST_DEVICE float drawn(std::int64_t index, std::uint64_t more = 0) const {
    const Input input =
        class_of_data == AttentionData::normal || class_of_data == AttentionData::tails
            ? Input::normal
            : Input::uniform;
    return input_value(
        {input, seed + static_cast<std::uint64_t>(operand) * 1000 + more, Operand::a}, index);
  }
  KW_HOST_DEVICE std::uint64_t word(std::int64_t index) const {
    return random_bits(seed + static_cast<std::uint64_t>(operand) * 77, Operand::b,
                       static_cast<std::uint64_t>(index));
  }
  KW_HOST_DEVICE float special(std::int64_t head, std::int64_t row, std::int64_t col,
                               float x) const {
    const std::uint64_t bits = word(head * elements.rows + row);
    const unsigned rarity = operand == HeadsOperand::q ? 6 : operand == HeadsOperand::v ? 40 : 200;
    if (bits % rarity != 0 || static_cast<std::int64_t>((bits >> 16) % 4096) % elements.cols != col)
      return x;
    const unsigned kind = static_cast<unsigned>(bits >> 40) % 3;
    return kind == 0   ? std::bit_cast<float>(0x7FC00000u)
           : kind == 1 ? std::bit_cast<float>(0x7F800000u)
                       : std::bit_cast<float>(0xFF800000u);
  }
  KW_HOST_DEVICE float mask_value(std::int64_t row, std::int64_t index) const {
    if (mask != AttentionMask::hiding) return 2 * drawn(index);
    const bool hides = row % 7 == 3 || word(index) % 3 == 0;
    return hides ? std::bit_cast<float>(0xFF800000u) : drawn(index);
  }
  KW_HOST_DEVICE float value(std::int64_t head, std::int64_t row, std::int64_t col) const {
    const std::int64_t rows = elements.rows, cols = elements.cols,
                       index = (head * rows + row) * cols + col;
    if (operand == HeadsOperand::mask) return mask_value(row, index);
    const float x = drawn(index);
    const bool is_k = operand == HeadsOperand::k, is_v = operand == HeadsOperand::v;
    switch (class_of_data) {
      case AttentionData::dominant:
        if (operand == HeadsOperand::q) return x + 1;
        return is_k && row == static_cast<std::int64_t>(word(head) >> 8) % rows ? 4.0f : x;
      case AttentionData::equal: return is_k ? drawn(head * cols + col) : x;
      case AttentionData::tails: return is_v ? x * x * x * x * x * x * x : x;
      case AttentionData::large: return operand == HeadsOperand::q ? x * large_factor : x;
      case AttentionData::wide: {
        if (operand == HeadsOperand::q) return x;
        const int exponent = static_cast<int>(word(index) % 21) - 20;
        return x * std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
      }
      case AttentionData::uneven: return is_v && row == rows / 2 ? 1048576.0f * x : x;
      case AttentionData::special: return special(head, row, col, x);
      default: return x;
    }
  }
  KW_HOST_DEVICE void operator()(std::int64_t element) const {
    const std::int64_t rows = elements.rows, cols = elements.cols, at = elements.at(element);
    if (at < 0) return;
    reinterpret_cast<std::uint32_t*>(data)[at] =
        canary ? canary_word
               : std::bit_cast<std::uint32_t>(
                     value(element / cols / rows, element / cols % rows, element % cols));
  }
};

// Some heads, one behind the other, whose float64 result is made at once.
struct AttentionPart {
  Attention p;
  std::int64_t first, count;  // of entry * heads + head

  KW_HOST_DEVICE AttentionHead head(std::int64_t i) const {
    return head_of(p, (first + i) / p.heads, (first + i) % p.heads);
  }
  KW_HOST_DEVICE std::int64_t lines() const { return count * p.queries; }
};

// x of each query and key, -Inf where the query does not see the key, and the sizes that its error
// follows from.
struct AttentionScores {
  AttentionPart part;
  double *x, *sizes;  // [count][queries][keys]

  KW_HOST_DEVICE std::int64_t size() const { return part.lines() * part.p.keys; }
  KW_HOST_DEVICE void operator()(std::int64_t element) const {
    const Attention& p = part.p;
    const std::int64_t key = element % p.keys, line = element / p.keys, query = line % p.queries;
    const AttentionHead head = part.head(line / p.queries);
    x[element] = -HUGE_VAL;
    sizes[element] = 0;
    if (query >= head.queries || key >= visible_keys(p.causal, query, head.queries, head.keys))
      return;
    const float* q = head.q + query * p.q_strides.row;
    const float* k = head.k + key * p.k_strides.row;
    double sum = 0, magnitude = 0;
    for (std::int64_t d = 0; d < p.dim; ++d) {
      const double product = static_cast<double>(q[d]) * static_cast<double>(k[d]);
      sum += product;
      magnitude += fabs(product);
    }
    const double mask =
        head.mask == nullptr ? 0 : static_cast<double>(head.mask[query * p.mask_strides.row + key]);
    const double scale = static_cast<double>(p.scale);
    x[element] = scale * sum + mask;
    const double its_size = fabs(scale) * magnitude + fabs(mask);
    sizes[element] = is_finite_number(its_size) ? its_size : 0;
  }
};

// x becomes the weights; of each query the weighted size of its scores.
struct AttentionWeights {
  AttentionPart part;
  double *x, *sizes;
  double* size_of_line;  // [count][queries]

  KW_HOST_DEVICE std::int64_t size() const { return part.lines(); }
  KW_HOST_DEVICE void operator()(std::int64_t line) const {
    const std::int64_t keys = part.p.keys;
    double* own = x + line * keys;
    double most = -HUGE_VAL;
    for (std::int64_t s = 0; s < keys; ++s) most = own[s] > most ? own[s] : most;
    if (most == -HUGE_VAL) most = 0;
    double sum = 0, weighted = 0;
    for (std::int64_t s = 0; s < keys; ++s) {
      own[s] = exp(own[s] - most);
      sum += own[s];
    }
    for (std::int64_t s = 0; s < keys; ++s) {
      if (sum != 0) own[s] /= sum;
      weighted += own[s] * sizes[line * keys + s];
    }
    size_of_line[line] = weighted + (is_finite_number(most) ? fabs(most) : 0);
  }
};

// The largest of an operand's numbers, as the findings' `max`.
struct LargestOfHeads {
  const float* data;
  HeadsElements elements;

  KW_HOST_DEVICE std::int64_t size() const { return elements.size(); }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const std::int64_t at = elements.at(element);
    if (at < 0) return;
    const double x = static_cast<double>(data[at]);
    if (is_finite_number(x)) add_error(found, x);
  }
};

// Of what lies far below the largest element beside it, a sum of two fp16 pieces lacks up to this
// share of the largest (attention/split_layout.hpp).
constexpr double lost_in_pieces = 0x1p-39;

// O's element in float64, the unit of its error and how much it may err; negative where it may be
// NaN too. `of_pieces` is added where the kernel multiplied pieces: what V's lack, what those of
// weights lack, and what those of Q and K move a weight.
struct AttentionSums {
  AttentionPart part;
  const double *weights, *sizes, *size_of_line;
  double *want, *unit, *tolerance, *of_pieces;  // [batch * heads][queries][dim], all heads
  double score_factor, sum_factor;
  double largest_score, largest_value;  // that Q and K could have, and of V

  KW_HOST_DEVICE std::int64_t size() const { return part.lines() * part.p.dim; }
  KW_HOST_DEVICE void operator()(std::int64_t element) const {
    const Attention& p = part.p;
    const std::int64_t d = element % p.dim, line = element / p.dim, query = line % p.queries;
    const AttentionHead head = part.head(line / p.queries);
    double sum = 0, magnitude = 0, of_scores = 0, of_values = 0;
    bool may_be_nan = false;
    if (query < head.queries) {
      for (std::int64_t s = 0; s < head.keys; ++s) {
        const double weight = weights[line * p.keys + s];
        const double v = static_cast<double>(head.v[s * p.v_strides.row + d]);
        if (weight < 1e-30 && !is_finite_number(v)) {
          may_be_nan = true;
          continue;
        }
        sum += weight * v;
        magnitude += fabs(weight * v);
        of_scores += fabs(weight * v) * sizes[line * p.keys + s];
        if (weight > 0) of_values += fabs(v);
      }
    }
    const std::int64_t at = part.first * p.queries * p.dim + element;
    want[at] = sum;
    unit[at] = unit_roundoff * magnitude;
    const double bound =
        unit_roundoff *
            (score_factor * (of_scores + size_of_line[line] * magnitude) + sum_factor * magnitude) +
        1e-37 * magnitude + smallest_subnormal;
    tolerance[at] = may_be_nan ? -bound : bound;
    of_pieces[at] = lost_in_pieces * (largest_value + of_values + 4 * largest_score * magnitude);
  }
};

struct JudgeAttention {
  Attention p;
  const double *want, *unit, *tolerance;
  const double* of_pieces;  // null: the kernel had none

  KW_HOST_DEVICE std::int64_t size() const { return p.batch * p.heads * p.queries * p.dim; }
  KW_HOST_DEVICE const float* at(std::int64_t element) const {
    const std::int64_t d = element % p.dim, line = element / p.dim, query = line % p.queries,
                       of_head = line / p.queries;
    const AttentionHead head = head_of(p, of_head / p.heads, of_head % p.heads);
    return query < head.queries ? head.o + query * p.o_strides.row + d : nullptr;
  }
  KW_HOST_DEVICE double most(std::int64_t element) const {
    return fabs(tolerance[element]) + (of_pieces != nullptr ? of_pieces[element] : 0.0);
  }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const float* place = at(element);
    if (place == nullptr) return;
    const float got = *place;
    const double wanted = want[element];
    if (tolerance[element] < 0 && is_computed_nan(got)) return;
    if (is_not_a_number(wanted)) {
      if (!is_computed_nan(got)) add_failure(found, element);
      return;
    }
    if (is_infinite(wanted)) {
      if (static_cast<double>(got) != wanted) add_failure(found, element);
      return;
    }
    const double error = static_cast<double>(got) - wanted;
    add_error(found, error == 0 ? 0.0 : error / unit[element]);
    if (!(fabs(error) <= most(element))) add_failure(found, element);
  }
};

}  // namespace kw::check
