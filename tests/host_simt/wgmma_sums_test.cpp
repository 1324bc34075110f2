// What Hopper's matrix instruction adds up in host SIMT: bit by bit what the hardware does.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "device/wgmma.hpp"
#include "fixture.hpp"
#include "support/run_seed.hpp"
#include "wgmma_operands.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

// --- one warpgroup multiplies, a step of 16 along k at a time

// Tiles of [rows of the operand][16], packed as core matrices; a promotion is an ordinary addition
// of what `promote_every` steps have summed.
template <Half type, int N>
__global__ void multiply(const Bits* a, const Bits* b, const float* before, int steps,
                         int promote_every, float* c) {
  alignas(128) __shared__ Bits a_tile[rows * depth];
  alignas(128) __shared__ Bits b_tile[N * depth];
  const int t = static_cast<int>(threadIdx.x);
  float acc[N / 2], sum[N / 2];
  for (int i = 0; i < N / 2; ++i)
    acc[i] = before != nullptr ? before[accumulator_place(t, i, N)] : 0;
  for (float& x : sum) x = 0;
  for (int step = 0; step < steps; ++step) {
    for (int i = t; i < rows * depth; i += 128) a_tile[i] = a[step * rows * depth + i];
    for (int i = t; i < N * depth; i += 128) b_tile[i] = b[step * N * depth + i];
    __syncthreads();
    wgmma_fence();
    wgmma<type, N>(acc, wgmma_operand(a_tile, 128, 256), wgmma_operand(b_tile, N * 16, 128),
                   before != nullptr || step % promote_every != 0);
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
    if ((step + 1) % promote_every != 0) continue;
    for (int i = 0; i < N / 2; ++i) sum[i] += acc[i];
  }
  for (int i = 0; i < N / 2; ++i)
    c[accumulator_place(t, i, N)] = promote_every <= steps ? sum[i] : acc[i];
}

constexpr int never = std::numeric_limits<int>::max();

template <Half type, int N>
std::vector<float> product(const Matrix& a, const Matrix& b, const float* before = nullptr,
                           int promote_every = never) {
  std::vector<float> c(rows * N, -1);
  const std::vector<Bits> packed_a = packed(a, true), packed_b = packed(b, false);
  const Status status = gpu::launch(multiply<type, N>, {1, 128}, packed_a.data(), packed_b.data(),
                                    before, a.k / depth, promote_every, c.data());
  EXPECT_TRUE(status.ok()) << status.message;
  return c;
}

// --- the sum of one step, as the papers say it, in double and libm

// The exponent that the hardware aligns by.
int exponent_of(Half type, Bits bits) {
  const auto [fraction, bias] = format_of(type);
  const int field = bits >> fraction & ((1 << (15 - fraction)) - 1);
  return std::max(field, 1) - bias;
}

float towards_zero(double x) {
  const auto near = static_cast<float>(x);
  return std::fabs(near) > std::fabs(x) ? std::nextafterf(near, 0) : near;
}

float hardware_step(Half type, const Matrix& a, int row, const Matrix& b, int column, int first,
                    float acc) {
  int most = std::max(acc == 0 ? -126 : std::ilogb(acc), -126);
  for (int k = first; k < first + depth; ++k) {
    const Bits x = a.at(row, k), y = b.at(column, k);
    if (decode(type, x) * decode(type, y) == 0) continue;
    most = std::max(most, exponent_of(type, x) + exponent_of(type, y));
  }
  double sum = std::trunc(std::ldexp(static_cast<double>(acc), 25 - most));
  for (int k = first; k < first + depth; ++k) {
    const double exact = decode(type, a.at(row, k)) * decode(type, b.at(column, k));
    sum += std::trunc(std::ldexp(exact, 25 - most));
  }
  return towards_zero(std::ldexp(sum, most - 25));
}

Bits random_half(Half type, int spread, std::mt19937& random) {
  const auto [fraction, bias] = format_of(type);
  const int top = (1 << (15 - fraction)) - 1;
  std::uniform_int_distribution<int> field(std::max(bias - spread, 0),
                                           std::min(bias + spread, top - 1));
  const int exponent = random() % 16 == 0 ? 0 : field(random);  // zeros and subnormals too
  const auto low = random() % 8 == 0 ? 0u : random();
  return static_cast<Bits>((random() & 0x8000) | static_cast<unsigned>(exponent << fraction) |
                           (low & ((1u << fraction) - 1)));
}

