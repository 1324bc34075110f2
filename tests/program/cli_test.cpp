// The command line: what commands say of what they do.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "kernels.hpp"
#include "program_run.hpp"

namespace kw {
namespace {

TEST(Cli, TheAccuracySuiteShowsEveryClassAndDumps) {
  const std::string folder = temporary_path("dump");
  const ProgramRun run = run_kernelwright(
      "accuracy sgemm --device cpu --classes 'un*,one_*' --size 8 --max-k 1 --dump '" + folder +
      "'");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  for (const char* name : {"unit: U[0, 1)", "uniform: ", "one_nan_b: one NaN in B", "0 of "}) {
    EXPECT_TRUE(contains(run.out, name)) << name << "\n" << run.out;
  }
  const auto index = nlohmann::json::parse(read_text(folder + "/index.json"));
  ASSERT_EQ(index["items"].size(), 6u);
  for (const auto& item : index["items"]) {
    EXPECT_EQ(read_text(folder + "/" + item["a"].get<std::string>()).size(), 8 * sizeof(float));
    EXPECT_EQ(read_text(folder + "/" + item["b"].get<std::string>()).size(), 8 * sizeof(float));
    for (const char* name : {"product", "magnitude"}) {
      EXPECT_EQ(read_text(folder + "/" + item[name].get<std::string>()).size(),
                64 * sizeof(double));
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(Cli, ListShowsEveryKernel) {
  const ProgramRun run = run_kernelwright("list");
  EXPECT_EQ(run.exit_code, 0);
  add_developer_backends();
  for (const DeviceKind kind :
       {DeviceKind::cpu, DeviceKind::cuda, DeviceKind::hip, DeviceKind::host_simt}) {
    for (const auto& kernel : all_kernels<Sgemm>(kind)) {
      EXPECT_TRUE(contains(run.out, kernel.name)) << kernel.name;
      EXPECT_TRUE(contains(run.out, kernel.idea)) << kernel.name;
    }
    for (const auto& kernel : all_kernels<ScaleAdd>(kind)) {
      EXPECT_TRUE(contains(run.out, kernel.name)) << kernel.name;
    }
    for (const auto& kernel : all_kernels<Rowwise>(kind)) {
      EXPECT_TRUE(contains(run.out, kernel.name)) << kernel.name;
    }
    for (const auto& kernel : all_kernels<Reduce>(kind)) {
      EXPECT_TRUE(contains(run.out, kernel.name)) << kernel.name;
      EXPECT_TRUE(contains(run.out, kernel.idea)) << kernel.name;
    }
  }
  const ProgramRun reductions = run_kernelwright("list reduce");
  EXPECT_TRUE(contains(reductions.out, "cpu_reduce")) << reductions.out;
  EXPECT_FALSE(contains(reductions.out, "scale_add")) << reductions.out;
  EXPECT_FALSE(contains(run_kernelwright("list scale_add").out, "r00_cpu_loop"));
}

TEST(Cli, DevicesShowsTheCpu) {
  const ProgramRun run = run_kernelwright("devices --no-measure");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.out, "cpu:0")) << run.out;
  EXPECT_TRUE(contains(run.out, "not measured")) << run.out;
}

TEST(Cli, VerifyPassesOnTheCpu) {
  const ProgramRun run = run_kernelwright("verify --device cpu");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_FALSE(contains(run.err, "\x1b")) << "a live line in a pipe";
  for (const auto& kernel : all_kernels<Sgemm>(DeviceKind::cpu)) {
    EXPECT_TRUE(contains(run.out, kernel.name)) << kernel.name;
  }
}

TEST(Cli, VerifyOfReductionsTakesShapesOperationsAndTypes) {
  const ProgramRun run = run_kernelwright(
      "verify reduce --device cpu --shape 2^10,33x7 --op sum,argmax --dtype float16,int8 "
      "--kernel cpu_reduce --json -");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  for (const char* part : {"\"argmax\"", "\"sum\"", "\"float16\"", "\"int8\"", "\"whole\"",
                           "\"rows\"", "\"columns\""}) {
    EXPECT_TRUE(contains(run.out, part)) << part;
  }
  for (const char* part : {"\"float32\"", "\"max\",", "\"segments\","}) {
    EXPECT_FALSE(contains(run.out, part)) << part;
  }
}

TEST(Cli, VerifyTakesShapesInputsAndSeeds) {
  const ProgramRun run = run_kernelwright(
      "verify sgemm --device cpu --shape 12x13x14,9,0x4x5 --input normal --seed 99");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "12")) << "three shapes, four ways: " << run.out;
}

TEST(Cli, VerifyTakesBatchesAndTransposes) {
  const ProgramRun run = run_kernelwright(
      "verify sgemm --device cpu --shape 12x13x14,0x4x5 --batch 3 --ops nt,TT --json -");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "\"batch\": 3")) << run.out;
  EXPECT_FALSE(contains(run.out, "\"batch\": 1")) << run.out;
  EXPECT_FALSE(contains(run.out, "\"op_b\": \"N\"")) << run.out;
}

TEST(Cli, BenchOfBatchesSaysSo) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --no-ceilings --shape 16,8x9x10 --batch 5 --ops nn,tn --budget-ms "
      "3 --no-peer "
      "--kernel cpu_loop");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part : {"sgemm 16 x 16 x 16 NN, batch 5", "sgemm 8 x 9 x 10 TN, batch 5",
                           "16 (batch 5)", "8x9x10 (batch 5)", "TN, GFLOP/s (* best)"}) {
    EXPECT_TRUE(contains(run.out, part)) << part << "\n" << run.out;
  }
}

