// C = A * B from C++, on the CPU. On a GPU the matrices lie in device memory and the context is
// kw::Context::gpu(); the rest is the same.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernelwright/context.hpp"
#include "kernelwright/sgemm.hpp"

int main() {
  constexpr std::int64_t m = 300, n = 200, k = 100;
  const std::vector<float> a(m * k, 0.5f), b(k * n, 2.0f);
  std::vector<float> c(m * n);
  try {
    kw::Context context = kw::Context::cpu();
    kw::sgemm(context, 1, kw::row_major(a.data(), m, k), kw::row_major(b.data(), k, n), 0,
              kw::row_major(c.data(), m, n));
    context.synchronize();
    std::printf("%s: C[0][0] = %g, expected %g\n", context.device_name().c_str(), c[0],
                static_cast<double>(k));
  } catch (const kw::Error& error) {
    std::fprintf(stderr, "%s: %s\n", kw::to_string(error.code()), error.what());
    return 1;
  }
  for (float value : c) {
    if (value != static_cast<float>(k)) return 1;
  }
  return 0;
}
