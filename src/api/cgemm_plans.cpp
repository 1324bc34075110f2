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

// What is left of an address: an address that is a multiple of no more than its last bits say.
constexpr std::uintptr_t complex_plan_alignment = 16;
template <class T>
T* kept(T* address) {
  return reinterpret_cast<T*>(complex_plan_alignment +
                              reinterpret_cast<std::uintptr_t>(address) % complex_plan_alignment);
}
template <class T>
std::int64_t bits_of(T* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) %
                                   complex_plan_alignment);
}

}  // namespace

CgemmKey::CgemmKey(const Cgemm& p, Math math, std::size_t workspace_limit) : problem_(p) {
  Cgemm& key = problem_;
  key.alpha = kind_of(p.alpha_at != nullptr ? Complex{1, 1} : p.alpha);
  key.beta = kind_of(p.beta_at != nullptr ? Complex{1, 1} : p.beta);
  if (p.batch == 1) key.stride_a = key.stride_b = key.stride_c = 0;  // which one product has not
  key.a = kept(p.a);
  key.b = kept(p.b);
  key.c = kept(p.c);
  if (p.by_pointers()) {
    key.a_array = key.b_array = reinterpret_cast<const Complex* const*>(complex_plan_alignment);
    key.c_array = reinterpret_cast<Complex* const*>(complex_plan_alignment);
  }
  if (p.alpha_at != nullptr)
    key.alpha_at = reinterpret_cast<const Complex*>(complex_plan_alignment);
  if (p.beta_at != nullptr) key.beta_at = reinterpret_cast<const Complex*>(complex_plan_alignment);
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
  for (const std::int64_t bits : {bits_of(p.a), bits_of(p.b), bits_of(p.c)}) put(bits, 4);
  words_ = {p.m,          p.n,          p.k,     p.lda,
            p.ldb,        p.ldc,        p.batch, key.stride_a,
            key.stride_b, key.stride_c, small,   static_cast<std::int64_t>(workspace_limit)};
}

std::size_t CgemmKey::hash() const { return hash_of(words_); }

}  // namespace kw::detail
