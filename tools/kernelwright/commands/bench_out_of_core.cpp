// kernelwright bench out_of_core: a product of matrices in host memory beside the library's call on
// the same matrices in the device's.
#include <algorithm>
#include <charconv>

#include "bench/distributed.hpp"
#include "commands/bench_distributed.hpp"
#include "commands/limit.hpp"
#include "commands/session.hpp"
#include "interrupt.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

struct OutOfCoreChoice : CommonOptions {
  std::string math = "fp32_split", memory = "24GiB";
  int rounds = 3;
  double limit_s = 600;
};

// "24GiB", "512MiB", "1000000".
double parse_bytes(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string unit(stop, end);
  const double factor = unit.empty()    ? 1
                        : unit == "KiB" ? 1024.0
                        : unit == "MiB" ? 1048576.0
                        : unit == "GiB" ? 1073741824.0
                                        : 0;
  if (error != std::errc() || !(value > 0 && value <= 1e15) || factor == 0) {
    throw UsageError(fmt::format(
        "--device-memory: \"{}\" is no number of bytes; write 24GiB, 512MiB or 1000000", text));
  }
  return value * factor;
}

int run_out_of_core(const OutOfCoreChoice& options, const std::string& command) {
  const bool is_cpu = options.device == "cpu";
  if (!is_cpu && options.device != "gpu" && options.device != "auto") {
    throw UsageError(fmt::format("--device: \"{}\" is neither gpu nor cpu", options.device));
  }
  const double bytes = parse_bytes(options.memory);
  const std::vector<Shape> shapes =
      parse_shapes(options.shape.empty() ? (is_cpu ? "256" : "32768") : options.shape, 3, 1);
  bench::DistributedOptions measured;
  measured.input = options.parsed_input();
  measured.seed = options.seed;
  measured.rounds = options.rounds;
  const Limit limit(options.limit_s);
  const GroupOptions waits{options.limit_s};
  Group group = is_cpu ? Group::cpu({1, 1}, waits) : Group::gpus({1, 1}, {}, waits);
  detail::GroupState& state = detail::GroupAccess::state(group);
  Session session(options.json);
  bool all_verified = true;
  const auto work = [&] {
    session.begin(command, state.seat(0).state().device(), {});
    for (Math math : parse_math(options.math)) {
      measured.math = math;
      for (const Shape& shape : shapes) {
        stop_where_interrupted();
        const bench::Row row =
            bench::run_out_of_core(state, shape.m, shape.n, shape.k, measured, bytes);
        session.add({row});
        all_verified = all_verified && row.verified;
        if (options.quiet()) continue;
        const bench::OutOfCoreRow& its = *row.out_of_core;
        fmt::print(
            "{} {}: {}, in memory {:.3f} ms, {:.3f} of that rate; tiles {}, {:.1f} GB in, "
            "{:.1f} GB out; error {:.2g} of {:.2g} u\n",
            row.shape(), row.math,
            row.verified ? fmt::format("{:.3f} ms, {:.4g} TFLOP/s", 1e-3 * row.time_us->median,
                                       1e-3 * *row.gflops)
                         : row.message,
            1e-3 * its.in_memory_us, its.of_in_memory, its.tiles, 1e-9 * its.bytes_in,
            1e-9 * its.bytes_out, row.error.max, row.error.bound);
        flush_output();
      }
    }
  };
  return session.run(work, [&] { return all_verified ? exit_fine : exit_not_verified; });
}

}  // namespace

void add_bench_out_of_core(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "out_of_core", "A product of matrices in host memory, larger than the device may hold");
  command->footer(
      "Beside it, in turn, the library's call on the same matrices in the device's memory, which "
      "has\n"
      "to hold them for that. Both are compared with float64 in 16 whole rows and columns.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench out_of_core --shape 131072x65536x32768 --device-memory 24GiB\n"
      "  kernelwright bench out_of_core --device cpu --shape 300 --device-memory 1MiB");
  auto options = std::make_shared<OutOfCoreChoice>();
  command->add_option("--device", options->device, "gpu or cpu")->capture_default_str();
  command->add_option("--shape", options->shape, "MxNxK,... (N is a cube)")
      ->type_name("LIST")
      ->check(not_empty());
  command->add_option("--device-memory", options->memory, "What the call may take of the device")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--math", options->math, "fp32, fp32_split or both")->capture_default_str();
  command->add_option("--rounds", options->rounds, "Samples of each")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  add_limit(*command, &options->limit_s);
  options->add_input(*command);
  options->add_json(*command);
  command->callback([options, &invocation] {
    invocation.exit_code = run_out_of_core(*options, invocation.command);
  });
}

}  // namespace kw
