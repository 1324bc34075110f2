// Takes a call or forwards it, and counts it.
#include "serve.hpp"

#include "judge.hpp"
#include "session.hpp"
#include "verify.hpp"

namespace kw::cublas {

namespace {

thread_local int depth = 0;

class Nested {
 public:
  Nested() { ++depth; }
  ~Nested() { --depth; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

struct Outcome {
  Reason reason = Reason::none;  // none: computed
  bool captured = false;
  Tally* tally = nullptr;
  Outlook outlook = {};
};

void warn_of_refusal(Session& in, const Lane& lane, const Call& call, kwStatus_t said) {
  const char* const name = row_of(call.symbol).name;
  in.record().warn_once(name, std::string(name) + " goes to " + vendor_name(call.symbol) +
                                  ", the library says " + library().kwStatusString(said) + ": " +
                                  lane.last_error());
}

bool compute(Session& in, Lane& lane, const Call& call, Arithmetic math) {
  const kwStatus_t said = lane.multiply(call.product, math);
  if (said != KW_STATUS_OK) warn_of_refusal(in, lane, call, said);
  return said == KW_STATUS_OK;
}

// After a refusal nothing was written, and cuBLAS computes the call. A device that failed while
// the library launched fails cuBLAS as well.
Outcome multiply(Session& in, Lane& lane, const Call& call, const Forward& forward, bool captured) {
  const std::lock_guard<std::mutex> lock(lane.mutex());
  if (!lane.is_open()) return {Reason::refused, captured};
  Decision& decision = lane.decision(call, in.policy(), [&](Decision& made) {
    if (made.reason == Reason::none) lane.reserve(made.workspace_bytes);
    if (in.is_recording()) made.tally = &in.record().tally(call, made.reason, made.outlook);
  });
  if (decision.reason != Reason::none)
    return {decision.reason, captured, decision.tally, decision.outlook};
  const Verification verification(in, call, decision.tally, captured, forward);
  if (!compute(in, lane, call, decision.outlook.math)) return {Reason::refused, captured};
  verification.compare();
  return {Reason::none, captured, decision.tally, decision.outlook};
}

// What the library would take for all groups, by a decision for each.
Outcome decide_groups(Session& in, Lane& lane, const GroupedCall& grouped, bool captured) {
  Outcome outcome{Reason::none, captured};
  Call one = grouped.call;
  double operations = 0, longest_us = -1;
  for (const Product& group : grouped.groups) {
    if (is_empty(group)) continue;
    one.product = group;
    const Decision& decision = lane.decision(one, in.policy(), [&](const Decision& made) {
      if (made.reason == Reason::none) lane.reserve(made.workspace_bytes);
    });
    if (decision.reason != Reason::none) return {decision.reason, captured};
    if (decision.outlook.time_us > longest_us) {
      longest_us = decision.outlook.time_us;
      outcome.outlook.kernel = decision.outlook.kernel;
      outcome.outlook.math = decision.outlook.math;  // that of all
    }
    outcome.outlook.time_us += decision.outlook.time_us + another_group_us;
    operations += operations_of(group);
  }
  const VendorTimes* const times = lane.device().times;
  if (times != nullptr) outcome.outlook.vendor_time_us = predict_grouped_us(*times, grouped.groups);
  outcome.reason = judge_times(in.policy(), times != nullptr || in.policy().on_cpu, operations,
                               outcome.outlook.time_us, outcome.outlook.vendor_time_us);
  return outcome;
}

Outcome multiply_groups(Session& in, Lane& lane, GroupedCall& grouped, bool captured) {
  const std::lock_guard<std::mutex> lock(lane.mutex());
  if (!lane.is_open()) return {Reason::refused, captured};
  const Outcome outcome = decide_groups(in, lane, grouped, captured);
  if (outcome.reason != Reason::none) return outcome;
  Call one = grouped.call;
  for (; grouped.done < grouped.groups.size(); ++grouped.done) {
    one.product = grouped.groups[grouped.done];
    if (!is_empty(one.product) && !compute(in, lane, one, outcome.outlook.math))
      return {Reason::refused, captured};
    grouped.done_products += one.product.batch;
  }
  return outcome;
}

// `products`: the call's, or its groups. multiply(Lane&, bool captured) decides.
template <class Products, class Multiply>
Outcome take(Session& in, const Call& call, const Products& products, const Multiply& multiply) {
  Outcome outcome{call.reason};
  if (outcome.reason == Reason::none) outcome.reason = check_arguments(products);
  if (outcome.reason != Reason::none) return outcome;
  Lane* const lane = in.lane_for(call, &outcome.reason, &outcome.captured);
  return lane == nullptr ? outcome : multiply(*lane, outcome.captured);
}

void count(Session& in, const Call& call, Outcome& outcome, std::int64_t host_ns) {
  if (outcome.tally == nullptr) outcome.tally = &in.record().tally(call, outcome.reason);
  Tally& tally = *outcome.tally;
  tally.calls.fetch_add(1, std::memory_order_relaxed);
  tally.host_ns.fetch_add(static_cast<std::uint64_t>(host_ns), std::memory_order_relaxed);
  if (outcome.captured) tally.captured.fetch_add(1, std::memory_order_relaxed);
  if (in.policy().log == LogLevel::calls) {
    in.record().call_line(call, outcome.reason, outcome.outlook, outcome.captured,
                          1e-3 * static_cast<double>(host_ns));
  }
  in.record().write_file(false);
}

}  // namespace

bool is_nested() { return depth > 0; }

Status pass_on(const Forward& forward) {
  const Nested nested;
  return forward();
}

namespace {

// What cuBLAS calls in turn is its own business. cuSOLVER calls cuBLAS by its exported names, and
// what that is asked may be taken.
template <class Take>
Status serve_by(const Call& call, const Forward& forward, const Take& take) {
  Session& in = session();
  const bool recording = in.is_recording();
  const std::int64_t began = recording ? now_ns() : 0;
  Outcome outcome = take(in);
  const auto pass = [&] { return is_of_solver(call.symbol) ? forward() : pass_on(forward); };
  const Status status = outcome.reason == Reason::none ? status_success : pass();
  if (recording) count(in, call, outcome, now_ns() - began);
  return status;
}

}  // namespace

Status serve(Call& call, const Forward& forward) {
  return serve_by(call, forward, [&](Session& in) {
    return take(in, call, call.product, [&](Lane& lane, bool captured) {
      return multiply(in, lane, call, forward, captured);
    });
  });
}

Status serve_groups(GroupedCall& grouped, const Forward& forward) {
  return serve_by(grouped.call, forward, [&](Session& in) {
    return take(in, grouped.call, grouped.groups, [&](Lane& lane, bool captured) {
      return multiply_groups(in, lane, grouped, captured);
    });
  });
}

}  // namespace kw::cublas
