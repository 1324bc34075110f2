// What each part of an edit is worth, where a rung of ladder/sgemm changes several things at once:
// r07 (A transposed; outputs in quarters), r09 and r10 (two buffers; one barrier; stores behind the
// FMAs), r12 (cp.async; padding; 16 k a tile; a third stage). One variable at a time:
//
//   nvcc -O3 -std=c++20 -arch=native --expt-relaxed-constexpr -Isrc -Iinclude -Iladder
//     tools/experiments/ladder_steps.cu -o ladder_steps
//   ./ladder_steps > explored-ladder-steps.csv
//   ncu --csv --metrics ... ./ladder_steps once > explored-ladder-steps-counters.csv
//
// Times are medians of launches in turns, so that every kernel sees the same clocks. All kernels
// add in one order: their results are compared bit for bit, the first one's with sums in double.
#include "ladder_steps.hpp"

#include <cmath>
#include <cstring>
#include <string>

#include "harness.hpp"

namespace {

using namespace kw;
using namespace kw::on_cuda;

std::string function_name(const char* name, std::initializer_list<int> arguments) {
  std::string text;
  for (const int argument : arguments)
    text += (text.empty() ? "" : ", ") + std::to_string(argument);
  return name + ("<" + text + ">");
}

struct Variant {
  std::string group, name, function;  // of r07, r10 or r12; for readers; as ncu calls it
  void (*kernel)(PlainSgemm);
  std::size_t shared_bytes;
};

template <int transposed, int quarters>
Variant fragment_variant(const char* name) {
  return {"r07", name, function_name("fragments", {transposed, quarters}),
          fragments<transposed, quarters>, 0};
}
template <int buffers, int late, int barriers>
Variant buffer_variant(const char* name) {
  return {"r10", name, function_name("buffering", {buffers, late, barriers}),
          buffering<buffers, late, barriers>, 0};
}
template <int pad, int BK>
Variant register_variant(const char* name) {
  return {"r12", name, function_name("by_registers", {pad, BK}), by_registers<pad, BK>, 0};
}
template <int pad, int BK, int stages>
Variant async_variant(const char* name) {
  return {"r12", name, function_name("by_async", {pad, BK, stages}), by_async<pad, BK, stages>,
          stages * sizeof(Stage<BK, pad>)};
}

std::vector<Variant> variants() {
  return {
      fragment_variant<0, 0>("A as [m][k], outputs in a square (r06)"),
      fragment_variant<1, 0>("A transposed, outputs in a square"),
      fragment_variant<0, 1>("A as [m][k], outputs in quarters"),
      fragment_variant<1, 1>("A transposed, outputs in quarters (r07)"),
      buffer_variant<1, 0, 2>("one buffer, stored before the FMAs, two barriers (r07)"),
      buffer_variant<2, 0, 2>("two buffers, stored before the FMAs, two barriers"),
      buffer_variant<2, 0, 1>("two buffers, stored before the FMAs, one barrier (r09)"),
      buffer_variant<1, 1, 2>("one buffer, stored after the FMAs, two barriers"),
      buffer_variant<2, 1, 2>("two buffers, stored after the FMAs, two barriers"),
      buffer_variant<2, 1, 1>("two buffers, stored after the FMAs, one barrier (r10)"),
      register_variant<0, 8>("registers, 8 k, no padding, 2 tiles (r11)"),
      register_variant<4, 8>("registers, 8 k, padding, 2 tiles"),
      register_variant<0, 16>("registers, 16 k, no padding, 2 tiles"),
      register_variant<4, 16>("registers, 16 k, padding, 2 tiles"),
      async_variant<0, 8, 2>("cp.async, 8 k, no padding, 2 tiles"),
      async_variant<4, 8, 2>("cp.async, 8 k, padding, 2 tiles"),
      async_variant<0, 16, 2>("cp.async, 16 k, no padding, 2 tiles"),
      async_variant<4, 16, 2>("cp.async, 16 k, padding, 2 tiles"),
      async_variant<0, 8, 3>("cp.async, 8 k, no padding, 3 tiles"),
      async_variant<4, 8, 3>("cp.async, 8 k, padding, 3 tiles"),
      async_variant<0, 16, 3>("cp.async, 16 k, no padding, 3 tiles"),
      async_variant<4, 16, 3>("cp.async, 16 k, padding, 3 tiles (r12)"),
  };
}

void launch(const Variant& v, const PlainSgemm& p) {
  v.kernel<<<tile_grid<BM, BN>(p), threads, v.shared_bytes>>>(p);
}

PlainSgemm problem(int n, const float* a, const float* b, float* c) {
  Sgemm p = {};
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = n;
  p.alpha = 1;
  p.a = a;
  p.b = b;
  p.c = c;
  return p;
}

void check(const std::vector<Variant>& all, int n, const std::vector<float>& a,
           const std::vector<float>& b, const PlainSgemm& p) {
  std::vector<float> first, c(std::size_t{1} * n * n);
  for (const Variant& v : all) {
    require(cudaMemset(p.c, 0xff, c.size() * sizeof(float)), "memset");
    launch(v, p);
    require(cudaMemcpy(c.data(), p.c, c.size() * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    if (first.empty()) first = c;
    if (std::memcmp(first.data(), c.data(), c.size() * sizeof(float)) != 0)
      std::exit((std::fprintf(stderr, "%s: other bits\n", v.function.c_str()), 1));
  }
  for (int sample = 0; sample < 1000; ++sample) {
    const int row = sample * 7919 % n, col = sample * 104729 % n;
    double sum = 0, size = 0;
    for (int k = 0; k < n; ++k) {
      const double term = double{a[std::size_t{1} * row * n + k]} * b[std::size_t{1} * k * n + col];
      sum += term;
      size += std::fabs(term);
    }
    if (!(std::fabs(first[std::size_t{1} * row * n + col] - sum) <= 32 * size / 16777216))
      std::exit((std::fprintf(stderr, "wrong at %d, %d\n", row, col), 1));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool once = count > 1 && std::strcmp(arguments[1], "once") == 0;
  constexpr int largest = 8192;
  const std::vector<float> a = random_floats(std::size_t{largest} * largest, 1);
  const std::vector<float> b = random_floats(a.size(), 2);
  float *const on_a = on_device(a), *const on_b = on_device(b), *const on_c = on_device(a);
  const std::vector<Variant> all = variants();
  for (const Variant& v : all)
    require(cudaFuncSetAttribute(v.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(v.shared_bytes)),
            "shared memory");
  if (once) {
    for (const Variant& v : all) launch(v, problem(4096, on_a, on_b, on_c));
    require(cudaDeviceSynchronize(), "launch");
    return 0;
  }
  check(all, 2048, a, b, problem(2048, on_a, on_b, on_c));
  std::printf("group,kernel,function,n,us,min_us,tflops,registers,spilled,shared_bytes,blocks\n");
  for (const int n : {2048, 4096, 8192}) {
    const PlainSgemm p = problem(n, on_a, on_b, on_c);
    const int rounds = n < largest ? 15 : 7;
    std::vector<std::vector<double>> times(all.size());
    for (int round = -1; round < rounds; ++round)
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double us = time_us([&] { launch(all[i], p); });
        if (round >= 0) times[i].push_back(us);
      }
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::sort(times[i].begin(), times[i].end());
      cudaFuncAttributes facts;
      require(cudaFuncGetAttributes(&facts, all[i].kernel), "attributes");
      int blocks = 0;
      require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, all[i].kernel, threads,
                                                            all[i].shared_bytes),
              "occupancy");
      const double us = times[i][static_cast<std::size_t>(rounds / 2)];
      std::printf("%s,\"%s\",\"%s\",%d,%.1f,%.1f,%.2f,%d,%d,%d,%d\n", all[i].group.c_str(),
                  all[i].name.c_str(), all[i].function.c_str(), n, us, times[i][0],
                  2e-6 * n * n * n / us, facts.numRegs, static_cast<int>(facts.localSizeBytes),
                  static_cast<int>(facts.sharedSizeBytes + all[i].shared_bytes), blocks);
    }
  }
}
