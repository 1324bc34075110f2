// Builds the command line, runs the chosen command, turns what is thrown into messages and exit
// codes.
#include "program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "commands/commands.hpp"
#include "kernels.hpp"
#include "kernelwright/status.hpp"
#include "terminal.hpp"

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

// The program's own name, then the arguments as a shell would need them. Of a file its name: its
// folder is the machine's own.
std::string typed_command(int argc, const char* const* argv) {
  std::string command = "kernelwright";
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path argument = argv[i];
    command += " " + quoted(argument.is_absolute() ? argument.filename().string() : argv[i]);
  }
  return command;
}

// The commands as typed so far: "bench sgemm".
std::string deepest_command(const CLI::App& app) {
  std::string words;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    words += " " + at->get_name();
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// What CLI11 found wrong, as a sentence that says where help is.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::string command = deepest_command(app);
  const std::string help = fmt::format("`kernelwright help{}` shows what there is", command);
  // A misspelt command leaves the program without one; say which word it was.
  std::vector<std::string> unknown = app.remaining(true);
  std::erase(unknown, "--");
  if (!unknown.empty()) {
    return fmt::format("\"{}\" is neither a command nor an option here; {}", unknown.front(), help);
  }
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  std::vector<std::string> choices;
  for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; }))
    choices.push_back(sub->get_name());
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !choices.empty()) {
    return fmt::format("{}: name one of {}; {}", command.substr(1), joined(choices), help);
  }
  return fmt::format("{}; {}", error.what(), help);
}

int run_checked(int argc, const char* const* argv) {
  CLI::App app("Single-precision matrix kernels and reductions: verify, time and report them.",
               "kernelwright");
  app.set_version_flag("--version", std::string("kernelwright ") + KW_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "Without a command: this help.\n"
      "\n"
      "Examples:\n"
      "  kernelwright devices\n"
      "  kernelwright verify sgemm --device host-simt --kernel 'r1*'\n"
      "  kernelwright bench sgemm --sweep classic --json sgemm.json\n"
      "  kernelwright bench reduce --shape 2^20,2^28 --l2 cold\n"
      "  kernelwright compare before.json after.json\n"
      "  kernelwright tune sgemm --shape 1000x3000x500\n"
      "  kernelwright run -- python3 train.py\n"
      "  kernelwright trace r07\n"
      "  kernelwright report sgemm.json -o report\n"
      "  kernelwright help bench sgemm\n"
      "\n"
      "Ctrl-C ends a measurement with the rows that are done, a second one at once.\n"
      "\n"
      "Exit code: 0 fine; 1 verification failed, or of compare --fail-slower something is slower;\n"
      "2 wrong usage, or nothing to measure; 3 the asked device is not here; 4 the work could not\n"
      "be done: no memory, an output that can't be written, a device that fails; 130 interrupted.\n"
      "Of run: the program's own.");
  Invocation invocation;
  invocation.command = typed_command(argc, argv);
  add_devices_command(app, invocation);
  add_list_command(app, invocation);
  add_verify_command(app, invocation);
  add_accuracy_command(app, invocation);
  add_bench_command(app, invocation);
  add_tune_command(app, invocation);
  add_choice_command(app, invocation);
  add_plan_command(app, invocation);
  add_compare_command(app, invocation);
  add_run_command(app, invocation);
  add_trace_command(app, invocation);
  add_report_command(app, invocation);
  add_help_command(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    static_cast<void>(app.exit(asked));  // help, version
    return exit_fine;
  } catch (const CLI::ParseError& error) {
    throw UsageError(explain(app, error));
  }
  if (app.get_subcommands().empty()) fmt::print("{}", app.help());
  return invocation.exit_code;
}

// The exit code of what was thrown, after a message.
int tell(int code, const std::string& what) {
  std::fflush(stdout);
  fmt::print(stderr, "kernelwright: {}\n", what);
  return code;
}

}  // namespace

UsageError cannot_write(const char* option, const std::string& path, int error) {
  return UsageError(
      fmt::format("{}: cannot write {}: {}; name a file in a folder that exists and can be written",
                  option, path, std::strerror(error)));
}

int run_program(int argc, const char* const* argv) {
  try {
    add_developer_backends();
    const int code = run_checked(argc, argv);
    flush_output();
    return code;
  } catch (const UsageError& error) {
    return tell(exit_usage, error.what());
  } catch (const Error& error) {
    return tell(error.code() == StatusCode::no_device ? exit_no_device : exit_failed, error.what());
  } catch (const std::bad_alloc&) {
    return tell(exit_failed, "out of memory: take smaller sizes, or free memory");
  } catch (const std::length_error&) {
    return tell(exit_failed, "out of memory: a size is beyond what memory can be addressed");
  } catch (const std::exception& error) {
    return tell(exit_failed, error.what());
  }
}

}  // namespace kw
