// The key of a complex product's plan.
#include "api/cgemm_plans.hpp"

namespace kw::detail {

namespace {

// What is left of a scalar.
Complex kind_of(const Complex& z) {
  if (z.im != 0) return {1, 1};
  return z.re == 0 || z.re == 1 ? Complex{z.re, 0} : Complex{2, 0};
}
std::int64_t word_of(const Complex& kind) {
  return static_cast<std::int64_t>(kind.re) + (kind.im != 0 ? 4 : 0);
}

}  // namespace

CgemmKey::CgemmKey(const Cgemm& p, Math math, std::size_t workspace_limit) : problem_(p) {
  Cgemm& key = problem_;
  key.alpha = kind_of(p.alpha_at != nullptr ? Complex{1, 1} : p.alpha);
  key.beta = kind_of(p.beta_at != nullptr ? Complex{1, 1} : p.beta);
  if (p.batch == 1) key.stride_a = key.stride_b = key.stride_c = 0;  // which one product has not
  key.a = address_like(p.a);
  key.b = address_like(p.b);
  key.c = address_like(p.c);
  if (p.by_pointers()) {
    key.a_array = key.b_array = address_with<const Complex* const>(0);
    key.c_array = address_with<Complex* const>(0);
  }
  if (p.alpha_at != nullptr) key.alpha_at = address_with<const Complex>(0);
  if (p.beta_at != nullptr) key.beta_at = address_with<const Complex>(0);
  std::int64_t small = 0;
  const auto put = [&](std::int64_t value, int bits) { small = small << bits | value; };
  put(static_cast<std::int64_t>(math), 1);
  put(p.op_a == Op::transpose, 1);
  put(p.op_b == Op::transpose, 1);
  put(p.conj_a, 1);
  put(p.conj_b, 1);
  put(word_of(key.alpha), 4);
  put(word_of(key.beta), 4);
  put(p.alpha_at != nullptr, 1);
  put(p.beta_at != nullptr, 1);
  put(p.by_pointers(), 1);
  put(static_cast<std::int64_t>(p.triangle), 2);
  put(p.hermitian, 1);
  for (const std::int64_t bits : {last_bits(p.a), last_bits(p.b), last_bits(p.c)}) put(bits, 4);
  words_ = {p.m,          p.n,          p.k,     p.lda,
            p.ldb,        p.ldc,        p.batch, key.stride_a,
            key.stride_b, key.stride_c, small,   static_cast<std::int64_t>(workspace_limit)};
}

std::size_t CgemmKey::hash() const { return hash_of(words_); }

}  // namespace kw::detail
