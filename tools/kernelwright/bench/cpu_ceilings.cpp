// What all threads of this CPU reach together: multiply-adds in registers, reading, copying.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "bench/ceilings.hpp"
#include "check/parallel.hpp"

// Compiled for each instruction set, chosen at load time. Sanitizers instrument the chooser, which
// runs before they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KW_FOR_EVERY_CPU __attribute__((target_clones("default", "fma", "avx512f")))
#else
#define KW_FOR_EVERY_CPU
#endif

namespace kw::bench {
namespace {

// Seconds of the fastest run of body(part) on every thread: until `enough` in a row were no faster,
// as other programs may take their share of some.
template <class Body>
double best_seconds(int threads, int enough, const Body& body) {
  using Clock = std::chrono::steady_clock;
  constexpr int most = 40;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0, since_best = 0; i < most && since_best < enough; ++i) {
    const auto start = Clock::now();
    check::parallel_ranges(threads, threads,
                           [&](int part, std::int64_t, std::int64_t) { body(part); });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    since_best = seconds < 0.995 * best ? 0 : since_best + 1;
    best = std::min(best, seconds);
  }
  return best;
}

// A number of chains of multiply-adds on vectors, each of which starts from another value, so that
// no two of them are the same computation. They hide one another's latency: two units of four
// cycles each want eight chains, and what is left of the registers takes more.
#define KW_BURN(name, lanes, chains, attribute)                                            \
  attribute float name(std::int64_t rounds, const float* start) {                          \
    using Lanes = float __attribute__((vector_size((lanes) * sizeof(float))));             \
    const Lanes x = Lanes{} + start[0];                                                    \
    const Lanes y = Lanes{} + start[1];                                                    \
    Lanes sum[chains];                                                                     \
    for (int i = 0; i < (chains); ++i) sum[i] = Lanes{} + start[2 + i];                    \
    for (std::int64_t round = 0; round < rounds; ++round) {                                \
      _Pragma("GCC unroll 32") for (int i = 0; i < (chains); ++i) sum[i] = sum[i] * x + y; \
    }                                                                                      \
    float total = 0;                                                                       \
    for (int i = 0; i < (chains); ++i) {                                                   \
      for (int j = 0; j < (lanes); ++j) total += sum[i][j];                                \
    }                                                                                      \
    return total;                                                                          \
  }

constexpr int most_chains = 24;

struct Burn {
  float (*run)(std::int64_t rounds, const float* start);
  int lanes, chains;
};

#if defined(__x86_64__)
KW_BURN(burn_avx512, 16, 24, __attribute__((target("avx512f"))))
KW_BURN(burn_fma, 8, 12, __attribute__((target("avx2,fma"))))
KW_BURN(burn_sse, 4, 12, )
#else
KW_BURN(burn_plain, 4, 24, )
#endif

// Those that this CPU has, by its own word: what is built here may run elsewhere. The widest is not
// always the fastest, as clocks differ.
std::vector<Burn> burns_here() {
#if defined(__x86_64__)
  std::vector<Burn> burns = {{burn_sse, 4, 12}};
  const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_fma) burns = {{burn_fma, 8, 12}};
  if (__builtin_cpu_supports("avx512f")) burns.push_back({burn_avx512, 16, 24});
  return burns;
#else
  return {{burn_plain, 4, 24}};
#endif
}

double tflops_of(const Burn& burn, int threads) {
  // Values near one, of which no two are alike; read through volatile, so that they are not known
  // when this is compiled.
  volatile float first = 0.999f;
  float start[2 + most_chains] = {first, 1.0f - first};
  for (int i = 0; i < burn.chains; ++i) start[2 + i] = first + 0.001f * static_cast<float>(i);
  constexpr std::int64_t chain_steps = 40'000'000;
  const std::int64_t rounds = chain_steps / burn.chains;
  std::vector<float> results(static_cast<std::size_t>(threads));
  const double seconds = best_seconds(threads, 8, [&](int part) {
    results[static_cast<std::size_t>(part)] = burn.run(rounds, start);
  });
  // Whoever stores a sum has to make it.
  volatile float sum = std::accumulate(results.begin(), results.end(), 0.0f);
  static_cast<void>(sum);
  return 2.0 * burn.lanes * burn.chains * static_cast<double>(rounds) * threads * 1e-12 / seconds;
}

KW_FOR_EVERY_CPU std::uint64_t sum_words(const std::uint64_t* words, std::int64_t count) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

}  // namespace

double cpu_fp32_tflops(int threads) {
  double best = 0;
  for (const Burn& burn : burns_here()) best = std::max(best, tflops_of(burn, threads));
  return best;
}

void cpu_read(const void* data, std::size_t bytes) {
  const auto* words = static_cast<const std::uint64_t*>(data);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(check::cpu_threads()));
  check::parallel_ranges(static_cast<std::int64_t>(bytes / sizeof(std::uint64_t)),
                         check::cpu_threads(), [&](int part, std::int64_t begin, std::int64_t end) {
                           sums[static_cast<std::size_t>(part)] =
                               sum_words(words + begin, end - begin);
                         });
  // Whoever stores a sum has to make it.
  volatile std::uint64_t sum = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  static_cast<void>(sum);
}

MemoryRates cpu_memory_rates(std::size_t bytes) {
  const auto threads = static_cast<std::size_t>(check::cpu_threads());
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t), 1);
  std::vector<std::uint64_t> sums(threads);
  const std::size_t share = words.size() / threads;
  const double read_seconds = best_seconds(check::cpu_threads(), 3, [&](int part) {
    const auto index = static_cast<std::size_t>(part);
    sums[index] = sum_words(words.data() + index * share, static_cast<std::int64_t>(share));
  });
  const std::size_t half = share / 2;
  const double copy_seconds = best_seconds(check::cpu_threads(), 3, [&](int part) {
    std::uint64_t* own = words.data() + static_cast<std::size_t>(part) * share;
    std::memcpy(own + half, own, half * sizeof(std::uint64_t));
  });
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  return {gigabytes / read_seconds, gigabytes / copy_seconds};
}

}  // namespace kw::bench
