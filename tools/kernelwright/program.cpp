// Builds the command line, runs the chosen command, turns what is thrown into messages and exit
// codes.
#include "program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "commands/commands.hpp"
#include "kernels.hpp"
#include "kernelwright/status.hpp"

namespace kw {
namespace {

std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() &&
      word.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") ==
          std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The program's own name, then the arguments as a shell would need them.
std::string typed_command(int argc, const char* const* argv) {
  std::string command = "kernelwright";
  for (int i = 1; i < argc; ++i) command += " " + quoted(argv[i]);
  return command;
}

int run_checked(int argc, const char* const* argv) {
  CLI::App app("Single-precision matrix kernels and reductions: verify, time and report them.",
               "kernelwright");
  app.set_version_flag("--version", std::string("kernelwright ") + KW_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  kernelwright devices\n"
      "  kernelwright verify sgemm --device host-simt --kernel 'r1*'\n"
      "  kernelwright bench sgemm --sweep classic --json sgemm.json\n"
      "  kernelwright bench reduce --shape 2^20,2^28 --l2 cold\n"
      "  kernelwright tune sgemm --shape 1000x3000x500\n"
      "  kernelwright report sgemm.json -o report\n"
      "\n"
      "Exit code: 0 fine, 1 verification failed, 2 wrong usage, 3 the asked device is not here.");
  Invocation invocation;
  invocation.command = typed_command(argc, argv);
  add_devices_command(app, invocation);
  add_list_command(app, invocation);
  add_verify_command(app, invocation);
  add_accuracy_command(app, invocation);
  add_bench_command(app, invocation);
  add_tune_command(app, invocation);
  add_report_command(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // A misspelt command leaves the program without one; say which word it was.
    const std::vector<std::string> unknown = app.remaining(true);
    if (!unknown.empty()) {
      throw UsageError(fmt::format(
          "\"{}\" is neither a command nor an option here; --help lists both", unknown.front()));
    }
    app.exit(error);
    return exit_usage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_fine : exit_usage;
  }
  return invocation.exit_code;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  try {
    add_developer_backends();
    return run_checked(argc, argv);
  } catch (const UsageError& error) {
    fmt::print(stderr, "kernelwright: {}\n", error.what());
    return exit_usage;
  } catch (const Error& error) {
    fmt::print(stderr, "kernelwright: {}\n", error.what());
    return error.code() == StatusCode::no_device ? exit_no_device : exit_not_verified;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernelwright: {}\n", error.what());
    return exit_not_verified;
  }
}

}  // namespace kw
