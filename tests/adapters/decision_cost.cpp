// What the adapter costs a call, on this machine: calls that only count, with the adapter before
// them and past it. Run with LD_PRELOAD=libkernelwright_cublas.so and KERNELWRIGHT_DEVICE=cpu.
//
//   decided    the handle asked, the lane found, the decision found; then forwarded
//   other      a call of other types: forwarded after a look at its arguments
//   direct     the same call without the adapter
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "forms.hpp"
#include "stand_in.hpp"

using namespace kw::cublas;
extern "C" Status cublasGemmEx(KW_PARAMETERS_gemm_ex(int));

namespace {

template <class Call>
double ns_a_call(int calls, const Call& call) {
  std::vector<double> times;
  for (int turn = 0; turn < 15; ++turn) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - began;
    times.push_back(spent.count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 100000;
  // Everything is decided against, so that what is timed ends in the stand-in, which only counts.
  setenv("KERNELWRIGHT_SMALLEST", "1e15", 1);
  void* handle = nullptr;
  cublasCreate_v2(&handle);
  stand_in_compute(false);
  static float a[64], b[64], c[64];
  const float one = 1, zero = 0;
  const auto with = [&](auto* function, Enum type) {
    return [=, &one, &zero] {
      return function(handle, 0, 0, 8, 8, 8, &one, a, type, 8, b, type, 8, &zero, c, type, 8,
                      compute_32f, -1);
    };
  };
  using Function = Status(KW_PARAMETERS_gemm_ex(int));
  void* const library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD);
  // By the C library's own dlsym, past the adapter's.
  void* const c_library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  auto* const look_up =
      reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(c_library, "dlsym", "GLIBC_2.34"));
  auto* const vendor =
      look_up == nullptr ? nullptr : reinterpret_cast<Function*>(look_up(library, "cublasGemmEx"));
  const double decided = ns_a_call(calls, with(&cublasGemmEx, 0));
  const double other = ns_a_call(calls, with(&cublasGemmEx, 2));
  std::printf("decided %.0f ns, other types %.0f ns a call", decided, other);
  if (vendor != nullptr) std::printf(", direct %.0f ns", ns_a_call(calls, with(vendor, 0)));
  std::printf("\n");
  return cublasDestroy_v2(handle);
}
