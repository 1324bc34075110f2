// kernelwright-trace: what `kernelwright trace` runs. A program of its own, because it has the
// ladder compiled with every access a call (docs/design.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/trace_options.hpp"
#include "interrupt.hpp"
#include "kernelwright/status.hpp"
#include "program.hpp"
#include "report.hpp"
#include "rungs.hpp"
#include "terminal.hpp"

namespace kw {
namespace {

// Of the rungs that are named, else of all.
void print_list(const std::string& names) {
  for (const TracedRung& rung : names.empty() ? traced_rungs() : find_rungs(names))
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

int trace_all(const TraceOptions& own) {
  const std::vector<TracedRung> rungs = find_rungs(own.rung);
  const TraceRequest request{
      .product = parse_shapes(own.shape, 3, 0).front(),
      .length = parse_extents(own.length, 1, 0, "N or 2^P").front().values.front(),
      .blocks = own.blocks,
      .multiprocessors = own.multiprocessors};
  const InterruptWatch watch;
  bool fine = true;
  nlohmann::json all = nlohmann::json::array();
  for (const TracedRung& rung : rungs) {
    const RungTrace traced = trace_rung(rung, request);
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
  TraceOptions own;
  add_trace_options(app, own);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    static_cast<void>(app.exit(asked));
    return exit_fine;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; --help shows what there is", error.what()));
  }
  if (own.list) {
    print_list(own.rung);
    return exit_fine;
  }
  if (own.rung.empty()) throw UsageError("name a rung, r07 for example; --list shows all of them");
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
