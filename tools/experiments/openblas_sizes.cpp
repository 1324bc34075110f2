// What OpenBLAS reaches with all threads of a CPU, up to sizes at which the full check of
// `kernelwright bench sgemm --device cpu`, two products in double, would take minutes:
//
//   g++ -O3 -std=c++20 tools/experiments/openblas_sizes.cpp -o openblas_sizes -ldl -pthread
//   ./openblas_sizes libopenblas.so.0 > explored-openblas.csv
//
// The library is opened by its path, so that the program runs where its headers are not. Of each
// product 256 elements are compared with sums in double; times are medians of at least 3 calls.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

// cblas_sgemm with indices of 32 or, in NumPy's builds, 64 bits; row-major is 101, no transpose
// 111.
template <class Int>
using Gemm = void (*)(int, int, int, Int, Int, Int, float, const float*, Int, const float*, Int,
                      float, float*, Int);
using Multiply = std::function<void(std::int64_t n, const float* a, const float* b, float* c)>;

template <class Int>
Multiply multiply_by(void* symbol) {
  return [gemm = reinterpret_cast<Gemm<Int>>(symbol)](std::int64_t size, const float* a,
                                                      const float* b, float* c) {
    const Int n = static_cast<Int>(size);
    gemm(101, 111, 111, n, n, n, 1.0f, a, n, b, n, 0.0f, c, n);
  };
}

Multiply open_library(const char* path, const char** version) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) give_up(dlerror());
  for (const char* name : {"openblas_get_config", "scipy_openblas_get_config64_"})
    if (void* const symbol = dlsym(library, name))
      *version = reinterpret_cast<const char* (*)()>(symbol)();
  if (void* const symbol = dlsym(library, "cblas_sgemm")) return multiply_by<int>(symbol);
  if (void* const symbol = dlsym(library, "scipy_cblas_sgemm64_"))
    return multiply_by<std::int64_t>(symbol);
  give_up("no cblas_sgemm in it");
}

std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> x(count);
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 8388608.f - 1.f;
  }
  return x;
}

void check(std::int64_t n, const std::vector<float>& a, const std::vector<float>& b,
           const std::vector<float>& c) {
  for (std::int64_t sample = 0; sample < 256; ++sample) {
    const std::int64_t row = sample * 7919 % n, col = sample * 104729 % n;
    double sum = 0, size = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const double term = double{a[static_cast<std::size_t>(row * n + k)]} *
                          b[static_cast<std::size_t>(k * n + col)];
      sum += term;
      size += std::fabs(term);
    }
    const double error = std::fabs(c[static_cast<std::size_t>(row * n + col)] - sum);
    if (!(error <= 32 * size / 16777216)) give_up("wrong");
  }
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int count, char** arguments) {
  const char* version = "unknown";
  const Multiply multiply = open_library(count > 1 ? arguments[1] : "libopenblas.so.0", &version);
  std::printf("# %s; %u threads\n", version, std::thread::hardware_concurrency());
  std::printf("n,ms,min_ms,calls,tflops\n");
  for (const std::int64_t n : {128, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
    const std::size_t elements = static_cast<std::size_t>(n * n);
    const std::vector<float> a = random_floats(elements, 1), b = random_floats(elements, 2);
    std::vector<float> c(elements, NAN);
    const auto call = [&] { multiply(n, a.data(), b.data(), c.data()); };
    call();
    check(n, a, b, c);
    std::vector<double> times;
    for (double spent = 0; times.size() < 3 || (spent < 0.3 && times.size() < 1000);) {
      times.push_back(seconds_of(call));
      spent += times.back();
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::printf("%lld,%.4f,%.4f,%zu,%.4f\n", static_cast<long long>(n), 1e3 * median,
                1e3 * times[0], times.size(), 2e-12 * std::pow(n, 3) / median);
    std::fflush(stdout);
  }
}
