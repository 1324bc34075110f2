// kernelwright bench: verified times of every kernel beside the vendor's, in one run.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/parts.hpp"
#include "bench/problems.hpp"
#include "bench/reduction_summary.hpp"
#include "bench/room.hpp"
#include "bench/sweep_summary.hpp"
#include "bench/table.hpp"
#include "choice.hpp"
#include "commands/bench_distributed.hpp"
#include "commands/bench_sustain.hpp"
#include "commands/commands.hpp"
#include "commands/level3_options.hpp"
#include "commands/product_options.hpp"
#include "commands/reduce_options.hpp"
#include "commands/rowwise_options.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

struct BenchOptions : CommonOptions {
  std::string l2 = "hot";
  double budget_ms = 0, max_call_ms = -1, within = 0;
  ProductChoice product;               // of sgemm
  float scale = 1.25f, shift = -0.5f;  // of scale_add
  ReduceChoice reduce;                 // of reduce
  Level3Choice level3;                 // of level3
  RowwiseChoice rowwise;               // of rowwise
  std::string timing = "auto";
  bool quick = false, no_peer = false, no_ceilings = false;
  double sustain_s = 0;  // of sgemm

  // Those that made the problems as large as they are.
  const char* size_arguments() const {
    const bool batch = product.batch > 0, pad = !product.pad.empty();
    if (batch && pad) return "--shape, --batch and --pad";
    return batch ? "--shape and --batch" : pad ? "--shape and --pad" : "--shape";
  }
};

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

// The globs of --kernel, or what stands for them. Of a sweep of products, and of the host's time,
// the library's choice alone, never the best of its kernels.
template <class Problem>
std::string asked_kernels(const BenchOptions& options, const Device& device) {
  if (!options.kernel.empty()) return options.kernel;
  if (std::is_same_v<Problem, Level3> && device.kind != DeviceKind::cpu) return "kernelwright*";
  if (std::is_same_v<Problem, Cgemm> && options.product.is_of_products() &&
      device.kind == DeviceKind::cpu)
    return "cpu_cgemm*";
  if (options.product.is_of_products()) return kernel_of_choice(device);
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
                        !options.rowwise.shape.empty();
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
    if (!options.quiet()) print_heading(device, ceilings, timing, is_product<Problem>);
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
    fmt::print("{}", chosen.labels.empty()         ? bench::summary_table(rows)
                     : options.reduce.is_random()  ? bench::reduction_table(rows)
                     : options.rowwise.is_random() ? bench::summary_table(rows)
                                                   : bench::sweep_table(rows));
  }
  return code;
}

