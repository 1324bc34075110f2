// kernelwright accuracy: how a kernel's error grows with k, for three kinds of data.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/results.hpp"
#include "bench/table.hpp"
#include "check/verify.hpp"
#include "commands.hpp"
#include "kernels.hpp"
#include "terminal.hpp"

namespace kw {
namespace {

constexpr std::array depths = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384};
constexpr std::array inputs = {check::Input::unit, check::Input::uniform, check::Input::normal};

struct Column {
  const char* title;
  double check::ErrorSummary::*value;
};
constexpr std::array<Column, 3> columns = {{{"largest", &check::ErrorSummary::max},
                                            {"root mean square", &check::ErrorSummary::rms},
                                            {"mean, signed", &check::ErrorSummary::mean_signed}}};

void print_tables(const std::vector<bench::Row>& rows, const KernelList<Sgemm>& kernels) {
  for (const check::Input input : inputs) {
    for (const Column& column : columns) {
      std::vector<std::vector<std::string>> cells(1);
      cells[0].push_back("k");
      for (const auto& kernel : kernels) {
        std::vector<std::string> line = {kernel.name};
        for (const bench::Row& row : rows) {
          if (row.kernel != kernel.name || row.input != to_string(input)) continue;
          if (cells.size() == 1) cells[0].push_back(fmt::format("{}", *row.k));
          line.push_back(fmt::format("{:.3f}{}", row.error.*column.value, row.verified ? "" : "!"));
        }
        cells.push_back(line);
      }
      fmt::print("{} error, u |A| |B|, input {}\n{}\n", column.title, to_string(input),
                 bench::align(cells));
    }
  }
  for (const bench::Row& row : rows) {
    if (!row.verified) fmt::print("{} k={} {}: {}\n", row.kernel, *row.k, row.input, row.message);
  }
}

// The chosen kernels with the device's peers beside them.
KernelList<Sgemm> chosen_kernels(const CommonOptions& options, DeviceKind kind) {
  const KernelList<Sgemm> all = all_kernels<Sgemm>(kind);
  KernelList<Sgemm> chosen = select_kernels(all, options.kernel);
  std::erase_if(chosen, [](const auto& kernel) { return kernel.role == Role::peer; });
  for (const auto& kernel : all) {
    if (kernel.role == Role::peer) chosen.push_back(kernel);
  }
  return chosen;
}

int run(const CommonOptions& options, std::int64_t size, std::int64_t deepest,
        const std::string& command) {
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const bool slow = device.kind == DeviceKind::host_simt;
  if (size == 0) size = device.is_gpu() ? 512 : slow ? 32 : 128;
  if (deepest == 0) deepest = slow ? 1024 : depths.back();
  const KernelList<Sgemm> kernels = chosen_kernels(options, device.kind);
  check::Workbench workbench(*runtime);

  std::vector<bench::Row> rows;
  Progress progress;
  for (const check::Input input : inputs) {
    for (const int k : depths) {
      if (k > deepest) continue;
      check::SgemmCase c;
      c.m = c.n = size;
      c.k = k;
      c.input = input;
      c.seed = options.seed;
      check::SgemmTrial trial(workbench, c);
      for (const auto& kernel : kernels) {
        progress.show(fmt::format("{} k={}: {}", to_string(input), k, kernel.name));
        const check::VerifyResult result = trial.verify(kernel);
        rows.push_back(bench::make_row(kernel, trial.problem(), c, result));
      }
    }
  }
  progress.clear();
  if (!options.quiet()) {
    fmt::print("{} ({}), m = n = {}, against float64\n\n", device.name, to_string(device.kind),
               size);
    print_tables(rows, kernels);
  }
  if (!options.json.empty()) {
    bench::write_json(options.json, bench::results_json(command, device, {}, rows));
  }
  return std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.verified; })
             ? exit_fine
             : exit_not_verified;
}

}  // namespace

void add_accuracy_command(CLI::App& app, Invocation& invocation) {
  CLI::App* accuracy =
      app.add_subcommand("accuracy", "Show how the error grows with k, beside the vendor's");
  accuracy->require_subcommand(1);
  accuracy->footer(
      "Examples:\n"
      "  kernelwright accuracy sgemm --device cpu\n"
      "  kernelwright accuracy sgemm --kernel 'r04*' --json accuracy.json");
  CLI::App* command = accuracy->add_subcommand(
      "sgemm", "Errors in units of u = 2^-24 times |A| |B|: largest, root mean square, mean");
  command->footer(
      "Data: unit (values in [0, 1)), uniform ([-1, 1)), normal.\n"
      "\n"
      "Examples:\n"
      "  kernelwright accuracy sgemm --device cpu\n"
      "  kernelwright accuracy sgemm --kernel 'r04*,r12*' --max-k 1024 --json accuracy.json");
  struct Own {
    std::int64_t size = 0, deepest = 0;
  };
  auto options = std::make_shared<CommonOptions>();
  auto own = std::make_shared<Own>();
  options->add_device(*command);
  options->add_kernel(*command);
  command->add_option("--size", own->size, "m and n (default: 512 on a GPU, else 128, 32)")
      ->check(CLI::Range(1, 65536));
  command->add_option("--max-k", own->deepest, "Largest k (default: 16384; host SIMT: 1024)")
      ->check(CLI::Range(1, 16384));
  options->add_seed(*command);
  options->add_json(*command);
  command->callback([options, own, &invocation] {
    invocation.exit_code = run(*options, own->size, own->deepest, invocation.command);
  });
}

}  // namespace kw
