// The key of a plan of level 3.
#include "api/level3_plans.hpp"

namespace kw::detail {

namespace {

// Left of scalars is whether they are 0, 1 or others.
std::int64_t kind_of_scalar(float value) { return value == 0 ? 0 : value == 1 ? 1 : 2; }
// Of a matrix of its own, `number`.
float* some_address(int number, std::int64_t bits) {
  constexpr std::uintptr_t apart = 1 << 16;
  return reinterpret_cast<float*>(static_cast<std::uintptr_t>(number) * apart +
                                  static_cast<std::uintptr_t>(bits));
}

}  // namespace

Level3Key::Level3Key(const Level3& p, Math math, std::size_t workspace_limit)
    : math_(math), limit_(workspace_limit) {
  std::int64_t small = 0;
  const auto put = [&](std::int64_t value, int bits) { small = (small << bits) | value; };
  put(static_cast<std::int64_t>(p.routine), 3);
  put(static_cast<std::int64_t>(p.triangle), 2);
  put(p.on_left ? 1 : 0, 1);
  put(p.unit_diagonal ? 1 : 0, 1);
  put(static_cast<std::int64_t>(p.op_a), 1);
  put(static_cast<std::int64_t>(p.op_b), 1);
  put(kind_of_scalar(p.alpha), 2);
  put(kind_of_scalar(p.beta), 2);
  put(p.alpha_at != nullptr ? 1 : 0, 1);
  put(p.beta_at != nullptr ? 1 : 0, 1);
  put(p.in_place() ? 1 : 0, 1);
  put(last_bits(p.a), 4);
  put(last_bits(p.b), 4);
  put(last_bits(p.c), 4);
  words_ = {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch, p.stride_a, p.stride_c, small};
}

Level3 Level3Key::problem() const {
  Level3 p;
  std::int64_t small = words_.back();
  const auto take = [&](int bits) {
    const std::int64_t value = small & ((std::int64_t{1} << bits) - 1);
    small >>= bits;
    return value;
  };
  // In the opposite order.
  p.c = some_address(3, take(4));
  p.b = some_address(2, take(4));
  p.a = some_address(1, take(4));
  if (take(1) != 0) p.b = p.c;
  if (take(1) != 0) p.beta_at = some_address(4, 0);
  if (take(1) != 0) p.alpha_at = some_address(4, 0);
  p.beta = static_cast<float>(take(2));
  p.alpha = static_cast<float>(take(2));
  p.op_b = static_cast<Op>(take(1));
  p.op_a = static_cast<Op>(take(1));
  p.unit_diagonal = take(1) != 0;
  p.on_left = take(1) != 0;
  p.triangle = static_cast<Triangle>(take(2));
  p.routine = static_cast<Routine>(take(3));
  p.m = words_[0];
  p.n = words_[1];
  p.k = words_[2];
  p.lda = words_[3];
  p.ldb = words_[4];
  p.ldc = words_[5];
  p.batch = words_[6];
  p.stride_a = words_[7];
  p.stride_c = words_[8];
  return p;
}

std::size_t Level3Key::hash() const {
  return hash_of(words_, limit_ + static_cast<std::uint64_t>(math_));
}

}  // namespace kw::detail
