// The plans of a context's recent calls of level 3, as plan_cache.hpp has those of products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/kept_plans.hpp"
#include "level3/problem.hpp"

namespace kw::detail {

// All that the plan of a call may depend on. A plan is made for `problem()`, in which only that is
// left.
class Level3Key {
 public:
  Level3Key(const Level3& problem, Math math, std::size_t workspace_limit);

  // Like the key's call, but with addresses that nobody may follow.
  Level3 problem() const;
  Math math() const { return math_; }
  std::size_t workspace_limit() const { return limit_; }

  friend bool operator==(const Level3Key& x, const Level3Key& y) = default;
  std::size_t hash() const;

 private:
  std::array<std::int64_t, 10> words_;
  Math math_;
  std::size_t limit_;
};

using PlannedLevel3 = Planned<Level3>;
using Level3Plans = KeptPlans<Level3Key, Level3, 64>;

}  // namespace kw::detail
