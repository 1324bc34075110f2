// kernelwright compare: two result files side by side, row by row.
#include "bench/compare.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/result_file.hpp"
#include "bench/results.hpp"
#include "bench/table.hpp"
#include "commands/commands.hpp"

namespace kw {
namespace {

using bench::Comparison;
using bench::Pair;
using bench::Summary;
using bench::Timing;
using bench::Verdict;
using nlohmann::ordered_json;
using Cells = std::vector<std::vector<std::string>>;

struct CompareOptions {
  std::string before, after, format = "text", json;
  double threshold_percent = 3;
  bool fail_slower = false;
};

ordered_json read_json(const std::string& path) {
  std::ifstream file(path);
  ordered_json json = ordered_json::parse(file, nullptr, false);
  if (!file || json.is_discarded()) {
    throw UsageError(path + ": cannot be read as JSON; give files that --json wrote");
  }
  return json;
}

std::string time_cell(const std::optional<Timing>& time) {
  return time ? fmt::format("{:.2f} us", time->us) : "-";
}
std::string spread_cell(const std::optional<Timing>& time) {
  return time ? fmt::format("{:.1f} %", 100 * time->iqr_us / time->us) : "-";
}
std::string ratio_cell(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f} x", *ratio) : "-";
}

Cells pair_cells(const Comparison& comparison) {
  Cells cells = {
      {"op", "kernel", "problem", "before", "spread", "after", "spread", "ratio", "verdict"}};
  for (const Pair& pair : comparison.pairs) {
    cells.push_back({pair.op, pair.kernel, pair.problem, time_cell(pair.before),
                     spread_cell(pair.before), time_cell(pair.after), spread_cell(pair.after),
                     ratio_cell(pair.ratio()), to_string(pair.verdict)});
  }
  return cells;
}

std::string extreme_cell(const Pair* pair) {
  return pair == nullptr ? "-" : fmt::format("{:.3f} x at {}", *pair->ratio(), pair->problem);
}

Cells summary_cells(const Comparison& comparison) {
  Cells cells = {{"kernel", "rows", "mean", "faster", "same", "slower", "best", "worst"}};
  const auto add = [&](const std::string& name, const Summary& summary) {
    if (summary.compared() == 0) return;
    cells.push_back({name, fmt::format("{}", summary.compared()), ratio_cell(summary.mean),
                     fmt::format("{}", summary.faster), fmt::format("{}", summary.same),
                     fmt::format("{}", summary.slower), extreme_cell(summary.best),
                     extreme_cell(summary.worst)});
  };
  for (const std::string& kernel : comparison.kernels()) add(kernel, comparison.summary(kernel));
  if (cells.size() > 2) add("all", comparison.summary());
  return cells;
}

std::string markdown(const Cells& cells, std::size_t left) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (const std::string& cell : cells[i]) text += "| " + cell + " ";
    text += "|\n";
    if (i > 0) continue;
    for (std::size_t j = 0; j < cells[0].size(); ++j) text += j < left ? "| :-- " : "| --: ";
    text += "|\n";
  }
  return text;
}

