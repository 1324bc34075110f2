// kernelwright verify: every kernel on every edge case, each element against float64.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "bench/library_calls.hpp"
#include "bench/memory_pressure.hpp"
#include "bench/parts.hpp"
#include "bench/problems.hpp"
#include "bench/room.hpp"
#include "bench/table.hpp"
#include "check/cases.hpp"
#include "check/verify_cgemm.hpp"
#include "commands/bench_distributed.hpp"
#include "commands/commands.hpp"
#include "commands/level3_options.hpp"
#include "commands/product_options.hpp"
#include "commands/reduce_options.hpp"
#include "commands/rowwise_options.hpp"
#include "commands/session.hpp"
#include "commands/verify_attention.hpp"
#include "commands/verify_cases.hpp"
#include "kernels.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

constexpr int failures_told = 5;  // a kernel
constexpr double mebibyte = 1 << 20;
constexpr std::size_t largest_chunk_of_case = std::size_t{1} << 30;
constexpr const char* whole_calls = "kernelwright,kernelwright_split";

// The same text, for as long as the program runs.
const char* lasting(const char* text) {
  static std::set<std::string> texts;
  return texts.insert(text).first->c_str();
}

struct Tally {
  int verified = 0, refused = 0, failed = 0;
  double worst_error = 0, worst_share = 0;  // of the tolerance, where there is one
  std::vector<std::string> told;

  template <class Case>
  void count(const Case& c, Role role, const check::VerifyResult& result) {
    if (result.outcome == check::Outcome::unsupported && check::may_refuse(role, c)) {
      ++refused;
      return;
    }
    worst_error = std::max(worst_error, result.error.max);
    if (result.error.bound > 0) {
      worst_share = std::max(worst_share, result.error.max / result.error.bound);
    }
    if (result.ok()) {
      ++verified;
      return;
    }
    ++failed;
    if (static_cast<int>(told.size()) < failures_told) {
      told.push_back(fmt::format("{}: {}", describe(c), result.message));
    }
  }
};

void print_tallies(const char* op, const std::vector<std::string>& names,
                   const std::vector<Tally>& tallies) {
  std::vector<std::vector<std::string>> cells = {
      {op, "cases", "verified", "refused", "failed", "max error", "of bound"}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Tally& t = tallies[i];
    cells.push_back({names[i], fmt::format("{}", t.verified + t.refused + t.failed),
                     fmt::format("{}", t.verified), fmt::format("{}", t.refused),
                     fmt::format("{}", t.failed), fmt::format("{:.2f} u", t.worst_error),
                     fmt::format("{:.0f} %", 100 * t.worst_share)});
  }
  fmt::print("{}", bench::align(cells));
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const std::string& line : tallies[i].told) fmt::print("  {} {}\n", names[i], line);
    const int untold = tallies[i].failed - static_cast<int>(tallies[i].told.size());
    if (untold > 0) fmt::print("  {} and {} more\n", names[i], untold);
  }
  fmt::print("\n");
}

// A small case takes about as long as this much work.
constexpr double least_work = 1e6;

// A kernel's result; a whole call's, in a new context, while most of the device's memory is taken.
template <class Trial, class Problem>
check::VerifyResult verify_one(check::Workbench& workbench, Trial& trial,
                               const Kernel<Problem>& kernel, std::optional<double> leave_free) {
  if constexpr (std::is_same_v<Problem, Sgemm>) {
    if (leave_free) {
      const auto free_bytes = static_cast<std::size_t>(*leave_free * mebibyte);
      const bench::MemoryPressure pressure(workbench.runtime(), free_bytes, largest_chunk_of_case);
      bench::LibraryCalls library(workbench);
      check::VerifyResult result = trial.verify(library.row(kernel.math));
      if (result.path != nullptr) result.path = lasting(result.path);
      return result;
    }
  }
  return trial.verify(kernel);
}

