// The checks that attention makes of its arguments before anything is written.
#include "api/check_attention.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "api/check.hpp"
#include "api/overlap.hpp"
#include "attention/problem.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

// An operand as the call names it: "q".
struct NamedHeads {
  const char* name;
  HeadsView<const float> view;

  std::string field(const char* of_view) const { return text(name, '.', of_view); }
  bool empty() const { return view.batch == 0 || view.heads == 0 || view.rows == 0; }
  std::string shape() const {
    return text("[", view.batch, ", ", view.heads, ", ", view.rows, ", ", view.dim, "]");
  }
};

// Elements from the first to one past the last; false where their bytes do not fit 64 bits.
bool span_of_heads(const NamedHeads& operand, std::int64_t* elements) {
  const HeadsView<const float>& view = operand.view;
  *elements = 0;
  if (operand.empty()) return true;
  std::int64_t bytes = 0;
  const auto add = [&](std::int64_t count, std::int64_t stride) {
    std::int64_t span = 0;
    return !__builtin_mul_overflow(count - 1, stride, &span) &&
           !__builtin_add_overflow(*elements, span, elements);
  };
  *elements = view.dim;
  return add(view.batch, view.batch_stride) && add(view.heads, view.head_stride) &&
         add(view.rows, view.row_stride) && !__builtin_mul_overflow(*elements, 4, &bytes);
}

Status check_heads(const NamedHeads& operand) {
  const HeadsView<const float>& view = operand.view;
  const struct {
    const char* name;
    std::int64_t value;
  } sizes[] = {{"batch", view.batch},
               {"heads", view.heads},
               {"rows", view.rows},
               {"batch_stride", view.batch_stride},
               {"head_stride", view.head_stride},
               {"row_stride", view.row_stride}};
  for (const auto& size : sizes) {
    if (size.value < 0) {
      const std::string field = operand.field(size.name);
      return invalid(text(field, " is ", size.value, ": pass 0 or more"), field);
    }
  }
  if (view.dim < 1 || view.dim > most_attention_dim) {
    const std::string field = operand.field("dim");
    return invalid(text(field, " is ", view.dim, ": pass a head size of 1 to ", most_attention_dim),
                   field);
  }
  if (view.rows > 1 && view.row_stride < view.dim) {
    const std::string field = operand.field("row_stride");
    return invalid(text(field, " is ", view.row_stride, ", smaller than a row's ", view.dim,
                        " elements: pass ", view.dim, " or more"),
                   field);
  }
  std::int64_t elements = 0;
  if (span_of_heads(operand, &elements)) return Status::success();
  return invalid(text(operand.name, " ", operand.shape(), " spans more than the ",
                      std::numeric_limits<std::int64_t>::max(),
                      " bytes that an offset can count: pass smaller strides"),
                 operand.name);
}

Status check_equal(const NamedHeads& x, const NamedHeads& of, const char* field,
                   std::int64_t HeadsView<const float>::*size) {
  if (x.view.*size == of.view.*size) return Status::success();
  return invalid(text(x.field(field), " is ", x.view.*size, ", but ", of.field(field), " is ",
                      of.view.*size, ": make the two equal"),
                 x.field(field));
}

using HeadsSize = std::int64_t HeadsView<const float>::*;
struct EqualSize {
  const char* name;
  HeadsSize size;
};
constexpr EqualSize of_batch{"batch", &HeadsView<const float>::batch},
    of_heads{"heads", &HeadsView<const float>::heads},
    of_rows{"rows", &HeadsView<const float>::rows}, of_dim{"dim", &HeadsView<const float>::dim};

template <std::size_t count>
Status check_all_equal(const NamedHeads& x, const NamedHeads& of, const EqualSize (&sizes)[count]) {
  for (const EqualSize& size : sizes) {
    Status status = check_equal(x, of, size.name, size.size);
    if (!status.ok()) return status;
  }
  return Status::success();
}

Status check_shapes(const NamedHeads& q, const NamedHeads& k, const NamedHeads& v,
                    const NamedHeads& o) {
  Status status = check_all_equal(k, q, {of_batch, of_dim});
  if (status.ok()) status = check_all_equal(v, k, {of_batch, of_heads, of_rows, of_dim});
  if (status.ok()) status = check_all_equal(o, q, {of_batch, of_heads, of_rows, of_dim});
  if (!status.ok() || q.view.heads == 0) return status;
  if (k.view.heads == 0 || q.view.heads % k.view.heads != 0) {
    return invalid(text("q.heads is ", q.view.heads, ", not a multiple of k.heads, ", k.view.heads,
                        ": let as many query heads share each head of K and V"),
                   "q.heads");
  }
  return status;
}

Status check_options(const AttentionOptions& options) {
  const auto causal = static_cast<int>(options.causal), math = static_cast<int>(options.math);
  if (causal < 0 || causal > static_cast<int>(Causal::from_end)) {
    return invalid(
        text("causal is ", causal, ": pass 0 (none), 1 (from the start) or 2 (from the end)"),
        "causal");
  }
  if (math != static_cast<int>(Math::fp32) && math != static_cast<int>(Math::fp32_split)) {
    return invalid(text("math is ", math, ": pass 0 (fp32) or 1 (fp32_split)"), "math");
  }
  const MaskView& mask = options.mask;
  for (const std::int64_t stride : {mask.batch_stride, mask.head_stride, mask.row_stride}) {
    if (stride < 0)
      return invalid(text("a stride of mask is ", stride, ": pass 0 (shared) or more"), "mask");
  }
  return Status::success();
}

