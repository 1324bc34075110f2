// Cases of rows and segments, and what verifies them through host SIMT.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "check/reduce/case.hpp"
#include "check/workbench.hpp"
#include "host_simt/host_simt.hpp"
#include "reduce/kernels.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {

class OneWorker {
 public:
  explicit OneWorker(std::size_t shared_bytes = 0) {
    host_simt::options().workers = 1;
    host_simt::options().block_shared_bytes = shared_bytes;
  }

 private:
  const test::KeptOptions kept_;
};

inline check::ReduceCase sequences_case(ReduceShape shape, ReduceOp op, DataType type) {
  check::ReduceCase c;
  c.shape = shape;
  c.op = op;
  c.type = type;
  c.seed = run_seed();
  return c;
}

// Verifies the cases by the kernel of their shape.
inline void verify_sequences(const std::vector<check::ReduceCase>& cases) {
  add_developer_backends();
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  for (const check::ReduceCase& c : cases) {
    check::ReduceTrial trial(bench, c);
    for (const Kernel<Reduce>& kernel : on_host::reduce_production()) {
      const bool is_rows = std::string_view(kernel.name) == "reduce_rows";
      if (is_rows != (c.shape == ReduceShape::rows) ||
          !supports(kernel, trial.problem(), runtime->device()))
        continue;
      const check::VerifyResult result = trial.verify(kernel);
      EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(c) << ": " << result.message;
    }
  }
}

}  // namespace kw