// What stands below the tables.
std::string remarks(const Comparison& comparison, double threshold_percent) {
  std::string text = fmt::format(
      "ratio: the time before over the time after, over 1 is faster; mean: geometric. same: within "
      "either run's spread, or {} %.\n",
      threshold_percent);
  const std::pair<Verdict, const char*> counted[] = {
      {Verdict::only_before, "only before"},
      {Verdict::only_after, "only after"},
      {Verdict::untimed, "in both without a time"},
      {Verdict::broken, "verified before, not any more"}};
  for (const auto& [verdict, words] : counted) {
    const int count = comparison.count(verdict);
    if (count > 0) text += fmt::format("{} row{}: {}\n", count, count == 1 ? "" : "s", words);
  }
  double logs = 0;
  int peers = 0;
  for (const Pair& pair : comparison.pairs) {
    if (pair.role != "peer" || !pair.ratio()) continue;
    logs += std::log(*pair.ratio());
    ++peers;
  }
  if (peers > 0) {
    text += fmt::format(
        "The peers' own rows are {:.3f} x in the mean: so much of any change is the runs'.\n",
        std::exp(logs / peers));
  }
  for (const std::string& note : comparison.notes) text += "Note: " + note + "\n";
  return text;
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string csv(const Comparison& comparison) {
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  const auto us = [&](const std::optional<Timing>& time) {
    return number(time ? std::optional(time->us) : std::nullopt) + "," +
           number(time ? std::optional(time->iqr_us) : std::nullopt);
  };
  std::string text =
      "op,kernel,problem,before_us,before_iqr_us,after_us,after_iqr_us,ratio,verdict\n";
  for (const Pair& pair : comparison.pairs) {
    text += fmt::format("{},{},{},{},{},{},{}\n", csv_cell(pair.op), csv_cell(pair.kernel),
                        csv_cell(pair.problem), us(pair.before), us(pair.after),
                        number(pair.ratio()), to_string(pair.verdict));
  }
  return text;
}

ordered_json timing_json(const std::optional<Timing>& time) {
  if (!time) return nullptr;
  return {{"median", time->us}, {"iqr", time->iqr_us}};
}

ordered_json comparison_json(const CompareOptions& options, const Comparison& comparison) {
  const Summary all = comparison.summary();
  ordered_json json = {{"before", options.before},
                       {"after", options.after},
                       {"threshold", options.threshold_percent / 100},
                       {"notes", comparison.notes},
                       {"mean_ratio", all.mean},
                       {"faster", all.faster},
                       {"same", all.same},
                       {"slower", all.slower},
                       {"only_before", comparison.count(Verdict::only_before)},
                       {"only_after", comparison.count(Verdict::only_after)},
                       {"not_verified_any_more", comparison.count(Verdict::broken)},
                       {"pairs", ordered_json::array()}};
  for (const Pair& pair : comparison.pairs) {
    const auto ratio = pair.ratio();
    json["pairs"].push_back({{"op", pair.op},
                             {"kernel", pair.kernel},
                             {"problem", pair.problem},
                             {"before_us", timing_json(pair.before)},
                             {"after_us", timing_json(pair.after)},
                             {"ratio", ratio ? ordered_json(*ratio) : ordered_json(nullptr)},
                             {"verdict", to_string(pair.verdict)}});
  }
  return json;
}

void print(const CompareOptions& options, const Comparison& comparison) {
  const std::string below = remarks(comparison, options.threshold_percent);
  if (options.format == "csv") {
    fmt::print("{}", csv(comparison));
  } else if (options.format == "markdown") {
    fmt::print("{}\n{}\n{}", markdown(pair_cells(comparison), 3),
               markdown(summary_cells(comparison), 1), below);
  } else {
    fmt::print("{}\n{}\n{}", bench::align(pair_cells(comparison), 3),
               bench::align(summary_cells(comparison)), below);
  }
}

int run(const CompareOptions& options) {
  { const bench::ResultFile can_be_written(options.json); }
  const Comparison comparison =
      bench::compare(read_json(options.before), options.before, read_json(options.after),
                     options.after, options.threshold_percent / 100);
  const int broken = comparison.count(Verdict::broken);
  const Summary all = comparison.summary();
  if (all.compared() == 0 && broken == 0) {
    throw UsageError(fmt::format(
        "{} and {} have no timed row in common: of {} rows {} are only before, {} only after",
        options.before, options.after, comparison.pairs.size(),
        comparison.count(Verdict::only_before), comparison.count(Verdict::only_after)));
  }
  if (options.json != "-") print(options, comparison);
  if (!options.json.empty()) bench::write_json(options.json, comparison_json(options, comparison));
  return options.fail_slower && all.slower + broken > 0 ? exit_not_verified : exit_fine;
}

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("compare", "Show what changed between two result files");
  command->footer(
      "Rows are joined by all that describes them: operation, kernel, sizes, scalars, data, L2\n"
      "state. A change counts where the medians are further apart than either run's "
      "inter-quartile\n"
      "range and than the threshold. Notes say where device, driver or versions differ.\n"
      "Exit code 1, with --fail-slower alone: a row is slower, or no longer verified.\n"
      "\n"
      "Examples:\n"
      "  kernelwright compare before.json after.json\n"
      "  kernelwright compare before.json after.json --threshold 5 --fail-slower\n"
      "  kernelwright compare before.json after.json --format markdown > changes.md\n"
      "  kernelwright compare before.json after.json --json changes.json");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("before", options->before, "A result file of bench")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("after", options->after, "Another, of the same problems")
      ->required()
      ->check(CLI::ExistingFile);
  command
      ->add_option("--threshold", options->threshold_percent, "Percent that a change must exceed")
      ->check(number_from_zero(true))
      ->capture_default_str();
  command->add_flag("--fail-slower", options->fail_slower,
                    "Exit with 1 where something is slower or no longer verified");
  command->add_option("--format", options->format, "text, markdown or csv")
      ->check(CLI::IsMember({"text", "markdown", "csv"}))
      ->capture_default_str();
  command
      ->add_option("--json", options->json, "Also write the comparison here; - for standard output")
      ->type_name("FILE")
      ->check(not_empty());
  command->callback([options, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace kw
