// kernelwright accuracy: how a kernel's error grows with k, for three kinds of data; with --classes
// the accuracy suite, with --fuzz the accuracy fuzzer; and beside it those of
// strsm and ctrsm (accuracy_strsm.hpp).
#include <algorithm>
#include <array>

#include "bench/parts.hpp"
#include "bench/problems.hpp"
#include "bench/room.hpp"
#include "bench/table.hpp"
#include "check/accuracy/fuzz_case.hpp"
#include "check/cases.hpp"
#include "check/verify.hpp"
#include "commands/accuracy_fuzz.hpp"
#include "commands/accuracy_strsm.hpp"
#include "commands/accuracy_suite.hpp"
#include "commands/commands.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

constexpr std::array inputs = {check::Input::unit, check::Input::uniform, check::Input::normal};

struct Column {
  const char* title;
  double check::ErrorSummary::*value;
};
constexpr std::array<Column, 3> columns = {{{"largest", &check::ErrorSummary::max},
                                            {"root mean square", &check::ErrorSummary::rms},
                                            {"mean, signed", &check::ErrorSummary::mean_signed}}};

// The rows of one kind of data.
void print_tables(check::Input input, const std::vector<bench::Row>& rows,
                  const KernelList<Sgemm>& kernels) {
  for (const Column& column : columns) {
    std::vector<std::vector<std::string>> cells(1);
    cells[0].push_back("k");
    for (const auto& kernel : kernels) {
      std::vector<std::string> line = {kernel.name};
      for (const bench::Row& row : rows) {
        if (row.kernel != kernel.name) continue;
        if (cells.size() == 1) cells[0].push_back(fmt::format("{}", *row.k));
        line.push_back(fmt::format("{:.3f}{}", row.error.*column.value, row.verified ? "" : "!"));
      }
      if (line.size() > 1) cells.push_back(line);
    }
    fmt::print("{} error, u |A| |B|, input {}\n{}\n", column.title, to_string(input),
               bench::align(cells));
  }
  for (const bench::Row& row : rows) {
    if (!row.verified) fmt::print("{} k={} {}: {}\n", row.kernel, *row.k, row.input, row.message);
  }
  flush_output();
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

std::vector<check::SgemmCase> cases_of(std::int64_t size, std::int64_t deepest,
                                       std::uint64_t seed) {
  std::vector<check::SgemmCase> cases;
  for (const check::Input input : inputs) {
    for (const std::int64_t k : accuracy_depths) {
      if (k > deepest) continue;
      check::SgemmCase& c = cases.emplace_back();
      c.m = c.n = size;
      c.k = k;
      c.input = input;
      c.seed = seed;
    }
  }
  return cases;
}

std::vector<bench::Row> rows_of(const check::SgemmCase& c, const KernelList<Sgemm>& kernels,
                                check::Workbench& workbench, Progress& progress) {
  std::vector<bench::Row> rows;
  check::SgemmTrial trial(workbench, c);
  for (const auto& kernel : kernels) {
    progress.show(fmt::format("{} k={}: {}", to_string(c.input), c.k, kernel.name));
    const check::VerifyResult result = trial.verify(kernel);
    if (result.outcome == check::Outcome::unsupported && check::may_refuse(kernel.role, c)) {
      continue;
    }
    rows.push_back(bench::make_row(kernel, trial.problem(), c, result));
  }
  return rows;
}

int run(const CommonOptions& options, std::int64_t size, std::int64_t deepest,
        const std::string& command) {
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const bool slow = device.kind == DeviceKind::host_simt;
  if (size == 0) size = device.is_gpu() ? 512 : slow ? 32 : 128;
  if (deepest == 0) deepest = slow ? 1024 : 16384;
  const KernelList<Sgemm> kernels = chosen_kernels(options, device.kind);
  const std::vector<check::SgemmCase> cases = cases_of(size, deepest, options.seed);
  bench::require_room<check::SgemmTrial>("--size", cases, device);
  Session session(options.json);
  check::Workbench workbench(*runtime);

  bool all_verified = true;
  const auto work = [&] {
    session.begin(command, device, {});
    if (!options.quiet()) {
      fmt::print("{} ({}), m = n = {}, against float64\n\n", device.name, to_string(device.kind),
                 size);
    }
    session.progress().plan(bench::parts_of(cases));
    std::vector<bench::Row> rows;  // of one kind of data
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto found = rows_of(cases[i], kernels, workbench, session.progress());
      session.add(found);
      session.progress().next();
      rows.insert(rows.end(), found.begin(), found.end());
      if (i + 1 < cases.size() && cases[i + 1].input == cases[i].input) continue;
      if (!options.quiet()) print_tables(cases[i].input, rows, kernels);
      all_verified &=
          std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.verified; });
      rows.clear();
    }
  };
  return session.run(work, [&] { return all_verified ? exit_fine : exit_not_verified; });
}

