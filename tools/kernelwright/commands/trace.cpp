// kernelwright trace: hands its arguments to kernelwright-trace, which lies beside this program.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands/commands.hpp"
#include "commands/trace_options.hpp"
#include "processes.hpp"

namespace kw {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void become(const fs::path& program, const std::vector<std::string>& words) {
  const Arguments command(words);
  execv(program.c_str(), command.get());
  throw UsageError(
      fmt::format("trace: cannot start {}: {}", program.string(), std::strerror(errno)));
}

void run(const TraceOptions& options) {
  std::error_code error;
  const fs::path program = own_folder() / "kernelwright-trace";
  if (!fs::exists(program, error)) {
    throw UsageError(fmt::format(
        "trace: {} is not here; it has the whole ladder compiled a second time and is built on "
        "request: ./dev rung r07, or cmake --build BUILD --target kernelwright_trace",
        program.string()));
  }
  std::vector<std::string> words = {"kernelwright-trace"};
  for (std::string& word : to_words(options)) words.push_back(std::move(word));
  become(program, words);
}

}  // namespace

void add_trace_command(CLI::App& app, Invocation&) {
  CLI::App* command = app.add_subcommand(
      "trace", "Count a rung's accesses without a GPU: sectors, bank conflicts, races");
  auto options = std::make_shared<TraceOptions>();
  add_trace_options(*command, *options);
  command->callback([options] { run(*options); });
}

}  // namespace kw
