// Sizes beyond 64 bits or beyond the machine: the program refuses them before it allocates.
#include <gtest/gtest.h>

#include "bench/room.hpp"
#include "check/reduce/case.hpp"
#include "kernels.hpp"
#include "program_run.hpp"

namespace kw {
namespace {

class SizesThatNoMachineHas : public testing::TestWithParam<const char*> {};

TEST_P(SizesThatNoMachineHas, AreRefusedWithTheBytesNeededAndThere) {
  const ProgramRun run = run_kernelwright(GetParam());
  EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
  EXPECT_TRUE(run.err.starts_with("kernelwright: --s")) << run.err;
  for (const char* part : {" takes ", "but ", " to give; take a smaller one"}) {
    EXPECT_TRUE(contains(run.err, part)) << run.err;
  }
  EXPECT_EQ(run.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SizesThatNoMachineHas,
    testing::Values(
        "verify sgemm --device cpu --shape 2^31", "bench sgemm --device cpu --shape 2^31",
        "bench sgemm --device cpu --shape 2^32", "bench sgemm --device cpu --shape 2^40",
        "bench sgemm --device cpu --shape 99999999999",
        "bench sgemm --device cpu --shape 8,2^30x2^30x1",
        "bench sgemm --device cpu --shape 8 --batch 1000000000000 --pad 0,0,1",
        "bench sgemm --device cpu --shape 2^20x1x1 --pad 1099511627776,0,0",
        "bench scale_add --device cpu --shape 2^31", "verify scale_add --device cpu --shape 2^32",
        "bench reduce --device cpu --shape 2^40", "bench reduce --device cpu --shape 2^40x2^40",
        "bench reduce --device cpu --segments one_to_32 --shape 2^40",
        "verify reduce --device cpu --shape 2^31x2^31",
        "tune sgemm --device cpu --shape 2^31 --out /dev/null",
        "accuracy sgemm --device cpu --size 65536 --max-k 65536"
#ifdef KW_HAVE_HOST_SIMT
        ,
        "verify sgemm --device host-simt --shape 2^31",
        "bench scale_add --device host-simt --shape 2^40"
#endif
        ));

TEST(Sizes, AreStatedInFull) {
  const ProgramRun run = run_kernelwright("bench sgemm --device cpu --shape 99999999999x1x1");
  EXPECT_TRUE(contains(run.err, "99999999999x1x1")) << run.err;
  const ProgramRun large = run_kernelwright("bench sgemm --device cpu --shape 99999999999");
  // 3 * 4 + 16 bytes and doubles of A for the check, each 10^22 times.
  EXPECT_TRUE(contains(large.err, "takes 4.4e+23 bytes")) << large.err;
}

TEST(Sizes, AreThoseThatATrialAllocates) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  Device gpu = runtime->device();
  gpu.kind = DeviceKind::cuda;
  check::SgemmCase product;
  product.m = 30;
  product.n = 20;
  product.k = 10;
  product.batch = 3;
  product.guard = 5;
  product.gap = 2;
  product.ldb_pad = 4;
  const double a = 3 * 300 + 2 * 2, b = 3 * (9 * 24 + 20) + 2 * 2, c = 3 * 600 + 2 * 2;
  EXPECT_EQ(check::SgemmTrial::bytes(product, gpu), 4 * (a + b + c + 3 * 10) + 16 * 1800);
  EXPECT_GT(check::SgemmTrial::bytes(product, runtime->device()),
            check::SgemmTrial::bytes(product, gpu));
  check::ScaleAddCase sum;
  sum.rows = 7;
  sum.cols = 9;
  sum.guard = 5;
  sum.lda_pad = 1;
  EXPECT_EQ(check::ScaleAddTrial::bytes(sum, gpu), 4 * (6 * 10 + 9 + 10 + 63 + 10));
}

TEST(Sizes, AreToldInUnits) {
  EXPECT_EQ(bench::bytes_text(999), "999 bytes");
  EXPECT_EQ(bench::bytes_text(8.6e9), "8.6 GB");
  EXPECT_EQ(bench::bytes_text(4.7e19), "47 EB");
  EXPECT_EQ(bench::bytes_text(4.84e24), "4.8e+24 bytes");
}

TEST(Sizes, OfAGpuAreHeldAgainstItsMemory) {
  Device device;
  device.kind = DeviceKind::cuda;
  device.name = "a GPU";
  device.memory_bytes = 1000000000;
  EXPECT_EQ(bench::lack_of_room(9e8, device), "");
  EXPECT_TRUE(contains(bench::lack_of_room(9.1e8, device), "a GPU has 900 MB of 1 GB to give"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// OpenBLAS computes nothing and has one thread: it tries for ever where it gets no memory.
ProgramRun verify_within(int megabytes, const std::string& shape) {
  const std::string limit =
      "ulimit -v " + std::to_string(megabytes * 1000) + "; OPENBLAS_NUM_THREADS=1";
  return run_kernelwright("verify sgemm --device cpu --kernel 'r00*' --shape " + shape, limit);
}

// Libraries and threads take address space of their own, each machine's another amount: the limit
// is the least of a row at which a small product goes through.
TEST(Sizes, ThatMemoryDoesNotHoldAfterAllEndInAMessage) {
  int megabytes = 100;
  while (megabytes < 20000 && verify_within(megabytes, "32").exit_code != 0) megabytes += 100;
  ASSERT_LT(megabytes, 20000) << verify_within(megabytes, "32").err;
  const ProgramRun run = verify_within(megabytes, "3500");
  EXPECT_EQ(run.exit_code, 4) << run.err;
  EXPECT_TRUE(run.err.starts_with("kernelwright: ")) << run.err;
  EXPECT_TRUE(contains(run.err, "memory")) << run.err;
}
#endif

}  // namespace
}  // namespace kw
