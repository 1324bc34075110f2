// The plans of a context's recent calls of attention, as plan_cache.hpp has those of products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api/kept_plans.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw::detail {

// All that the plan of a call may depend on. A plan is made for `problem()`, in which only that is
// left: of the scale nothing, of addresses their last four bits, of offsets whether there are any.
class AttentionKey {
 public:
  AttentionKey(const Attention& problem, Math math, std::size_t workspace_limit);

  const Attention& problem() const { return problem_; }
  friend bool operator==(const AttentionKey& x, const AttentionKey& y) {
    return x.words_ == y.words_;
  }
  std::size_t hash() const;

 private:
  Attention problem_;
  std::array<std::int64_t, 23> words_;
};

using PlannedAttention = Planned<Attention>;
using AttentionPlans = KeptPlans<AttentionKey, Attention, 128>;

}  // namespace kw::detail
