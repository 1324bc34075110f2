// Draws until a product is within the bounds and of the third that is its turn.
#include "sweeps/random_products.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "bench/problems.hpp"
#include "bench/roofline.hpp"
#include "sweeps/draws.hpp"

namespace kw {
namespace {

Op random_op(std::mt19937_64& engine) { return below(engine, 2) == 0 ? Op::none : Op::transpose; }

bool within_bounds(const check::SgemmCase& c) {
  const double operations = bench::work(c);
  return operations >= least_operations && operations <= most_operations &&
         std::max({c.m * c.k, c.k * c.n, c.m * c.n}) <= largest_operand;
}

check::SgemmCase draw(std::mt19937_64& engine) {
  check::SgemmCase c;
  c.m = random_extent(engine);
  c.n = random_extent(engine);
  c.k = random_extent(engine);
  c.op_a = random_op(engine);
  c.op_b = random_op(engine);
  c.lda_pad = random_padding(engine);
  c.ldb_pad = random_padding(engine);
  c.ldc_pad = random_padding(engine);
  return c;
}

}  // namespace

std::int64_t random_padding(std::mt19937_64& engine) { return one_of(engine, leading_paddings); }

std::int64_t random_extent(std::mt19937_64& engine) {
  constexpr int octaves = 14;
  static_assert(std::int64_t{1} << octaves == longest_extent);
  return log_uniform(engine, 0, octaves);
}

std::vector<check::SgemmCase> random_products(std::uint64_t seed, std::int64_t count) {
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, Op, Op>> seen;
  return drawn_cases(seed, count, draw, [&](const check::SgemmCase& c, std::size_t number) {
    const auto turn = static_cast<bench::Third>(number % bench::thirds);
    return within_bounds(c) && bench::third_of(c) == turn &&
           seen.emplace(c.m, c.n, c.k, c.op_a, c.op_b).second;
  });
}

}  // namespace kw
