// The CPU's reduction with and without this machine's vector instructions: the same bits.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "cpu/cpu_reduce_walk.hpp"
#include "support/run_seed.hpp"

namespace kw::cpu {
namespace {

#if defined(__x86_64__)
template <class T>
std::vector<T> rough(std::int64_t count) {
  std::mt19937_64 engine(seed_of(5));
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    const double uniform = static_cast<double>(static_cast<std::int64_t>(engine())) * 0x1p-63;
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(uniform * (0.5 * static_cast<double>(std::numeric_limits<T>::max())));
    } else {
      value = from_value<T>(static_cast<Value<T>>(uniform));
    }
  }
  return values;
}

// A place has padding between value and index; other parts are compared as bytes.
template <class P>
bool same_bits(const P& a, const P& b) {
  if constexpr (requires { a.index; }) return a.best == b.best && a.index == b.index;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <ReduceKind kind, class T>
void expect_same_bits() {
  constexpr std::int64_t rows = 300, ld = 301, cols = 250;
  const std::vector<T> values = rough<T>(rows * ld);
  for (std::int64_t count : {1, 15, 1000, 5000, 20000}) {
    EXPECT_TRUE(same_bits(plain_chunk<kind>(values.data() + 1, count),
                          fma_chunk<kind>(values.data() + 1, count)))
        << static_cast<int>(kind) << ' ' << count;
  }
  using Total = typename Accumulator<kind, T>::Total;
  std::vector<Total> plain(cols), fused(cols);
  const Chunk<T> chunk{600, rows, {}};
  plain_columns<kind>(values.data(), ld, chunk, cols, plain.data());
  fma_columns<kind>(values.data(), ld, chunk, cols, fused.data());
  for (std::size_t j = 0; j < plain.size(); ++j) {
    EXPECT_TRUE(same_bits(plain[j], fused[j])) << static_cast<int>(kind) << " column " << j;
  }
}

TEST(CpuReduce, VectorInstructionsDoNotShow) {
  if (!has_fma()) GTEST_SKIP() << "this CPU has no AVX2 and FMA";
  expect_same_bits<ReduceKind::sum, float>();
  expect_same_bits<ReduceKind::sum, float16>();
  expect_same_bits<ReduceKind::sum, std::int8_t>();
  expect_same_bits<ReduceKind::sum_abs, bfloat16>();
  expect_same_bits<ReduceKind::sum_square, float>();
  expect_same_bits<ReduceKind::sum_square, float16>();
  expect_same_bits<ReduceKind::norm_square, double>();
  expect_same_bits<ReduceKind::norm_square, std::int64_t>();
  expect_same_bits<ReduceKind::min_max, float>();
  expect_same_bits<ReduceKind::max_abs, double>();
  expect_same_bits<ReduceKind::arg_min, float>();
  expect_same_bits<ReduceKind::arg_max, std::int32_t>();
  expect_same_bits<ReduceKind::moments, float>();
  expect_same_bits<ReduceKind::moments, double>();
  expect_same_bits<ReduceKind::moments, std::int64_t>();
}
#endif

}  // namespace
}  // namespace kw::cpu
