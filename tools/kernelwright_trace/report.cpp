// See report.hpp.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "trace/source_lines.hpp"
#include "trace/warp_access.hpp"

namespace kw {
namespace {

using trace::AccessCounts;
using trace::ExampleAccess;
using trace::Kind;
using trace::LaunchCounts;

constexpr Kind all_kinds[] = {Kind::global_load,   Kind::async_copy_from, Kind::global_store,
                              Kind::global_atomic, Kind::shared_load,     Kind::shared_store,
                              Kind::async_copy_to, Kind::shared_atomic};
constexpr double wavefront_bytes = trace::banks * trace::word_bytes;

const char* words_of(Kind kind) {
  switch (kind) {
    case Kind::global_load: return "global loads";
    case Kind::global_store: return "global stores";
    case Kind::global_atomic: return "global atomics";
    case Kind::shared_load: return "shared loads";
    case Kind::shared_store: return "shared stores";
    case Kind::shared_atomic: return "shared atomics";
    case Kind::async_copy_from: return "cp.async, global";
    case Kind::async_copy_to: return "cp.async, shared";
  }
  return "";
}

double per(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes,
                     unit == 0 || bytes >= 100 ? 0
                     : bytes >= 10             ? 1
                                               : 2,
                     units[unit]);
}

// Bytes that pass between two levels of the memory.
struct Moved {
  double l2, l1, shared;
};
Moved bytes_moved(const LaunchCounts& launch) {
  Moved moved{static_cast<double>(launch.bulk_bytes), 0, static_cast<double>(launch.bulk_bytes)};
  for (const Kind kind : all_kinds) {
    const AccessCounts counts = launch.total(kind);
    if (trace::is_shared(kind)) {
      moved.shared += static_cast<double>(counts.units) * wavefront_bytes;
    } else {
      moved.l2 += static_cast<double>(counts.units) * trace::sector_bytes;
      moved.l1 += static_cast<double>(counts.lane_bytes);
    }
  }
  moved.shared += static_cast<double>(launch.product_bytes);
  return moved;
}

std::map<std::uintptr_t, std::string> places_of(const RungTrace& traced) {
  std::vector<std::uintptr_t> calls;
  for (const LaunchCounts& launch : traced.launches) {
    for (const auto& [site, counts] : launch.sites) calls.push_back(site.call);
    for (const auto& [pair, example] : launch.races) {
      calls.push_back(pair.first);
      calls.push_back(pair.second);
    }
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return trace::source_lines(calls);
}

Lines lines_of(const LaunchCounts& launch, const std::map<std::uintptr_t, std::string>& places) {
  Lines lines;
  for (const auto& [site, counts] : launch.sites)
    lines[{places.at(site.call), site.kind}] += counts;
  return lines;
}

constexpr std::size_t least_name_width = 18;

void print_counts(const std::string& name, Kind kind, const AccessCounts& counts,
                  std::size_t width = least_name_width) {
  const bool shared = trace::is_shared(kind);
  fmt::print("  {:<{}} {:>13} {:>6.1f} {:>13} {:>7.2f} {:>7.2f}  {}\n", name, width,
             counts.requests, per(counts.lanes, counts.requests), counts.units,
             per(counts.units, counts.requests), per(counts.least_units, counts.requests),
             shared ? "wavefronts" : "sectors");
}

void print_header(const char* first, std::size_t width = least_name_width) {
  fmt::print("  {:<{}} {:>13} {:>6} {:>13} {:>7} {:>7}\n", first, width, "requests", "lanes",
             "units", "each", "least");
}

void print_lines(const LaunchCounts& launch, const std::map<std::uintptr_t, std::string>& places,
                 int lines_told) {
  struct Line {
    std::string name;
    Kind kind;
    AccessCounts counts;
    bool conflicts;
  };
  std::vector<Line> lines;
  for (const auto& [line, counts] : lines_of(launch, places)) {
    const bool conflicts = trace::is_shared(line.second) && counts.units > counts.least_units;
    lines.push_back(
        {fmt::format("{} {}{}", words_of(line.second), line.first, conflicts ? " !" : ""),
         line.second, counts, conflicts});
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.counts.units > b.counts.units; });
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(std::max(lines_told, 0))));
  if (lines.empty()) return;
  std::size_t width = least_name_width;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  fmt::print("\n");
  print_header("by line", width);
  for (const Line& line : lines) print_counts(line.name, line.kind, line.counts, width);
  if (std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.conflicts; }))
    fmt::print("  ! has bank conflicts: each is above least\n");
}