// Cases outside, kernels inside: the float64 reference of a case is computed once.
template <class Trial, class Problem, class Case>
bool verify_all(check::Workbench& workbench, const KernelList<Problem>& kernels,
                const std::vector<Case>& cases, const std::vector<bench::SweepRow>& labels,
                const char* op, const VerifyOptions& options, Session& session) {
  std::vector<Tally> tallies(kernels.size());
  std::vector<std::set<std::string>> paths(kernels.size());
  std::vector<std::string> names;
  for (const auto& kernel : kernels) names.emplace_back(kernel.name);
  Progress& progress = session.progress();
  // What no case needs is taken once.
  std::optional<bench::MemoryPressure> pressure;
  if (options.leave_free) {
    double most = 0;
    for (const Case& c : cases) most = std::max(most, Trial::bytes(c, workbench.device()));
    pressure.emplace(workbench.runtime(),
                     static_cast<std::size_t>(1.1 * most + (*options.leave_free + 64) * mebibyte),
                     workbench.device().memory_bytes / 4);
  }
  progress.plan(bench::parts_of(cases, 0, least_work));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Trial trial(workbench, cases[i]);
    std::vector<bench::Row> rows;
    for (std::size_t j = 0; j < kernels.size(); ++j) {
      progress.show(fmt::format("verifying {}: {}", op, names[j]));
      const check::VerifyResult result =
          verify_one(workbench, trial, kernels[j], options.leave_free);
      if (result.path != nullptr) paths[j].insert(result.path);
      tallies[j].count(cases[i], kernels[j].role, result);
      if (result.outcome != check::Outcome::unsupported) {
        rows.push_back(bench::make_row(kernels[j], trial.problem(), cases[i], result));
      }
    }
    if constexpr (std::is_same_v<Case, check::SgemmCase>) {
      if (!labels.empty()) label_rows(rows, labels[i], cases[i], std::nullopt);
    }
    session.add(rows);
    progress.next();
  }
  progress.clear();
  if (!options.quiet()) print_tallies(op, names, tallies);
  for (std::size_t j = 0; options.leave_free && !options.quiet() && j < kernels.size(); ++j)
    fmt::print("{} took: {}\n", names[j], fmt::join(paths[j], ", "));
  flush_output();
  return std::all_of(tallies.begin(), tallies.end(), [](const Tally& t) { return t.failed == 0; });
}

// One that is named by --kernel stays, and its refusals count.
void leave_out_of_another_device(KernelList<Sgemm>& kernels, const Device& device,
                                 Progress& progress) {
  std::erase_if(kernels, [&](const Kernel<Sgemm>& kernel) {
    if (!is_for_another_device(kernel, device)) return false;
    progress.say(fmt::format("{} is left out: not for {}", kernel.name, device.architecture));
    return true;
  });
}

// The cases of one operation, which fit, over its kernels.
template <class Trial, class Problem, class Case>
bool verify_op(check::Workbench& workbench, const VerifyOptions& options,
               const std::vector<Case>& cases, const char* op, Session& session,
               const std::vector<bench::SweepRow>& labels = {}) {
  const Device& device = workbench.device();
  KernelList<Problem> kernels = select_kernels(
      all_kernels<Problem>(device.kind), options.leave_free ? whole_calls : options.kernel.c_str());
  if constexpr (std::is_same_v<Problem, Sgemm>) {
    if (options.kernel.empty()) leave_out_of_another_device(kernels, device, session.progress());
  }
  const char* size_arguments = !labels.empty()      ? "--sweep"
                               : options.batch != 1 ? "--shape and --batch"
                                                    : "--shape";
  bench::require_room<Trial>(size_arguments, cases, device);
  return verify_all<Trial>(workbench, kernels, cases, labels, op, options, session);
}

bool verify_sweep(check::Workbench& workbench, const VerifyOptions& options, Session& session) {
  const ChosenProducts products =
      chosen_products(options.product, workbench.device(), options.parsed_input(), options.seed);
  if (!products.left_out.empty()) session.progress().say(products.left_out);
  return verify_op<check::SgemmTrial, Sgemm>(workbench, options, products.cases, "sgemm", session,
                                             products.labels);
}

// The machine's own memory is not taken.
void check_leave_free(const Device& device) {
  const bool is_machines =
      device.kind == DeviceKind::cpu ||
      (device.kind == DeviceKind::host_simt && std::getenv("KW_HOST_SIMT_MEMORY") == nullptr);
  if (!is_machines) return;
  throw UsageError(fmt::format(
      "--leave-free: the memory of {} is this machine's; take --device gpu, or --device host-simt "
      "with a device of KW_HOST_SIMT_MEMORY bytes",
      device.name));
}

