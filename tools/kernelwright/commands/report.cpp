// kernelwright report: hands result files to the Python report, which draws them.
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "commands/commands.hpp"
#include "processes.hpp"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Beside the installed program, else in the source tree that it was built from.
fs::path find_report_package() {
  std::error_code error;
  const fs::path folder = own_folder();
  fs::path installed = folder / "../share/kernelwright/report";
  if (!folder.empty() && fs::exists(installed / "kernelwright_report", error)) return installed;
  fs::path source = fs::path(KW_SOURCE_DIR) / "report";
  if (fs::exists(source / "kernelwright_report", error)) return source;
  throw UsageError(
      fmt::format("report: the Python package kernelwright_report is neither at {} nor at {}; "
                  "install kernelwright again",
                  installed.lexically_normal().string(), source.string()));
}

std::string find_python() {
  const char* chosen = std::getenv("KERNELWRIGHT_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const fs::path local = fs::path(KW_SOURCE_DIR) / ".venv/bin/python";
  std::error_code error;
  return fs::exists(local, error) ? local.string() : "python3";
}

// The exit code of the command, 127 where it cannot be started.
int run_command(const std::vector<std::string>& words) {
  const Arguments command(words);
  pid_t child = 0;
  if (posix_spawnp(&child, command.program(), nullptr, nullptr, command.get(), environ) != 0) {
    return 127;
  }
  return exit_code_of(child);
}

void require_python(const std::string& python) {
  if (run_command({python, "-c", "import sys; sys.exit(sys.version_info < (3, 9))"}) == 0) return;
  throw UsageError(fmt::format(
      "report: cannot run {}; install Python 3.9 or newer, or name it in KERNELWRIGHT_PYTHON",
      python));
}

int run(const std::vector<std::string>& files, const std::string& out) {
  const std::string python = find_python();
  require_python(python);
  const fs::path package = find_report_package();
  setenv("PYTHONPATH", package.c_str(), 1);
  std::vector<std::string> words = {python, "-m", "kernelwright_report"};
  words.insert(words.end(), files.begin(), files.end());
  words.insert(words.end(), {"-o", out});
  return run_command(words) == 0 ? exit_fine : exit_usage;
}

}  // namespace

void add_report_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("report", "Draw result files: index.html, PNG and SVG plots, CSV");
  command->footer(
      "Python is $KERNELWRIGHT_PYTHON, else the source tree's .venv, else python3; plots need "
      "its matplotlib, tables do not.\n"
      "\n"
      "Example:\n"
      "  kernelwright report sgemm.json scale-add.json -o report");
  struct Own {
    std::vector<std::string> files;
    std::string out;
  };
  auto own = std::make_shared<Own>();
  command->add_option("files", own->files, "Results of bench, verify and accuracy")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("-o,--out", own->out, "Folder to write")->required()->type_name("DIR");
  command->callback([own, &invocation] { invocation.exit_code = run(own->files, own->out); });
}

}  // namespace kw
