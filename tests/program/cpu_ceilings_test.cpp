// What the CPU is measured to reach is what nothing exceeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/ceilings.hpp"
#include "check/workbench.hpp"
#include "kernels.hpp"
#include "sgemm/kernels.hpp"

namespace kw::bench {
namespace {

// A product by the vendor's library in operations a second, the best of several calls.
double peer_tflops(const Kernel<Sgemm>& peer, Runtime& runtime, std::int64_t n) {
  std::vector<float> a(static_cast<std::size_t>(n * n), 1.0f), b = a, c = a;
  Sgemm problem;
  problem.m = problem.n = problem.k = n;
  problem.a = a.data();
  problem.b = b.data();
  problem.c = c.data();
  problem.lda = problem.ldb = problem.ldc = n;
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    double us = 0;
    check::require(runtime.time_us(
        [&](Stream stream) { return peer.launch(problem, runtime.device(), {}, stream); }, {},
        &us));
    best = std::max(best, problem.flops() * 1e-6 / us);
  }
  return best;
}

// One thread each, in turn, the best of each: other programs slow both of them.
TEST(CpuCeilings, OpenBlasStaysUnderThePeak) {
  const KernelList<Sgemm> peers = peers::sgemm_cpu();
  if (peers.empty()) GTEST_SKIP() << "no OpenBLAS in this build";
  const char* threads = std::getenv("OPENBLAS_NUM_THREADS");
  if (threads == nullptr || std::string_view(threads) != "1") {
    return;  // it was started with more threads than are compared here
  }
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  double peak = 0, peer = 0;
  for (int i = 0; i < 6; ++i) {
    peak = std::max(peak, cpu_fp32_tflops(1));
    peer = std::max(peer, peer_tflops(peers.front(), *runtime, 768));
  }
  EXPECT_LT(peer, 1.02 * peak);
}

}  // namespace
}  // namespace kw::bench