void add_fuzz_options(CLI::App& command, FuzzOptions& fuzz) {
  CLI::Option* wanted =
      command.add_flag("--fuzz", fuzz.wanted, "Draw data at random, find what breaks the promise")
          ->excludes("--classes", "--size", "--max-k");
  CLI::Option* count = command.add_option("--count", fuzz.count, "So many draws")
                           ->check(whole_number(1, 1'000'000))
                           ->capture_default_str()
                           ->needs(wanted);
  command.add_option("--first", fuzz.first, "The number of the first draw")
      ->check(whole_number(0, 1'000'000'000))
      ->capture_default_str()
      ->needs(wanted);
  command
      .add_option("--outputs", fuzz.outputs,
                  "Products of a draw have so many elements together, and are 8 at least")
      ->check(whole_number(1, 1'000'000'000))
      ->capture_default_str()
      ->needs(wanted);
  command.add_flag("--as-drawn", fuzz.as_drawn, "What fails is not made smaller")->needs(wanted);
  CLI::Option* data =
      command.add_option("--data", fuzz.data, "NAME=VALUE,...: such data, in place of draws")
          ->type_name("LIST")
          ->check(not_empty())
          ->needs(wanted)
          ->excludes(count);
  CLI::Option* shape = command.add_option("--shape", fuzz.shape, "MxNxK of --data")
                           ->type_name("SHAPE")
                           ->check(not_empty())
                           ->needs(data);
  data->needs(shape);
}

}  // namespace

void add_accuracy_command(CLI::App& app, Invocation& invocation) {
  CLI::App* accuracy =
      app.add_subcommand("accuracy", "Show how the error grows with k, beside the vendor's");
  accuracy->require_subcommand(1);
  accuracy->footer(
      "Examples:\n"
      "  kernelwright accuracy sgemm --device cpu\n"
      "  kernelwright accuracy sgemm --classes '*' --json accuracy.json\n"
      "  kernelwright accuracy sgemm --fuzz --seed 7\n"
      "  kernelwright accuracy strsm --json strsm-accuracy.json");
  add_accuracy_strsm(*accuracy, invocation);
  CLI::App* command = accuracy->add_subcommand(
      "sgemm", "Errors in units of u = 2^-24 times |A| |B|: largest, root mean square, mean");
  command->footer(
      "Data: unit (values in [0, 1)), uniform ([-1, 1)), normal.\n"
      "\n"
      "With --classes it is the accuracy suite: production kernels, or those of --kernel, beside "
      "the\n"
      "library's choice and the vendor's. A production kernel fails (exit code 1) where its root\n"
      "mean square error exceeds the vendor's (1.02 times in fp32), its largest error 1.5 times\n"
      "the vendor's (1.25), where NaN and infinities are not float64's, where an exact result is\n"
      "not, or where two calls differ. Classes:\n" +
      accuracy_class_names() +
      "\n"
      "With --fuzz it is the accuracy fuzzer: data, shapes and k are drawn, and each split kernel\n"
      "that the library may choose there computes products of such data. One fails (exit code 1)\n"
      "where its root mean square error exceeds that of one FP32 sum an element by more than "
      "three\n"
      "standard errors; the root of 2 times that, where the data take plain FP32, which may add\n"
      "up several sums. What fails is then made as small as it can be. --json gets, of each draw,\n"
      "the library's choice, the kernel that comes nearest to failing, and what fails. --data "
      "has,\n"
      "of the operands a and b, whole numbers that are 0 where they are left out:\n" +
      check::distribution_help() +
      "\n"
      "Examples:\n"
      "  kernelwright accuracy sgemm --device cpu\n"
      "  kernelwright accuracy sgemm --kernel 'r04*,r12*' --max-k 1024 --json accuracy.json\n"
      "  kernelwright accuracy sgemm --classes '*' --math fp32_split --seeds 3\n"
      "  kernelwright accuracy sgemm --classes unit,normal --dump folder\n"
      "  kernelwright accuracy sgemm --fuzz --seed 7 --count 1000 --json fuzz.json\n"
      "  kernelwright accuracy sgemm --fuzz --shape 1536x1536x777 --data "
      "a.body=normal,a.zeros=900000,b.body=normal");
  auto options = std::make_shared<CommonOptions>();
  auto suite = std::make_shared<SuiteOptions>();
  auto fuzz = std::make_shared<FuzzOptions>();
  options->add_device(*command);
  options->add_kernel(*command);
  CLI::Option* classes =
      command->add_option("--classes", suite->classes, "Run the suite on such data, '*' for all")
          ->type_name("GLOB")
          ->check(not_empty());
  command->add_option("--math", suite->math, "Only kernels that compute in it")
      ->check(CLI::IsMember({to_string(Math::fp32), to_string(Math::fp32_split)}))
      ->needs(classes);
  command->add_option("--seeds", suite->seeds, "Repeat with as many seeds and pool the errors")
      ->check(whole_number(1, 1000))
      ->capture_default_str()
      ->needs(classes);
  command->add_option("--dump", suite->dump, "Write operands and float64's product there")
      ->type_name("DIR")
      ->needs(classes);
  command->add_option("--size", suite->size, "m and n (default: 512 on a GPU, else 128, 32)")
      ->check(whole_number(1, 65536));
  command
      ->add_option("--max-k", suite->deepest,
                   "Largest k (default: 16384, of the suite 65536; host SIMT: 1024)")
      ->check(whole_number(1, 65536));
  add_fuzz_options(*command, *fuzz);
  options->add_seed(*command);
  options->add_json(*command);
  command->callback([options, suite, fuzz, &invocation] {
    invocation.exit_code = fuzz->wanted ? run_accuracy_fuzz(*options, *fuzz, invocation.command)
                           : suite->classes.empty()
                               ? run(*options, suite->size, suite->deepest, invocation.command)
                               : run_accuracy_suite(*options, *suite, invocation.command);
  });
}

}  // namespace kw
