// Verification of a reduction.
#include <fmt/format.h>

#include <algorithm>

#include "check/reduce/case.hpp"
#include "check/run_kernel.hpp"

namespace kw::check {

std::string describe(const ReduceCase& c) {
  std::string text = to_string(c.shape);
  if (c.shape == ReduceShape::segments) {
    text += fmt::format(" {} {}", c.segments, to_string(c.lengths));
  } else if (c.shape == ReduceShape::whole) {
    text += fmt::format(" {}", c.cols);
  } else {
    text += fmt::format(" {}x{}", c.rows, c.cols);
  }
  text += fmt::format(" {} {}", to_string(c.op), to_string(c.type));
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}+{}", name, value);
  };
  add("ld", c.ld_pad);
  add("at", c.misalign);
  if (c.correction != 0) text += fmt::format(" correction={}", c.correction);
  if (c.sprinkle != Sprinkle::none) text += fmt::format(" {}", to_string(c.sprinkle));
  return text + fmt::format(" input={} seed={} guard={}", to_string(c.input), c.seed, c.guard);
}

ElementStream stream_of(const ReduceCase& c, std::int64_t elements) {
  return {c.type, c.input, c.seed, c.sprinkle, std::max<std::int64_t>(elements / 4, 1)};
}

namespace {

std::vector<std::int64_t> offsets_of(const ReduceCase& c) {
  if (c.shape != ReduceShape::segments) return {};
  return segment_offsets(c.lengths, c.segments, c.seed, c.cols);
}

// Of the array in memory.
struct Extent {
  std::int64_t rows, cols, ld;
};
Extent extent_of(const ReduceCase& c, const std::vector<std::int64_t>& offsets) {
  if (c.shape == ReduceShape::segments) {
    const bool beyond = c.lengths == SegmentLengths::out_of_range;
    const std::int64_t past_end = beyond ? out_of_range_by : 0;
    const std::int64_t count = std::max<std::int64_t>(offsets.back() - past_end, 0);
    return {1, count, count};
  }
  if (c.shape == ReduceShape::whole) return {1, c.cols, c.cols};
  return {c.rows, c.cols, std::max<std::int64_t>(c.cols, 1) + c.ld_pad};
}

GuardedArray make_data(Workbench& bench, const ReduceCase& c, const Extent& e) {
  return {bench, stream_of(c, e.rows * e.cols), e.rows, e.cols, e.ld, c.guard, c.misalign};
}

Reduce make_problem(const ReduceCase& c, const Extent& e) {
  Reduce problem;
  problem.op = c.op;
  problem.type = c.type;
  problem.shape = c.shape;
  problem.rows = e.rows;
  problem.cols = e.cols;
  problem.ld = e.ld;
  problem.segments = c.shape == ReduceShape::segments ? c.segments : 0;
  problem.correction = c.correction;
  problem.determinism = Determinism::any_device;
  return problem;
}

GuardedArray make_output(Workbench& bench, const ReduceCase& c, const Extent& e) {
  const std::int64_t results = make_problem(c, e).results();
  ElementStream unread;
  unread.type = result_type(c.op, c.type);
  return {bench, unread, 1, results, results, c.guard, c.misalign == 0 ? 0 : 1};
}

std::int64_t longest_sequence(const Reduce& p, const std::vector<std::int64_t>& offsets) {
  if (p.shape == ReduceShape::columns) return p.rows;
  if (p.shape != ReduceShape::segments) return p.cols;
  std::int64_t longest = 0;
  for (std::size_t s = 1; s < offsets.size(); ++s) {
    longest = std::max(longest, std::min(offsets[s], p.cols) - offsets[s - 1]);
  }
  return longest;
}

std::size_t reference_bytes(const Reduce& p) {
  return static_cast<std::size_t>(p.sequences()) * sizeof(Reference);
}

}  // namespace

double ReduceTrial::bytes(const ReduceCase& c, const Device& device) {
  const bool has_offsets = c.shape == ReduceShape::segments;
  // Kept on the host and on the device.
  const double offsets_bytes = has_offsets ? 16.0 * (static_cast<double>(c.segments) + 1) : 0.0;
  if (offsets_bytes > static_cast<double>(device.memory_bytes)) return offsets_bytes;
  const Extent e = extent_of(c, offsets_of(c));
  const Reduce p = make_problem(c, e);
  const auto sequences = static_cast<double>(p.sequences());
  const double results = c.op == ReduceOp::min_max ? 2 * sequences : sequences;
  const double known = GuardedArray::bytes(c.type, e.rows, e.cols, e.ld, c.guard) + offsets_bytes +
                       results * static_cast<double>(size_of(result_type(c.op, c.type))) +
                       2 * static_cast<double>(c.guard) + sequences * sizeof(Reference);
  // The products below must not wrap.
  if (known > static_cast<double>(device.memory_bytes)) return known;
  const std::int64_t pieces = oracle_pieces(p.shape, p.sequences(), p.elements());
  return known + static_cast<double>(oracle_scratch_bytes(p.sequences(), pieces));
}

