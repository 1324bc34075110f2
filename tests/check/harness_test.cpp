// The way in which kernels are tested, tested: matrix products with one planted fault each must all
// be caught, whatever the seed, and the same product without it must always pass.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <ostream>

#include "check/verify.hpp"
#include "device/async_copy.hpp"
#include "gpu/gpu.hpp"
#include "host_simt/backend.hpp"
#include "support/kept_options.hpp"
#include "support/run_seed.hpp"

namespace KW_TARGET {
namespace {

using kw::check::Input;
using kw::check::Outcome;
using kw::check::SgemmCase;
using kw::check::verify_sgemm;
using kw::check::VerifyResult;

enum class Fault {
  none,
  no_barrier_before_use,  // a tile is read before all of it is there
  no_barrier_after_use,   // a tile is overwritten while others still read it
  no_wait,                // asynchronous copies are read before their wait
  reads_past_k,           // row by row past the end of A; what it finds is multiplied by zero
  reads_past_m,           // rows below A; what it finds is never used
  skips_k_tail,           // only whole tiles of k
  returns_nan,            // in one element
  rounds_to_tf32,         // inputs keep 10 of their 23 mantissa bits
  writes_row_below,       // one row too many
  reads_c_at_beta_zero,   // 0 * NaN is NaN
  ignores_ldc,            // takes C for dense
};

constexpr int tile = 16;
constexpr unsigned tile_extent = tile;

template <Fault fault>
__device__ float load(const float* x, std::int64_t ld, std::int64_t rows, std::int64_t cols,
                      std::int64_t row, std::int64_t col, bool is_a) {
  const bool guard_row = !(fault == Fault::reads_past_m && is_a);
  const bool guard_col = !(fault == Fault::reads_past_k && is_a);
  if ((guard_row && row >= rows) || (guard_col && col >= cols)) return 0;
  const float value = x[row * ld + col];
  if constexpr (fault != Fault::rounds_to_tf32) return value;
  constexpr std::uint32_t half = 1u << 12, dropped = (1u << 13) - 1;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + half) & ~dropped);
}

template <Fault fault>
__device__ void store(const Sgemm& p, std::int64_t row, std::int64_t col, float sum) {
  if (row >= p.m + (fault == Fault::writes_row_below ? 1 : 0) || col >= p.n) return;
  float* c = p.c + row * (fault == Fault::ignores_ldc ? p.n : p.ldc) + col;
  if (fault == Fault::returns_nan && row == p.m / 2 && col == p.n / 2) sum = NAN;
  const bool read_c = p.beta != 0 || fault == Fault::reads_c_at_beta_zero;
  *c = p.alpha * sum + (read_c ? p.beta * *c : 0);
}

template <Fault fault>
__global__ void tiled(Sgemm p) {
  __shared__ float as[tile][tile], bs[tile][tile];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const std::int64_t row = std::int64_t{blockIdx.y} * tile + ty;
  const std::int64_t col = std::int64_t{blockIdx.x} * tile + tx;
  const std::int64_t k_end = fault == Fault::skips_k_tail ? p.k / tile * tile : p.k;
  float sum = 0;
  for (std::int64_t k0 = 0; k0 < k_end; k0 += tile) {
    as[ty][tx] = load<fault>(p.a, p.lda, p.m, p.k, row, k0 + tx, true);
    bs[ty][tx] = load<fault>(p.b, p.ldb, p.k, p.n, k0 + ty, col, false);
    if (fault != Fault::no_barrier_before_use) __syncthreads();
    for (int i = 0; i < tile; ++i) sum = fmaf(as[ty][i], bs[i][tx], sum);
    if (fault != Fault::no_barrier_after_use) __syncthreads();
  }
  store<fault>(p, row, col, sum);
}

// The same with two buffers: while one is used, the other is filled by asynchronous copies.
template <Fault fault>
__global__ void tiled_async(Sgemm p) {
  __shared__ float as[2][tile][tile], bs[2][tile][tile];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const std::int64_t row = std::int64_t{blockIdx.y} * tile + ty;
  const std::int64_t col = std::int64_t{blockIdx.x} * tile + tx;
  const auto fetch = [&](int buffer, std::int64_t k0) {
    const bool in_a = row < p.m && k0 + tx < p.k, in_b = k0 + ty < p.k && col < p.n;
    async_copy<4>(&as[buffer][ty][tx], in_a ? p.a + row * p.lda + k0 + tx : p.a, in_a ? 4 : 0);
    async_copy<4>(&bs[buffer][ty][tx], in_b ? p.b + (k0 + ty) * p.ldb + col : p.b, in_b ? 4 : 0);
    async_commit();
  };
  float sum = 0;
  int buffer = 0;
  fetch(buffer, 0);
  for (std::int64_t k0 = 0; k0 < p.k; k0 += tile, buffer ^= 1) {
    fetch(buffer ^ 1, k0 + tile);
    if (fault != Fault::no_wait) async_wait<1>();
    if (fault != Fault::no_barrier_before_use) __syncthreads();
    for (int i = 0; i < tile; ++i) sum = fmaf(as[buffer][ty][i], bs[buffer][i][tx], sum);
    if (fault != Fault::no_barrier_after_use) __syncthreads();
  }
  store<fault>(p, row, col, sum);
}

Status launch_tiles(void (*kernel)(Sgemm), Sgemm p, Stream stream) {
  p.k = p.loop_k();
  const dim3 grid(static_cast<unsigned>(ceil_div(p.n, tile)),
                  static_cast<unsigned>(ceil_div(p.m, tile)));
  return gpu::launch(kernel, {grid, dim3(tile_extent, tile_extent), 0, stream}, p);
}

