// kernelwright bench distributed: a product over several devices beside the library's own call on
// one of them.
#include "commands/bench_distributed.hpp"

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "bench/distributed.hpp"
#include "commands/limit.hpp"
#include "commands/session.hpp"
#include "interrupt.hpp"
#include "processes.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

// "NT": A as it is, B transposed.
Op parse_op(const std::string& ops, std::size_t which) {
  if (ops.size() != 2 || ops.find_first_not_of("NT") != std::string::npos) {
    throw UsageError(fmt::format("--ops: \"{}\" is none of NN, NT, TN and TT", ops));
  }
  return ops[which] == 'N' ? Op::none : Op::transpose;
}

// Tall grids first: a row-major panel of B is one piece of memory.
Grid chosen_grid(const DistributedChoice& options, bool is_cpu) {
  if (!options.grid.empty()) return parse_grid(options.grid);
  int ranks = options.gpus;
  if (ranks == 0) {
    const Backend* backend = find_backend(DeviceKind::cuda);
    if (backend == nullptr) backend = find_backend(DeviceKind::hip);
    ranks = is_cpu || backend == nullptr ? 2 : std::max(1, backend->device_count());
  }
  int q = 1;
  for (int i = 1; i * i <= ranks; ++i) {
    if (ranks % i == 0) q = i;
  }
  return {ranks / q, q};
}

std::string row_text(const bench::Row& row, const Grid& grid) {
  if (!row.verified) return fmt::format("{}: {}", row.shape(), row.message);
  if (!row.distributed) {
    return fmt::format("{:>18} {:<10} {:>5}  verified, error {:.2g} of {:.2g} u", row.shape(),
                       row.math, fmt::format("{}x{}", grid.p, grid.q), row.error.max,
                       row.error.bound);
  }
  const bench::DistributedRow& its = *row.distributed;
  const double tflops = 1e-3 * *row.gflops;
  std::string text = fmt::format(
      "{:>18} {:<10} {:>5}  {:>10.3f} ms  {:>7.4g} TFLOP/s  {:.3f} x one ({:.3f} ms)  products "
      "{:.3f}  transfers {:.3f} ms",
      row.shape(), row.math, its.grid, 1e-3 * row.time_us->median, tflops, its.speedup,
      1e-3 * its.one_gpu_us, 1e-3 * its.products_us, 1e-3 * its.transfers_us);
  if (its.overlap) text += fmt::format(", {:.0f} % hidden", 100 * *its.overlap);
  if (its.predicted_us) {
    text += fmt::format("; predicted {:.3f} ms, {:.3f} x", 1e-3 * *its.predicted_us,
                        *its.predicted_speedup);
  }
  return text + fmt::format("; error {:.2g} of {:.2g} u", row.error.max, row.error.bound);
}

// Processes of this program, for all ranks but 0, which end with it or before it.
class OtherRanks {
 public:
  OtherRanks(const DistributedChoice& options, const Grid& grid) {
    for (int rank = 1; rank < grid.ranks(); ++rank) {
      std::vector<std::string> words = {"/proc/self/exe",
                                        "bench",
                                        "distributed",
                                        "--rank",
                                        std::to_string(rank),
                                        "--group",
                                        options.group_name,
                                        "--grid",
                                        fmt::format("{}x{}", grid.p, grid.q),
                                        "--device",
                                        options.device,
                                        "--math",
                                        options.math,
                                        "--input",
                                        options.input,
                                        "--seed",
                                        std::to_string(options.seed),
                                        "--rounds",
                                        std::to_string(options.rounds),
                                        "--limit",
                                        fmt::format("{}", options.limit_s)};
      if (!options.shape.empty()) words.insert(words.end(), {"--shape", options.shape});
      if (options.panel_k > 0) {
        words.insert(words.end(), {"--panel", std::to_string(options.panel_k)});
      }
      if (options.block > 0) {
        words.insert(words.end(), {"--block", std::to_string(options.block)});
      }
      words.insert(words.end(), {"--ops", options.ops, "--alpha", fmt::format("{}", options.alpha),
                                 "--beta", fmt::format("{}", options.beta)});
      if (options.has_timeline) words.emplace_back("--timeline");
      const Arguments arguments(std::move(words));
      pid_t child = -1;
      const int error =
          posix_spawn(&child, arguments.program(), nullptr, nullptr, arguments.get(), environ);
      if (error != 0) throw std::runtime_error(fmt::format("no process for rank {}", rank));
      children_.push_back(child);
    }
  }
  ~OtherRanks() {
    for (pid_t child : children_) (void)kill(child, SIGTERM);  // rank 0 did not get far
    (void)are_fine();
  }
  OtherRanks(const OtherRanks&) = delete;
  OtherRanks& operator=(const OtherRanks&) = delete;