void add_timing_options(CLI::App& to, BenchOptions& options) {
  options.add_device(to);
  options.add_kernel(to);
  to.add_flag("--no-peer", options.no_peer, "Leave the vendor's library out");
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

constexpr const char* about_timing =
    "auto: short calls many at a time in a graph, others by events; alone: every call by itself on "
    "an idle device, launch latency included";

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

// What times kernels in turn has no place beside --sustain.
void check_sustain(const BenchOptions& options) {
  const auto refuse = [](const char* option, bool is_given) {
    if (!is_given) return;
    throw UsageError(
        fmt::format("--sustain: runs one kernel after the other, each for so many seconds, on "
                    "operands that the caches may hold; leave {} out",
                    option));
  };
  refuse("--timing", options.timing != "auto");
  refuse("--l2 cold", options.l2 == "cold");
  refuse("--budget-ms", options.budget_ms > 0);
  refuse("--max-call-ms", options.max_call_ms >= 0);
  refuse("--within", options.within > 0);
  refuse("--quick", options.quick);
  if (options.product.is_of_products()) {
    throw UsageError(fmt::format(
        "--sustain: --sweep {} has too many products, each of which would run for {:g} s; take a "
        "few with --shape",
        options.product.sweep, options.sustain_s));
  }
}

void add_bench_sgemm(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("sgemm", "C = alpha op(A) op(B) + beta C");
  command->footer(
      "Sweeps: classic (squares 128 to 16384), skinny, odd, small, mixed (a few of each), batched\n"
      "(4096 products of 32 to 64 of 512), random (--count products that --seed draws, seeds under "
      "1000 for tuning),\n"
      "programs (products of well-known programs). The last two measure the library's choice\n"
      "beside the vendor's library and end with means, percentiles and losses; with\n"
      "--kernel 'kernelwright*' both arithmetics.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench sgemm --sweep classic --json sgemm.json\n"
      "  kernelwright bench sgemm --sweep random --seed 7 --count 60\n"
      "  kernelwright bench sgemm --sweep programs --kernel 'kernelwright*' --json programs.json\n"
      "  kernelwright bench sgemm --sweep random --kernel '*' --no-peer --within 4 --json "
      "all.json\n"
      "  kernelwright bench sgemm --kernel 'r04*,r07*' --shape 4096,1000x3000x500\n"
      "  kernelwright bench sgemm --device cpu --quick\n"
      "  kernelwright bench sgemm --shape 256 --l2 cold\n"
      "  kernelwright bench sgemm --timing enqueue --json host-time.json\n"
      "  kernelwright bench sgemm --sustain 5 --json sgemm-sustained.json\n"
      "  kernelwright bench sgemm --shape 64,100x50x30 --batch 1000 --ops nn,tn\n"
      "  kernelwright bench sgemm --shape 4096 --pad 0,1,0");
  auto options = std::make_shared<BenchOptions>();
  options->product.add_bench_options(*command);
  command
      ->add_option("--within", options->within,
                   "Of the kernels that predict their times only those whose prediction is at most "
                   "so many times the least; rows then state predicted_us and workspace_bytes")
      ->check(number_from_zero(false));
  add_timing_options(*command, *options);
  add_timing_with_enqueue(*command, *options);
  command
      ->add_option("--sustain", options->sustain_s,
                   "Run each kernel back to back for so many seconds, alone, and report the rate "
                   "that lasts, power, clock and energy a call; beside the vendor's FP32, FP16 and "
                   "BF16 products (default sizes: 2048, 4096, 8192, 16384; at least 5 for energy)")
      ->type_name("SECONDS")
      ->check(number_from_zero(false));
  command->callback([options, &invocation] {
    if (options->sustain_s > 0) {
      check_sustain(*options);
      invocation.exit_code =
          run_sustained({options->sustain_s, options->no_peer, options->no_ceilings}, *options,
                        options->product, invocation.command);
      return;
    }
    if (options->timing == "enqueue") options->product.default_sweep = "mixed";
    invocation.exit_code = run<Sgemm, check::SgemmTrial>(*options, invocation.command);
  });
}

void add_level3(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "level3", "Updates of a triangle, products with a symmetric or triangular matrix, solutions");
  command->footer(
      "Measures the library's choice in both arithmetics beside the vendor's library.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench level3 --json level3.json\n"
      "  kernelwright bench level3 --op ssyrk,strsm --shape 8192,8192x8192x1024 --uplo "
      "lower,upper\n"
      "  kernelwright bench level3 --sweep random --seed 7 --count 60");
  auto options = std::make_shared<BenchOptions>();
  options->level3.add_options(*command);
  add_timing_options(*command, *options);
  add_timing(*command, *options);
  command->callback([options, &invocation] {
    invocation.exit_code = run<Level3, check::Level3Trial>(*options, invocation.command);
  });
}

void add_bench_cgemm(CLI::App& bench, Invocation& invocation) {
  CLI::App* command =
      bench.add_subcommand("cgemm", "C = alpha op(A) op(B) + beta C of complex matrices");
  command->footer(
      "Sizes count complex elements, and a product has 8mnk operations. Sweeps as of sgemm.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench cgemm --shape 1024,4096 --kernel 'kernelwright*' --json cgemm.json\n"
      "  kernelwright bench cgemm --sweep random --seed 7 --count 60\n"
      "  kernelwright bench cgemm --shape 16 --batch 1000 --ops nn,tn --conjugate");
  auto options = std::make_shared<BenchOptions>();
  options->product.add_bench_options(*command);
  options->product.add_complex_options(*command);
  command
      ->add_option("--within", options->within,
                   "Of the kernels that predict their times only those whose prediction is at most "
                   "so many times the least; rows then state predicted_us and workspace_bytes")
      ->check(number_from_zero(false));
  add_timing_options(*command, *options);
  add_timing(*command, *options);
  command->callback([options, &invocation] {
    invocation.exit_code = run<Cgemm, check::CgemmTrial>(*options, invocation.command);
  });
}

void add_scale_add(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("scale_add", "B = scale A + shift, elementwise");
  command->footer(
      "Examples:\n"
      "  kernelwright bench scale_add\n"
      "  kernelwright bench scale_add --shape 8192,1000x3000 --l2 cold --json scale-add.json");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("--shape", options->shape, "ROWSxCOLS,... (N is a square)")
      ->type_name("LIST")
      ->check(not_empty());
  command->add_option("--scale", options->scale)->capture_default_str();
  command->add_option("--shift", options->shift)->capture_default_str();
  add_timing_options(*command, *options);
  add_timing(*command, *options);
  command->callback([options, &invocation] {
    invocation.exit_code = run<ScaleAdd, check::ScaleAddTrial>(*options, invocation.command);
  });
}