int run(const VerifyOptions& options, bool input_given, const std::string& command) {
  static_cast<void>(options.parsed_input());  // a wrong name is told before any work
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  // Kernels and shapes are of one operation: where none is named, of sgemm.
  const bool all = options.op.empty() && options.kernel.empty() && options.shape.empty() &&
                   options.product.sweep.empty() && !options.leave_free;
  const auto is_meant = [&](const char* op) {
    return all || (options.op.empty() ? std::string("sgemm") : options.op) == op;
  };
  if (!is_meant("sgemm") && options.is_of_sgemm()) {
    throw UsageError(fmt::format(
        "--sweep, --batch, --ops, --alpha, --beta and --leave-free are of sgemm, not of {}",
        options.op));
  }
  if (options.op == "attention" &&
      (!options.shape.empty() || !options.json.empty() || input_given)) {
    throw UsageError(
        "--shape, --input and --json are not of attention, which has edge cases with data of their "
        "own: leave them out");
  }
  if (options.leave_free) check_leave_free(device);
  check::Workbench workbench(*runtime);
  if (options.op == "attention")
    return verify_attention_kernels(workbench, options.kernel, options.seed, false)
               ? exit_fine
               : exit_not_verified;
  Session session(options.json);
  mention_broken_tune_cache(device);
  bool all_verified = true;
  const auto work = [&] {
    session.begin(command, device, {});
    if (!options.product.sweep.empty()) {
      all_verified &= verify_sweep(workbench, options, session);
    } else if (is_meant("sgemm")) {
      all_verified &= verify_op<check::SgemmTrial, Sgemm>(
          workbench, options, sgemm_cases(options, input_given), "sgemm", session);
    }
    if (is_meant("level3")) {
      all_verified &= verify_op<check::Level3Trial, Level3>(
          workbench, options, level3_cases(options, input_given), "level3", session);
    }
    if (is_meant("cgemm")) {
      all_verified &= verify_op<check::CgemmTrial, Cgemm>(
          workbench, options, cgemm_cases(options, input_given, device), "cgemm", session);
    }
    if (is_meant("ctrsm")) {
      all_verified &= verify_op<check::CtrsmTrial, Ctrsm>(
          workbench, options, ctrsm_cases(options, input_given), "ctrsm", session);
    }
    if (is_meant("reduce")) {
      all_verified &= verify_op<check::ReduceTrial, Reduce>(
          workbench, options, reduce_cases(options, input_given), "reduce", session);
    }
    if (is_meant("rowwise")) {
      const auto cases = rowwise_to_verify(options.reduce_op, options.dtype, options.shape,
                                           options.parsed_input(), options.seed);
      all_verified &=
          verify_op<check::RowwiseTrial, Rowwise>(workbench, options, cases, "rowwise", session);
    }
    if (is_meant("scale_add")) {
      all_verified &= verify_op<check::ScaleAddTrial, ScaleAdd>(
          workbench, options, scale_add_cases(options, input_given), "scale_add", session);
    }
    if (is_meant("attention")) {
      all_verified &=
          verify_attention_kernels(workbench, options.kernel, options.seed, options.quiet());
    }
  };
  return session.run(work, [&] { return all_verified ? exit_fine : exit_not_verified; });
}

}  // namespace

