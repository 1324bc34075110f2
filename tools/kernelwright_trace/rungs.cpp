// See rungs.hpp.
#include "rungs.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "attention/kernels.hpp"
#include "check/reduce/case.hpp"
#include "check/verify.hpp"
#include "check/verify_attention.hpp"
#include "host_simt/host_simt.hpp"
#include "host_simt/runtime.hpp"
#include "program.hpp"
#include "reduce/kernels.hpp"
#include "sgemm/kernels.hpp"
#include "terminal.hpp"
#include "trace/trace.hpp"

namespace kw {
namespace {

// The row that is traced, whose launches alone are watched: the check has kernels, too.
template <class Problem>
struct Watched {
  const Kernel<Problem>* kernel = nullptr;
  trace::Trace* trace = nullptr;
  std::map<std::uintptr_t, std::string>* operands = nullptr;
};

std::map<std::uintptr_t, std::string> operands_of(const Sgemm& p) {
  const auto number = [](const float* x) { return reinterpret_cast<std::uintptr_t>(x); };
  std::map<std::uintptr_t, std::string> places = {
      {number(p.a), "A"}, {number(p.b), "B"}, {number(p.c), "C"}};
  // A workspace may lie behind one of them.
  const float* const ends[] = {p.a + p.m * p.lda, p.b + p.k * p.ldb, p.c + p.m * p.ldc};
  for (const float* end : ends) places.emplace(number(end), "global memory");
  return places;
}
std::map<std::uintptr_t, std::string> operands_of(const Reduce&) { return {}; }
std::map<std::uintptr_t, std::string> operands_of(const Attention& p) {
  const auto number = [](const float* x) { return reinterpret_cast<std::uintptr_t>(x); };
  return {{number(p.q), "Q"}, {number(p.k), "K"}, {number(p.v), "V"}, {number(p.o), "O"}};
}

template <class Problem>
Watched<Problem> watched;

template <class Problem>
Status launch_watched(const Problem& problem, const Device& device, Workspace workspace,
                      Stream stream) {
  *watched<Problem>.operands = operands_of(problem);
  host_simt::options().observer = watched<Problem>.trace;
  Status status = watched<Problem>.kernel->launch(problem, device, workspace, stream);
  host_simt::options().observer = nullptr;
  return status;
}

template <class Trial, class Case, class Problem>
void run_watched(check::Workbench& bench, const Case& c, const KernelList<Problem>& kernels,
                 trace::Trace& trace, RungTrace& result) {
  const auto kernel =
      std::find_if(kernels.begin(), kernels.end(),
                   [&](const Kernel<Problem>& known) { return result.rung.name == known.name; });
  watched<Problem> = {&*kernel, &trace, &result.operands};
  Kernel<Problem> row = *kernel;
  row.launch = launch_watched<Problem>;
  Trial trial(bench, c);
  const auto began = std::chrono::steady_clock::now();
  const check::VerifyResult verified = trial.verify(row);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.refused = verified.outcome == check::Outcome::unsupported;
  if (!verified.ok()) result.failure = verified.message;
  result.max_error = verified.error.max;
}

KernelList<Sgemm> sgemm_kernels() {
  KernelList<Sgemm> all = on_host::sgemm_rungs();
  const KernelList<Sgemm> amd = on_host::sgemm_amd_rungs();
  all.insert(all.end(), amd.begin(), amd.end());
  return all;
}

template <class Problem>
void append(const KernelList<Problem>& kernels, const char* op, std::vector<TracedRung>& rungs) {
  for (const Kernel<Problem>& kernel : kernels) {
    const bool is_amd = std::string(kernel.name).rfind("amd_", 0) == 0;
    rungs.push_back(
        {op, kernel.name, kernel.idea,
         is_amd ? "ladder/sgemm_amd/README.md" : fmt::format("ladder/{}/{}.cu", op, kernel.name)});
  }
}

// "r07" of "r07_conflict_free".
std::string short_id(const std::string& name) { return name.substr(0, name.find('_')); }

// How many letters one must add, leave out or replace to make `a` of `b`.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string names_like(const std::string& word) {
  std::vector<TracedRung> all = traced_rungs();
  const auto far = [&](const TracedRung& rung) {
    return std::min(distance(word, rung.name), distance(word, short_id(rung.name)) + 1);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const TracedRung& a, const TracedRung& b) { return far(a) < far(b); });
  constexpr std::size_t told = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(told, all.size()); ++i) {
    names += fmt::format("\n  {:<26} {}", all[i].name, all[i].idea);
  }
  return names;
}

}  // namespace

