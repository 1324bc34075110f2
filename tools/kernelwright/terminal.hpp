// What goes to a terminal while a command works: a progress line, and nothing in a pipe.
#pragma once

#include <string>

namespace kw {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Replaces the line.
  void show(const std::string& text);
  // Takes the line away, before anything else is printed.
  void clear();

 private:
  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace kw