  // Waits for them.
  bool are_fine() {
    for (; !children_.empty(); children_.pop_back()) {
      is_fine_ = exit_code_of(children_.back()) == exit_fine && is_fine_;
    }
    return is_fine_;
  }

 private:
  std::vector<pid_t> children_;
  bool is_fine_ = true;
};

Group open_group(const DistributedChoice& options, const Grid& grid, bool is_cpu) {
  const GroupOptions waits{options.limit_s};
  if (started_rank().join) return started_rank().join(options, grid, is_cpu, waits);
  if (options.rank < 0) return is_cpu ? Group::cpu(grid, waits) : Group::gpus(grid, {}, waits);
  return is_cpu ? Group::join_cpu(grid, options.rank, options.group_name, waits)
                : Group::join_gpu(grid, options.rank, options.group_name,
                                  options.ordinal < 0 ? options.rank : options.ordinal, waits);
}

int run(const DistributedChoice& options, const Grid& grid, bool is_cpu,
        const std::string& command) {
  const std::vector<Math> maths = parse_math(options.math);
  const std::vector<Shape> shapes = parse_shapes(
      options.shape.empty() ? (is_cpu ? "256" : "8192,16384,32768") : options.shape, 3, 1);
  bench::DistributedOptions measured;
  measured.input = options.parsed_input();
  measured.seed = options.seed;
  measured.panel_k = options.panel_k;
  measured.rounds = options.rounds;
  measured.has_timeline = options.has_timeline;
  measured.op_a = parse_op(options.ops, 0);
  measured.op_b = parse_op(options.ops, 1);
  measured.alpha = options.alpha;
  measured.beta = options.beta;
  measured.block = options.block;
  if (is_cpu) measured.warm_ms = measured.sample_ms = 1;
  const Limit limit(options.limit_s);
  Group group = open_group(options, grid, is_cpu);
  detail::GroupState& state = detail::GroupAccess::state(group);
  // All ranks have the same rows; one of them shows them.
  const bool is_shown = options.rank <= 0;
  Session session(is_shown ? options.json : "");
  bool all_verified = true;
  const auto work = [&] {
    const Device& device = state.seat(state.first_rank()).state().device();
    session.begin(command, device, {});
    if (is_shown && !options.quiet()) {
      const int nodes = state.nodes().count();
      fmt::print(
          "{} x {} of {}, {}{}; cuBLASMp is not beside them: this program does not call it\n",
          grid.p, grid.q, device.name,
          state.is_of_processes() ? "each with a process" : "all of one process",
          nodes > 1 ? fmt::format(", {} nodes", nodes) : "");
    }
    for (Math math : maths) {
      measured.math = math;
      for (const Shape& shape : shapes) {
        stop_where_interrupted();
        const bench::Row row = bench::run_distributed(state, shape.m, shape.n, shape.k, measured);
        session.add({row});
        all_verified = all_verified && row.verified;
        if (is_shown && !options.quiet()) fmt::print("{}\n", row_text(row, grid));
        flush_output();
      }
    }
  };
  return session.run(work, [&] { return all_verified ? exit_fine : exit_not_verified; });
}

}  // namespace

std::vector<Math> parse_math(const std::string& text) {
  std::vector<Math> all;
  for (const std::string& name : split(text, ',')) {
    if (name == "fp32") {
      all.push_back(Math::fp32);
    } else if (name == "fp32_split") {
      all.push_back(Math::fp32_split);
    } else {
      throw UsageError(fmt::format("--math: \"{}\" is neither fp32 nor fp32_split", name));
    }
  }
  return all;
}

StartedRank& started_rank() {
  static StartedRank its;
  return its;
}

int bench_distributed(const DistributedChoice& given, const std::string& command) {
  DistributedChoice options = given;
  if (started_rank().join) options.rank = started_rank().rank;
  const bool is_cpu = options.device == "cpu";
  if (!is_cpu && options.device != "gpu" && options.device != "auto") {
    throw UsageError(fmt::format(
        "--device: \"{}\" is neither gpu nor cpu; the grid takes GPUs 0, 1, ...", options.device));
  }
  const Grid grid = chosen_grid(options, is_cpu);
  if (!options.starts_processes) return run(options, grid, is_cpu, command);
  DistributedChoice first = options;
  first.rank = 0;
  if (first.group_name.empty()) first.group_name = fmt::format("bench-{}", getpid());
  (void)parse_math(first.math);  // what is wrong is said once
  (void)parse_op(first.ops, 0);
  if (!first.shape.empty()) (void)parse_shapes(first.shape, 3, 1);
  OtherRanks others(first, grid);
  const int exit_code = run(first, grid, is_cpu, command);
  return exit_code == exit_fine && !others.are_fine() ? exit_failed : exit_code;
}

