// kernelwright run: a program under the drop-in for cuBLAS, and what became of its calls.
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/results.hpp"
#include "commands/commands.hpp"
#include "commands/run_summary.hpp"
#include "processes.hpp"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string math, pedantic, report;
  std::int64_t verify = 0;
  std::size_t shapes = 12;
  bool quiet = false;
  std::vector<std::string> program;
};

// Where the installed program has it, else where a built one has it.
std::string find_adapter() {
  std::error_code error;
  const fs::path folder = own_folder();
  for (const char* place :
       {KW_ADAPTER_FROM_PROGRAM, "../../adapters/cublas/libkernelwright_cublas.so"}) {
    const fs::path adapter = (folder / place).lexically_normal();
    if (fs::exists(adapter, error)) return adapter.string();
  }
  throw UsageError(fmt::format(
      "run: libkernelwright_cublas.so is not at {}; install it (CMake option KW_CUBLAS_ADAPTER=ON)",
      (folder / KW_ADAPTER_FROM_PROGRAM).lexically_normal().string()));
}

// A folder for the processes' records, gone with this.
class RecordFolder {
 public:
  RecordFolder() {
    const char* const chosen = std::getenv("TMPDIR");
    path_ = std::string(chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen) +
            "/kernelwright-run-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error(
          fmt::format("run: cannot make a folder {}: {}; set TMPDIR", path_, std::strerror(errno)));
    }
  }
  ~RecordFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  RecordFolder(const RecordFolder&) = delete;
  RecordFolder& operator=(const RecordFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void set(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 1);
}

void set_environment(const RunOptions& options, const std::string& adapter,
                     const std::string& records) {
  const char* const before = std::getenv("LD_PRELOAD");
  const bool others = before != nullptr && *before != '\0';
  set("LD_PRELOAD", others ? adapter + ":" + before : adapter);
  set("KERNELWRIGHT_MATH", options.math);
  set("KERNELWRIGHT_PEDANTIC", options.pedantic);
  set("KERNELWRIGHT_RECORD", records);
  if (options.verify > 0) set("KERNELWRIGHT_VERIFY", std::to_string(options.verify));
}

// The program's exit code. Ctrl-C is the program's to answer: this one waits for it.
int run_program_of(const RunOptions& options, const std::string& adapter,
                   const std::string& records) {
  const Arguments command(options.program);
  set_environment(options, adapter, records);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, command.program(), nullptr, &attributes, command.get(), environ);
  posix_spawnattr_destroy(&attributes);
  // From here on this program's own children have no adapter.
  unsetenv("LD_PRELOAD");
  if (error != 0) {
    throw UsageError(fmt::format("run: \"{}\" cannot be started: {}; give the program behind --",
                                 options.program.front(), std::strerror(error)));
  }
  return exit_code_of(child);
}

void check_can_be_written(const std::string& path) {
  if (path.empty() || path == "-") return;
  const bool existed = fs::exists(path);
  std::FILE* const file = std::fopen(path.c_str(), "a");
  if (file == nullptr) throw cannot_write("--report", path, errno);
  std::fclose(file);
  if (!existed) fs::remove(path);
}

void run(const RunOptions& options, Invocation& invocation) {
  check_can_be_written(options.report);
  const std::string adapter = find_adapter();
  const RecordFolder records;
  const auto began = std::chrono::steady_clock::now();
  invocation.exit_code = run_program_of(options, adapter, records.path());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
  const RunSummary summary = read_records(records.path());
  if (!options.quiet) {
    fmt::print(stderr, "\nkernelwright run: {}", run_text(summary, options.shapes));
  }
  if (options.report.empty()) return;
  bench::write_json(options.report,
                    {{"schema", 1},
                     {"command", invocation.command},
                     {"program", fmt::format("{}", fmt::join(options.program, " "))},
                     {"version", KW_VERSION},
                     {"devices", summary.devices},
                     {"processes", summary.processes},
                     {"exit_code", invocation.exit_code},
                     {"wall_s", spent.count()},
                     {"calls", run_json(summary)}});
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("run", "Run a program that calls cuBLAS, faster");
  command->footer(
      "The program runs with libkernelwright_cublas.so loaded before cuBLAS, which computes its\n"
      "FP32 products; all else goes to cuBLAS. Then standard error says what was taken, by which\n"
      "kernel, and what was not and why. The exit code is the program's own, or 128 and the "
      "number\n"
      "of the signal that ended it.\n"
      "\n"
      "Without this command: LD_PRELOAD=libkernelwright_cublas.so PROGRAM. docs/drop-in.md has\n"
      "the variables that say more.\n"
      "\n"
      "Examples:\n"
      "  kernelwright run -- python3 train.py\n"
      "  kernelwright run --math fp32 --report run.json -- ./solver --size 8192\n"
      "  kernelwright run --verify 100 -- python3 train.py\n"
      "  kernelwright run --math off -- python3 train.py    the switch that turns it off");
  auto options = std::make_shared<RunOptions>();
  command->add_option("--math", options->math, "Arithmetic of FP32 products (default: fp32_split)")
      ->check(CLI::IsMember({"fp32_split", "fp32", "off"}));
  command
      ->add_option("--pedantic", options->pedantic,
                   "Arithmetic where PEDANTIC is asked for (default: fp32)")
      ->check(CLI::IsMember({"fp32", "fp32_split", "forward"}));
  command
      ->add_option("--verify", options->verify,
                   "Compute every N-th call twice, also by cuBLAS, and compare elements of both "
                   "with float64")
      ->type_name("N")
      ->check(whole_number(1, std::int64_t{1} << 40));
  command
      ->add_option("--report", options->report,
                   "Also write what happened here, for kernelwright report; - for standard output")
      ->type_name("FILE")
      ->check(not_empty());
  command->add_option("--shapes", options->shapes, "Shapes of each kind that the summary lists")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "No summary");
  command->add_option("program", options->program, "The program and its arguments, behind --")
      ->required()
      ->type_name("PROGRAM");
  command->callback([options, &invocation] { run(*options, invocation); });
}

}  // namespace kw
