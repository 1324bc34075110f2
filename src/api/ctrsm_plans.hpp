// The plans of a context's recent complex triangular systems, as plan_cache.hpp has those of
// products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/kept_plans.hpp"
#include "ctrsm/problem.hpp"
#include "kernel.hpp"

namespace kw::detail {

// All that the plan of a call may depend on, beside device and kernels. A plan is made for
// `problem()`, in which only that is left: of alpha whether it is 0, 1, real or complex, of
// addresses their last four bits.
class CtrsmKey {
 public:
  CtrsmKey(const Ctrsm& problem, Math math, std::size_t workspace_limit);

  const Ctrsm& problem() const { return problem_; }
  friend bool operator==(const CtrsmKey& x, const CtrsmKey& y) { return x.words_ == y.words_; }
  std::size_t hash() const;

 private:
  Ctrsm problem_;
  std::array<std::int64_t, 9> words_;
};

using PlannedCtrsm = Planned<Ctrsm>;
using CtrsmPlans = KeptPlans<CtrsmKey, Ctrsm, 64>;

}  // namespace kw::detail
