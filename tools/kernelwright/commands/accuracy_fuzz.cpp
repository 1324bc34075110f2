// Draws, verdicts, shrinking, and the table of what came out.
#include "commands/accuracy_fuzz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "bench/row.hpp"
#include "bench/table.hpp"
#include "check/accuracy/fuzz_trial.hpp"
#include "choice.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

// Where a first verdict is near the line, so many times the products decide.
constexpr int more_products = 4;
constexpr double near_the_line = 2;  // standard errors
constexpr int most_shrinking_steps = 150;

// Whether the library may choose a kernel at this k, for a C of some size: kernels whose errors are
// too large for short sums are not chosen there.
bool may_be_chosen(const Kernel<Sgemm>& kernel, const Sgemm& problem, const Device& device) {
  if (is_choice(kernel.name)) return true;
  if (!supports(kernel, problem, device)) return false;
  Sgemm large = problem;
  large.m = large.n = large.ldb = large.ldc = 4096;
  const auto plan = candidate_plan(kernel, large, device);
  return plan && plan->cost < std::numeric_limits<double>::infinity();
}

KernelList<Sgemm> split_kernels(const CommonOptions& options, DeviceKind kind) {
  KernelList<Sgemm> found = select_kernels(all_kernels<Sgemm>(kind), options.kernel);
  std::erase_if(found, [](const auto& kernel) {
    return kernel.role != Role::production || kernel.math != Math::fp32_split;
  });
  if (found.empty())
    throw UsageError(
        "--kernel: none of these computes in fp32_split on this device; "
        "`kernelwright list sgemm` shows them");
  return found;
}

struct Finding {
  const Kernel<Sgemm>* kernel = nullptr;
  const char* path = nullptr;
  check::PooledErrors errors;
};

// Cases over one device.
class Fuzzer {
 public:
  Fuzzer(check::Workbench& bench, const KernelList<Sgemm>& kernels, std::int64_t outputs,
         Progress& progress)
      : bench_(bench), scratch_(bench), kernels_(kernels), outputs_(outputs), progress_(progress) {}

  // Every kernel's errors.
  std::vector<Finding> find(const check::FuzzCase& c, const std::string& about) {
    check::FuzzTrial trial(bench_, scratch_, c);
    std::vector<Finding> found;
    for (const Kernel<Sgemm>& kernel : kernels_)
      if (may_be_chosen(kernel, trial.problem(), bench_.device()))
        found.emplace_back().kernel = &kernel;
    const int products = check::fuzz_products(c, outputs_);
    add(trial, found, 0, products, about);
    std::vector<Finding*> open;
    for (Finding& finding : found)
      if (finding.errors.excess() > near_the_line) open.push_back(&finding);
    if (!open.empty()) add(trial, open, products, more_products * products, about);
    return found;
  }

  // The simplest case at which the kernel fails, from one where it does.
  std::pair<check::FuzzCase, Finding> shrink(check::FuzzCase c, Finding finding) {
    const KernelList<Sgemm> all = kernels_;
    const Kernel<Sgemm>* const kernel = finding.kernel;
    kernels_ = {*kernel};
    int steps = 0;
    for (bool simpler = true; simpler;) {
      simpler = false;
      for (const check::FuzzCase& next : check::simpler_cases(c)) {
        if (++steps > most_shrinking_steps) break;
        const auto found = find(next, fmt::format("shrinking, step {}", steps));
        if (found.empty() || !found[0].errors.is_violation()) continue;
        c = next;
        finding = found[0];
        simpler = true;
        break;
      }
    }
    kernels_ = all;
    finding.kernel = kernel;
    return {c, finding};
  }

 private:
  static Finding& finding_of(Finding& finding) { return finding; }
  static Finding& finding_of(Finding* finding) { return *finding; }

  // By the kernel that computed.
  double limit_of(std::string_view path) const {
    const auto is_plain = [&](const Kernel<Sgemm>& kernel) {
      return kernel.math == Math::fp32 && path == kernel.name;
    };
    return std::any_of(all_.begin(), all_.end(), is_plain) ? check::plain_fp32_limit : 1.0;
  }

