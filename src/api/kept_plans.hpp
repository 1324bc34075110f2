// The plans of a context's recent calls of one operation, so that the next call of the same key
// makes none: the choice among all kernels takes the host longer than a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "gpu/runtime.hpp"
#include "kernel.hpp"

namespace kw::detail {

// How a call is computed: by which kernel and plan, in how much workspace. And what the device
// keeps of its launches for the next call, which changes nothing of that.
template <class Problem>
struct Planned {
  Choice<Problem> choice;
  std::size_t workspace_bytes = 0;
  mutable std::unique_ptr<Runtime::KeptLaunches> launches = nullptr;
};

// A key has hash() and ==.
template <class Key, class Problem, std::size_t most_plans>
class KeptPlans {
 public:
  // It begins anew when it is full.
  static constexpr std::size_t most = most_plans;

  // Null where the key has no plan. Valid until the next call of a function that is not const.
  const Planned<Problem>* find(const Key& key) const {
    const auto found = plans_.find(key);
    return found != plans_.end() ? &found->second : nullptr;
  }
  const Planned<Problem>& keep(const Key& key, Planned<Problem> plan) {
    if (plans_.size() >= most) plans_.clear();
    return plans_.insert_or_assign(key, std::move(plan)).first->second;
  }
  void clear() { plans_.clear(); }
  std::size_t size() const { return plans_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.hash(); }
  };
  std::unordered_map<Key, Planned<Problem>, Hash> plans_;
};

// What a plan may depend on of an address: its last bits, four of them. In a key's problem they
// stand in an address that is a multiple of no more than they say.
constexpr std::uintptr_t plan_alignment = 16;
inline std::int64_t last_bits(const void* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % plan_alignment);
}
template <class T>
T* address_with(std::int64_t bits) {
  return reinterpret_cast<T*>(plan_alignment + static_cast<std::uintptr_t>(bits));
}
template <class T>
T* address_like(T* address) {
  return address_with<T>(last_bits(address));
}

// The hash of a key's words, after what else it has.
template <class Words>
std::size_t hash_of(const Words& words, std::uint64_t others = 0) {
  std::uint64_t mixed = others;
  for (const std::int64_t word : words) {
    mixed = (mixed ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 32;
  }
  return static_cast<std::size_t>(mixed);
}

}  // namespace kw::detail