void add_verify_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("verify", "Compare every element of every kernel's result with float64");
  command->footer(
      "Without --shape: edge shapes with paddings, transposes, scalars, batches and kinds of data\n"
      "mixed.\n"
      "Without OP: all operations; sgemm only where --kernel or --shape is given.\n"
      "A refusal counts as a failure, except a rung's of a transposed operand, a batch or scalars\n"
      "on the device, and a production kernel's, as the library has others; of reductions also a\n"
      "rung's of all but float32 sums of whole arrays, and a peer's. A rung made of instructions\n"
      "that the device does not have is left out, unless --kernel names it.\n"
      "\n"
      "Examples:\n"
      "  kernelwright verify\n"
      "  kernelwright verify sgemm --kernel 'r0*' --shape 257x129x65,1000\n"
      "  kernelwright verify sgemm --device host-simt --json verified.json\n"
      "  kernelwright verify sgemm --kernel async_tile --shape 65x33x17 --batch 3 --ops nn,tt\n"
      "  kernelwright verify sgemm --sweep random --seed 7 --count 100 --kernel 'kernelwright*'\n"
      "  kernelwright verify sgemm --leave-free 100 --shape 8192,4096x16384x4096\n"
      "  kernelwright verify sgemm --gpus 2 --shape 8192\n"
      "  kernelwright verify level3 --op ssyrk,strsm --shape 300x200x100\n"
      "  kernelwright verify reduce --op argmin,argmax --dtype all\n"
      "  kernelwright verify reduce --shape 2^20,1000x3000 --op sum --dtype float32,int8\n"
      "  kernelwright verify rowwise --op softmax,layer_norm --shape 1000x768\n"
      "  kernelwright verify scale_add --shape 1000x3000");
  auto options = std::make_shared<VerifyOptions>();
  command
      ->add_option("op", options->op,
                   "sgemm, level3, cgemm, ctrsm, reduce, rowwise, scale_add or attention")
      ->check(CLI::IsMember(
          {"sgemm", "level3", "cgemm", "ctrsm", "reduce", "rowwise", "scale_add", "attention"}));
  CLI::Option* kernel = options->add_kernel(*command);
  CLI::Option* shape = command
                           ->add_option("--shape", options->shape,
                                        "MxNxK,...; of reduce N or ROWSxCOLS,...; of ctrsm, "
                                        "rowwise and scale_add ROWSxCOLS,...")
                           ->type_name("LIST")
                           ->check(not_empty());
  CLI::Option* sweep = command
                           ->add_option("--sweep", options->product.sweep,
                                        "Of sgemm: random or programs, as bench sgemm has them")
                           ->check(CLI::IsMember({"random", "programs"}))
                           ->excludes(shape);
  options->product.add_sweep_limits(*command, sweep);
  command
      ->add_option("--batch", options->batch,
                   "Of sgemm: products in one call, one behind the other in memory")
      ->check(whole_number(0, largest_extent))
      ->capture_default_str()
      ->needs(shape);
  command->add_option("--alpha", options->alpha, "Of sgemm: in place of several; nan and inf too")
      ->needs(shape);
  command->add_option("--beta", options->beta, "Likewise")->needs(shape);
  command->add_option("--ops", options->ops, "Of sgemm: some of nn,nt,tn,tt")
      ->type_name("LIST")
      ->check(not_empty())
      ->capture_default_str()
      ->needs(shape);
  command
      ->add_option(
          "--leave-free", options->leave_free,
          "Of sgemm: whole calls of the library in both arithmetics, each in a new context "
          "while all of the device's memory but so many MiB is taken; rows and a line at "
          "the end say which way each took")
      ->type_name("MIB")
      ->check(number_from_zero(false))
      ->excludes(kernel);
  command
      ->add_option("--op", options->reduce_op,
                   "Of level3: all, or some of ssyrk, ssyrkx, ssyr2k, ssymm, strmm, strsm, spotrf; "
                   "of reduce: "
                   "all, or some of " +
                       reduce_op_names() + "; of rowwise: all, or some of " + rowwise_op_names())
      ->type_name("LIST")
      ->capture_default_str();
  command
      ->add_option("--dtype", options->dtype,
                   "Of reduce and rowwise: all, or some of " + data_type_names())
      ->type_name("LIST")
      ->capture_default_str();
  options->add_device(*command);
  options->add_input(*command);
  options->add_json(*command);
  const auto gpus = std::make_shared<int>(0);
  add_gpus(*command, *gpus,
           {"--kernel", "--sweep", "--batch", "--alpha", "--beta", "--ops", "--leave-free", "--op",
            "--dtype"});
  command->callback([options, gpus, command, &invocation] {
    if (*gpus > 0) {
      if (options->op != "sgemm") throw UsageError("--gpus: is of sgemm; write verify sgemm");
      DistributedChoice choice(*options);
      choice.gpus = *gpus;
      choice.rounds = 0;
      invocation.exit_code = bench_distributed(choice, invocation.command);
      return;
    }
    invocation.exit_code = run(*options, command->count("--input") > 0, invocation.command);
  });
}

}  // namespace kw