void add_gpus(CLI::App& to, int& gpus, const std::vector<std::string>& others) {
  CLI::Option* option = to.add_option("--gpus", gpus,
                                      "Of sgemm: the library's product over so many GPUs; `bench "
                                      "distributed`, which this starts, has more options");
  option->check(whole_number(1, 4096));
  for (const std::string& other : others) option->excludes(to.get_option(other));
}

Grid parse_grid(const std::string& text) {
  const std::vector<Extents> parts = parse_extents(text, 2, 1, "PxQ");
  if (parts.size() != 1 || parts[0].values.size() != 2 || parts[0].values[0] > 4096 ||
      parts[0].values[1] > 4096) {
    throw UsageError(fmt::format("--grid: \"{}\" is not of the form PxQ, 4096 each at most", text));
  }
  return {static_cast<int>(parts[0].values[0]), static_cast<int>(parts[0].values[1])};
}

void add_bench_distributed(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "distributed", "One product over several GPUs, beside the library's call on one");
  command->footer(
      "Every rank's part of C is compared with float64 in 16 whole rows and 16 whole columns of "
      "it\n"
      "before a time counts. The same call on one GPU runs on all of them at once, in turn with "
      "the\n"
      "distributed one; then products and transfers each alone. `kernelwright plan` predicts.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench distributed --gpus 2 --shape 32768 --json distributed.json\n"
      "  kernelwright bench distributed --grid 1x2 --math fp32 --shape 16384x16384x32768\n"
      "  kernelwright bench distributed --gpus 2 --processes --shape 16384 --timeline --json "
      "t.json\n"
      "  kernelwright bench distributed --device cpu --grid 2x2 --shape 100x90x80\n"
      "  torchrun --no-python --nproc-per-node 2 sh -c 'kernelwright bench distributed --grid 2x1 "
      "--rank $RANK --group mine'");
  auto options = std::make_shared<DistributedChoice>();
  command->add_option("--device", options->device, "gpu, or cpu: ranks are threads")
      ->capture_default_str();
  CLI::Option* gpus = command->add_option("--gpus", options->gpus, "How many (default: all)");
  gpus->check(whole_number(1, 4096));
  command->add_option("--grid", options->grid, "Rows and columns of ranks, in place of --gpus")
      ->type_name("PxQ")
      ->excludes(gpus);
  command->add_option("--shape", options->shape, "MxNxK,... (N is a cube)")
      ->type_name("LIST")
      ->check(not_empty());
  command->add_option("--math", options->math, "fp32, fp32_split or both")->capture_default_str();
  command
      ->add_option("--panel", options->panel_k,
                   "The most of k that is copied at a time (default: the library's choice)")
      ->check(whole_number(1, largest_extent));
  command->add_option("--ops", options->ops, "NN, NT, TN or TT: A and B as they are or transposed")
      ->capture_default_str();
  command->add_option("--alpha", options->alpha)->capture_default_str();
  command->add_option("--beta", options->beta)->capture_default_str();
  command
      ->add_option("--block", options->block,
                   "A and B are dealt out in such blocks in turn (default: one block a rank)")
      ->check(whole_number(1, largest_extent));
  command->add_option("--rounds", options->rounds, "Samples of each; 0: only verify")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  command->add_flag("--timeline", options->has_timeline,
                    "Rows state when each product and copy of one more call began and ended");
  CLI::Option* processes = command->add_flag("--processes", options->starts_processes,
                                             "A process for each rank, started here");
  CLI::Option* rank = command->add_option("--rank", options->rank,
                                          "This process is one rank; others are started "
                                          "elsewhere");
  rank->check(whole_number(0, 4095))->excludes(processes);
  CLI::Option* name = command->add_option("--group", options->group_name,
                                          "By which the processes of --rank find each other");
  name->check(not_empty());
  rank->needs(name);
  CLI::Option* ordinal = command->add_option("--ordinal", options->ordinal,
                                             "The GPU of --rank (default: that number)");
  ordinal->check(whole_number(0, 4095));
  if (started_rank().join) {
    for (CLI::Option* own : {processes, rank, name}) command->remove_option(own);
    ordinal->description("This rank's GPU (default: its number among the ranks of its host)");
    command
        ->add_option("--node-ranks", options->node_ranks,
                     "So many ranks that follow each other pretend to be a node (default: those "
                     "of a host are one)")
        ->check(whole_number(1, 4096));
  } else {
    ordinal->needs(rank);
  }
  add_limit(*command, &options->limit_s);
  options->add_input(*command);
  options->add_json(*command);
  command->callback([options, &invocation] {
    invocation.exit_code = bench_distributed(*options, invocation.command);
  });
}

}  // namespace kw