TEST(Cli, BenchOfPaddedRowsSaysSo) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --no-ceilings --shape 8x9x10 --pad 0,3,1 --ops nn,tt --budget-ms 3 "
      "--no-peer "
      "--kernel cpu_loop");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part : {"sgemm 8 x 9 x 10 NN, lda 10, ldb 12, ldc 10",
                           "sgemm 8 x 9 x 10 TT, lda 8, ldb 13, ldc 10"}) {
    EXPECT_TRUE(contains(run.out, part)) << part << "\n" << run.out;
  }
}

TEST(Cli, TheSweepOfBatchesCarriesItsBatches) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --no-ceilings --sweep batched --kernel cpu_loop --no-peer "
      "--max-call-ms 0.001");
  EXPECT_EQ(run.exit_code, 2) << run.err;
  for (const char* shape : {"32x32x32 (batch 4096)", "64x64x64 (batch 1024)",
                            "128x128x128 (batch 256)", "512x512x512 (batch 64)"}) {
    EXPECT_TRUE(contains(run.err, std::string("cpu_loop is left out at ") + shape)) << run.err;
  }
}

TEST(Cli, BenchPrintsATableAndMarksTheBest) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --no-ceilings --shape 64,96 --budget-ms 3 --kernel 'r00*'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(contains(run.err, "\x1b")) << "a live line in a pipe";
  EXPECT_TRUE(contains(run.out, "sgemm 64 x 64 x 64 NN")) << run.out;
  EXPECT_TRUE(contains(run.out, "r00_cpu_loop")) << run.out;
  EXPECT_TRUE(contains(run.out, "*")) << run.out;
  EXPECT_TRUE(contains(run.out, "GFLOP/s (* best)")) << run.out;
}

TEST(Cli, BenchOfReductionsPrintsATableAPairOfOperationAndType) {
  const ProgramRun run = run_kernelwright(
      "bench reduce --device cpu --no-ceilings --shape 2^11,1000 --misalign 1 --op sum,max --dtype "
      "float32,int8 "
      "--budget-ms 3 --kernel cpu_reduce --no-peer");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* part :
       {"reduce sum float32 2^11+1, 2048 elements", "reduce max int8 1000+1, 1000 elements",
        "sum float32, GB/s (* best)", "max int8, GB/s (* best)"}) {
    EXPECT_TRUE(contains(run.out, part)) << part << "\n" << run.out;
  }
}

TEST(Cli, BenchOfReductionsSaysWhoDoesNotTakeThem) {
  const ProgramRun run = run_kernelwright(
      "bench reduce --device cpu --no-ceilings --shape 300x20 --op min --budget-ms 3");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "min float32 300x20 rows is not supported by r00_cpu_loop"))
      << run.err;
  EXPECT_TRUE(contains(run.out, "cpu_reduce")) << run.out;
}

TEST(Cli, BenchLeavesSlowKernelsOutAndSaysSo) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --no-ceilings --shape 512 --budget-ms 3 --kernel 'r00*' --no-peer "
      "--max-call-ms "
      "0.5");
  EXPECT_TRUE(contains(run.err, "r00_cpu_loop is left out at 512x512x512")) << run.err;
  EXPECT_EQ(run.exit_code, 2) << "nothing was left to measure";
  EXPECT_TRUE(contains(run.err, "nothing was measured")) << run.err;
}

// What is not asked for by name, as of a sweep, is left out.
TEST(Cli, BenchLeavesOutOfASweepWhatDoesNotFit) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  check::Workbench workbench(*runtime);
  std::string said;
  bench::Bench bench(
      workbench, {}, {}, [&](const std::string& line) { said += line; }, [](const std::string&) {});
  check::SgemmCase c;
  c.m = c.n = 4000000;
  c.k = 1;
  EXPECT_TRUE(bench.run(all_kernels<Sgemm>(DeviceKind::cpu), c).empty());
  EXPECT_TRUE(contains(said, "4000000x4000000x1 is left out: it takes 320 TB")) << said;
}

TEST(Cli, ReportNamesAMissingPython) {
  const std::string file = temporary_path("any.json");
  ASSERT_EQ(run_kernelwright("devices --no-measure --json '" + file + "'").exit_code, 0);
  const ProgramRun run =
      run_kernelwright("report '" + file + "' -o /tmp", "KERNELWRIGHT_PYTHON=/no/such/python");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "cannot run /no/such/python")) << run.err;
  std::remove(file.c_str());
}

#ifdef KW_HAVE_HOST_SIMT
TEST(Cli, HostSimtVerifiesAndBenches) {
  const ProgramRun verify =
      run_kernelwright("verify sgemm --device host-simt --kernel 'r01*,r04*' --shape 33x65x17");
  EXPECT_EQ(verify.exit_code, 0) << verify.out << verify.err;
  const ProgramRun bench =
      run_kernelwright("bench sgemm --device host-simt --kernel 'r01*' --shape 32 --budget-ms 3");
  EXPECT_EQ(bench.exit_code, 0) << bench.out << bench.err;
  EXPECT_TRUE(contains(bench.out, "say nothing about a GPU")) << bench.out;
}

TEST(Cli, HostSimtBenchesReductions) {
  const ProgramRun run = run_kernelwright(
      "bench reduce --device host-simt --kernel 'r01*,r10*' --shape 2000 --budget-ms 3");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "r10_one_launch")) << run.out;
}
#endif

}  // namespace
}  // namespace kw
