// Lists of words on the command line: "lower,upper" as what the words stand for.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/commands.hpp"
#include "shapes.hpp"

namespace kw {

// Throws UsageError naming the option and what is unknown.
template <class T>
std::vector<T> parse_words(const char* option, const std::string& text,
                           const std::vector<std::pair<std::string, T>>& known) {
  std::vector<T> found;
  for (const std::string& word : split(text, ',')) {
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&](const auto& entry) { return entry.first == word; });
    if (it == known.end()) {
      std::string names;
      for (const auto& entry : known) names += (names.empty() ? "" : ", ") + entry.first;
      throw UsageError(fmt::format("{}: \"{}\" is not one of {}", option, word, names));
    }
    found.push_back(it->second);
  }
  return found;
}

// The names of values, as to_string has them: "sum, mean".
template <class Values>
std::string names_of(const Values& values) {
  std::vector<std::string_view> names;
  names.reserve(std::size(values));
  for (const auto value : values) names.emplace_back(to_string(value));
  return fmt::format("{}", fmt::join(names, ", "));
}

// The value of that name; throws UsageError naming the option and what there is.
template <class Values>
auto find_by_name(const Values& values, const std::string& name, const char* option) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto value) {
    return std::string_view(to_string(value)) == name;
  });
  if (found == values.end()) {
    throw UsageError(fmt::format("{}: \"{}\" is not one of {}", option, name, names_of(values)));
  }
  return *found;
}

// "sum,mean", or "all".
template <class Values>
auto parse_names(const Values& values, const std::string& text, const char* option) {
  if (text == "all") return std::vector(values.begin(), values.end());
  std::vector<typename Values::value_type> parsed;
  for (const std::string& name : split(text, ',')) {
    parsed.push_back(find_by_name(values, name, option));
  }
  return parsed;
}

}  // namespace kw
