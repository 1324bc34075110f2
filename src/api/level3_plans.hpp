// The plans of a context's recent calls of level 3, as plan_cache.hpp has those of products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

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

struct PlannedLevel3 {
  Choice<Level3> choice;
  std::size_t workspace_bytes = 0;
};

class Level3Plans {
 public:
  // It begins anew when it is full.
  static constexpr std::size_t most = 64;

  // Null where the key has no plan. Valid until the next call of a function that is not const.
  const PlannedLevel3* find(const Level3Key& key) const;
  const PlannedLevel3& keep(const Level3Key& key, PlannedLevel3 plan);

 private:
  struct Hash {
    std::size_t operator()(const Level3Key& key) const { return key.hash(); }
  };
  std::unordered_map<Level3Key, PlannedLevel3, Hash> plans_;
};

}  // namespace kw::detail
