// Rows and segments through host SIMT, of which a block has more chunks than it finds at a time
// (src/reduce/sequences.hpp): one multiprocessor, so three blocks at most share all of them.
#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "check/reduce/case.hpp"
#include "check/workbench.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "host_simt/host_simt.hpp"
#include "reduce/kernels.hpp"

namespace kw {
namespace {

class OneWorker {
 public:
  OneWorker() : before_(host_simt::options()) { host_simt::options().workers = 1; }
  OneWorker(const OneWorker&) = delete;
  OneWorker& operator=(const OneWorker&) = delete;
  ~OneWorker() { host_simt::options() = before_; }

 private:
  host_simt::Options before_;
};

check::ReduceCase sequences_case(ReduceShape shape, ReduceOp op, DataType type) {
  check::ReduceCase c;
  c.shape = shape;
  c.op = op;
  c.type = type;
  c.seed = run_seed();
  return c;
}

TEST(ReduceSequences, BlocksOfManyChunks) {
  const OneWorker one;
  std::vector<check::ReduceCase> cases;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::variance, ReduceOp::argmin}) {
    // One chunk each and a little more than one: over 64 a block, twice what is found at a time.
    check::ReduceCase rows = sequences_case(ReduceShape::rows, op, DataType::float32);
    rows.rows = 200, rows.cols = 1040, rows.misalign = 3;
    cases.push_back(rows);
    rows = sequences_case(ReduceShape::rows, op, DataType::float64);
    rows.rows = 100, rows.cols = 2050, rows.ld_pad = 1;
    cases.push_back(rows);
  }
  check::ReduceCase segments =
      sequences_case(ReduceShape::segments, ReduceOp::sum_of_squares, DataType::int64);
  segments.lengths = check::SegmentLengths::uneven;
  segments.segments = 2000;
  cases.push_back(segments);
  segments.op = ReduceOp::l2_norm;
  segments.type = DataType::float64;
  segments.misalign = 1;
  cases.push_back(segments);

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

}  // namespace
}  // namespace kw
#endif