void add_reduce(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("reduce", "Many numbers to one, or to one a row");
  command->footer(
      "Sweeps: classic (2^10, 2^11, ... 2^30), odd (odd lengths, aligned and misaligned), shapes\n"
      "(rows, columns, segments), random (--count reductions that --seed draws, seeds under 1000 "
      "for\n"
      "tuning: any operation, type, shape, aspect and alignment; ends with means, percentiles, "
      "losses\n"
      "and shares of the read bandwidth). Without --shape and --sweep: classic, as far as the "
      "device\n"
      "is quick.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench reduce --sweep classic --l2 cold --json reduce.json\n"
      "  kernelwright bench reduce --sweep random --seed 7 --count 60 --l2 cold\n"
      "  kernelwright bench reduce --op sum,argmin --dtype float32,float16 --shape 2^28,1000003\n"
      "  kernelwright bench reduce --shape 4096x1000 --axis columns\n"
      "  kernelwright bench reduce --shape 100000 --segments log_uniform\n"
      "  kernelwright bench reduce --op variance --correction 1 --device cpu --quick");
  auto options = std::make_shared<BenchOptions>();
  ReduceChoice& choice = options->reduce;
  command->add_option("--op", choice.ops, "all, or some of " + reduce_op_names())
      ->type_name("LIST")
      ->capture_default_str();
  command->add_option("--dtype", choice.types, "all, or some of " + data_type_names())
      ->type_name("LIST")
      ->capture_default_str();
  CLI::Option* shape = command->add_option("--shape", choice.shape,
                                           "N or ROWSxCOLS,...; with --segments how many of them");
  shape->type_name("LIST")->check(not_empty());
  CLI::Option* sweep =
      command->add_option("--sweep", choice.sweep, "classic, odd, shapes or random")
          ->check(not_empty())
          ->excludes(shape);
  command
      ->add_option("--count", choice.count,
                   "Of --sweep random: reductions, a third each under 4 us, 4 to 50 and over 50 by "
                   "an H200's bandwidth (default: 200); --seed draws them")
      ->check(whole_number(1, 100000))
      ->needs(sweep);
  command
      ->add_option("--max-elements", choice.max_elements,
                   "Of --sweep random: leave out reductions of more elements (default: 2^24 on a "
                   "CPU, 2^14 through host SIMT, on a GPU none)")
      ->check(whole_number(1, INT64_MAX))
      ->needs(sweep);
  command->add_option("--axis", choice.axis, "whole (default of N), rows (of ROWSxCOLS) or columns")
      ->check(CLI::IsMember({"whole", "rows", "columns"}));
  command->add_option(
      "--segments", choice.segments,
      "Lengths of segments: one_to_32, log_uniform (1 to 100000), equal (64), uneven");
  command->add_option("--misalign", choice.misalign, "Elements past a 256-byte boundary")
      ->check(whole_number(0, 255))
      ->capture_default_str();
  command
      ->add_option("--correction", choice.correction,
                   "variance divides by the number of elements less this")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  add_timing_options(*command, *options);
  add_timing(*command, *options);
  command->callback([options, &invocation] {
    invocation.exit_code = run<Reduce, check::ReduceTrial>(*options, invocation.command);
  });
}

void add_rowwise(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "rowwise", "Softmax, layer norm, RMS norm and maps: each row of a matrix to another");
  command->footer(
      "GB/s count one read and one write, of the residual and the sum too; of peak is the share "
      "of\n"
      "the measured copy bandwidth. --sweep random measures the library's choice.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench rowwise --op softmax --shape 65536x768,1x100000000 --l2 cold\n"
      "  kernelwright bench rowwise --op layer_norm --dtype all --residual\n"
      "  kernelwright bench rowwise --sweep random --seed 7 --count 60 --least-mib 64 --l2 cold");
  auto options = std::make_shared<BenchOptions>();
  options->rowwise.add_options(*command);
  add_timing_options(*command, *options);
  add_timing(*command, *options);
  command->callback([options, &invocation] {
    invocation.exit_code = run<Rowwise, check::RowwiseTrial>(*options, invocation.command);
  });
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "Time every kernel that gives the right answer");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  kernelwright bench sgemm --sweep classic --json sgemm.json\n"
      "  kernelwright bench reduce --shape 2^20 --op sum,max\n"
      "  kernelwright bench scale_add --shape 8192");
  add_bench_sgemm(*command, invocation);
  add_level3(*command, invocation);
  add_bench_cgemm(*command, invocation);
  add_reduce(*command, invocation);
  add_rowwise(*command, invocation);
  add_scale_add(*command, invocation);
  add_bench_distributed(*command, invocation);
  add_bench_out_of_core(*command, invocation);
}

}  // namespace kw
