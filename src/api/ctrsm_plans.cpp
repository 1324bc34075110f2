// The key of a complex system's plan.
#include "api/ctrsm_plans.hpp"

namespace kw::detail {

namespace {

// What is left of alpha.
Complex kind_of_alpha(const Ctrsm& p) {
  if (p.alpha_at != nullptr || p.alpha.im != 0) return {1, 1};
  return p.alpha.re == 0 || p.alpha.re == 1 ? p.alpha : Complex{2, 0};
}

}  // namespace

CtrsmKey::CtrsmKey(const Ctrsm& p, Math math, std::size_t workspace_limit) : problem_(p) {
  Ctrsm& key = problem_;
  key.alpha = kind_of_alpha(p);
  if (p.batch == 1) key.stride_a = key.stride_c = 0;  // which one system has not
  key.a = address_like(p.a);
  key.c = address_like(p.c);
  if (p.alpha_at != nullptr) key.alpha_at = address_with<const Complex>(0);
  std::int64_t small = 0;
  const auto put = [&](std::int64_t value, int bits) { small = small << bits | value; };
  put(static_cast<std::int64_t>(math), 1);
  put(static_cast<std::int64_t>(p.triangle), 2);
  put(p.on_left, 1);
  put(p.unit_diagonal, 1);
  put(p.op_a == Op::transpose, 1);
  put(p.conj_a, 1);
  put(static_cast<std::int64_t>(key.alpha.re), 2);
  put(key.alpha.im != 0, 1);
  put(p.alpha_at != nullptr, 1);
  put(last_bits(p.a), 4);
  put(last_bits(p.c), 4);
  words_ = {p.m,          p.n,     p.lda,
            p.ldc,        p.batch, key.stride_a,
            key.stride_c, small,   static_cast<std::int64_t>(workspace_limit)};
}

std::size_t CtrsmKey::hash() const { return hash_of(words_); }

}  // namespace kw::detail
