// Adds records up and says what they come to.
#include "commands/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "bench/table.hpp"

namespace kw {
namespace {

using nlohmann::ordered_json;
using Cells = std::vector<std::vector<std::string>>;

// The fields by their names in the records and in the report.
template <class Row, class Visit>
void for_each_field(Row& row, const Visit& visit) {
  visit("symbol", row.symbol);
  visit("op_a", row.op_a);
  visit("op_b", row.op_b);
  visit("m", row.m);
  visit("n", row.n);
  visit("k", row.k);
  visit("batch", row.batch);
  visit("epilogue", row.epilogue);
  visit("pedantic", row.pedantic);
  visit("taken", row.taken);
  visit("math", row.math);
  visit("kernel", row.kernel);
  visit("reason", row.reason);
  visit("calls", row.calls);
  visit("captured", row.captured);
  visit("host_us", row.host_us);
  visit("predicted_us", row.predicted_us);
  visit("vendor_predicted_us", row.vendor_predicted_us);
  visit("verified", row.verified);
  visit("error", row.error);
  visit("vendor_error", row.vendor_error);
}

RunRow row_of(const ordered_json& call) {
  RunRow row;
  for_each_field(row, [&](const char* name, auto& field) { call.at(name).get_to(field); });
  return row;
}

std::string key_of(const RunRow& row) {
  return fmt::format("{} {}{} {} {} {} {} {} {} {} {}", row.symbol, row.op_a, row.op_b, row.m,
                     row.n, row.k, row.batch, row.epilogue, row.pedantic, row.kernel, row.reason);
}

void add(const RunRow& from, RunRow* to) {
  to->calls += from.calls;
  to->captured += from.captured;
  to->verified += from.verified;
  to->host_us += from.host_us;
  to->error = std::max(to->error, from.error);
  to->vendor_error = std::max(to->vendor_error, from.vendor_error);
}

// A shape that stands for all that a record had no more room for has no size.
std::string shape_of(const RunRow& row) {
  if (row.m == 0 && row.n == 0 && row.k == 0) return "other shapes";
  std::string shape = fmt::format("{}{} {}x{}x{}", row.op_a, row.op_b, row.m, row.n, row.k);
  if (row.batch != 1) shape += fmt::format(" times {}", row.batch);
  if (!row.epilogue.empty()) shape += " with " + row.epilogue;
  return shape;
}

std::string time_of(double us) { return us == 0 ? "" : fmt::format("{:.4g}", us); }

std::string table(const RunSummary& summary, bool taken, std::size_t most_shapes) {
  Cells cells;
  cells.push_back(
      taken ? std::vector<std::string>{"taken", "shape", "by", "calls", "us of host a call",
                                       "predicted us", "cuBLAS's", "gained ms"}
            : std::vector<std::string>{"to cuBLAS", "shape", "why", "calls", "us of host a call"});
  std::int64_t left = 0;
  for (const RunRow& row : summary.rows) {
    if (row.taken != taken) continue;
    if (cells.size() > most_shapes) {
      left += row.calls;
      continue;
    }
    std::vector<std::string> line = {row.symbol, shape_of(row), taken ? row.kernel : row.reason,
                                     fmt::format("{}", row.calls),
                                     time_of(row.host_us / static_cast<double>(row.calls))};
    if (taken) {
      line.push_back(time_of(row.predicted_us));
      line.push_back(time_of(row.vendor_predicted_us));
      line.push_back(time_of(1e-3 * row.gained_us()));
    }
    cells.push_back(std::move(line));
  }
  if (cells.size() == 1) return {};
  std::string text = "\n" + bench::align(cells, 3);
  if (left > 0) text += fmt::format("and {} calls of other shapes; --report writes all\n", left);
  return text;
}

std::string verified_text(const RunSummary& summary) {
  std::int64_t verified = 0;
  double error = 0, vendor_error = 0;
  for (const RunRow& row : summary.rows) {
    verified += row.verified;
    error = std::max(error, row.error);
    vendor_error = std::max(vendor_error, row.vendor_error);
  }
  if (verified == 0) return {};
  return fmt::format(
      "{} calls verified: the largest error against float64 was {:.3g}, cuBLAS's {:.3g}, in units "
      "of 2^-24 |alpha| |op(A)| |op(B)| + |beta C| + |bias|\n",
      verified, error, vendor_error);
}

}  // namespace

double RunRow::gained_us() const {
  if (!taken || vendor_predicted_us == 0) return 0;
  return static_cast<double>(calls) * (vendor_predicted_us - predicted_us);
}

std::int64_t RunSummary::calls(bool taken) const {
  std::int64_t all = 0;
  for (const RunRow& row : rows) all += row.taken == taken ? row.calls : 0;
  return all;
}

double RunSummary::gained_us() const {
  double all = 0;
  for (const RunRow& row : rows) all += row.gained_us();
  return all;
}

RunSummary read_records(const std::string& folder) {
  RunSummary summary;
  std::map<std::string, RunRow> rows;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    const auto record = ordered_json::parse(stream, nullptr, false);
    if (record.is_discarded()) continue;
    ++summary.processes;
    const std::string device = record.at("device");
    const bool is_new =
        std::find(summary.devices.begin(), summary.devices.end(), device) == summary.devices.end();
    if (!device.empty() && is_new) summary.devices.push_back(device);
    for (const ordered_json& call : record.at("calls")) {
      const RunRow row = row_of(call);
      const auto [found, is_first] = rows.emplace(key_of(row), row);
      if (!is_first) add(row, &found->second);
    }
  }
  for (const auto& [key, row] : rows) summary.rows.push_back(row);
  std::stable_sort(summary.rows.begin(), summary.rows.end(), [](const RunRow& a, const RunRow& b) {
    return std::pair(-a.gained_us(), -a.calls) < std::pair(-b.gained_us(), -b.calls);
  });
  return summary;
}

std::string run_text(const RunSummary& summary, std::size_t most_shapes) {
  const std::int64_t taken = summary.calls(true), forwarded = summary.calls(false);
  if (taken + forwarded == 0) {
    return "no call of cuBLAS was seen: the program made none, has cuBLAS linked statically, or "
           "looked it up in a way that a preloaded library cannot see\n";
  }
  std::string text = fmt::format("{} calls of cuBLAS taken, {} left to it", taken, forwarded);
  if (summary.processes > 1) text += fmt::format(", in {} processes", summary.processes);
  for (const std::string& device : summary.devices) text += ", " + device;
  text += "\n";
  if (summary.gained_us() > 0) {
    text += fmt::format("by predicted times about {:.3g} ms of the device's time were gained\n",
                        1e-3 * summary.gained_us());
  }
  text += verified_text(summary);
  return text + table(summary, true, most_shapes) + table(summary, false, most_shapes);
}

ordered_json run_json(const RunSummary& summary) {
  ordered_json calls = ordered_json::array();
  for (const RunRow& row : summary.rows) {
    ordered_json call;
    for_each_field(row, [&](const char* name, const auto& field) { call[name] = field; });
    call["gained_us"] = row.gained_us();
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace kw
