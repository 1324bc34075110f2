// kernelwright choice: what the library's choice loses against the best of its kernels.
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/choice_loss.hpp"
#include "bench/result_file.hpp"
#include "bench/results.hpp"
#include "commands/commands.hpp"

namespace kw {
namespace {

struct ChoiceOptions {
  std::vector<std::string> files;
  std::string kernel, json;
};

void run(const ChoiceOptions& options) {
  { const bench::ResultFile can_be_written(options.json); }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& path : options.files) {
    std::ifstream stream(path);
    const auto file = nlohmann::ordered_json::parse(stream, nullptr, false);
    if (!stream || file.is_discarded()) {
      throw UsageError(path + ": cannot be read as JSON; give files of bench sgemm --within");
    }
    const std::vector<bench::Chosen> chosen = bench::chosen_in(file, path, options.kernel);
    if (chosen.empty()) {
      throw UsageError(path + ": has no timed row of the library's kernels for products");
    }
    if (options.json != "-") {
      fmt::print("{}, {}\n{}\n", path.substr(path.find_last_of('/') + 1),
                 file["device"]["name"].get<std::string>(), bench::choice_table(chosen));
    }
    all.push_back({{"file", path}, {"products", bench::choice_json(chosen)}});
  }
  if (!options.json.empty()) bench::write_json(options.json, {{"schema", 1}, {"files", all}});
}

}  // namespace

void add_choice_command(CLI::App& app, Invocation&) {
  CLI::App* command =
      app.add_subcommand("choice", "Show what the choice loses against the best kernel");
  command->footer(
      "Of each product of a file with the times of all kernels: the kernel that the choice takes\n"
      "today, as it predicts their times, against the quickest. No device is needed.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench sgemm --sweep random --seed 900 --no-peer --within 4 \\\n"
      "    --kernel 'stream_*,small_*,thin,ragged,hopper_*' --json all.json\n"
      "  kernelwright choice all.json\n"
      "  kernelwright choice all.json --kernel 'stream_*'");
  auto options = std::make_shared<ChoiceOptions>();
  command->add_option("files", options->files, "Result files of bench sgemm --within")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--kernel", options->kernel, "The choice among these kernels alone")
      ->type_name("GLOB")
      ->check(not_empty());
  command
      ->add_option("--json", options->json, "Also write every product here; - for standard output")
      ->type_name("FILE")
      ->check(not_empty());
  command->callback([options] { run(*options); });
}

}  // namespace kw