// Two elements of O are never one: each stride spans what the smaller ones reach.
Status check_apart(const NamedHeads& o, bool has_offsets) {
  struct Axis {
    const char* name;
    std::int64_t count, stride;
  };
  if (o.empty()) return Status::success();
  std::array<Axis, 3> axes = {
      {{"batch_stride", has_offsets ? 1 : o.view.batch, o.view.batch_stride},
       {"head_stride", o.view.heads, o.view.head_stride},
       {"row_stride", o.view.rows, o.view.row_stride}}};
  std::sort(axes.begin(), axes.end(),
            [](const Axis& x, const Axis& y) { return x.stride < y.stride; });
  std::int64_t reach = o.view.dim;
  for (const Axis& axis : axes) {
    if (axis.count <= 1) continue;
    if (axis.stride < reach) {
      const std::string field = o.field(axis.name);
      return invalid(
          text(field, " is ", axis.stride, ", but what lies within one step spans ", reach,
               " elements: pass ", reach, " or more, so that none is written twice"),
          field);
    }
    reach += (axis.count - 1) * axis.stride;
  }
  return Status::success();
}

Status check_address(const NamedHeads& operand) {
  const auto address = reinterpret_cast<std::uintptr_t>(operand.view.data);
  if (address == 0) {
    return invalid(text(operand.name, " is null, but has elements, ", operand.shape(),
                        ": pass its first element"),
                   operand.name);
  }
  if (address % sizeof(float) == 0) return Status::success();
  return invalid(text(operand.name, " lies ", address % sizeof(float),
                      " bytes past a multiple of 4: a float's address is a multiple of 4"),
                 operand.name);
}

Status check_word(const void* data, std::uintptr_t alignment, const char* name) {
  const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(data) % alignment;
  if (past == 0) return Status::success();
  return invalid(text(name, " lies ", past, " bytes past a multiple of ", alignment,
                      ": its address is a multiple of its elements' size"),
                 name);
}

Footprints heads_of_entry(const HeadsView<const float>& view, std::int64_t entry) {
  const std::int64_t width = view.dim * 4;
  const auto first = reinterpret_cast<std::uintptr_t>(view.data) +
                     static_cast<std::uintptr_t>(entry * view.batch_stride * 4);
  return {{first, view.rows, width, view.rows == 1 ? width : view.row_stride * 4},
          view.head_stride == 0 ? 1 : view.heads,
          view.head_stride * 4};
}

// Of the same entry of both; with offsets, which only the device knows, nothing is certain.
Status check_outside(const NamedHeads& o, const NamedHeads& input) {
  constexpr std::int64_t most_entries = 16;
  if (input.empty()) return Status::success();
  for (std::int64_t b = 0; b < std::min(o.view.batch, most_entries); ++b) {
    if (!any_shares_byte(heads_of_entry(o.view, b), heads_of_entry(input.view, b))) continue;
    return invalid(text("o shares an element with ", input.name, " in entry ", b,
                        ": let O be memory of its own"),
                   "o");
  }
  return Status::success();
}

struct NamedOperands {
  NamedHeads q, k, v, o;
  explicit NamedOperands(const AttentionCall& call)
      : q{"q", call.q}, k{"k", call.k}, v{"v", call.v}, o{"o", call.o} {}
};

}  // namespace

Status check_attention_shape(const AttentionCall& call) {
  const NamedOperands named(call);
  for (const NamedHeads* operand : {&named.q, &named.k, &named.v, &named.o}) {
    Status status = check_heads(*operand);
    if (!status.ok()) return status;
  }
  Status status = check_shapes(named.q, named.k, named.v, named.o);
  if (status.ok()) status = check_options(call.options);
  return status.ok() ? check_apart(named.o, call.options.query_offsets != nullptr) : status;
}

Status check_attention(const AttentionCall& call) {
  Status status = check_attention_shape(call);
  const NamedOperands named(call);
  if (!status.ok() || named.o.empty()) return status;
  const AttentionOptions& options = call.options;
  for (const NamedHeads* operand : {&named.o, &named.q, &named.k, &named.v}) {
    if (!operand->empty()) status = check_address(*operand);
    if (!status.ok()) return status;
  }
  status = check_word(options.mask.data, alignof(float), "mask");
  if (status.ok()) status = check_word(options.query_offsets, 8, "query_offsets");
  if (status.ok()) status = check_word(options.key_offsets, 8, "key_offsets");
  if (!status.ok() || options.query_offsets != nullptr || options.key_offsets != nullptr)
    return status;
  for (const NamedHeads* input : {&named.q, &named.k, &named.v}) {
    status = check_outside(named.o, *input);
    if (!status.ok()) return status;
  }
  return status;
}

}  // namespace kw::detail
