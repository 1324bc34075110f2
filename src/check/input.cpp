// Names of the kinds of test data.
#include "check/input.hpp"

#include <array>
#include <utility>

namespace kw::check {
namespace {
constexpr std::array<std::pair<Input, const char*>, 5> input_names = {{
    {Input::uniform, "uniform"},
    {Input::unit, "unit"},
    {Input::normal, "normal"},
    {Input::constant, "constant"},
    {Input::integers, "integers"},
}};
}  // namespace

const char* to_string(Input input) {
  for (const auto& [value, name] : input_names) {
    if (value == input) return name;
  }
  return "unknown";
}

bool parse_input(std::string_view name, Input* input) {
  for (const auto& [value, known] : input_names) {
    if (name == known) {
      *input = value;
      return true;
    }
  }
  return false;
}

}  // namespace kw::check
