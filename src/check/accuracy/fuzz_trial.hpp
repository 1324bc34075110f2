// Products of one fuzzer's case: operands on the device, float64's result, one FP32 sum an element,
// and the errors of kernels. Buffers serve all products of the case.
#pragma once

#include <vector>

#include "check/accuracy/fuzz_case.hpp"
#include "check/accuracy/pooled.hpp"
#include "check/workbench.hpp"
#include "kernel.hpp"
#include "sgemm/problem.hpp"

namespace kw::check {

// How many products make a verdict: so many that they have `outputs` elements together, 8 at least.
int fuzz_products(const FuzzCase& c, std::int64_t outputs);

class FuzzTrial {
 public:
  // Scratch memory that grows as kernels ask for it; shared by all trials of a run.
  class Scratch {
   public:
    explicit Scratch(Workbench& bench) : bench_(bench) {}
    Workspace at_least(std::size_t bytes);

   private:
    Workbench& bench_;
    DeviceBuffer buffer_;
  };

  FuzzTrial(Workbench& bench, Scratch& scratch, const FuzzCase& c);

  const Sgemm& problem() const { return problem_; }
  // Product `number`: fresh data of the case's distribution.
  void fill(int number);
  // Errors of one sum an element over that data.
  const Partial& one_sum() const { return one_sum_; }
  // A kernel's. `path`: the kernel that computed, where it chose by the data. Throws kw::Error
  // where the launch fails.
  Partial run(const Kernel<Sgemm>& kernel, const char** path);

 private:
  Partial judge(const DeviceBuffer& c);

  Workbench& bench_;
  Scratch& scratch_;
  FuzzCase case_;
  DeviceBuffer a_, b_, c_, product_, magnitude_;
  Sgemm problem_;
  Partial one_sum_ = empty_partial();
};

}  // namespace kw::check