void print_synchronisation(const LaunchCounts& launch) {
  fmt::print("  barriers of the block: {:.1f} a block",
             per(launch.block_barriers, launch.traced_blocks));
  if (launch.warp_barriers > 0) fmt::print(", {} by warps in all", launch.warp_barriers);
  fmt::print("\n");
  if (launch.warp_meetings > 0)
    fmt::print("  shuffles, votes and barriers of warps: {:.1f} a warp\n",
               per(launch.warp_meetings, launch.warps));
  if (launch.handovers > 0)
    fmt::print("  arrivals of threads at mbarriers and named barriers: {}\n", launch.handovers);
  if (launch.bulk_copies > 0)
    fmt::print("  bulk copies: {}, {}\n", launch.bulk_copies,
               bytes_text(static_cast<double>(launch.bulk_bytes)));
  if (launch.products > 0)
    fmt::print("  wgmma: {} by warps, which read {} of shared memory\n", launch.products,
               bytes_text(static_cast<double>(launch.product_bytes)));
}

void print_races(const LaunchCounts& launch, const std::map<std::uintptr_t, std::string>& places) {
  if (launch.races.empty()) {
    fmt::print("  races in shared memory: none\n");
    return;
  }
  fmt::print("  RACES in shared memory: nothing orders\n");
  for (const auto& [pair, example] : launch.races) {
    fmt::print(
        "    a {} at {} and a {} at {}: {} times, first in block {}, threads {} and {}, at {}\n",
        pair.first_writes ? "write" : "read", places.at(pair.first),
        pair.second_writes ? "write" : "read", places.at(pair.second), example.words, example.block,
        example.first_thread, example.second_thread, example.place);
  }
}

void print_launch(const LaunchCounts& launch, std::size_t index, std::size_t count, double flops,
                  const std::map<std::uintptr_t, std::string>& places, int lines_told) {
  fmt::print("\nlaunch {} of {}: {}, {} blocks of {} threads, {} of shared memory each", index + 1,
             count, launch.kernel, launch.blocks,
             launch.block[0] * launch.block[1] * launch.block[2],
             bytes_text(static_cast<double>(launch.shared_bytes)));
  const bool whole = launch.traced_blocks == launch.blocks;
  if (!whole) fmt::print("; counted: {} of its blocks, spread evenly", launch.traced_blocks);
  fmt::print("\n");
  print_header("");
  for (const Kind kind : all_kinds) {
    const AccessCounts counts = launch.total(kind);
    if (counts.requests > 0) print_counts(words_of(kind), kind, counts);
  }
  print_synchronisation(launch);
  const Moved moved = bytes_moved(launch);
  const auto different = static_cast<double>(launch.bytes_read + launch.bytes_written);
  fmt::print(
      "  moved: {} of different global memory, {} between L2 and the SMs at most,\n"
      "         {} between the SMs and registers, {} to and from shared memory\n",
      bytes_text(different), bytes_text(moved.l2), bytes_text(moved.l1), bytes_text(moved.shared));
  if (whole && count == 1 && different > 0) {
    fmt::print(
        "  arithmetic intensity: {:.3g} flop a byte of different global memory, {:.3g} of L2",
        flops / different, flops / moved.l2);
    if (moved.shared > 0) fmt::print(", {:.3g} of shared memory", flops / moved.shared);
    fmt::print("\n");
  }
  print_races(launch, places);
  print_lines(launch, places, lines_told);
}

nlohmann::json to_json(const AccessCounts& counts, Kind kind) {
  return {{"requests", counts.requests},
          {"lanes", counts.lanes},
          {"lane_bytes", counts.lane_bytes},
          {trace::is_shared(kind) ? "wavefronts" : "sectors", counts.units},
          {trace::is_shared(kind) ? "least_wavefronts" : "least_sectors", counts.least_units}};
}

// A, B or C where the access begins in one of them.
std::string memory_of(const ExampleAccess& access,
                      const std::map<std::uintptr_t, std::string>& operands) {
  if (!access.memory.empty()) return access.memory;
  const auto after = operands.upper_bound(access.address);
  return after == operands.begin() ? std::string("global memory") : std::prev(after)->second;
}

// What lane 0 of each warp of block 0 did, and what the first of wgmma's products read.
void add_steps(const LaunchCounts& launch, nlohmann::json& json) {
  json["steps"] = nlohmann::json::array();
  for (const auto& [thread, steps] : launch.steps) {
    nlohmann::json all = nlohmann::json::array();
    for (const trace::ThreadStep& step : steps)
      all.push_back({std::string(1, step.what), step.count, step.memory, step.first, step.last});
    json["steps"].push_back({{"thread", thread}, {"steps", all}});
  }
  json["products"] = nlohmann::json::array();
  const auto place = [](const trace::OperandPlace& operand) {
    return nlohmann::json{operand.start, operand.k_stride, operand.row_stride};
  };
  for (const trace::ProductExample& product : launch.products_computed) {
    json["products"].push_back({{"a", place(product.a)},
                                {"b", place(product.b)},
                                {"first_row", product.first_row},
                                {"n", product.n}});
  }
}

