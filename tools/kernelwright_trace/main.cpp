// kernelwright-trace: what `kernelwright trace` runs. A program of its own, because it has the
// ladder compiled with every access a call (docs/design.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "interrupt.hpp"
#include "kernelwright/status.hpp"
#include "program.hpp"
#include "report.hpp"
#include "rungs.hpp"
#include "terminal.hpp"

namespace kw {
namespace {

struct Arguments {
  std::string rungs, shape = "256", length = "2^20", json;
  TraceRequest request;
  int lines = 8;
  bool list = false;
};

void add_arguments(CLI::App& app, Arguments& own) {
  app.add_option("rung", own.rungs,
                 "A rung's name, a glob of names ('r0*'), or r07 for r07_conflict_free; reduce/r07 "
                 "for a rung of that ladder; several behind commas");
  app.add_option("--shape", own.shape, "Of a product: MxNxK, or one number for a cube")
      ->capture_default_str();
  app.add_option("--n", own.length, "Length of the array of a reduction; 2^20 is read as that")
      ->capture_default_str();
  app.add_option("--blocks", own.request.blocks,
                 "Count so many blocks of each launch, spread evenly, instead of all; all of them "
                 "run. What is printed is of these, nothing is extrapolated")
      ->check(CLI::PositiveNumber);
  app.add_option("--sms", own.request.multiprocessors,
                 "Multiprocessors of the GPU that is pretended, for kernels that ask")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--lines", own.lines, "Lines of the source to print, the costliest first")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--json", own.json, "Also write the counts here; - for standard output instead")
      ->type_name("FILE");
  app.add_flag("--list", own.list, "Only print the rungs' names, ladder, file and idea");
  app.footer(
      "Counts are of the source, as g++ keeps its loads and stores: where a GPU's compiler merges\n"
      "or removes some, hardware counters differ (docs/measuring.md).\n"
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

void print_list() {
  for (const TracedRung& rung : traced_rungs())
    fmt::print("{}\t{}\t{}\t{}\n", rung.name, rung.op, rung.page, rung.idea);
}

void write_json(const std::string& file, const nlohmann::json& json) {
  const std::string text = json.dump(1) + "\n";
  if (file == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw UsageError(fmt::format("--json: {} cannot be written", file));
}

int trace_all(Arguments& own) {
  const std::vector<TracedRung> rungs = find_rungs(own.rungs);
  own.request.product = parse_shapes(own.shape, 3, 0).front();
  own.request.length = parse_extents(own.length, 1, 0, "N or 2^P").front().values.front();
  const InterruptWatch watch;
  bool fine = true;
  nlohmann::json all = nlohmann::json::array();
  for (const TracedRung& rung : rungs) {
    const RungTrace traced = trace_rung(rung, own.request);
    fine = fine && (traced.refused || traced.failure.empty()) && !traced.has_race();
    if (own.json != "-") print_trace(traced, own.lines);
    flush_output();
    if (!own.json.empty()) all.push_back(trace_to_json(traced));
  }
  if (!own.json.empty()) write_json(own.json, {{"schema", 1}, {"traces", all}});
  flush_output();
  return fine ? exit_fine : exit_not_verified;
}

int run(int argc, const char* const* argv) {
  CLI::App app("Run a rung of the ladder without a GPU and count its accesses, warp by warp.",
               "kernelwright trace");
  Arguments own;
  add_arguments(app, own);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    static_cast<void>(app.exit(asked));
    return exit_fine;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; --help shows what there is", error.what()));
  }
  if (own.list) {
    print_list();
    return exit_fine;
  }
  if (own.rungs.empty()) throw UsageError("name a rung, r07 for example; --list shows all of them");
  return trace_all(own);
}

int tell(int code, const char* what) {
  std::fflush(stdout);
  fmt::print(stderr, "kernelwright trace: {}\n", what);
  return code;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  try {
    return kw::run(argc, argv);
  } catch (const kw::Interrupted&) {
    return kw::exit_interrupted;
  } catch (const kw::UsageError& error) {
    return kw::tell(kw::exit_usage, error.what());
  } catch (const std::exception& error) {
    return kw::tell(kw::exit_failed, error.what());
  }
}