  template <class Findings>
  void add(check::FuzzTrial& trial, Findings& findings, int first, int end,
           const std::string& about) {
    for (int product = first; product < end; ++product) {
      progress_.show(fmt::format("{}: product {} of {}", about, product + 1, end));
      trial.fill(product);
      for (auto& each : findings) {
        Finding& finding = finding_of(each);
        const check::Partial own = trial.run(*finding.kernel, &finding.path);
        finding.errors.add(own, trial.one_sum(), limit_of(finding.path));
      }
    }
  }

  check::Workbench& bench_;
  check::FuzzTrial::Scratch scratch_;
  KernelList<Sgemm> kernels_;
  const KernelList<Sgemm> all_ = all_kernels<Sgemm>(bench_.device().kind);
  std::int64_t outputs_;
  Progress& progress_;
};

bench::Row row_of(const Finding& finding, const check::FuzzCase& c, std::int64_t number) {
  check::SgemmCase product;
  product.m = c.m, product.n = c.n, product.k = c.k;
  Sgemm problem;
  problem.m = c.m, problem.n = c.n, problem.k = c.k;
  problem.lda = c.k, problem.ldb = problem.ldc = c.n;
  check::VerifyResult result;
  result.outcome =
      finding.errors.is_violation() ? check::Outcome::failed : check::Outcome::verified;
  result.path = finding.path;
  result.error = {finding.errors.max(), finding.errors.rms(), finding.errors.mean_signed(),
                  static_cast<double>(c.k) + 3};
  bench::Row row = bench::make_row(*finding.kernel, problem, product, result);
  row.input = "drawn";
  row.fuzz = {number,
              c.seed,
              check::to_text(c.data),
              finding.errors.products(),
              finding.errors.outputs(),
              finding.errors.one_sum_rms(),
              finding.errors.ratio(),
              finding.errors.excess()};
  return row;
}

// A thousand draws of all kernels would be a large file. Kept are the library's choice, what comes
// nearest to a violation, and what is one.
bool is_kept(const Finding& finding, const std::vector<Finding>& of_draw) {
  const auto worst = std::max_element(
      of_draw.begin(), of_draw.end(),
      [](const Finding& x, const Finding& y) { return x.errors.ratio() < y.errors.ratio(); });
  return is_choice(finding.kernel->name) || &finding == &*worst || finding.errors.is_violation();
}

std::string describe(const Finding& finding) {
  const check::PooledErrors& e = finding.errors;
  if (e.has_failures()) return "elements are NaN or infinite where float64 is finite";
  return fmt::format(
      "root mean square {:.3g} u, one FP32 sum an element {:.3g} u: {:.3f} times, {:.1f} standard "
      "errors over {} products",
      e.rms(), e.one_sum_rms(), e.ratio(), e.excess(), e.products());
}

std::string repeating_command(const CommonOptions& options, const check::FuzzCase& c,
                              const char* kernel) {
  return fmt::format(
      "kernelwright accuracy sgemm --fuzz --device {} --kernel {} --seed {} --shape {}x{}x{} "
      "--data {}",
      options.device, kernel, c.seed, c.m, c.n, c.k, check::to_text(c.data));
}

// A kernel's draws.
struct Tally {
  int draws = 0, violations = 0;
  double worst = 0;  // ratio
  std::int64_t worst_draw = 0;
  std::map<std::string, int> paths;
};

void print_tallies(const KernelList<Sgemm>& kernels, std::map<std::string, Tally>& tallies) {
  std::vector<std::vector<std::string>> cells = {
      {"kernel", "draws", "violations", "largest ratio", "of draw", "computed by"}};
  for (const Kernel<Sgemm>& kernel : kernels) {
    const Tally& t = tallies[kernel.name];
    if (t.draws == 0) continue;
    std::string paths;
    for (const auto& [path, count] : t.paths)
      paths += fmt::format("{}{} {}", paths.empty() ? "" : ", ", path, count);
    cells.push_back({kernel.name, fmt::format("{}", t.draws), fmt::format("{}", t.violations),
                     fmt::format("{:.3f}", t.worst), fmt::format("{}", t.worst_draw), paths});
  }
  fmt::print("{}", bench::align(cells));
}

