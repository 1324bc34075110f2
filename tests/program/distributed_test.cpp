// bench distributed, bench out_of_core and plan: what they write, and what they refuse.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/distributed_rank.hpp"
#include "json_schema.hpp"
#include "program_run.hpp"

namespace kw {
namespace {

TEST(DistributedCommands, BenchWritesVerifiedRows) {
  const ordered_json file =
      run_json("bench distributed --device cpu --grid 2x2 --shape 40x30x50 --math fp32 --rounds 2");
  ASSERT_EQ(file["rows"].size(), 1u);
  const ordered_json& row = file["rows"][0];
  EXPECT_TRUE(row["verified"]);
  EXPECT_EQ(row["op"], "sgemm");
  EXPECT_EQ(row["kernel"], "kernelwright");
  EXPECT_EQ(row["gpus"], 4);
  EXPECT_EQ(row["grid"], "2x2");
  EXPECT_EQ(row["m"], 40);
  EXPECT_EQ(row["n"], 30);
  EXPECT_EQ(row["k"], 50);
  for (const char* name : {"one_gpu_us", "speedup", "products_us", "transfers_us", "peer_bytes",
                           "memory_bytes", "gflops"}) {
    EXPECT_TRUE(is_positive(row[name])) << name;
  }
  EXPECT_EQ(row["one_gpu_us_each"].size(), 4u);
  EXPECT_NEAR(row["speedup"].get<double>(),
              row["one_gpu_us"].get<double>() / row["time_us"]["median"].get<double>(), 1e-9);
  EXPECT_GE(row["overlap"], 0.0);
  EXPECT_LE(row["overlap"], 1.0);
  EXPECT_TRUE(row["predicted_us"].is_null());  // of GPUs alone
}

TEST(DistributedCommands, TransposesFactorsAndBlocksAreVerified) {
  for (const char* ops : {"NT", "TN", "TT"}) {
    const ordered_json file = run_json(
        std::string("bench distributed --device cpu --grid 2x2 --shape 41x37x53 --rounds 0 ") +
        "--alpha -1.5 --beta 0.5 --block 7 --ops " + ops);
    ASSERT_EQ(file["rows"].size(), 2u);
    for (const ordered_json& row : file["rows"]) {
      EXPECT_TRUE(row["verified"]) << ops;
      EXPECT_EQ(row["op_a"], std::string(1, ops[0]));
      EXPECT_EQ(row["op_b"], std::string(1, ops[1]));
      EXPECT_EQ(row["alpha"], -1.5);
      EXPECT_EQ(row["beta"], 0.5);
    }
  }
}

TEST(DistributedCommands, RanksThatAreProcessesWriteOneFileWithATimeline) {
  const ordered_json file = run_json(
      "bench distributed --device cpu --grid 3x1 --processes --shape 40x30x50 --math fp32 "
      "--rounds 1 --timeline");
  ASSERT_EQ(file["rows"].size(), 1u);
  const ordered_json& row = file["rows"][0];
  EXPECT_TRUE(row["verified"]);
  EXPECT_EQ(row["one_gpu_us_each"].size(), 3u);
  int products[3] = {}, copies[3] = {};
  for (const ordered_json& span : row["timeline"]) {
    (span["what"] == "copy" ? copies : products)[span["rank"].get<int>()]++;
    EXPECT_LE(span["begin_us"], span["end_us"]);
    EXPECT_GE(span["begin_us"], 0.0);
  }
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(products[rank], 3);  // its own third of k, then each neighbour's
    EXPECT_EQ(copies[rank], 2);
  }
}

TEST(DistributedCommands, GpusOfOtherCommandsAreThis) {
  const ProgramRun verify =
      run_kernelwright("verify sgemm --device cpu --gpus 3 --shape 33x20x7 --json -");
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  const ordered_json rows = ordered_json::parse(verify.out)["rows"];
  ASSERT_EQ(rows.size(), 2u);  // both arithmetics
  EXPECT_TRUE(rows[0]["verified"]);
  EXPECT_TRUE(rows[0]["time_us"].is_null());
  const ordered_json bench = run_json("bench sgemm --device cpu --gpus 2 --shape 20x30x10");
  EXPECT_EQ(bench["rows"][0]["grid"], "2x1");
}

TEST(DistributedCommands, ChecksFailWhereNothingWasComputed) {
  Group group = Group::cpu({1, 1});
  bench::DistributedRank rank(detail::GroupAccess::state(group), 0, 20, 30, 10, {});
  rank.fill();
  for (bench::Measured what : {bench::Measured::one, bench::Measured::distributed}) {
    bench::SampleError before, after;
    rank.check(what, &before);
    EXPECT_EQ(before.failures, 2 * 16 * 30 - 16 * (30 - 20));  // 16 rows and 16 columns of NaN
    EXPECT_TRUE(contains(before.message, "rank 0: C(0, 0) is ")) << before.message;
    rank.call(what, 1);
    rank.check(what, &after);
    EXPECT_EQ(after.failures, 0) << after.message;
  }
}

TEST(DistributedCommands, OutOfCoreWritesVerifiedRows) {
  const ordered_json file = run_json(
      "bench out_of_core --device cpu --shape 90x80x300 --device-memory 64KiB --math fp32 "
      "--rounds 1");
  const ordered_json& row = file["rows"][0];
  EXPECT_TRUE(row["verified"]);
  EXPECT_EQ(row["device_bytes"], 65536);
  for (const char* name : {"in_memory_us", "of_in_memory", "bytes_in", "bytes_out"}) {
    EXPECT_TRUE(is_positive(row[name])) << name;
  }
}

TEST(DistributedCommands, PlanPredictsGridsAndScaling) {
  const ProgramRun run = run_kernelwright("plan --gpus 8 --nodes 4 --shape 65536 --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const ordered_json file = ordered_json::parse(run.out);
  ASSERT_EQ(file["rows"].size(), 1u);
  const ordered_json& row = file["rows"][0];
  EXPECT_EQ(row["gpus"], 32);
  EXPECT_TRUE(is_positive(row["network_bytes"]));
  EXPECT_LE(row["predicted_speedup"], 32.0);
  for (const ordered_json& rate : file["rates"]) {
    EXPECT_TRUE(is_positive(rate["value"]));
    EXPECT_FALSE(rate["source"].get<std::string>().empty());
  }
  const ProgramRun scaling = run_kernelwright("plan --scaling --shape 32768 --json -");
  ASSERT_EQ(scaling.exit_code, 0) << scaling.err;
  const ordered_json rows = ordered_json::parse(scaling.out)["rows"];
  EXPECT_EQ(rows.size(), 22u);
  EXPECT_EQ(rows.back()["gpus"], 1024);
  EXPECT_GT(rows.back()["predicted_speedup"], rows[rows.size() - 3]["predicted_speedup"]);
  const ProgramRun text = run_kernelwright("plan --gpus 2 --shape 1000x2000x3000 --math fp32");
  EXPECT_TRUE(contains(text.out, "1000x2000x3000 fp32 on 2 GPUs")) << text.out;
}

TEST(DistributedCommands, OfWrongValuesNameWhatIsRight) {
  const std::pair<const char*, const char*> misuses[] = {
      {"bench distributed --device cpu --grid 2", "--grid: \"2\" is not of the form PxQ"},
      {"bench distributed --device cpu --grid 0x2", "\"0x2\""},
      {"bench distributed --device cuda", "--device: \"cuda\" is neither gpu nor cpu"},
      {"bench distributed --device cpu --math tf32", "\"tf32\" is neither fp32 nor fp32_split"},
      {"bench distributed --device cpu --ops NX", "--ops: \"NX\" is none of NN, NT, TN and TT"},
      {"bench distributed --gpus 0", "--gpus: 0 is outside of 1 to 4096"},
      {"bench distributed --rank 1", "--rank requires --group"},
      {"bench distributed --device cpu --grid 2x1 --rank 1 --group a --processes", "excludes"},
      {"bench sgemm --gpus 2 --sweep odd", "--sweep excludes --gpus"},
      {"verify reduce --gpus 2", "--gpus: is of sgemm"},
      {"plan --gpu A100", "--gpu: "},
      {"bench out_of_core --device cpu --device-memory 3apples",
       "--device-memory: \"3apples\" is no number of bytes"},
      {"plan --math tf32", "--math: \"tf32\" is neither fp32 nor fp32_split"},
      {"plan --gpus 4 --nodes 2 --grid 2x2", "--nodes: a grid or panel of your own"}};
  for (const auto& [arguments, message] : misuses) {
    const ProgramRun run = run_kernelwright(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_TRUE(contains(run.err, message)) << arguments << "\n" << run.err;
  }
}

}  // namespace
}  // namespace kw
