// The handler of SIGINT.
#include "interrupt.hpp"

#include <unistd.h>
#include <csignal>

namespace kw {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int) {
  noted = 1;
  static const char message[] =
      "\nkernelwright: stopping after the call under way; Ctrl-C again stops at once\n";
  static_cast<void>(!write(STDERR_FILENO, message, sizeof(message) - 1));
}

}  // namespace

InterruptWatch::InterruptWatch() {
  struct sigaction present = {};
  if (sigaction(SIGINT, nullptr, &present) != 0 || present.sa_handler == SIG_IGN) return;
  struct sigaction once = {};
  once.sa_handler = note;
  once.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &once, nullptr);
}

InterruptWatch::~InterruptWatch() {
  struct sigaction present = {};
  if (sigaction(SIGINT, nullptr, &present) == 0 && present.sa_handler == note) {
    std::signal(SIGINT, SIG_DFL);
  }
}

void stop_where_interrupted() {
  if (noted != 0) throw Interrupted();
}

}  // namespace kw