// One case that was asked for, or draws.
std::vector<check::FuzzCase> cases_of(const CommonOptions& options, const FuzzOptions& fuzz,
                                      const Device& device) {
  std::vector<check::FuzzCase> cases;
  if (!fuzz.data.empty()) {
    check::FuzzCase& c = cases.emplace_back();
    try {
      c.data = check::parse_distribution(fuzz.data);
    } catch (const std::invalid_argument& error) {
      throw UsageError(
          fmt::format("--data: {}; there are:\n{}", error.what(), check::distribution_help()));
    }
    const std::vector<Shape> shapes = parse_shapes(fuzz.shape, 3, 0);
    if (shapes.size() != 1) throw UsageError("--shape: name one shape for --data");
    c.m = shapes[0].m, c.n = shapes[0].n, c.k = shapes[0].k;
    c.seed = options.seed;
    return cases;
  }
  const auto shapes = device.is_gpu() ? check::FuzzShapes::large : check::FuzzShapes::small;
  for (std::int64_t i = 0; i < fuzz.count; ++i)
    cases.push_back(check::draw_case(options.seed, fuzz.first + i, shapes));
  return cases;
}

std::vector<Estimate::Part> parts_of(const std::vector<check::FuzzCase>& cases) {
  std::vector<Estimate::Part> parts;
  parts.reserve(cases.size());
  for (const check::FuzzCase& c : cases)
    parts.push_back({0, 1e8 + static_cast<double>(c.m * c.n) * static_cast<double>(c.k)});
  return parts;
}

}  // namespace

int run_accuracy_fuzz(const CommonOptions& options, const FuzzOptions& fuzz,
                      const std::string& command) {
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const std::vector<check::FuzzCase> cases = cases_of(options, fuzz, device);
  const KernelList<Sgemm> kernels = split_kernels(options, device.kind);
  Session session(options.json);
  check::Workbench workbench(*runtime);
  Fuzzer fuzzer(workbench, kernels, fuzz.outputs, session.progress());

  if (!options.quiet()) {
    fmt::print(
        "{} ({}), root mean square errors in u |A| |B| beside those of one FP32 sum an "
        "element\n\n",
        device.name, to_string(device.kind));
  }
  std::map<std::string, Tally> tallies;
  int violations = 0;
  const auto tell = [&](std::int64_t number, const check::FuzzCase& c, const Finding& finding) {
    if (options.quiet()) return;
    session.progress().clear();
    fmt::print("draw {}, {}x{}x{}, {} by {}: {}\n  {}\n", number, c.m, c.n, c.k,
               finding.kernel->name, finding.path, describe(finding),
               repeating_command(options, c, finding.kernel->name));
    flush_output();
  };
  const auto work = [&] {
    session.begin(command, device, {});
    session.progress().plan(parts_of(cases));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const check::FuzzCase& c = cases[i];
      const std::int64_t number = fuzz.first + static_cast<std::int64_t>(i);
      const std::vector<Finding> found = fuzzer.find(c, fmt::format("draw {}", number));
      std::vector<bench::Row> rows;
      const Finding* first = nullptr;
      for (const Finding& finding : found) {
        if (is_kept(finding, found)) rows.push_back(row_of(finding, c, number));
        Tally& tally = tallies[finding.kernel->name];
        ++tally.draws;
        ++tally.paths[finding.path];
        if (finding.errors.ratio() > tally.worst)
          tally.worst = finding.errors.ratio(), tally.worst_draw = number;
        if (!finding.errors.is_violation()) continue;
        ++tally.violations;
        ++violations;
        tell(number, c, finding);
        if (first == nullptr) first = &finding;
      }
      if (first != nullptr && !fuzz.as_drawn) {
        const auto [smallest, finding] = fuzzer.shrink(c, *first);
        if (!options.quiet()) fmt::print("made smaller:\n");
        tell(number, smallest, finding);
      }
      session.add(rows);
      session.progress().next();
    }
  };
  const int code =
      session.run(work, [&] { return violations == 0 ? exit_fine : exit_not_verified; });
  if (!options.quiet()) {
    print_tallies(kernels, tallies);
    fmt::print("{} violations in {} draws\n", violations, cases.size());
  }
  return code;
}

}  // namespace kw
