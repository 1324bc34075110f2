// The accuracy fuzzer: split products of data drawn at random, each held to the error of one FP32
// sum an element; what fails is made as small as it can be and still fail.
#pragma once

#include <cstdint>
#include <string>

#include "commands/commands.hpp"

namespace kw {

struct FuzzOptions {
  bool wanted = false;
  std::int64_t count = 100;
  std::int64_t first = 0;          // the draw to begin with
  std::int64_t outputs = 100'000;  // that the products of a draw have together, at least
  bool as_drawn = false;           // what fails is not made smaller
  std::string data, shape;         // one case in place of draws
};

// Prints what fails and a table of kernels, and writes rows where asked for; the exit code.
int run_accuracy_fuzz(const CommonOptions& options, const FuzzOptions& fuzz,
                      const std::string& command);

}  // namespace kw
