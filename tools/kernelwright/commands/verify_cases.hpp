// The options of `kernelwright verify`, and the cases that they choose: those of the shapes, where
// some are given, else the edge cases, with the one input that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/cases.hpp"
#include "check/verify_cgemm.hpp"
#include "check/verify_ctrsm.hpp"
#include "commands/commands.hpp"
#include "commands/level3_options.hpp"
#include "commands/product_options.hpp"
#include "commands/reduce_options.hpp"
#include "kernel.hpp"
#include "sgemm/problem.hpp"

namespace kw {

struct VerifyOptions : CommonOptions {
  std::string op;
  std::string reduce_op = "all", dtype = "all";
  std::string ops = "nn";            // of sgemm's shapes
  std::int64_t batch = 1;            // likewise
  std::optional<float> alpha, beta;  // likewise; of every case, where given
  ProductChoice product;             // of sgemm: a sweep in place of shapes
  std::optional<double> leave_free;  // likewise: whole calls, with so many MiB of memory free

  bool is_of_sgemm() const {
    return batch != 1 || ops != "nn" || alpha || beta || !product.sweep.empty() || leave_free;
  }
};

// Whether a rung is made of instructions that the device does not have: such a one refuses the
// plain product of one element, too.
bool is_for_another_device(const Kernel<Sgemm>& kernel, const Device& device);
std::vector<check::SgemmCase> sgemm_cases(const VerifyOptions& options, bool input_given);
std::vector<check::ScaleAddCase> scale_add_cases(const CommonOptions& options, bool input_given);
std::vector<check::Level3Case> level3_cases(const VerifyOptions& options, bool input_given);
// On a GPU edge cases go on until each production kernel computes some.
std::vector<check::CgemmCase> cgemm_cases(const CommonOptions& options, bool input_given,
                                          const Device& device);
std::vector<check::CtrsmCase> ctrsm_cases(const CommonOptions& options, bool input_given);
std::vector<check::ReduceCase> reduce_cases(const VerifyOptions& options, bool input_given);

}  // namespace kw