bool RungTrace::has_race() const {
  return std::any_of(launches.begin(), launches.end(),
                     [](const trace::LaunchCounts& launch) { return !launch.races.empty(); });
}

std::vector<TracedRung> traced_rungs() {
  std::vector<TracedRung> rungs;
  append(sgemm_kernels(), "sgemm", rungs);
  append(on_host::reduce_rungs(), "reduce", rungs);
  append(on_host::attention_rungs(), "attention", rungs);
  return rungs;
}

std::vector<TracedRung> find_rungs(const std::string& words) {
  std::vector<TracedRung> found;
  for (const std::string& word : split(words, ',')) {
    const std::size_t slash = word.find('/');
    const std::string op = slash == std::string::npos ? "" : word.substr(0, slash);
    const std::string name = slash == std::string::npos ? word : word.substr(slash + 1);
    std::vector<TracedRung> fitting;
    for (const TracedRung& rung : traced_rungs()) {
      if (!op.empty() && rung.op != op) continue;
      if (fnmatch(name.c_str(), rung.name.c_str(), 0) == 0) fitting.push_back(rung);
      // A short one is of the first ladder that has it.
      if (short_id(rung.name) == name && fitting.empty()) fitting.push_back(rung);
    }
    if (fitting.empty()) {
      throw UsageError(
          fmt::format("no rung is called \"{}\"; names like it:{}\n"
                      "`kernelwright trace --list` shows all of them",
                      word, names_like(name)));
    }
    found.insert(found.end(), fitting.begin(), fitting.end());
  }
  return found;
}

RungTrace trace_rung(const TracedRung& rung, const TraceRequest& request) {
  RungTrace result;
  result.rung = rung;
  host_simt::Options& options = host_simt::options();
  options.order = host_simt::Order::forward;  // counts do not depend on it; least to keep in mind
  options.warp_size = trace::warp_lanes;
  options.multiprocessors = request.multiprocessors;
  std::unique_ptr<Runtime> runtime;
  check::require(host_simt::open(0, &runtime));

  Progress progress;
  trace::Trace trace({.blocks = request.blocks,
                      .progress = [&](const trace::LaunchCounts& launch, std::uint64_t wanted) {
                        progress.show(fmt::format("tracing {}: {}, {} of {} blocks", rung.name,
                                                  launch.kernel, launch.traced_blocks, wanted));
                      }});
  check::Workbench bench(*runtime);
  if (rung.op == "reduce") {
    check::ReduceCase c;
    c.cols = request.length;
    result.problem = fmt::format("{} floats", request.length);
    result.flops = static_cast<double>(std::max<std::int64_t>(request.length - 1, 0));
    run_watched<check::ReduceTrial>(bench, c, on_host::reduce_rungs(), trace, result);
  } else if (rung.op == "attention") {
    constexpr std::int64_t widest = 128;  // that the rungs take
    check::AttentionCase c;
    c.queries = request.product.m;
    c.keys = request.product.n;
    c.dim = std::min(request.product.k, widest);
    result.problem = fmt::format("{} queries, {} keys, D = {}", c.queries, c.keys, c.dim);
    result.flops = 4.0 * static_cast<double>(c.queries) * static_cast<double>(c.keys) *
                   static_cast<double>(c.dim);
    run_watched<check::AttentionTrial>(bench, c, on_host::attention_rungs(), trace, result);
  } else {
    check::SgemmCase c;
    c.m = request.product.m;
    c.n = request.product.n;
    c.k = request.product.k;
    result.problem = fmt::format("{} x {} x {}", c.m, c.n, c.k);
    result.flops =
        2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
    run_watched<check::SgemmTrial>(bench, c, sgemm_kernels(), trace, result);
  }
  progress.clear();
  result.launches = trace.launches();
  return result;
}

}  // namespace kw
