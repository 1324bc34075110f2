// The plans of a context's recent complex products, as plan_cache.hpp has them of real ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

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

struct PlannedCgemm {
  Choice<Cgemm> choice;
  std::size_t workspace_bytes = 0;
};

class CgemmPlans {
 public:
  // It begins anew when it is full.
  static constexpr std::size_t most = 256;

  // Null where the key has no plan. Valid until the next call of a function that is not const.
  const PlannedCgemm* find(const CgemmKey& key) const {
    const auto found = plans_.find(key);
    return found != plans_.end() ? &found->second : nullptr;
  }
  const PlannedCgemm& keep(const CgemmKey& key, PlannedCgemm plan) {
    if (plans_.size() >= most) plans_.clear();
    return plans_.insert_or_assign(key, std::move(plan)).first->second;
  }
  std::size_t size() const { return plans_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const CgemmKey& key) const { return key.hash(); }
  };
  std::unordered_map<CgemmKey, PlannedCgemm, Hash> plans_;
};

}  // namespace kw::detail