template <Half type, int N>
void expect_hardware_sums(int spread) {
  constexpr int steps = 3;
  std::mt19937 random(seed_of(static_cast<unsigned>(N * 100 + spread)));
  Matrix a = matrix(rows, steps * depth), b = matrix(N, steps * depth);
  for (Bits& x : a.elements) x = random_half(type, spread, random);
  for (Bits& x : b.elements) x = random_half(type, spread, random);
  std::vector<float> before(rows * N);
  for (float& x : before) {
    const int scale = static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1)) - spread;
    x = std::ldexp(static_cast<float>(random() >> 8), scale - 24);
    if (random() % 2 != 0) x = -x;
  }
  const std::vector<float> c = product<type, N>(a, b, before.data());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < N; ++j) {
      float want = before[i * N + j];
      for (int k = 0; k < a.k; k += depth) want = hardware_step(type, a, i, b, j, k, want);
      const float got = c[i * N + j];
      ASSERT_EQ(got, want) << "row " << i << ", column " << j << ", N " << N << ", spread "
                           << spread << ", " << std::hexfloat << got << " and " << want;
    }
  }
}

TEST_F(HostSimt, WgmmaAddsAsTheHardwareDoes) {
  for (const int spread : {0, 3, 8, 14}) {
    expect_hardware_sums<Half::bf16, 64>(spread);
    expect_hardware_sums<Half::bf16, 128>(spread);
    expect_hardware_sums<Half::fp16, 64>(spread);
    expect_hardware_sums<Half::fp16, 144>(spread);
    expect_hardware_sums<Half::fp16, 192>(spread);
  }
  for (const int spread : {30, 60}) expect_hardware_sums<Half::bf16, 192>(spread);
}

// One sum: `terms` of products x * y beside `acc`, in bf16.
struct Product {
  double x, y;
};
float bf16_sum(float acc, const std::vector<Product>& terms) {
  Matrix a = matrix(rows, depth), b = matrix(64, depth);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    a.at(9, static_cast<int>(k)) = encode(Half::bf16, terms[k].x);
    b.at(13, static_cast<int>(k)) = encode(Half::bf16, terms[k].y);
  }
  const std::vector<float> before(rows * 64, acc);
  return product<Half::bf16, 64>(a, b, before.data())[9 * 64 + 13];
}

TEST_F(HostSimt, WgmmaCutsTermsTo25FractionBits) {
  const auto power = [](int exponent) { return Product{std::ldexp(1.0, exponent), 1}; };
  const auto minus = [](int exponent) { return Product{-std::ldexp(1.0, exponent), 1}; };
  const auto many = [](int count, Product term) {
    return std::vector<Product>(static_cast<unsigned>(count), term);
  };
  const float ulp = 0x1p-23f;
  EXPECT_EQ(bf16_sum(1, many(1, power(-24))), 1);  // rounded towards zero
  EXPECT_EQ(bf16_sum(1, many(3, power(-24))), 1 + ulp);
  EXPECT_EQ(bf16_sum(1, many(4, power(-25))), 1 + ulp);  // no bit of these is cut,
  EXPECT_EQ(bf16_sum(1, many(16, power(-26))), 1);       // all of these are
  EXPECT_EQ(bf16_sum(1, many(1, minus(-25))), 1 - ulp / 2);
  EXPECT_EQ(bf16_sum(1, many(16, minus(-26))), 1);
  EXPECT_EQ(bf16_sum(-1, many(16, power(-26))), -1);
  // The accumulator is cut as well.
  EXPECT_EQ(bf16_sum(0x1.000002p-3f, {{1, 1}, {-1, 1}}), 0x1p-3f);
  EXPECT_EQ(bf16_sum(0x1.000008p-3f, {{1, 1}, {-1, 1}}), 0x1.000008p-3f);
  // 1.5 * 1.5 = 2.25 has the exponent 0 of its factors.
  std::vector<Product> terms = many(9, power(-25));
  terms[0] = {1.5, 1.5};
  EXPECT_EQ(bf16_sum(0, terms), 2.25f + 2 * ulp);
}

TEST_F(HostSimt, WgmmaHonoursSubnormalsAndOverflows) {
  EXPECT_EQ(bf16_sum(0, {{0x1p-133, 0x1p7}}), 0x1p-126f);
  EXPECT_EQ(bf16_sum(0, {{0x1p-133, 1}}), 0x1p-133f);
  EXPECT_EQ(bf16_sum(0x1p-149f, {{0x1p-75, 0x1p-74}}), 0x1p-148f);
  EXPECT_EQ(bf16_sum(0, {{0x1p-75, 0x1p-75}, {0x1p-75, 0x1p-75}}), 0x1p-149f);
  EXPECT_EQ(bf16_sum(0, {{-0x1p-75, 0x1p-75}}), 0);
  EXPECT_EQ(bf16_sum(0, {{0x1p127, 1}, {0x1p127, 1}}), HUGE_VALF);
  EXPECT_EQ(bf16_sum(0, {{0x1p127, -0x1p127}}), -HUGE_VALF);
  EXPECT_EQ(bf16_sum(0, {{0x1p127, 0x1p127}, {-0x1p127, 0x1p127}, {3, 1}}), 0);
}

