// See trace_options.hpp.
#include "commands/trace_options.hpp"

namespace kw {

void add_trace_options(CLI::App& app, TraceOptions& options) {
  app.add_option("rung", options.rung,
                 "A rung's name, a glob of names ('r0*'), or r07 for r07_conflict_free; reduce/r07 "
                 "and attention/r03 for a rung of those ladders; several behind commas");
  app.add_option("--shape", options.shape,
                 "Of a product: MxNxK, or one number for a cube; of attention queries x keys x "
                 "head size")
      ->capture_default_str();
  app.add_option("--n", options.length, "Length of the array of a reduction: N or 2^P")
      ->capture_default_str();
  app.add_option("--blocks", options.blocks,
                 "Count so many blocks of each launch, spread evenly (default: all). All of them "
                 "run; what is printed is of those counted, nothing is extrapolated")
      ->check(CLI::PositiveNumber);
  app.add_option("--sms", options.multiprocessors,
                 "Multiprocessors of the GPU that is pretended, for kernels that ask")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--lines", options.lines, "Lines of the source to print, the costliest first")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--json", options.json, "Also write the counts here; - for standard output")
      ->type_name("FILE");
  app.add_flag("--list", options.list, "Only print the rungs: name, ladder, file, idea");
  app.footer(
      "Counts are of the source, as g++ keeps its loads and stores: where a GPU's compiler merges\n"
      "or removes some, hardware counters differ.\n"
      "\n"
      "Examples:\n"
      "  kernelwright trace r07\n"
      "  kernelwright trace r05_float4 --shape 1000x1001x999\n"
      "  kernelwright trace reduce/r03 --n 2^22\n"
      "  kernelwright trace 'r0*' --shape 1024 --blocks 8 --json trace.json\n"
      "\n"
      "Exit code: 0 fine; 1 a wrong result or a race; 2 wrong usage; 4 the work could not be "
      "done;\n"
      "130 interrupted.");
}

std::vector<std::string> to_words(const TraceOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  if (!options.rung.empty()) words.push_back(options.rung);
  add("--shape", options.shape);
  add("--n", options.length);
  if (options.blocks > 0) add("--blocks", std::to_string(options.blocks));
  add("--sms", std::to_string(options.multiprocessors));
  add("--lines", std::to_string(options.lines));
  if (!options.json.empty()) add("--json", options.json);
  if (options.list) words.emplace_back("--list");
  return words;
}

}  // namespace kw
