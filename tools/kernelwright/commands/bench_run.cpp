// A run of `kernelwright bench`: the problems that are asked for, each by every kernel.
#include "commands/bench_run.hpp"

#include <algorithm>
#include <type_traits>

#include "bench/bench.hpp"
#include "bench/parts.hpp"
#include "bench/problems.hpp"
#include "bench/reduction_summary.hpp"
#include "bench/room.hpp"
#include "bench/rowwise_summary.hpp"
#include "bench/sweep_summary.hpp"
#include "bench/table.hpp"
#include "choice.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

// The host's time of a call: of the library's own calls, on a device to which calls are queued.
void check_enqueue(const BenchOptions& options, const Device& device) {
  if (device.kind == DeviceKind::cpu) {
    throw UsageError(
        fmt::format("--timing enqueue: {} computes a call before it returns, so none is enqueued; "
                    "use --device gpu",
                    device.name));
  }
  if (options.l2 == "cold") {
    throw UsageError(
        "--timing enqueue: caches do not change what the host takes; leave --l2 cold out");
  }
}

bench::Options timing_options(const BenchOptions& options, const Device& device) {
  if (options.timing == "enqueue") check_enqueue(options, device);
  bench::Options timing;
  if (options.l2 == "cold") {
    if (device.l2_bytes == 0) {
      throw UsageError(
          fmt::format("--l2 cold: {} does not state the size of its cache; use "
                      "--l2 hot",
                      device.name));
    }
    timing.l2 = bench::L2::cold;
  }
  if (options.timing == "alone") timing.timing = bench::TimingMethod::alone;
  if (options.timing == "enqueue") timing.timing = bench::TimingMethod::enqueue;
  timing.budget_ms = options.budget_ms > 0 ? options.budget_ms : options.quick ? 30 : 200;
  // A GPU's slowest kernels are part of the story; a CPU's would be most of the time.
  timing.max_call_ms = options.max_call_ms >= 0 ? options.max_call_ms : device.is_gpu() ? 0 : 2000;
  timing.within = options.within;
  return timing;
}

check::ScaleAddCase make_case(const BenchOptions& options, const Shape& shape) {
  check::ScaleAddCase c;
  c.rows = shape.m;
  c.cols = shape.n;
  c.scale = options.scale;
  c.shift = options.shift;
  c.input = options.parsed_input();
  c.seed = options.seed;
  return c;
}

// What is measured where no shape is asked for: all that the device does in reasonable time.
std::vector<Shape> default_shapes(const Device& device, const ScaleAdd&) {
  const std::int64_t largest = device.is_gpu()                  ? 16384
                               : device.kind == DeviceKind::cpu ? 8192
                                                                : 512;
  std::vector<Shape> shapes;
  for (std::int64_t edge = 256; edge <= largest; edge *= 2) shapes.push_back({edge, edge, 0});
  return shapes;
}

// What a run measures; labels where the cases are a sweep's products.
template <class Case>
struct Chosen {
  std::vector<Case> cases;
  std::vector<bench::SweepRow> labels;
  std::string left_out;
};

Chosen<check::SgemmCase> chosen_cases(const BenchOptions& options, const Device& device,
                                      const Sgemm&) {
  ChosenProducts products =
      chosen_products(options.product, device, options.parsed_input(), options.seed);
  return {std::move(products.cases), std::move(products.labels), std::move(products.left_out)};
}

Chosen<check::Level3Case> chosen_cases(const BenchOptions& options, const Device& device,
                                       const Level3&) {
  ChosenLevel3 chosen = chosen_level3(options.level3, device, options.parsed_input(), options.seed);
  return {std::move(chosen.cases), std::move(chosen.labels), std::move(chosen.left_out)};
}

Chosen<check::CgemmCase> chosen_cases(const BenchOptions& options, const Device& device,
                                      const Cgemm&) {
  ChosenComplexProducts products =
      complex_products(options.product, device, options.parsed_input(), options.seed);
  return {std::move(products.cases), std::move(products.labels), std::move(products.left_out)};
}

