// Draws until a case is small enough.
#include "sweeps/random_attention.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "sweeps/draws.hpp"

namespace kw {
namespace {

using check::AttentionCase;

AttentionCase draw_attention(std::mt19937_64& engine) {
  constexpr int query_octaves = 12, first_key_octave = 4, key_octaves = 13;
  AttentionCase c;
  c.dim = one_of(engine, std::array<std::int64_t, 9>{32, 48, 64, 64, 80, 96, 128, 128, 256});
  c.queries = below(engine, 4) == 0 ? 1 : log_uniform(engine, 0, query_octaves);
  c.keys = log_uniform(engine, first_key_octave, key_octaves);
  c.kv_heads = one_of(engine, std::array<std::int64_t, 5>{1, 2, 4, 8, 12});
  c.heads = c.kv_heads * one_of(engine, std::array<std::int64_t, 4>{1, 1, 2, 4});
  c.batch = one_of(engine, std::array<std::int64_t, 5>{1, 1, 2, 4, 8});
  const bool causal = below(engine, 3) == 0;
  if (causal && c.queries <= c.keys) c.causal = Causal::from_end;
  return c;
}

}  // namespace

double attention_products(const AttentionCase& c) {
  return static_cast<double>(c.batch * c.heads) * static_cast<double>(c.queries) *
         static_cast<double>(c.keys) * static_cast<double>(c.dim);
}

bench::Third third_of(const AttentionCase& c) {
  Attention p;
  p.batch = c.batch, p.heads = c.heads, p.kv_heads = c.kv_heads;
  p.queries = c.queries, p.keys = c.keys, p.dim = c.dim;
  p.causal = c.causal;
  const bench::Roofline& r = bench::reference_roofline;
  return bench::third_of_us(
      std::max(p.flops() * 1e-6 / r.fp32_tflops, p.bytes() * 1e-3 / r.memory_gbs));
}

std::vector<AttentionCase> random_attention(std::uint64_t seed, std::int64_t count) {
  return drawn_cases(seed, count, draw_attention, [](const AttentionCase& c, std::size_t) {
    return attention_products(c) <= most_attention_products;
  });
}

}  // namespace kw
