// Lists of words on the command line: "lower,upper" as what the words stand for.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
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

}  // namespace kw
