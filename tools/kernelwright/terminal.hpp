// What tells a user that a command works: on a terminal one live line, elsewhere a line now and
// then, both on standard error with an estimate of what is left; and standard output's errors.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "estimate.hpp"

namespace kw {

// Where progress goes.
struct ProgressOutput {
  std::FILE* file = stderr;
  bool is_live = false;         // a terminal that understands escape sequences
  double line_every_s = 30;     // elsewhere
  std::function<double()> now;  // seconds

  // Standard error: live on a terminal, unless NO_COLOR is set or TERM is dumb or missing.
  static ProgressOutput standard();
};

class Progress {
 public:
  explicit Progress(ProgressOutput output = ProgressOutput::standard());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The work is in such parts, the first of which begins now.
  void plan(std::vector<Estimate::Part> parts);
  // A part is done, the next one begins.
  void next();
  // What is under way. Throws Interrupted after Ctrl-C.
  void show(const std::string& text);
  // A line of its own on standard error, with the program's name before it.
  void say(const std::string& line);
  // Takes the live line away, before anything else is printed.
  void clear();

 private:
  std::string with_estimate(const std::string& text) const;

  ProgressOutput output_;
  Estimate estimate_;
  double part_began_, last_shown_;
  bool is_shown_ = false;
};

// Flushes standard output; throws std::runtime_error where it cannot be written.
void flush_output();

}  // namespace kw
