// What an option's value may be, in sentences that fit a message.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace kw {

// The largest extent, padding and batch that can be typed: no sum of a few of them overflows.
constexpr std::int64_t largest_extent = std::int64_t{1} << 40;

inline CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return {[least, most](std::string& text) {
            std::int64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            if (stop != end || (error != std::errc() && error != std::errc::result_out_of_range)) {
              return fmt::format("\"{}\" is not a whole number", text);
            }
            if (error == std::errc() && value >= least && value <= most) return std::string();
            return fmt::format("{} is outside of {} to {}", text, least, most);
          },
          ""};
}

// A finite number above zero, or of zero on.
inline CLI::Validator number_from_zero(bool zero_too) {
  return {[zero_too](std::string& text) {
            double value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            if (error != std::errc() || stop != end) {
              return fmt::format("\"{}\" is not a number", text);
            }
            if (value > 0 ? value <= 1e15 : zero_too && value == 0) return std::string();
            return fmt::format("{} is not {} 1e15", text,
                               zero_too ? "from 0 to" : "above 0 and up to");
          },
          ""};
}

// All 64 bits, and no sign: "-1" would become the largest number.
inline CLI::Validator seed_number() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc() && stop == end) return std::string();
            return fmt::format("\"{}\" is not a whole number from 0 to {}", text, UINT64_MAX);
          },
          ""};
}

inline CLI::Validator not_empty() {
  return {[](std::string& text) {
            return text.empty() ? std::string("is empty; give a value or leave the option out")
                                : std::string();
          },
          ""};
}

}  // namespace kw
