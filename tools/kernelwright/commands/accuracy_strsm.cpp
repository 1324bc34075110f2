// kernelwright accuracy strsm and ctrsm: kinds of triangles, sizes and sides; a row has the errors
// of all forms of one (triangle, operation, diagonal) and of all seeds, its ratios are those of the
// worst.
#include "commands/accuracy_strsm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "bench/room.hpp"
#include "bench/table.hpp"
#include "check/verify_ctrsm.hpp"
#include "check/verify_level3.hpp"
#include "commands/session.hpp"
#include "commands/validators.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

// By so much a residual may exceed the vendor's, its root mean square and its largest.
constexpr double most_of_peers_residual = 1.2;

struct StrsmOptions {
  std::int64_t lines = 0, largest = 0;  // 0: the device's usual
  int seeds = 1;
};

struct TriangleKind {
  const char* name;
  check::Condition condition;
};
constexpr TriangleKind triangle_kinds[] = {{"random", check::Condition::good},
                                           {"graded", check::Condition::graded},
                                           {"ill", check::Condition::ill}};
constexpr std::int64_t triangle_sizes[] = {33, 128, 300, 512, 1000, 2048};

// What a row stands for.
struct StrsmPlace {
  TriangleKind kind;
  std::int64_t unknowns;
  bool on_left;
};

// A kernel's errors at a place.
struct StrsmErrors {
  bool refuses = false;
  std::string message;  // of the first form that failed
  double sum_square = 0, sum = 0, max = 0;
  int results = 0;
  double worst_rms = 0, worst_max = 0;  // by the peer's
  check::VerifyResult last;

  void add(const check::VerifyResult& result) {
    last = result;
    if (!result.ok() && message.empty()) message = result.message;
    const check::ErrorSummary& error = result.error;
    sum_square += error.rms * error.rms;
    sum += error.mean_signed;
    // NaN stays.
    max = error.max <= max ? max : error.max;
    ++results;
  }
  void compare(const check::ErrorSummary& own, const check::ErrorSummary& peer) {
    const auto ratio = [](double of, double by) { return of == by ? 1.0 : of / by; };
    const auto worse = [](double& worst, double now) { worst = now <= worst ? worst : now; };
    worse(worst_rms, ratio(own.rms, peer.rms));
    worse(worst_max, ratio(own.max, peer.max));
  }
};

// A system of each routine with a place's sizes, and the operations of its triangle.
struct RealSystems {
  using Problem = Level3;
  using Case = check::Level3Case;
  using Trial = check::Level3Trial;
  static constexpr const char* routine = "strsm";

  static std::vector<Case> with_operations(const StrsmPlace& place, std::int64_t lines) {
    const std::int64_t size = place.unknowns;
    const Case c = check::level3_case(Routine::trsm, place.on_left ? size : lines,
                                      place.on_left ? lines : size, size, place.on_left);
    std::vector<Case> cases(2, c);
    cases[1].op_a = Op::transpose;
    return cases;
  }
};
struct ComplexSystems {
  using Problem = Ctrsm;
  using Case = check::CtrsmCase;
  using Trial = check::CtrsmTrial;
  static constexpr const char* routine = "ctrsm";

  static std::vector<Case> with_operations(const StrsmPlace& place, std::int64_t lines) {
    Case c;
    c.on_left = place.on_left;
    c.m = place.on_left ? place.unknowns : lines;
    c.n = place.on_left ? lines : place.unknowns;
    std::vector<Case> cases(3, c);
    cases[1].op_a = cases[2].op_a = Op::transpose;
    cases[2].conj_a = true;
    return cases;
  }
};

// Production kernels that solve, the library's choices, and the vendor's beside them.
template <class Problem>
KernelList<Problem> strsm_kernels(const CommonOptions& options, DeviceKind kind) {
  const KernelList<Problem> all = all_kernels<Problem>(kind);
  KernelList<Problem> chosen = select_kernels(all, options.kernel);
  std::erase_if(chosen, [](const auto& kernel) { return kernel.role == Role::peer; });
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [](const auto& kernel) { return kernel.role == Role::peer; });
  return chosen;
}