ReduceTrial::ReduceTrial(Workbench& bench, const ReduceCase& c)
    : bench_(bench),
      case_(c),
      offsets_(offsets_of(c)),
      data_(make_data(bench, c, extent_of(c, offsets_))),
      out_(make_output(bench, c, extent_of(c, offsets_))),
      device_offsets_(bench.runtime(), offsets_.size() * sizeof(std::int64_t)),
      problem_(make_problem(c, extent_of(c, offsets_))) {
  problem_.data = data_.data();
  problem_.out = out_.data();
  if (!offsets_.empty()) {
    problem_.offsets = device_offsets_.as<std::int64_t>();
    require(bench.runtime().copy(device_offsets_.data(), offsets_.data(), device_offsets_.bytes(),
                                 bench.stream()));
  }
  references_ = DeviceBuffer(bench.runtime(), reference_bytes(problem_));
  data_.fill_input();
  make_references();
}

void ReduceTrial::make_references() {
  const Reduce& p = problem_;
  const std::int64_t sequences = p.sequences();
  const std::int64_t pieces = oracle_pieces(p.shape, sequences, p.elements());
  const DeviceBuffer scratch(bench_.runtime(), oracle_scratch_bytes(sequences, pieces));
  const ReduceOracle oracle{p.op,
                            p.shape,
                            p.rows,
                            p.cols,
                            p.offsets,
                            sequences,
                            p.correction,
                            stream_of(case_, p.elements()),
                            pieces,
                            scratch.data(),
                            references_.as<Reference>()};
  require(bench_.reduce_tools().oracle(oracle, bench_.stream()));
  bench_.synchronize();
}

VerifyResult ReduceTrial::verify(const Kernel<Reduce>& kernel) {
  return guarded([&] {
    if (has_rules_of_its_own(kernel.role, case_)) {
      VerifyResult result;
      result.outcome = Outcome::unsupported;
      result.message =
          fmt::format("{} has rules of its own for such elements or offsets", kernel.name);
      return result;
    }
    out_.fill_output();
    VerifyResult run = run_kernel(bench_, kernel, problem_, case_.guard);
    if (run.outcome == Outcome::unsupported || run.outcome == Outcome::error) return run;
    VerifyResult result = judge(kernel.role);
    if (!run.ok()) {
      result.outcome = Outcome::failed;
      result.message += (result.message.empty() ? "" : "; ") + run.message;
    }
    result.first_call_us = run.first_call_us;
    result.launch = run.launch;
    return result;
  });
}

VerifyResult ReduceTrial::judge(Role role) {
  VerifyResult result;
  result.outcome = Outcome::verified;
  const ReduceTolerance tolerance =
      reduce_tolerance(case_, role, longest_sequence(problem_, offsets_));
  JudgeReduce judge;
  judge.out = out_.data();
  judge.type = result_type(case_.op, case_.type);
  judge.results = problem_.results();
  judge.pairs = case_.op == ReduceOp::min_max;
  judge.references = references_.as<Reference>();
  judge.of_result = tolerance.of_result;
  judge.of_magnitude = tolerance.of_magnitude;
  judge.strict = role == Role::production || role == Role::reference;
  const double bound = (tolerance.of_result + tolerance.of_magnitude) / unit_roundoff;
  summarise(bench_.find(bench_.reduce_tools().judge_results, judge), bound,
            std::max<std::int64_t>(judge.results, 1), result);
  if (judge.results > 0) {
    result.c_first = static_cast<float>(out_.value_at(0));
    result.c_last = static_cast<float>(out_.value_at(judge.results - 1));
  }
  if (result.failures > 0) tell_first_failure(judge, result);
  if (const std::string changes = find_changes(); !changes.empty()) {
    result.outcome = Outcome::failed;
    result.message += (result.message.empty() ? "" : "; ") + changes;
  }
  return result;
}

void ReduceTrial::tell_first_failure(const JudgeReduce& judge, VerifyResult& result) {
  const std::int64_t which = result.first_col;  // of the results, which are one row
  const Reference reference = bench_.read(judge.references + (judge.pairs ? which / 2 : which));
  const std::size_t half = judge.pairs ? static_cast<std::size_t>(which % 2) : 0;
  const bool is_number = is_floating(judge.type);
  result.first_got = out_.value_at(which);
  result.first_want =
      is_number ? reference.value[half] : static_cast<double>(reference.whole[half]);
  result.message = fmt::format("{} of {} results wrong, first result {} = {}, want {}",
                               result.failures, judge.results, which, out_.text_at(which),
                               is_number ? fmt::format("{:.17g}", reference.value[half])
                                         : fmt::format("{}", reference.whole[half]));
  if (is_number) {
    result.message += fmt::format(" (largest error {:.3g} u, bound {:.3g} u)", result.error.max,
                                  result.error.bound);
  }
}

// What was written besides the results; the data are made anew then, for the kernels to come.
std::string ReduceTrial::find_changes() {
  std::string changes = data_.find_change("elements", false);
  if (!changes.empty()) data_.fill_input();
  const auto add = [&](const std::string& change) {
    if (!change.empty()) changes += (changes.empty() ? "" : "; ") + change;
  };
  add(out_.find_change("results", true));
  if (!offsets_.empty()) {
    std::vector<std::int64_t> now(offsets_.size());
    require(bench_.runtime().copy(now.data(), device_offsets_.data(), device_offsets_.bytes(),
                                  bench_.stream()));
    if (now != offsets_) {
      add("offsets were written");
      require(bench_.runtime().copy(device_offsets_.data(), offsets_.data(),
                                    device_offsets_.bytes(), bench_.stream()));
    }
  }
  return changes;
}

VerifyResult verify_reduce(Runtime& runtime, const Kernel<Reduce>& kernel, const ReduceCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return ReduceTrial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
