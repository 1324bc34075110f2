// Reductions on the command line: which operations, element types and shapes are meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/reduce/case.hpp"
#include "commands/chosen.hpp"
#include "gpu/device.hpp"

namespace kw {

// "sum,argmin" or "all"; throws UsageError naming what is unknown.
std::vector<ReduceOp> parse_reduce_ops(const std::string& text);
std::vector<DataType> parse_data_types(const std::string& text);
// The names that these take, for messages and help: "sum, mean, ...".
std::string reduce_op_names();
std::string data_type_names();

// The options of `bench reduce` that choose problems, as typed; empty where not given.
struct ReduceChoice {
  std::string ops = "sum", types = "float32";
  std::string shape, sweep, axis, segments;
  std::int64_t misalign = 0, correction = 0;
  std::optional<std::int64_t> count, max_elements;

  // Whether the sweep draws whole problems, of which rows say more (bench::SweepRow).
  bool is_random() const { return sweep == "random"; }
};

using ChosenReductions = Chosen<check::ReduceCase>;

// Shapes times operations times types, or what --sweep random draws. Of `classic` lengths that the
// device is slow at are left out where no sweep was named. Throws UsageError where options do not
// go together.
ChosenReductions chosen_reductions(const ReduceChoice& choice, const Device& device,
                                   check::Input input, std::uint64_t seed);

// What `verify reduce --shape` checks: N as a whole array, ROWSxCOLS by rows and by columns, each
// with several alignments and paddings.
std::vector<check::ReduceCase> reductions_of_shapes(const std::string& shapes,
                                                    const std::vector<ReduceOp>& ops,
                                                    const std::vector<DataType>& types,
                                                    check::Input input, std::uint64_t seed);

}  // namespace kw
