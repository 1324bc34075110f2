// The key of a product's plan, and the plans that a context keeps of products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/kept_plans.hpp"
#include "kernel.hpp"
#include "sgemm/problem.hpp"

namespace kw::detail {

// All that the plan of a call may depend on, beside what a context has: device, kernels and tune
// cache. A plan is made for `problem()`, in which only that is left, so it cannot depend on more.
// Left of scalars is whether they are 0, 1 or others; of addresses, whether they are multiples of
// 4, 8 or 16, and never of more.
class PlanKey {
 public:
  PlanKey(const Sgemm& problem, Math math, std::size_t workspace_limit);

  // Like the key's call, but with addresses that nobody may follow.
  Sgemm problem() const;
  Math math() const;
  std::size_t workspace_limit() const;

  friend bool operator==(const PlanKey& x, const PlanKey& y) { return x.words_ == y.words_; }
  std::size_t hash() const;

 private:
  std::array<std::int64_t, 12> words_;
};

using PlannedSgemm = Planned<Sgemm>;
using PlanCache = KeptPlans<PlanKey, Sgemm, 256>;

}  // namespace kw::detail
