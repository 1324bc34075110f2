// The commands. Each adds itself to the command line; its callback does the work and leaves the
// exit code in the invocation.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "check/input.hpp"
#include "commands/validators.hpp"
#include "program.hpp"

namespace kw {

struct Invocation {
  std::string command;  // as typed, for result files
  int exit_code = exit_fine;
};

void add_devices_command(CLI::App& app, Invocation& invocation);
void add_list_command(CLI::App& app, Invocation& invocation);
void add_verify_command(CLI::App& app, Invocation& invocation);
void add_accuracy_command(CLI::App& app, Invocation& invocation);
void add_bench_command(CLI::App& app, Invocation& invocation);
void add_tune_command(CLI::App& app, Invocation& invocation);
void add_choice_command(CLI::App& app, Invocation& invocation);
void add_plan_command(CLI::App& app, Invocation& invocation);
void add_compare_command(CLI::App& app, Invocation& invocation);
void add_trace_command(CLI::App& app, Invocation& invocation);
void add_report_command(CLI::App& app, Invocation& invocation);
void add_run_command(CLI::App& app, Invocation& invocation);
// `help COMMAND ...`, the same as `COMMAND ... --help`; the last, as it knows the others.
void add_help_command(CLI::App& app, Invocation& invocation);

// What most commands take.
struct CommonOptions {
  std::string device = "auto", kernel, shape, input = "uniform", json;
  std::uint64_t seed = 1;

  void add_device(CLI::App& to) {
    to.add_option("--device", device, "auto, cpu, gpu, cuda, hip, gpu:NUMBER or host-simt")
        ->capture_default_str();
  }
  CLI::Option* add_kernel(CLI::App& to) {
    return to
        .add_option(
            "--kernel", kernel,
            "Kernels by name, for example 'r0*,r11*'; '!GLOB' takes away again: '!amd_*' is "
            "all but these (default: all)")
        ->type_name("GLOB")
        ->check(not_empty());
  }
  void add_input(CLI::App& to) {
    to.add_option("--input", input, "uniform, unit, normal, constant or integers")
        ->capture_default_str();
    add_seed(to);
  }
  void add_seed(CLI::App& to) {
    to.add_option("--seed", seed, "Number that all test data derives from")
        ->check(seed_number())
        ->capture_default_str();
  }
  void add_json(CLI::App& to) {
    to.add_option("--json", json, "Also write the results here; - for standard output")
        ->type_name("FILE")
        ->check(not_empty());
  }
  check::Input parsed_input() const {
    check::Input parsed{};
    if (!check::parse_input(input, &parsed)) {
      throw UsageError(fmt::format(
          "--input: \"{}\" is not one of uniform, unit, normal, constant, integers", input));
    }
    return parsed;
  }
  // With results on standard output, tables would be in the way.
  bool quiet() const { return json == "-"; }
};

}  // namespace kw