template <class Systems>
std::vector<typename Systems::Case> strsm_forms(const StrsmPlace& place, std::int64_t lines,
                                                int seeds, std::uint64_t seed) {
  std::vector<typename Systems::Case> forms;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (typename Systems::Case c : Systems::with_operations(place, lines)) {
      for (const bool unit : {false, true}) {
        for (int i = 0; i < seeds; ++i) {
          c.triangle = triangle;
          c.unit_diagonal = unit;
          c.condition = place.kind.condition;
          c.seed = seed + static_cast<std::uint64_t>(i);
          forms.push_back(c);
        }
      }
    }
  }
  return forms;
}

// All kernels over all forms of a place.
template <class Systems>
class StrsmRun {
  using Problem = typename Systems::Problem;
  using Case = typename Systems::Case;

 public:
  StrsmRun(const KernelList<Problem>& kernels, const StrsmPlace& place)
      : kernels_(kernels), place_(place), errors_(kernels.size()) {}

  void add(check::Workbench& bench, const Case& c) {
    typename Systems::Trial trial(bench, c);
    case_ = c;
    problem_ = trial.problem();
    std::vector<check::ErrorSummary> errors(kernels_.size());
    std::optional<check::ErrorSummary> peer;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const check::VerifyResult result = trial.verify(kernels_[i]);
      if (result.outcome == check::Outcome::unsupported) {
        errors_[i].refuses = true;
        continue;
      }
      errors_[i].add(result);
      errors[i] = result.error;
      if (kernels_[i].role == Role::peer && result.ok() && !peer) {
        peer = result.error;
        peer_ = kernels_[i].name;
      }
    }
    if (!peer) return;
    for (std::size_t i = 0; i < kernels_.size(); ++i)
      if (!errors_[i].refuses) errors_[i].compare(errors[i], *peer);
  }

  std::vector<bench::Row> rows(int seeds) const {
    std::vector<bench::Row> rows;
    for (std::size_t i = 0; i < kernels_.size(); ++i)
      if (!errors_[i].refuses) rows.push_back(row(i, seeds));
    return rows;
  }

 private:
  bench::Row row(std::size_t i, int seeds) const {
    const StrsmErrors& tally = errors_[i];
    const bool is_peer = kernels_[i].role == Role::peer;
    check::VerifyResult result = tally.last;
    const double count = std::max(tally.results, 1);
    result.error.rms = std::sqrt(tally.sum_square / count);
    result.error.mean_signed = tally.sum / count;
    result.error.max = tally.max;
    result.message = tally.message;
    if (!is_peer && !peer_.empty())
      for (const auto& [what, ratio] :
           {std::pair{"root mean square", tally.worst_rms}, std::pair{"largest", tally.worst_max}})
        if (!(ratio <= most_of_peers_residual))
          result.message += fmt::format("{}{} residual {:.3f} times the peer's",
                                        result.message.empty() ? "" : "; ", what, ratio);
    result.outcome = result.message.empty() ? check::Outcome::verified : check::Outcome::failed;
    bench::Row row = bench::make_row(kernels_[i], problem_, case_, result);
    row.input = place_.kind.name;
    row.suite.emplace().seeds = seeds;
    if (!is_peer && !peer_.empty()) {
      row.suite->rms_vs_peer = tally.worst_rms;
      row.suite->max_vs_peer = tally.worst_max;
      row.peer = peer_;
    }
    return row;
  }

  const KernelList<Problem>& kernels_;
  const StrsmPlace place_;
  std::vector<StrsmErrors> errors_;
  Case case_;
  Problem problem_;
  std::string peer_;  // its name; empty where there is none
};

void print_strsm(const StrsmPlace& place, const std::vector<bench::Row>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"kernel", "rms", "largest", "rms by the peer's", "largest"}};
  for (const bench::Row& row : rows) {
    const auto ratio = [](const std::optional<double>& x) {
      return x ? fmt::format("{:.3f}", *x) : std::string("-");
    };
    cells.push_back({row.kernel + (row.verified ? "" : "!"), fmt::format("{:.3f}", row.error.rms),
                     fmt::format("{:.3g}", row.error.max), ratio(row.suite->rms_vs_peer),
                     ratio(row.suite->max_vs_peer)});
  }
  fmt::print("{} triangles of {} on the {}\n{}", place.kind.name, place.unknowns,
             place.on_left ? "left" : "right", bench::align(cells));
  for (const bench::Row& row : rows)
    if (!row.verified) fmt::print("{}: {}\n", row.kernel, row.message);
  fmt::print("\n");
  flush_output();
}