TEST_F(HostSimt, WgmmaPropagatesInfAndNan) {
  const double inf = HUGE_VAL;
  Matrix a = matrix(rows, depth), b = matrix(64, depth);
  for (Bits& x : a.elements) x = encode(Half::fp16, 1);
  for (Bits& x : b.elements) x = encode(Half::fp16, 2);
  constexpr Bits inf_bits = 0x7C00, nan_bits = 0x7E01;
  ASSERT_EQ(decode(Half::fp16, inf_bits), inf);
  a.at(3, 5) = inf_bits;
  a.at(4, 5) = nan_bits;
  b.at(7, 5) = 0;
  b.at(8, 9) = inf_bits | 0x8000;
  std::vector<float> before(rows * 64, 1);
  before[20 * 64 + 30] = -HUGE_VALF;
  before[21 * 64 + 30] = std::nanf("");
  before[20 * 64 + 8] = HUGE_VALF;
  const std::vector<float> c = product<Half::fp16, 64>(a, b, before.data());
  const auto at = [&](std::size_t row, std::size_t column) { return c[row * 64 + column]; };
  EXPECT_EQ(at(2, 6), 33);
  EXPECT_EQ(at(2, 7), 31);
  EXPECT_EQ(at(3, 6), HUGE_VALF);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(at(3, 7)), 0x7FFFFFFFu);  // Inf * 0
  EXPECT_TRUE(std::isnan(at(3, 8)));                               // Inf - Inf
  for (std::size_t j = 0; j < 64; ++j) EXPECT_TRUE(std::isnan(at(4, j)));
  EXPECT_EQ(at(5, 8), -HUGE_VALF);
  EXPECT_EQ(at(20, 30), -HUGE_VALF);
  EXPECT_TRUE(std::isnan(at(21, 30)));
  EXPECT_TRUE(std::isnan(at(20, 8)));
}

// --- facts about chains

template <Half type, int N>
void expect_exact_integers() {
  constexpr int k = 256;
  std::mt19937 random(seed_of(7));
  Matrix a = matrix(rows, k), b = matrix(N, k);
  const auto integer = [&] { return encode(type, static_cast<int>(random() % 33) - 16); };
  for (Bits& x : a.elements) x = integer();
  for (Bits& x : b.elements) x = integer();
  const std::vector<float> c = product<type, N>(a, b);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < N; ++j) {
      double want = 0;
      for (int x = 0; x < k; ++x) want += decode(type, a.at(i, x)) * decode(type, b.at(j, x));
      ASSERT_EQ(c[i * N + j], want);
    }
  }
}

TEST_F(HostSimt, WgmmaIsExactOnIntegers) {
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    options().order = order;
    expect_exact_integers<Half::bf16, 64>();
    expect_exact_integers<Half::bf16, 128>();
    expect_exact_integers<Half::fp16, 144>();
    expect_exact_integers<Half::fp16, 192>();
  }
}

// Mean of (got - want) / want.
double relative_drift(int promote_every) {
  constexpr int k = 16384;
  std::mt19937 random(seed_of(11));
  Matrix a = matrix(rows, k), b = matrix(64, k);
  const auto uniform = [&] { return encode(Half::bf16, static_cast<int>(random() % 256) / 256.0); };
  for (Bits& x : a.elements) x = uniform();
  for (Bits& x : b.elements) x = uniform();
  const std::vector<float> c = product<Half::bf16, 64>(a, b, nullptr, promote_every);
  double drift = 0;
  for (int i = 0; i < rows; ++i) {
    double want = 0;  // the diagonal is enough
    for (int x = 0; x < k; ++x) {
      want += decode(Half::bf16, a.at(i, x)) * decode(Half::bf16, b.at(i, x));
    }
    drift += (c[i * 64 + i] - want) / want / rows;
  }
  return drift;
}

TEST_F(HostSimt, LongChainsOfWgmmaDriftTowardsZeroUnlessPromoted) {
  const double unpromoted = relative_drift(never);
  EXPECT_LT(unpromoted, -4e-5);
  EXPECT_GT(unpromoted, -1e-4);
  const double promoted = relative_drift(64 / depth);
  EXPECT_TRUE(std::fabs(promoted) <= 1e-7) << promoted;
}

}  // namespace
}  // namespace KW_TARGET
