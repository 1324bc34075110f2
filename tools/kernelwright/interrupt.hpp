// Ctrl-C while a command measures: the first ends it in order, with what it has; the second kills.
#pragma once

#include <exception>

namespace kw {

// Thrown between two steps of work, where Ctrl-C was pressed since.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// For as long as one lives, Ctrl-C (SIGINT) is noted, and a second one ends the process as usual.
// A process that was started with SIGINT ignored goes on ignoring it.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
};

// Throws Interrupted where Ctrl-C was noted.
void stop_where_interrupted();

}  // namespace kw
