// What other commands take of `bench distributed`.
#pragma once

#include <string>

#include "commands/commands.hpp"
#include "kernelwright/distributed.hpp"

namespace kw {

// "2x4"; throws UsageError for anything else.
Grid parse_grid(const std::string& text);
void add_bench_distributed(CLI::App& bench, Invocation& invocation);
void add_bench_out_of_core(CLI::App& bench, Invocation& invocation);

}  // namespace kw