nlohmann::json to_json(const LaunchCounts& launch,
                       const std::map<std::uintptr_t, std::string>& places,
                       const std::map<std::uintptr_t, std::string>& operands) {
  nlohmann::json json = {{"kernel", launch.kernel},
                         {"grid", launch.grid},
                         {"block", launch.block},
                         {"shared_bytes", launch.shared_bytes},
                         {"blocks", launch.blocks},
                         {"traced_blocks", launch.traced_blocks},
                         {"block_barriers", launch.block_barriers},
                         {"warp_barriers", launch.warp_barriers},
                         {"warps", launch.warps},
                         {"warp_meetings", launch.warp_meetings},
                         {"handovers", launch.handovers},
                         {"bulk_copies", launch.bulk_copies},
                         {"bulk_bytes", launch.bulk_bytes},
                         {"wgmma_by_warps", launch.products},
                         {"wgmma_shared_bytes", launch.product_bytes},
                         {"global_bytes_read", launch.bytes_read},
                         {"global_bytes_written", launch.bytes_written},
                         {"totals", nlohmann::json::object()},
                         {"lines", nlohmann::json::array()},
                         {"examples", nlohmann::json::array()},
                         {"races", nlohmann::json::array()}};
  for (const Kind kind : all_kinds) {
    const AccessCounts counts = launch.total(kind);
    if (counts.requests > 0) json["totals"][to_string(kind)] = to_json(counts, kind);
  }
  for (const auto& [line, counts] : lines_of(launch, places)) {
    nlohmann::json entry = to_json(counts, line.second);
    entry["place"] = line.first;
    entry["kind"] = to_string(line.second);
    json["lines"].push_back(entry);
  }
  for (const auto& [site, example] : launch.examples) {
    json["examples"].push_back({{"place", places.at(site.call)},
                                {"kind", to_string(site.kind)},
                                {"memory", memory_of(example, operands)},
                                {"bytes", example.bytes},
                                {"offset", example.offset}});
  }
  json["stores"] = nlohmann::json::array();
  for (const ExampleAccess& store : launch.stores) {
    json["stores"].push_back(
        {{"memory", memory_of(store, operands)}, {"bytes", store.bytes}, {"offset", store.offset}});
  }
  add_steps(launch, json);
  json["shared_requests"] = nlohmann::json::array();
  for (const trace::SharedRequest& request : launch.shared_requests)
    json["shared_requests"].push_back({request.barrier, request.warp, request.lanes,
                                       to_string(request.kind), request.wavefronts});
  for (const auto& [pair, example] : launch.races) {
    json["races"].push_back({{"first", places.at(pair.first)},
                             {"first_writes", pair.first_writes},
                             {"second", places.at(pair.second)},
                             {"second_writes", pair.second_writes},
                             {"words", example.words},
                             {"block", example.block},
                             {"threads", {example.first_thread, example.second_thread}},
                             {"at", example.place}});
  }
  return json;
}

}  // namespace

void print_trace(const RungTrace& traced, int lines_told) {
  fmt::print("{}: {}, {}\n", traced.rung.name, traced.rung.idea, traced.problem);
  if (traced.refused) {
    fmt::print("refused: {}\n\n", traced.failure);
    return;
  }
  if (!traced.failure.empty())
    fmt::print("WRONG: {}\n", traced.failure);
  else
    fmt::print(
        "every element right, at most {:.2f} u off; host SIMT took {:.2f} s, with counting\n",
        traced.max_error, traced.seconds);
  const auto places = places_of(traced);
  for (std::size_t i = 0; i < traced.launches.size(); ++i)
    print_launch(traced.launches[i], i, traced.launches.size(), traced.flops, places, lines_told);
  fmt::print("\n");
}

nlohmann::json trace_to_json(const RungTrace& traced) {
  const auto places = places_of(traced);
  nlohmann::json launches = nlohmann::json::array();
  for (const LaunchCounts& launch : traced.launches)
    launches.push_back(to_json(launch, places, traced.operands));
  return {{"rung", traced.rung.name},
          {"op", traced.rung.op},
          {"problem", traced.problem},
          {"flops", traced.flops},
          {"right", traced.failure.empty()},
          {"seconds", traced.seconds},
          {"launches", launches}};
}

}  // namespace kw
