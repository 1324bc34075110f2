// The progress line, on standard error.
#include "terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace kw {

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { clear(); }

void Progress::show(const std::string& text) {
  if (!on_terminal_) return;
  fmt::print(stderr, "\r\x1b[K{}", text.substr(0, 79));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace kw
