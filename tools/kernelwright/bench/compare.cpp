// Which rows are of the same work, and which changes are more than the runs' own spread.
#include "bench/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "program.hpp"

namespace kw::bench {
namespace {

using nlohmann::ordered_json;

// What a run finds out; all else identifies a row. Other numbers with a point are measured too.
constexpr std::array measured = {
    "role",    "path",      "timing",      "launch",     "time_us",     "gflops",
    "gbs",     "of_peak",   "peer",        "vs_peer",    "vs_previous", "sm_clock_mhz",
    "power_w", "error",     "c_first",     "c_last",     "verified",    "rms_vs_peer",
    "seeds",   "same_bits", "max_vs_peer", "roofline_us"};
constexpr std::array given_numbers = {"alpha", "beta"};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool identifies(const std::string& name, const ordered_json& value) {
  if (is_among(measured, name)) return false;
  if (value.is_number_float()) return is_among(given_numbers, name);
  return !value.is_structured();
}

// Names and values of what identifies a row.
using Identity = std::map<std::string, std::string>;

Identity identity_of(const ordered_json& row) {
  Identity identity;
  for (const auto& [name, value] : row.items()) {
    if (identifies(name, value))
      identity[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  // Launch latency is in such times and in no other, and the host's times are others altogether.
  for (const char* timing : {"alone", "enqueue"})
    if (row.contains("timing") && row["timing"] == timing) identity["timing"] = timing;
  return identity;
}

std::string word(const Identity& identity, const char* name) {
  const auto found = identity.find(name);
  return found == identity.end() || found->second == "null" ? std::string() : found->second;
}

// The problem in few words, and the fields that they hold.
struct Words {
  std::string text;
  std::set<std::string> fields;
};

Words words_of(const Identity& id) {
  if (word(id, "op") == "reduce") {
    const std::string shape = word(id, "shape");
    const std::string size = shape == "whole"      ? word(id, "n")
                             : shape == "segments" ? word(id, "segments")
                                                   : word(id, "rows") + "x" + word(id, "cols");
    return {fmt::format("{} {} {} {}", word(id, "reduce_op"), word(id, "dtype"), size, shape),
            {"reduce_op", "dtype", "n", "segments", "rows", "cols", "shape"}};
  }
  const std::string m = word(id, "m"), n = word(id, "n"), k = word(id, "k");
  std::string size;
  for (const std::string& extent : {m, n, k}) {
    if (!extent.empty()) size += (size.empty() ? "" : "x") + extent;
  }
  const std::string ops = word(id, "op_a") + word(id, "op_b");
  return {size + (ops.empty() ? "" : " " + ops), {"m", "n", "k", "op_a", "op_b"}};
}

struct Entry {
  Identity identity;
  std::string op, kernel, role;
  Words words;
  std::optional<Timing> time;
  bool is_verified = true;
};

std::optional<Timing> timing_of(const ordered_json& row) {
  const auto time = row.find("time_us");
  if (time == row.end() || !time->is_object()) return std::nullopt;
  const auto number = [&](const char* name) {
    const auto value = time->find(name);
    return value != time->end() && value->is_number() ? value->get<double>() : 0.0;
  };
  const Timing timing{number("median"), number("iqr")};
  if (!std::isfinite(timing.us) || timing.us <= 0) return std::nullopt;
  return timing;
}

std::vector<Entry> entries_of(const ordered_json& file, const std::string& name) {
  const bool is_one = file.is_object() && file.contains("rows") && file["rows"].is_array() &&
                      file.value("schema", ordered_json()) == 1;
  if (!is_one) {
    throw UsageError(name + ": not a result file of this program: it has no schema 1 with rows");
  }
  std::vector<Entry> entries;
  for (const ordered_json& row : file["rows"]) {
    if (!row.is_object()) {
      throw UsageError(fmt::format("{}: row {} is no object", name, entries.size() + 1));
    }
    Entry& entry = entries.emplace_back();
    entry.identity = identity_of(row);
    entry.op = word(entry.identity, "op");
    entry.kernel = word(entry.identity, "kernel");
    const auto role = row.find("role");
    if (role != row.end() && role->is_string()) entry.role = role->get<std::string>();
    entry.words = words_of(entry.identity);
    entry.time = timing_of(row);
    const auto verified = row.find("verified");
    entry.is_verified = verified == row.end() || *verified != false;
  }
  return entries;
}

// Where several rows of a kernel would read alike, the fields that tell them apart are added.
void tell_apart(std::vector<Entry*>& alike) {
  std::map<std::string, std::set<std::string>> values;
  for (const Entry* entry : alike) {
    for (const auto& [name, value] : entry->identity) values[name].insert(value);
  }
  for (Entry* entry : alike) {
    for (const auto& [name, seen] : values) {
      if (seen.size() < 2 || entry->words.fields.contains(name)) continue;
      entry->words.text += fmt::format(" {}={}", name, word(entry->identity, name.c_str()));
    }
  }
}

void tell_apart(std::vector<Entry>& before, std::vector<Entry>& after) {
  std::map<std::string, std::vector<Entry*>> groups;
  for (std::vector<Entry>* entries : {&before, &after}) {
    for (Entry& entry : *entries) {
      groups[entry.op + "|" + entry.kernel + "|" + entry.words.text].push_back(&entry);
    }
  }
  for (auto& [key, alike] : groups) tell_apart(alike);
}

Verdict verdict_of(const Entry& before, const Entry& after, double threshold) {
  if (before.is_verified && !after.is_verified) return Verdict::broken;
  if (!before.time || !after.time) return Verdict::untimed;
  const double change = after.time->us - before.time->us;
  const double spread = std::max(before.time->iqr_us, after.time->iqr_us);
  if (std::fabs(change) <= std::max(spread, threshold * before.time->us)) return Verdict::same;
  return change < 0 ? Verdict::faster : Verdict::slower;
}

Pair pair_of(const Entry& entry) {
  Pair pair;
  pair.op = entry.op;
  pair.kernel = entry.kernel;
  pair.role = entry.role;
  pair.problem = entry.words.text;
  return pair;
}

std::string shown(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "none" : value.dump();
}

// Fields of one part of both files that differ. Measured limits differ by a little in any case.
void note_differences(const ordered_json& before, const ordered_json& after, const char* part,
                      double threshold, std::vector<std::string>& notes) {
  const ordered_json none = ordered_json::object();
  const auto of = [&](const ordered_json& file) {
    const auto found = file.find(part);
    return found != file.end() && found->is_object() ? *found : none;
  };
  const ordered_json old_part = of(before), new_part = of(after);
  for (const auto& [name, value] : old_part.items()) {
    const ordered_json other = new_part.value(name, ordered_json());
    if (value == other || value.is_structured()) continue;
    if (value.is_number_float() && other.is_number() && value.get<double>() > 0 &&
        std::fabs(other.get<double>() / value.get<double>() - 1) <= threshold) {
      continue;
    }
    notes.push_back(
        fmt::format("{} {}: {} before, {} after", part, name, shown(value), shown(other)));
  }
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::faster: return "faster";
    case Verdict::slower: return "SLOWER";
    case Verdict::broken: return "NOT VERIFIED any more";
    case Verdict::only_before: return "only before";
    case Verdict::only_after: return "only after";
    case Verdict::untimed: return "no time";
  }
  return "unknown";
}

std::optional<double> Pair::ratio() const {
  if (!before || !after) return std::nullopt;
  return before->us / after->us;
}

int Comparison::count(Verdict verdict) const {
  return static_cast<int>(std::count_if(pairs.begin(), pairs.end(),
                                        [&](const Pair& pair) { return pair.verdict == verdict; }));
}

Summary Comparison::summary(const std::string& kernel) const {
  Summary summary;
  double logs = 0;
  for (const Pair& pair : pairs) {
    if (!kernel.empty() && pair.kernel != kernel) continue;
    if (pair.verdict == Verdict::same) {
      ++summary.same;
    } else if (pair.verdict == Verdict::faster) {
      ++summary.faster;
    } else if (pair.verdict == Verdict::slower) {
      ++summary.slower;
    } else {
      continue;
    }
    logs += std::log(*pair.ratio());
    if (summary.best == nullptr || *pair.ratio() > *summary.best->ratio()) summary.best = &pair;
    if (summary.worst == nullptr || *pair.ratio() < *summary.worst->ratio()) summary.worst = &pair;
  }
  if (summary.compared() > 0) summary.mean = std::exp(logs / summary.compared());
  return summary;
}

std::vector<std::string> Comparison::kernels() const {
  std::vector<std::string> names;
  for (const Pair& pair : pairs) {
    if (!is_among(names, pair.kernel)) names.push_back(pair.kernel);
  }
  return names;
}

Comparison compare(const ordered_json& before, const std::string& before_name,
                   const ordered_json& after, const std::string& after_name, double threshold) {
  std::vector<Entry> old_entries = entries_of(before, before_name);
  std::vector<Entry> new_entries = entries_of(after, after_name);
  tell_apart(old_entries, new_entries);
  std::map<Identity, std::vector<const Entry*>> waiting;  // of the file after, by what they are
  for (const Entry& entry : new_entries) waiting[entry.identity].push_back(&entry);
  for (auto& [identity, partners] : waiting) std::reverse(partners.begin(), partners.end());
  Comparison comparison;
  std::set<const Entry*> joined;
  for (const Entry& entry : old_entries) {
    Pair& pair = comparison.pairs.emplace_back(pair_of(entry));
    pair.before = entry.time;
    std::vector<const Entry*>& partners = waiting[entry.identity];
    if (partners.empty()) {
      pair.verdict = Verdict::only_before;
      continue;
    }
    const Entry& partner = *partners.back();
    partners.pop_back();
    joined.insert(&partner);
    pair.after = partner.time;
    pair.verdict = verdict_of(entry, partner, threshold);
  }
  for (const Entry& entry : new_entries) {
    if (joined.contains(&entry)) continue;
    Pair& pair = comparison.pairs.emplace_back(pair_of(entry));
    pair.after = entry.time;
    pair.verdict = Verdict::only_after;
  }
  note_differences(before, after, "device", threshold, comparison.notes);
  note_differences(before, after, "software", threshold, comparison.notes);
  for (const auto& [file, name] : {std::pair{&before, &before_name}, {&after, &after_name}}) {
    if (file->value("interrupted", ordered_json(false)) == true) {
      comparison.notes.push_back(*name + " is of an interrupted run");
    }
  }
  return comparison;
}

}  // namespace kw::bench
