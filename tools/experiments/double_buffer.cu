// Why does S1's fake double buffer beat its real one at some sizes? Rungs r09 and r10 themselves,
// in S1's harness and out of it, at its fifteen sizes:
//
//   nvcc -O3 -std=c++20 -arch=sm_90a -I src -I include -I ladder/sgemm
//   tools/experiments/double_buffer.cu
//     ladder/sgemm/r09_fake_double_buffer.cu ladder/sgemm/r10_double_buffer.cu -o double_buffer
//   ./double_buffer
//
// S1's harness: matrices are allocated and filled anew in each outer repeat, and the kernel is
// launched ten times (four at sizes over 4096), each launch between two events. Managed memory is
// filled on the CPU, so the first launch after an allocation fetches its pages; device memory has
// no such launch. Large sizes have fewer outer repeats. The two kernels take turns from one outer
// repeat to the next, and which is first changes.
#include <cmath>
#include <vector>

#include "harness.hpp"
#include "rung.hpp"

namespace {

using Launch = kw::Status (*)(const kw::Sgemm&, const kw::Device&, kw::Workspace, kw::Stream);
struct Rung {
  const char* name;
  Launch launch;
};
constexpr Rung rungs[] = {{"r09", kw::on_cuda::r09_fake_double_buffer},
                          {"r10", kw::on_cuda::r10_double_buffer}};

// The last element of C beside its sum in double.
void check(const Rung& rung, const float* c, const std::vector<float>& x, int n) {
  const std::size_t count = static_cast<std::size_t>(n) * n;
  double sum = 0, size = 0;
  for (int k = 0; k < n; ++k) {
    const double product =
        static_cast<double>(x[count - n + k]) * x[static_cast<std::size_t>(k) * n + n - 1];
    sum += product;
    size += std::abs(product);
  }
  float got = NAN;
  require(cudaMemcpy(&got, c + count - 1, sizeof got, cudaMemcpyDefault), "copy");
  if (!(std::abs(got - sum) <= 1e-6 * size)) {
    std::fprintf(stderr, "%s at %d: %g where %g is right\n", rung.name, n, got, sum);
    std::exit(1);
  }
}

void measure(const Rung& rung, bool managed, int n, int outer, const std::vector<float>& from) {
  const std::size_t count = static_cast<std::size_t>(n) * n, bytes = sizeof(float) * count;
  float* x[3];
  for (float*& matrix : x) {
    require(managed ? cudaMallocManaged(&matrix, bytes) : cudaMalloc(&matrix, bytes), "malloc");
    if (managed)
      std::copy_n(from.begin(), count, matrix);
    else
      require(cudaMemcpy(matrix, from.data(), bytes, cudaMemcpyHostToDevice), "copy");
  }
  require(cudaDeviceSynchronize(), "synchronize");
  kw::Sgemm p;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = n;
  p.a = x[0], p.b = x[1], p.c = x[2];
  p.alpha = 1, p.beta = 0;
  for (int inner = 0; inner < (n <= 4096 ? 10 : 4); ++inner) {
    const double us = time_us([&] {
      if (!rung.launch(p, {}, {}, {}).ok()) std::exit(1);
    });
    std::printf("%s,%s,%d,%d,%d,%.2f\n", rung.name, managed ? "managed" : "device", n, outer, inner,
                us);
  }
  check(rung, x[2], from, n);
  for (float* matrix : x) require(cudaFree(matrix), "free");
}

}  // namespace

int main() {
  require(cudaFree(nullptr), "context");
  time_us([] {});  // the events exist
  std::printf("rung,memory,n,outer,inner,us\n");
  const std::vector<float> numbers = random_floats(std::size_t{16384} * 16384, 9);
  for (const int n :
       {128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384}) {
    const int repeats = n <= 2048 ? 10 : n <= 4096 ? 5 : n <= 8192 ? 2 : 1;
    for (const bool managed : {false, true})
      for (int outer = 0; outer < repeats; ++outer)
        for (int turn = 0; turn < 2; ++turn)
          measure(rungs[(turn + outer) % 2], managed, n, outer, numbers);
    std::fflush(stdout);
  }
}
