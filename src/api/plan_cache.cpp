// The key of a plan.
#include "api/plan_cache.hpp"

#include <utility>

namespace kw::detail {

namespace {

// What is left of a scalar.
int kind_of(float value) { return value == 0 ? 0 : value == 1 ? 1 : 2; }

// Small numbers one after the other in a word, `bits` bits each, put in and taken out in the same
// order.
class Packed {
 public:
  explicit Packed(std::uint64_t word = 0) : word_(word) {}
  template <class T>
  Packed& put(T value, int bits) {
    word_ |= static_cast<std::uint64_t>(value) << at_;
    at_ += bits;
    return *this;
  }
  std::uint64_t take(int bits) {
    const std::uint64_t value = word_ >> at_ & ((std::uint64_t{1} << bits) - 1);
    at_ += bits;
    return value;
  }
  std::int64_t word() const { return static_cast<std::int64_t>(word_); }

 private:
  std::uint64_t word_;
  int at_ = 0;
};

}  // namespace

PlanKey::PlanKey(const Sgemm& p, Math math, std::size_t workspace_limit) {
  const bool strides = p.batch != 1;  // which one product does not have
  const std::int64_t small = Packed()
                                 .put(math, 1)
                                 .put(p.op_a, 1)
                                 .put(p.op_b, 1)
                                 .put(kind_of(p.alpha), 2)
                                 .put(kind_of(p.beta), 2)
                                 .put(p.alpha_at != nullptr, 1)
                                 .put(p.beta_at != nullptr, 1)
                                 .put(p.a_array != nullptr, 1)
                                 .put(last_bits(p.a), 4)
                                 .put(last_bits(p.b), 4)
                                 .put(last_bits(p.c), 4)
                                 .word();
  words_ = {p.m,
            p.n,
            p.k,
            p.lda,
            p.ldb,
            p.ldc,
            p.batch,
            strides ? p.stride_a : 0,
            strides ? p.stride_b : 0,
            strides ? p.stride_c : 0,
            small,
            static_cast<std::int64_t>(workspace_limit)};
}

Sgemm PlanKey::problem() const {
  const auto& [m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c, small, limit] = words_;
  Packed packed(static_cast<std::uint64_t>(small));
  packed.take(1);  // math
  Sgemm p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.op_a = static_cast<Op>(packed.take(1));
  p.op_b = static_cast<Op>(packed.take(1));
  p.alpha = static_cast<float>(packed.take(2));
  p.beta = static_cast<float>(packed.take(2));
  if (packed.take(1) != 0) p.alpha_at = address_with<const float>(0);
  if (packed.take(1) != 0) p.beta_at = address_with<const float>(0);
  if (packed.take(1) != 0) {
    p.a_array = p.b_array = address_with<const float* const>(0);
    p.c_array = address_with<float* const>(0);
  }
  p.a = address_with<const float>(static_cast<std::int64_t>(packed.take(4)));
  p.b = address_with<const float>(static_cast<std::int64_t>(packed.take(4)));
  p.c = address_with<float>(static_cast<std::int64_t>(packed.take(4)));
  p.lda = lda;
  p.ldb = ldb;
  p.ldc = ldc;
  p.batch = batch;
  p.stride_a = stride_a;
  p.stride_b = stride_b;
  p.stride_c = stride_c;
  return p;
}

Math PlanKey::math() const {
  return static_cast<Math>(Packed(static_cast<std::uint64_t>(words_[words_.size() - 2])).take(1));
}

std::size_t PlanKey::workspace_limit() const { return static_cast<std::size_t>(words_.back()); }

std::size_t PlanKey::hash() const { return hash_of(words_); }

}  // namespace kw::detail