// NN only, as the ladder's rungs.
template <Fault fault, bool asynchronous>
Kernel<Sgemm> planted() {
  return {"planted",
          nullptr,
          "one fault",
          Role::rung,
          Math::fp32,
          [](const Sgemm& p, const Device&) { return p.op_a == Op::none && p.op_b == Op::none; },
          no_workspace<Sgemm>,
          [](const Sgemm& p, const Device&, Workspace, Stream stream) {
            return launch_tiles(asynchronous ? tiled_async<fault> : tiled<fault>, p, stream);
          }};
}

// No extent is a multiple of the tile, every ld has padding, two tiles or more along each.
SgemmCase edge_case() {
  SgemmCase c;
  c.m = 37;
  c.n = 45;
  c.k = 75;
  c.lda_pad = 3;
  c.ldb_pad = 1;
  c.ldc_pad = 2;
  c.alpha = -1.5f;
  return c;
}

class Harness : public testing::TestWithParam<int> {
 protected:
  Harness() {
    host_simt::options() = {};
    host_simt::options().seed = seed();
    EXPECT_TRUE(host_simt::open(0, &runtime_).ok());
  }

  static std::uint64_t seed() { return run_seed() + static_cast<std::uint64_t>(GetParam()); }

  VerifyResult verify(const Kernel<Sgemm>& kernel, SgemmCase c) {
    c.seed = seed();
    return verify_sgemm(*runtime_, kernel, c);
  }
  template <Fault fault, bool asynchronous = false>
  void expect_caught(const SgemmCase& c) {
    const VerifyResult faulty = verify(planted<fault, asynchronous>(), c);
    EXPECT_EQ(faulty.outcome, Outcome::failed) << describe(c);
    EXPECT_NE(faulty.message, "");
    const VerifyResult sound = verify(planted<Fault::none, asynchronous>(), c);
    EXPECT_TRUE(sound.ok()) << sound.message;
  }

 private:
  const test::KeptOptions kept_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_P(Harness, SoundKernelsPass) {
  for (const host_simt::Order order :
       {host_simt::Order::forward, host_simt::Order::reverse, host_simt::Order::random}) {
    host_simt::options().order = order;
    for (const float beta : {0.0f, 1.0f, -1.5f}) {
      SgemmCase c = edge_case();
      c.beta = beta;
      const auto plain = verify(planted<Fault::none, false>(), c);
      EXPECT_TRUE(plain.ok()) << plain.message;
      const auto asynchronous = verify(planted<Fault::none, true>(), c);
      EXPECT_TRUE(asynchronous.ok()) << asynchronous.message;
    }
  }
}

TEST_P(Harness, CatchesAMissingBarrierBeforeUse) {
  expect_caught<Fault::no_barrier_before_use>(edge_case());
  expect_caught<Fault::no_barrier_before_use, true>(edge_case());
}

TEST_P(Harness, CatchesAMissingBarrierAfterUse) {
  expect_caught<Fault::no_barrier_after_use>(edge_case());
  expect_caught<Fault::no_barrier_after_use, true>(edge_case());
}

TEST_P(Harness, CatchesReadingAsyncCopiesBeforeTheirWait) {
  expect_caught<Fault::no_wait, true>(edge_case());
}

TEST_P(Harness, CatchesReadsPastK) { expect_caught<Fault::reads_past_k>(edge_case()); }

TEST_P(Harness, CatchesASkippedKTail) {
  expect_caught<Fault::skips_k_tail>(edge_case());
  SgemmCase one_in_thousand;
  one_in_thousand.m = one_in_thousand.n = 16;
  one_in_thousand.k = 1025;
  expect_caught<Fault::skips_k_tail>(one_in_thousand);
}

TEST_P(Harness, CatchesOneNaN) { expect_caught<Fault::returns_nan>(edge_case()); }

TEST_P(Harness, CatchesTf32) {
  for (const Input input : {Input::uniform, Input::normal, Input::unit}) {
    SgemmCase c;
    c.m = c.n = 64;
    c.k = 1024;
    c.input = input;
    expect_caught<Fault::rounds_to_tf32>(c);
  }
}

TEST_P(Harness, CatchesARowWrittenBelowC) { expect_caught<Fault::writes_row_below>(edge_case()); }

TEST_P(Harness, CatchesReadingCAtBetaZero) {
  expect_caught<Fault::reads_c_at_beta_zero>(edge_case());
}

TEST_P(Harness, CatchesAnIgnoredLdc) { expect_caught<Fault::ignores_ldc>(edge_case()); }

#if defined(__SANITIZE_ADDRESS__)
// Without canaries around the matrices the sanitizer sees each access beyond them, used or not.
TEST_P(Harness, SanitizerCatchesAccessesOutOfBounds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SgemmCase c = edge_case();
  c.lda_pad = c.ldb_pad = c.ldc_pad = 0;
  c.guard = 0;
  EXPECT_TRUE(verify(planted<Fault::none, false>(), c).ok());
  EXPECT_TRUE(verify(planted<Fault::none, true>(), c).ok());
  EXPECT_DEATH((void)verify(planted<Fault::reads_past_k, false>(), c), "heap-buffer-overflow");
  EXPECT_DEATH((void)verify(planted<Fault::reads_past_m, false>(), c), "heap-buffer-overflow");
  EXPECT_DEATH((void)verify(planted<Fault::writes_row_below, false>(), c), "heap-buffer-overflow");
}
#endif

INSTANTIATE_TEST_SUITE_P(Seeds, Harness, testing::Range(1, 11));

}  // namespace
}  // namespace KW_TARGET
