// The progress line, on standard error.
#include "terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "interrupt.hpp"

namespace kw {
namespace {

constexpr double live_every_s = 0.1;
constexpr std::size_t live_width = 79;

double steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool understands_escapes() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && is_set("TERM") && std::string_view(term) != "dumb" &&
         !is_set("NO_COLOR");
}

}  // namespace

ProgressOutput ProgressOutput::standard() {
  ProgressOutput output;
  output.is_live = understands_escapes();
  output.now = steady_now;
  return output;
}

Progress::Progress(ProgressOutput output)
    : output_(std::move(output)),
      part_began_(output_.now()),
      last_shown_(output_.is_live ? part_began_ - live_every_s : part_began_) {}

Progress::~Progress() { clear(); }

void Progress::plan(std::vector<Estimate::Part> parts) {
  estimate_ = Estimate(std::move(parts));
  part_began_ = output_.now();
}

void Progress::next() {
  const double now = output_.now();
  estimate_.done(now - part_began_);
  part_began_ = now;
}

std::string Progress::with_estimate(const std::string& text) const {
  if (estimate_.parts() < 2) return text;
  std::string whole = fmt::format("{} of {}", estimate_.parts_done() + 1, estimate_.parts());
  if (const auto left = estimate_.remaining_s(output_.now() - part_began_)) {
    whole += fmt::format(", about {} left", duration_text(*left));
  }
  return fmt::format("[{}] {}", whole, text);
}

void Progress::show(const std::string& text) {
  stop_where_interrupted();
  const double now = output_.now();
  if (now - last_shown_ < (output_.is_live ? live_every_s : output_.line_every_s)) return;
  last_shown_ = now;
  if (output_.is_live) {
    fmt::print(output_.file, "\r\x1b[K{}", with_estimate(text).substr(0, live_width));
    is_shown_ = true;
  } else {
    fmt::print(output_.file, "kernelwright: {}\n", with_estimate(text));
  }
  std::fflush(output_.file);
}

void Progress::say(const std::string& line) {
  clear();
  fmt::print(output_.file, "kernelwright: {}\n", line);
}

void Progress::clear() {
  if (!is_shown_) return;
  fmt::print(output_.file, "\r\x1b[K");
  std::fflush(output_.file);
  is_shown_ = false;
}

void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw std::runtime_error(
      fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

}  // namespace kw
