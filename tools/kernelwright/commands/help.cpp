// kernelwright help: a command's help, by its name.
#include "commands/commands.hpp"

namespace kw {
namespace {

void print_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string before;
  for (const std::string& word : words) {
    const auto subcommands = at->get_subcommands([](const CLI::App*) { return true; });
    const auto found =
        std::find_if(subcommands.begin(), subcommands.end(),
                     [&](const CLI::App* command) { return command->get_name() == word; });
    if (found == subcommands.end()) {
      std::string names;
      for (const CLI::App* command : subcommands) {
        names += (names.empty() ? "" : ", ") + command->get_name();
      }
      throw UsageError(names.empty()
                           ? fmt::format("help: \"{}\" is no command of {}", word, at->get_name())
                           : fmt::format("help: \"{}\" is not one of {}", word, names));
    }
    before += (before.empty() ? "" : " ") + at->get_name();
    at = *found;
  }
  before += (before.empty() ? "" : " ") + at->get_name();
  // App::help would go on to the command that was typed, which is this one.
  fmt::print("{}", at->get_formatter()->make_help(at, before, CLI::AppFormatMode::Normal));
}

}  // namespace

void add_help_command(CLI::App& app, Invocation&) {
  CLI::App* command = app.add_subcommand("help", "Show what a command does and takes");
  command->footer("Examples:\n  kernelwright help\n  kernelwright help bench sgemm");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("command", *words, "The command's words");
  command->callback([&app, words] { print_help(app, *words); });
}

}  // namespace kw
