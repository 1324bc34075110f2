// The accuracy suite: kernels over many kinds of data beside the vendor's, each held to the rule.
#pragma once

#include <cstdint>
#include <string>

#include "commands/commands.hpp"

namespace kw {

struct SuiteOptions {
  std::string classes;       // globs
  std::string math;          // of the kernels; empty for any
  std::string dump;          // a folder for operands and float64's product, or empty
  std::int64_t size = 0;     // m and n; 0 for the device's usual
  std::int64_t deepest = 0;  // likewise the largest k
  int seeds = 1;
};

// The k that error is shown against.
constexpr std::int64_t accuracy_depths[] = {1,   8,   16,   32,   64,    128,
                                            256, 512, 1024, 4096, 16384, 65536};

// Prints a table a class and writes the rows where asked for; the exit code.
int run_accuracy_suite(const CommonOptions& options, const SuiteOptions& suite,
                       const std::string& command);

// The classes' names and what they are, a line each, for help texts.
std::string accuracy_class_names();

}  // namespace kw
