// The options of `kernelwright trace`, for the command and for the program that it starts.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace kw {

struct TraceOptions {
  std::string rung, shape = "256", length = "2^20", json;
  std::uint64_t blocks = 0;   // 0: all
  int multiprocessors = 132;  // an H200's
  int lines = 8;
  bool list = false;
};

void add_trace_options(CLI::App& app, TraceOptions& options);
// The same options, as words of a command line.
std::vector<std::string> to_words(const TraceOptions& options);

}  // namespace kw
