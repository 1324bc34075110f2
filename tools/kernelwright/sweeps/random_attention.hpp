// Attention at random, for `bench attention --sweep random`. The same seed gives the same list on
// every machine, and a longer list begins with the shorter one.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/roofline.hpp"
#include "check/verify_attention.hpp"

namespace kw {

constexpr double most_attention_products = 8589934592.0;  // multiply-adds of Q K^T

// Lengths are log-uniform, to 4096 queries and 8192 keys; every fourth has one query, a third of
// those with no more queries than keys are causal. Head sizes are 32 to 256, 64 and 128 most often;
// every second has several heads of Q to one of K and V.
std::vector<check::AttentionCase> random_attention(std::uint64_t seed, std::int64_t count);

double attention_products(const check::AttentionCase& c);
// By operations and bytes at the reference roofline: under 4 us, 4 to 50, over 50.
bench::Third third_of(const check::AttentionCase& c);

}  // namespace kw
