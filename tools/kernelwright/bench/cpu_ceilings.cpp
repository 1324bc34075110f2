// What all threads of this CPU reach together: multiply-adds in registers, reading, copying.
#include <algorithm>
#include <chrono>
#include <cstring>
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

constexpr int repeats = 3;

// Seconds of the fastest of a few runs of body(part) on every thread.
template <class Body>
double best_seconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    const int threads = check::cpu_threads();
    check::parallel_ranges(threads, threads,
                           [&](int part, std::int64_t, std::int64_t) { body(part); });
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

// Seven chains of sixteen lanes: with 256-bit registers they fill fourteen of sixteen.
constexpr int lanes = 16;
constexpr int chains = 7;
using Lanes = float __attribute__((vector_size(lanes * sizeof(float))));

KW_FOR_EVERY_CPU float burn(int rounds, float factor) {
  const Lanes x = Lanes{} + factor;
  const Lanes y = Lanes{} + (1.0f - factor);
  Lanes a{}, b{}, c{}, d{}, e{}, f{}, g{};
  for (int round = 0; round < rounds; ++round) {
    a = a * x + y;
    b = b * x + y;
    c = c * x + y;
    d = d * x + y;
    e = e * x + y;
    f = f * x + y;
    g = g * x + y;
  }
  const Lanes sum = a + b + c + d + e + f + g;
  float total = 0;
  for (int i = 0; i < lanes; ++i) total += sum[i];
  return total;
}

KW_FOR_EVERY_CPU std::uint64_t sum_words(const std::uint64_t* words, std::int64_t count) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

}  // namespace

double cpu_fp32_tflops() {
  constexpr int rounds = 20'000'000;
  std::vector<float> results(static_cast<std::size_t>(check::cpu_threads()));
  const double seconds = best_seconds(
      [&](int part) { results[static_cast<std::size_t>(part)] = burn(rounds, 0.999f); });
  return 2.0 * lanes * chains * rounds * static_cast<double>(results.size()) * 1e-12 / seconds;
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
  const double read_seconds = best_seconds([&](int part) {
    const auto index = static_cast<std::size_t>(part);
    sums[index] = sum_words(words.data() + index * share, static_cast<std::int64_t>(share));
  });
  const std::size_t half = share / 2;
  const double copy_seconds = best_seconds([&](int part) {
    std::uint64_t* own = words.data() + static_cast<std::size_t>(part) * share;
    std::memcpy(own + half, own, half * sizeof(std::uint64_t));
  });
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  return {gigabytes / read_seconds, gigabytes / copy_seconds};
}

}  // namespace kw::bench
