// Measuring: verify every kernel on a problem, time those that are right, put both into rows.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/operand_sets.hpp"
#include "bench/row.hpp"
#include "bench/telemetry.hpp"
#include "check/verify.hpp"

namespace kw::bench {

struct Options {
  L2 l2 = L2::hot;
  double budget_ms = 200;  // a kernel and problem
  double max_call_ms = 0;  // a kernel expected to take longer is left out; 0: none is
};

class Bench {
 public:
  // `say` gets a line for whatever is left out; `progress` a short text for what is under way.
  Bench(check::Workbench& workbench, const Options& options, const Ceilings& ceilings,
        std::function<void(const std::string&)> say,
        std::function<void(const std::string&)> progress);

  // Rows in the order of `kernels`, ratios filled. A kernel that fails has a row without times; one
  // that refuses the problem, or a problem that does not fit in memory, is said.
  std::vector<Row> run(const KernelList<Sgemm>& kernels, const check::SgemmCase& c);
  std::vector<Row> run(const KernelList<ScaleAdd>& kernels, const check::ScaleAddCase& c);

 private:
  template <class Problem>
  struct Entry;  // a kernel that gave the right answer, with what its timed calls need

  template <class Problem, class Trial, class Case>
  std::vector<Row> run_any(const KernelList<Problem>& kernels, const Case& c);
  template <class Problem, class Trial, class Case>
  bool is_too_slow(const Kernel<Problem>& kernel, const Case& c);
  template <class Problem, class Trial, class Case>
  std::vector<Entry<Problem>> verify(const KernelList<Problem>& kernels, Trial& trial,
                                     const Case& c, std::vector<Row>& rows);
  template <class Problem, class Case>
  void time(const std::vector<Entry<Problem>>& entries, const std::vector<Problem>& problems,
            const Case& c, std::vector<Row>& rows);
  bool fits(const std::string& what, std::size_t bytes);

  check::Workbench& workbench_;
  Options options_;
  Ceilings ceilings_;
  std::function<void(const std::string&)> say_;
  std::function<void(const std::string&)> progress_;
  Telemetry telemetry_;
  std::map<std::string, double> us_a_work_;  // the most that each kernel took per unit of work
};

}  // namespace kw::bench