Chosen<check::CtrsmCase> chosen_cases(const BenchOptions& options, const Device& device,
                                      const Ctrsm&) {
  ChosenCtrsm chosen = chosen_ctrsm(options.ctrsm, device, options.parsed_input(), options.seed);
  return {std::move(chosen.cases), std::move(chosen.labels), std::move(chosen.left_out)};
}

Chosen<check::ScaleAddCase> chosen_cases(const BenchOptions& options, const Device& device,
                                         const ScaleAdd& scale_add) {
  const std::vector<Shape> shapes = !options.shape.empty() ? parse_shapes(options.shape, 2, 1)
                                                           : default_shapes(device, scale_add);
  std::vector<check::ScaleAddCase> cases;
  cases.reserve(shapes.size());
  for (const Shape& shape : shapes) cases.push_back(make_case(options, shape));
  return {std::move(cases), {}, {}};
}

Chosen<check::ReduceCase> chosen_cases(const BenchOptions& options, const Device& device,
                                       const Reduce&) {
  ChosenReductions chosen =
      chosen_reductions(options.reduce, device, options.parsed_input(), options.seed);
  return {std::move(chosen.cases), std::move(chosen.labels), std::move(chosen.left_out)};
}

Chosen<check::RowwiseCase> chosen_cases(const BenchOptions& options, const Device& device,
                                        const Rowwise&) {
  ChosenRowwise chosen =
      chosen_rowwise(options.rowwise, device, options.parsed_input(), options.seed);
  return {std::move(chosen.cases), std::move(chosen.labels), std::move(chosen.left_out)};
}

Chosen<check::AttentionCase> chosen_cases(const BenchOptions& options, const Device& device,
                                          const Attention&) {
  ChosenAttention chosen =
      chosen_attention(options.attention, device, options.parsed_input(), options.seed);
  return {std::move(chosen.cases), std::move(chosen.labels), std::move(chosen.left_out)};
}

// The globs of --kernel, or what stands for them. Of a sweep of products, and of the host's time,
// the library's choice alone, never the best of its kernels.
template <class Problem>
std::string asked_kernels(const BenchOptions& options, const Device& device) {
  if (!options.kernel.empty()) return options.kernel;
  constexpr bool is_called_whole =
      std::is_same_v<Problem, Level3> || std::is_same_v<Problem, Ctrsm>;
  if (is_called_whole && device.kind != DeviceKind::cpu) return "kernelwright*";
  if (std::is_same_v<Problem, Cgemm> && options.product.is_of_products() &&
      device.kind == DeviceKind::cpu)
    return "cpu_cgemm*";
  if (options.product.is_of_products()) return kernel_of_choice(device);
  if (options.attention.is_random())
    return device.kind == DeviceKind::cpu ? "cpu_attention" : "kernelwright*";
  if (options.rowwise.is_random())
    return device.kind == DeviceKind::cpu ? "cpu_rowwise" : "kernelwright";
  if (options.reduce.is_random()) return device.kind == DeviceKind::cpu ? "cpu_reduce" : "reduce_*";
  return options.timing == "enqueue" ? "kernelwright*" : "";
}

template <class Problem>
void check_whole_calls(const KernelList<Problem>& kernels) {
  for (const Kernel<Problem>& kernel : kernels) {
    if (is_choice(kernel.name) || kernel.role == Role::peer) continue;
    throw UsageError(
        fmt::format("--timing enqueue: {} is no whole call of the library; --kernel takes "
                    "kernelwright and kernelwright_split here",
                    kernel.name));
  }
}

// The chosen kernels, and the peers beside them unless they are not wanted.
template <class Problem>
KernelList<Problem> chosen_kernels(const BenchOptions& options, const Device& device) {
  const KernelList<Problem> all = all_kernels<Problem>(device.kind);
  KernelList<Problem> chosen = select_kernels(all, asked_kernels<Problem>(options, device));
  if (options.timing == "enqueue") check_whole_calls(chosen);
  const auto is_chosen = [&](const Kernel<Problem>& kernel) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const Kernel<Problem>& other) {
      return std::string_view(other.name) == kernel.name;
    });
  };
  if (options.no_peer && options.kernel.empty()) {
    std::erase_if(chosen, [](const Kernel<Problem>& kernel) { return kernel.role == Role::peer; });
  }
  for (const Kernel<Problem>& kernel : all) {
    if (kernel.role == Role::peer && !options.no_peer && !is_chosen(kernel)) {
      chosen.push_back(kernel);
    }
  }
  return chosen;
}

