// C = A * B on a GPU, from C++: matrices in device memory, the product on a stream of the caller's
// between a copy there and a copy back. Without a GPU it says so and ends with 0.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernelwright/context.hpp"
#include "kernelwright/sgemm.hpp"

namespace {

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}

struct DeviceFree {
  void operator()(float* memory) const { cudaFree(memory); }
};
using DeviceArray = std::unique_ptr<float, DeviceFree>;

DeviceArray device_array(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(float)), "cudaMalloc");
  return DeviceArray(static_cast<float*>(memory));
}

struct StreamDestroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDestroy>;

Stream new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream(stream);
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("gpu_stream: no NVIDIA GPU here, nothing computed\n");
    return 0;
  }
  constexpr std::int64_t m = 300, n = 200, k = 100;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 0; l < k; ++l) a[i * k + l] = static_cast<float>(i % 7);
  }
  for (std::int64_t l = 0; l < k; ++l) {
    for (std::int64_t j = 0; j < n; ++j) b[l * n + j] = static_cast<float>(j % 5);
  }
  try {
    const Stream stream = new_stream();
    const DeviceArray on_a = device_array(a.size());
    const DeviceArray on_b = device_array(b.size());
    const DeviceArray on_c = device_array(c.size());
    kw::Context context = kw::Context::gpu_on_stream(stream.get());
    // Each of these is put on the stream and runs after the one before; nothing waits until the
    // end.
    check(cudaMemcpyAsync(on_a.get(), a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice,
                          stream.get()),
          "cudaMemcpyAsync of A");
    check(cudaMemcpyAsync(on_b.get(), b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice,
                          stream.get()),
          "cudaMemcpyAsync of B");
    kw::sgemm(context, 1, kw::row_major(on_a.get(), m, k), kw::row_major(on_b.get(), k, n), 0,
              kw::row_major(on_c.get(), m, n));
    check(cudaMemcpyAsync(c.data(), on_c.get(), c.size() * sizeof(float), cudaMemcpyDeviceToHost,
                          stream.get()),
          "cudaMemcpyAsync of C");
    context.synchronize();  // waits for the stream, and reports what went wrong on it
    std::printf("%s: C[1][1] = %g, expected %g\n", context.device_name().c_str(), c[n + 1],
                static_cast<double>(k));
  } catch (const kw::Error& error) {
    std::fprintf(stderr, "%s: %s\n", kw::to_string(error.code()), error.what());
    return 1;
  }
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const float expected = static_cast<float>(i % 7 * (j % 5) * k);
      if (c[i * n + j] == expected) continue;
      std::fprintf(stderr, "C[%d][%d] = %g, expected %g\n", static_cast<int>(i),
                   static_cast<int>(j), c[i * n + j], expected);
      return 1;
    }
  }
  return 0;
}
