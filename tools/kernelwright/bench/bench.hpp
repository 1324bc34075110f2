// Measuring: verify every kernel on a problem, time those that are right, put both into rows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cache_flush.hpp"
#include "bench/ceilings.hpp"
#include "bench/contest.hpp"
#include "bench/library_calls.hpp"
#include "bench/operand_sets.hpp"
#include "bench/row.hpp"
#include "bench/telemetry.hpp"
#include "check/verify.hpp"
#include "check/verify_cgemm.hpp"
#include "check/verify_ctrsm.hpp"
#include "check/verify_level3.hpp"

namespace kw::bench {

struct Options {
  L2 l2 = L2::hot;
  TimingMethod timing = TimingMethod::by_length;
  double budget_ms = 200;  // a kernel and problem
  double max_call_ms = 0;  // a kernel expected to take longer is left out; 0: none is
  // Of the kernels that predict their times, those are left out whose prediction is more than so
  // many times the least, and rows state the prediction; 0: none is, and they don't.
  double within = 0;
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
  std::vector<Row> run(const KernelList<Level3>& kernels, const check::Level3Case& c);
  std::vector<Row> run(const KernelList<ScaleAdd>& kernels, const check::ScaleAddCase& c);
  std::vector<Row> run(const KernelList<Reduce>& kernels, const check::ReduceCase& c);
  std::vector<Row> run(const KernelList<Cgemm>& kernels, const check::CgemmCase& c);
  std::vector<Row> run(const KernelList<Ctrsm>& kernels, const check::CtrsmCase& c);
  std::vector<Row> run(const KernelList<Rowwise>& kernels, const check::RowwiseCase& c);
  std::vector<Row> run(const KernelList<Attention>& kernels, const check::AttentionCase& c);

 private:
  template <class Problem>
  struct Entry;  // a kernel that gave the right answer, with what its timed calls need

  template <class Problem, class Trial, class Case>
  std::vector<Row> run_any(const KernelList<Problem>& kernels, const Case& c);
  template <class Problem, class Trial, class Case>
  bool is_too_slow(const Kernel<Problem>& kernel, const Case& c, double case_work);
  template <class Problem>
  KernelList<Problem> promising(const KernelList<Problem>& kernels, const Problem& problem) const;
  template <class Problem, class Trial, class Case>
  std::vector<Entry<Problem>> verify(const KernelList<Problem>& kernels, Trial& trial,
                                     const Case& c, std::vector<Row>& rows);
  template <class Problem>
  std::unique_ptr<OperandSets> make_cold(const Problem& problem, const std::string& name,
                                         double present, ContestOptions& contest);
  template <class Problem>
  bool is_library_call(const Kernel<Problem>& kernel);
  template <class Problem, class Trial>
  check::VerifyResult verify_one(const Kernel<Problem>& kernel, Trial& trial);
  template <class Problem>
  std::function<Status(std::int64_t, Stream)> call_of(const Entry<Problem>& entry,
                                                      const std::vector<Problem>& problems);
  template <class Problem>
  void time(const std::vector<Entry<Problem>>& entries, const std::vector<Problem>& problems,
            const ContestOptions& contest, const std::string& name, double case_work,
            std::vector<Row>& rows);
  template <class Problem>
  bool caches_hold(const Problem& problem) const;
  bool fits(const std::string& what, double bytes);

  check::Workbench& workbench_;
  Options options_;
  Ceilings ceilings_;
  std::function<void(const std::string&)> say_;
  std::function<void(const std::string&)> progress_;
  Telemetry telemetry_;
  std::optional<CacheFlush> flush_;      // made when first wanted
  std::optional<LibraryCalls> library_;  // likewise
  struct Seen {
    double work, us;
  };
  std::map<std::string, Seen> largest_;  // the largest problem that each kernel was timed on
};

}  // namespace kw::bench