void print_heading(const Device& device, const bench::Ceilings& ceilings,
                   const bench::Options& timing, bool is_product) {
  fmt::print("{} ({})", device.name, to_string(device.kind));
  if (ceilings.fp32_tflops) fmt::print(", measured peak {:.3g} TFLOP/s", *ceilings.fp32_tflops);
  if (ceilings.read_gbs) fmt::print(", measured read {:.4g} GB/s", *ceilings.read_gbs);
  fmt::print(", L2 {}\n", bench::to_string(timing.l2));
  if (ceilings.empty_kernel) {
    fmt::print("An empty kernel takes {:.2f} us in a graph, {:.2f} us between events.\n",
               ceilings.empty_kernel->graph_us, ceilings.empty_kernel->events_us);
  }
  if (ceilings.read_gbs && timing.l2 == bench::L2::hot && !is_product) {
    fmt::print(
        "Operands under {:.0f} MB may stay in the caches: they have no share of the measured read "
        "(of peak).\nFrom memory: --l2 cold.\n",
        1e-6 * static_cast<double>(bench::cold_factor * device.l2_bytes));
  }
  if (device.kind == DeviceKind::host_simt) {
    fmt::print(
        "Host SIMT runs GPU kernels on the CPU to check them: its times say nothing about "
        "a GPU.\n");
  }
  fmt::print("\n");
}

template <class Problem>
constexpr bool is_product = std::is_same_v<Problem, Sgemm> || std::is_same_v<Problem, Cgemm>;
// Whose rate is of operations.
template <class Problem>
constexpr bool counts_operations = is_product<Problem> || std::is_same_v<Problem, Attention>;

constexpr const char* about_timing =
    "auto: short calls many at a time in a graph, others by events; alone: every call by itself on "
    "an idle device, launch latency included";

template <class Problem, class Trial>
int run(const BenchOptions& options, const std::string& command) {
  static_cast<void>(options.parsed_input());
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const bench::Options timing = timing_options(options, device);
  const KernelList<Problem> kernels = chosen_kernels<Problem>(options, device);
  const auto chosen = chosen_cases(options, device, Problem{});
  const auto& cases = chosen.cases;
  // What a sweep has beyond this device is left out; what was asked for by name is refused.
  const bool is_typed = !options.shape.empty() || !options.product.shape.empty() ||
                        !options.reduce.shape.empty() || !options.level3.shape.empty() ||
                        !options.ctrsm.shape.empty() || !options.rowwise.shape.empty() ||
                        !options.attention.shape.empty();
  if (is_typed) bench::require_room<Trial>(options.size_arguments(), cases, device);
  Session session(options.json);
  mention_broken_tune_cache(device);

  check::Workbench workbench(*runtime);
  std::vector<bench::Row> rows;
  const auto work = [&] {
    Progress& progress = session.progress();
    bench::Ceilings ceilings;
    if (!options.no_ceilings) {
      progress.show("measuring the device's limits");
      ceilings = bench::measure_ceilings(workbench);
      progress.clear();
    }
    session.begin(command, device, ceilings);
    if (!options.quiet()) print_heading(device, ceilings, timing, counts_operations<Problem>);
    flush_output();
    if (!chosen.left_out.empty()) progress.say(chosen.left_out);
    const auto roofline =
        bench::roofline_of(ceilings, device, timing.timing == bench::TimingMethod::alone);
    bench::Bench bench(
        workbench, timing, ceilings, [&](const std::string& line) { progress.say(line); },
        [&](const std::string& text) { progress.show(text); });
    progress.plan(
        bench::parts_of(cases, static_cast<double>(kernels.size()) * timing.budget_ms * 1e-3));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::vector<bench::Row> found = bench.run(kernels, cases[i]);
      if constexpr (is_product<Problem>) {
        if (!chosen.labels.empty()) label_rows(found, chosen.labels[i], cases[i], roofline);
      } else if (!chosen.labels.empty()) {
        for (bench::Row& row : found) row.sweep = chosen.labels[i];
      }
      session.add(found);
      progress.next();
      if (!options.quiet() && !found.empty()) {
        fmt::print("{}\n", bench::problem_table(found));
        flush_output();
      }
      rows.insert(rows.end(), found.begin(), found.end());
    }
  };
  const auto verdict = [&] {
    return std::all_of(rows.begin(), rows.end(), [](const bench::Row& row) { return row.verified; })
               ? exit_fine
               : exit_not_verified;
  };
  const int code = session.run(work, verdict);
  if (!options.quiet()) {
    fmt::print("{}", chosen.labels.empty()           ? bench::summary_table(rows)
                     : options.reduce.is_random()    ? bench::reduction_table(rows)
                     : options.rowwise.is_random()   ? bench::rowwise_table(rows)
                     : options.attention.is_random() ? bench::summary_table(rows)
                                                     : bench::sweep_table(rows));
  }
  return code;
}

}  // namespace

