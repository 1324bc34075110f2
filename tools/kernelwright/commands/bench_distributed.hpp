// What other commands take of `bench distributed`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "kernelwright/distributed.hpp"

namespace kw {

struct DistributedChoice : CommonOptions {
  DistributedChoice() = default;
  explicit DistributedChoice(const CommonOptions& common) : CommonOptions(common) {}

  std::string grid, math = "fp32,fp32_split";
  std::string ops = "NN";  // of A and B
  int gpus = 0, rounds = 3;
  std::int64_t panel_k = 0, block = 0;
  float alpha = 1, beta = 0;
  double limit_s = 600;
  bool has_timeline = false;
  bool starts_processes = false;  // one a rank
  int rank = -1;                  // of this process, where each rank is one
  int ordinal = -1;               // of its GPU; below 0: its rank
  std::string group_name;
  int node_ranks = 0;  // so many that follow each other pretend to be a node
};

// In a program whose processes are started elsewhere: this one's rank, and its way to join.
struct StartedRank {
  int rank = -1;
  std::function<Group(const DistributedChoice&, const Grid&, bool is_cpu, const GroupOptions&)>
      join;
};
StartedRank& started_rank();

// The exit code.
int bench_distributed(const DistributedChoice& options, const std::string& command);
// bench sgemm --gpus, verify sgemm --gpus: the same, of the library's own choice alone.
// `others` are options of the command that have no place beside it.
void add_gpus(CLI::App& to, int& gpus, const std::vector<std::string>& others);

// "fp32", "fp32_split" or both; throws UsageError for anything else.
std::vector<Math> parse_math(const std::string& text);
// "2x4"; throws UsageError for anything else.
Grid parse_grid(const std::string& text);
void add_bench_distributed(CLI::App& bench, Invocation& invocation);
void add_bench_out_of_core(CLI::App& bench, Invocation& invocation);

}  // namespace kw
