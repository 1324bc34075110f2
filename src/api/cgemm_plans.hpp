// The plans of a context's recent complex products, as plan_cache.hpp has them of real ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/kept_plans.hpp"
#include "cgemm/problem.hpp"
#include "kernel.hpp"

namespace kw::detail {

// All that the plan of a call may depend on, beside device and kernels. A plan is made for
// `problem()`, in which only that is left: of scalars whether they are 0, 1, real or complex, of
// addresses their last four bits.
class CgemmKey {
 public:
  CgemmKey(const Cgemm& problem, Math math, std::size_t workspace_limit);

  const Cgemm& problem() const { return problem_; }
  friend bool operator==(const CgemmKey& x, const CgemmKey& y) { return x.words_ == y.words_; }
  std::size_t hash() const;

 private:
  Cgemm problem_;
  std::array<std::int64_t, 12> words_;
};

using PlannedCgemm = Planned<Cgemm>;
using CgemmPlans = KeptPlans<CgemmKey, Cgemm, 256>;

}  // namespace kw::detail
