// The plans of a context's recent products, so that the next call of the same key makes none: the
// choice among all kernels takes the host longer than a launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

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

// How a call is computed: by which kernel and plan, in how much workspace.
struct PlannedSgemm {
  Choice<Sgemm> choice;
  std::size_t workspace_bytes = 0;
};

class PlanCache {
 public:
  // The cache begins anew when it is full.
  static constexpr std::size_t most = 256;

  // Null where the key has no plan. Valid until the next call of a function that is not const.
  const PlannedSgemm* find(const PlanKey& key) const;
  const PlannedSgemm& keep(const PlanKey& key, PlannedSgemm plan);
  void clear() { plans_.clear(); }
  std::size_t size() const { return plans_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const PlanKey& key) const { return key.hash(); }
  };
  std::unordered_map<PlanKey, PlannedSgemm, Hash> plans_;
};

}  // namespace kw::detail
