// The kernelwright program: its entry point as a function, its exit codes, what its commands share.
#pragma once

#include <stdexcept>
#include <string>

namespace kw {

enum ExitCode {
  exit_fine = 0,
  exit_not_verified = 1,  // or, of compare --fail-slower, something is slower
  exit_usage = 2,
  exit_no_device = 3,
  exit_failed = 4,  // no memory, an output that can't be written, a device that fails
  exit_interrupted = 130
};

// The command line asks for something that does not exist or cannot be done.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// For an option whose file cannot be opened: what to throw.
UsageError cannot_write(const char* option, const std::string& path, int error);

int run_program(int argc, const char* const* argv);

}  // namespace kw