template <class Systems>
int run(const CommonOptions& options, const StrsmOptions& strsm, const std::string& command) {
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const std::int64_t lines = strsm.lines != 0 ? strsm.lines : device.is_gpu() ? 512 : 33;
  const std::int64_t largest = strsm.largest != 0 ? strsm.largest : device.is_gpu() ? 2048 : 128;
  const auto kernels = strsm_kernels<typename Systems::Problem>(options, device.kind);
  std::vector<StrsmPlace> places;
  for (const TriangleKind& kind : triangle_kinds)
    for (const std::int64_t size : triangle_sizes)
      for (const bool on_left : {true, false})
        if (size <= largest) places.push_back({kind, size, on_left});
  for (const StrsmPlace& place : places)
    bench::require_room<typename Systems::Trial>("--lines",
                                                 strsm_forms<Systems>(place, lines, 1, 1), device);
  Session session(options.json);
  check::Workbench workbench(*runtime);
  std::size_t failed = 0, count = 0;
  const auto work = [&] {
    session.begin(command, device, {});
    if (!options.quiet())
      fmt::print("{} ({}), {} lines, residuals in u (|A| |X| + |B|)\n\n", device.name,
                 to_string(device.kind), lines);
    session.progress().plan(std::vector<Estimate::Part>(places.size(), {0, 1}));
    for (const StrsmPlace& place : places) {
      StrsmRun<Systems> place_run(kernels, place);
      for (const auto& c : strsm_forms<Systems>(place, lines, strsm.seeds, options.seed)) {
        session.progress().show(describe(c));
        place_run.add(workbench, c);
      }
      const std::vector<bench::Row> rows = place_run.rows(strsm.seeds);
      session.add(rows);
      session.progress().next();
      if (!options.quiet()) print_strsm(place, rows);
      count += rows.size();
      failed +=
          static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const auto& row) {
            return !row.verified && row.role != to_string(Role::peer);
          }));
    }
  };
  const int code = session.run(work, [&] { return failed == 0 ? exit_fine : exit_not_verified; });
  if (!options.quiet()) fmt::print("{} of {} rows failed\n", failed, count);
  return code;
}

template <class Systems>
void add_systems(CLI::App& accuracy, Invocation& invocation, const char* idea,
                 const std::string& what_is_judged) {
  CLI::App* command = accuracy.add_subcommand(Systems::routine, idea);
  command->footer(
      "Triangles: random, far from singular; graded, whose rows fall and columns rise by 2^24;\n"
      "ill, whose blocks of 32 have a condition of some 10^8. Each in both triangles, in all\n"
      "operations, with any and with a unit diagonal, on both sides. Errors are residuals\n"
      "|A X - B| in units of u = 2^-24 times |A| |X| + |B|, of all elements. A kernel fails (exit\n"
      "code 1) where its root mean square or its largest exceeds 1.2 times the vendor's in one of\n"
      "those forms, or where one is larger than " +
      what_is_judged +
      ".\n"
      "\n"
      "Examples:\n"
      "  kernelwright accuracy " +
      Systems::routine + " --device cpu\n  kernelwright accuracy " + Systems::routine +
      " --json systems.json");
  auto options = std::make_shared<CommonOptions>();
  auto strsm = std::make_shared<StrsmOptions>();
  options->add_device(*command);
  options->add_kernel(*command);
  command->add_option("--lines", strsm->lines, "Right-hand sides (default: 512 on a GPU, else 33)")
      ->check(whole_number(1, 65536));
  command
      ->add_option("--max-size", strsm->largest,
                   "Largest triangle (default: 2048 on a GPU, else 128)")
      ->check(whole_number(triangle_sizes[0], 65536));
  command->add_option("--seeds", strsm->seeds, "Repeat with as many seeds")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  options->add_seed(*command);
  options->add_json(*command);
  command->callback([options, strsm, &invocation] {
    invocation.exit_code = run<Systems>(*options, *strsm, invocation.command);
  });
}

}  // namespace

void add_accuracy_strsm(CLI::App& accuracy, Invocation& invocation) {
  add_systems<RealSystems>(
      accuracy, invocation,
      "Residuals of triangular systems, beside the vendor's: the suite of strsm", "k + 4");
  add_systems<ComplexSystems>(
      accuracy, invocation,
      "Residuals of complex triangular systems, beside the vendor's: the suite of ctrsm",
      "2 k + 8;\n|z| is |Re z| + |Im z|");
}

}  // namespace kw
