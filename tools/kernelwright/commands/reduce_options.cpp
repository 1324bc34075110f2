// From words to reductions.
#include "commands/reduce_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "commands/parse_words.hpp"
#include "program.hpp"
#include "shapes.hpp"
#include "sweeps/random_reductions.hpp"

namespace kw {
namespace {

using check::ReduceCase;
using check::SegmentLengths;

constexpr auto all_ops = check::all_reduce_ops;
constexpr auto all_types = check::all_data_types;
constexpr std::array all_lengths = {SegmentLengths::one_to_32, SegmentLengths::log_uniform,
                                    SegmentLengths::equal, SegmentLengths::uneven};

constexpr const char* reduce_forms = "N or ROWSxCOLS";

ReduceCase whole(std::int64_t n, std::int64_t misalign = 0) {
  ReduceCase c;
  c.cols = n;
  c.misalign = misalign;
  return c;
}

ReduceCase matrix(ReduceShape shape, std::int64_t rows, std::int64_t cols) {
  ReduceCase c;
  c.shape = shape;
  c.rows = rows;
  c.cols = cols;
  return c;
}

ReduceCase segments(SegmentLengths lengths, std::int64_t count) {
  ReduceCase c;
  c.shape = ReduceShape::segments;
  c.lengths = lengths;
  c.segments = count;
  return c;
}

std::vector<ReduceCase> powers_of_two(std::int64_t longest) {
  std::vector<ReduceCase> cases;
  for (std::int64_t n = 1 << 10; n <= std::min(longest, std::int64_t{1} << 30); n *= 2) {
    cases.push_back(whole(n));
  }
  return cases;
}

// Each length on a boundary and one element past it.
std::vector<ReduceCase> odd_lengths() {
  std::vector<ReduceCase> cases;
  for (const std::int64_t n :
       {1000, 4097, 65537, 1000003, (1 << 24) + 1, (1 << 26) - 1, 123456789}) {
    for (const std::int64_t misalign : {0, 1}) cases.push_back(whole(n, misalign));
  }
  return cases;
}

std::vector<ReduceCase> many_results() {
  return {
      matrix(ReduceShape::rows, 4194304, 64),       matrix(ReduceShape::rows, 64, 4194304),
      matrix(ReduceShape::rows, 16384, 16384),      matrix(ReduceShape::columns, 16384, 16384),
      segments(SegmentLengths::one_to_32, 4000000), segments(SegmentLengths::log_uniform, 100000)};
}

std::vector<ReduceCase> sweep_of(const std::string& name) {
  if (name == "classic") return powers_of_two(std::int64_t{1} << 30);
  if (name == "odd") return odd_lengths();
  if (name == "shapes") return many_results();
  throw UsageError(fmt::format("--sweep: \"{}\" is not one of classic, odd, shapes, random", name));
}

ReduceCase case_of(const ReduceChoice& choice, const std::vector<std::int64_t>& extents,
                   const std::string& typed) {
  const bool one = extents.size() == 1;
  if (!choice.segments.empty()) {
    if (!one) {
      throw UsageError(
          fmt::format("--shape: with --segments it is a number of segments, not \"{}\"", typed));
    }
    return segments(find_by_name(all_lengths, choice.segments, "--segments"), extents[0]);
  }
  const std::string axis = !choice.axis.empty() ? choice.axis : one ? "whole" : "rows";
  if (one != (axis == "whole")) {
    throw UsageError(fmt::format("--axis: {} takes --shape {}, not \"{}\"", axis,
                                 axis == "whole" ? "N" : "ROWSxCOLS", typed));
  }
  if (one) return whole(extents[0]);
  return matrix(axis == "rows" ? ReduceShape::rows : ReduceShape::columns, extents[0], extents[1]);
}

std::vector<ReduceCase> cases_of_shapes(const ReduceChoice& choice, std::int64_t longest) {
  if (choice.shape.empty()) {
    for (const auto& [option, value] :
         {std::pair{"--axis", &choice.axis}, std::pair{"--segments", &choice.segments}}) {
      if (!value->empty()) throw UsageError(fmt::format("{}: needs --shape as well", option));
    }
    return choice.sweep.empty() ? powers_of_two(longest) : sweep_of(choice.sweep);
  }
  if (!choice.segments.empty() && !choice.axis.empty()) {
    throw UsageError("--axis: segments are of a whole array; leave --axis or --segments out");
  }
  std::vector<ReduceCase> cases;
  for (const Extents& one : parse_extents(choice.shape, 2, 1, reduce_forms)) {
    cases.push_back(case_of(choice, one.values, one.typed));
  }
  return cases;
}

template <class Body>
void for_each_pair(const std::vector<ReduceOp>& ops, const std::vector<DataType>& types,
                   const Body& body) {
  for (const ReduceOp op : ops) {
    for (const DataType type : types) body(op, type);
  }
}

}  // namespace

namespace {

constexpr std::int64_t default_reductions = 200;

void check_options(const ReduceChoice& choice) {
  if (!choice.is_random()) {
    if (choice.count) throw UsageError("--count: is of --sweep random");
    if (choice.max_elements) throw UsageError("--max-elements: is of --sweep random");
    return;
  }
  const auto refuse = [](const char* option, bool is_given) {
    if (!is_given) return;
    throw UsageError(fmt::format("{}: --sweep random draws it; leave {} out", option, option));
  };
  const ReduceChoice defaults;
  refuse("--op", choice.ops != defaults.ops);
  refuse("--dtype", choice.types != defaults.types);
  refuse("--axis", !choice.axis.empty());
  refuse("--segments", !choice.segments.empty());
  refuse("--misalign", choice.misalign != 0);
  refuse("--correction", choice.correction != 0);
}

std::int64_t default_max_elements(const Device& device) {
  if (device.is_gpu()) return most_elements;
  return device.kind == DeviceKind::cpu ? std::int64_t{1} << 24 : std::int64_t{1} << 14;
}

ChosenReductions drawn_reductions(const ReduceChoice& choice, const Device& device,
                                  check::Input input, std::uint64_t seed) {
  const std::int64_t most = choice.max_elements.value_or(default_max_elements(device));
  const std::vector<ReduceCase> all =
      random_reductions(seed, choice.count.value_or(default_reductions));
  ChosenReductions chosen = labelled(
      all, seed, [&](const ReduceCase& c) { return expected_elements(c) <= most; },
      [](const ReduceCase& c) { return third_of(c); });
  for (ReduceCase& c : chosen.cases) {
    c.input = input;
    c.seed = seed;
  }
  if (chosen.cases.size() < all.size()) {
    chosen.left_out = fmt::format(
        "{} of {} reductions are left out: more than {} elements; --max-elements sets the limit",
        all.size() - chosen.cases.size(), all.size(), most);
  }
  return chosen;
}

}  // namespace

std::string reduce_op_names() { return names_of(all_ops); }
std::string data_type_names() { return names_of(all_types); }

std::vector<ReduceOp> parse_reduce_ops(const std::string& text) {
  return parse_names(all_ops, text, "--op");
}
std::vector<DataType> parse_data_types(const std::string& text) {
  return parse_names(all_types, text, "--dtype");
}

ChosenReductions chosen_reductions(const ReduceChoice& choice, const Device& device,
                                   check::Input input, std::uint64_t seed) {
  check_options(choice);
  if (choice.is_random()) return drawn_reductions(choice, device, input, seed);
  const int longest = device.is_gpu() ? 30 : device.kind == DeviceKind::cpu ? 26 : 16;
  const std::vector<ReduceCase> shapes = cases_of_shapes(choice, std::int64_t{1} << longest);
  const std::vector<ReduceOp> ops = parse_reduce_ops(choice.ops);
  if (choice.correction != 0 && std::count(ops.begin(), ops.end(), ReduceOp::variance) == 0) {
    throw UsageError(fmt::format(
        "--correction: {} was given, but only variance has one and --op is {}; add variance to it",
        choice.correction, choice.ops));
  }
  std::vector<ReduceCase> cases;
  for_each_pair(ops, parse_data_types(choice.types), [&](ReduceOp op, DataType type) {
    for (ReduceCase c : shapes) {
      c.op = op;
      c.type = type;
      c.input = input;
      c.seed = seed;
      c.misalign += choice.misalign;
      if (op == ReduceOp::variance) c.correction = choice.correction;
      cases.push_back(c);
    }
  });
  return {std::move(cases), {}, {}};
}

std::vector<ReduceCase> reductions_of_shapes(const std::string& shapes,
                                             const std::vector<ReduceOp>& ops,
                                             const std::vector<DataType>& types, check::Input input,
                                             std::uint64_t seed) {
  std::vector<ReduceCase> forms;
  for (const Extents& one : parse_extents(shapes, 2, 0, reduce_forms)) {
    if (one.values.size() == 1) {
      forms.push_back(whole(one.values[0]));
    } else {
      for (const ReduceShape shape : {ReduceShape::rows, ReduceShape::columns}) {
        forms.push_back(matrix(shape, one.values[0], one.values[1]));
      }
    }
  }
  std::vector<ReduceCase> cases;
  for_each_pair(ops, types, [&](ReduceOp op, DataType type) {
    for (ReduceCase form : forms) {
      form.op = op;
      form.type = type;
      form.input = input;
      form.seed = seed;
      for (const ReduceCase& c : check::reduce_cases_of_shape(form)) cases.push_back(c);
    }
  });
  return cases;
}

}  // namespace kw