int bench_sgemm(const BenchOptions& options, const std::string& command) {
  return run<Sgemm, check::SgemmTrial>(options, command);
}
int bench_level3(const BenchOptions& options, const std::string& command) {
  return run<Level3, check::Level3Trial>(options, command);
}
int bench_cgemm(const BenchOptions& options, const std::string& command) {
  return run<Cgemm, check::CgemmTrial>(options, command);
}
int bench_ctrsm(const BenchOptions& options, const std::string& command) {
  return run<Ctrsm, check::CtrsmTrial>(options, command);
}
int bench_scale_add(const BenchOptions& options, const std::string& command) {
  return run<ScaleAdd, check::ScaleAddTrial>(options, command);
}
int bench_reduce(const BenchOptions& options, const std::string& command) {
  return run<Reduce, check::ReduceTrial>(options, command);
}
int bench_rowwise(const BenchOptions& options, const std::string& command) {
  return run<Rowwise, check::RowwiseTrial>(options, command);
}

int bench_attention(const BenchOptions& options, const std::string& command) {
  return run<Attention, check::AttentionTrial>(options, command);
}

void add_timing_options(CLI::App& to, BenchOptions& options) {
  options.add_device(to);
  options.add_kernel(to);
  to.add_flag(
      "--no-peer", options.no_peer,
      "Leave out what kernels are measured beside: the vendor's library, a plain copy of the rows");
  to.add_flag(
      "--no-ceilings", options.no_ceilings,
      "Begin at once: what the device reaches is not measured, and rows have no share of it");
  to.add_option("--l2", options.l2,
                "hot: every call on the same operands; cold: on operands that no cache holds")
      ->check(CLI::IsMember({"hot", "cold"}))
      ->capture_default_str();
  to.add_option("--budget-ms", options.budget_ms,
                "Measuring time a kernel and size; at least 3 repeats in any case (default: 200, "
                "with --quick 30)")
      ->check(number_from_zero(false));
  to.add_option("--max-call-ms", options.max_call_ms,
                "Leave a kernel out at sizes where one call would take longer; 0: never (default: "
                "0 on a GPU, else 2000)")
      ->check(number_from_zero(true));
  to.add_flag("--quick", options.quick, "Fewer repeats");
  options.add_input(to);
  options.add_json(to);
}

void add_timing(CLI::App& to, BenchOptions& options) {
  to.add_option("--timing", options.timing, about_timing)
      ->check(CLI::IsMember({"auto", "alone"}))
      ->capture_default_str();
}

void add_timing_with_enqueue(CLI::App& to, BenchOptions& options) {
  to.add_option("--timing", options.timing,
                std::string(about_timing) +
                    "; enqueue: what the host takes for a call of the library, whatever the device "
                    "does with it (without --shape and --sweep: --sweep mixed)")
      ->check(CLI::IsMember({"auto", "alone", "enqueue"}))
      ->capture_default_str();
}

}  // namespace kw
