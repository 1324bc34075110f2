// kernelwright choice: what the choice takes of a file's rows, what that loses, what is refused.
#include "bench/choice_loss.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "program_run.hpp"
#include "sgemm/kernels.hpp"
#include "support/kernel_named.hpp"

namespace kw::bench {
namespace {

using nlohmann::ordered_json;

ordered_json h200_file(std::vector<ordered_json> rows) {
  return {{"schema", 1},
          {"device",
           {{"name", "NVIDIA H200"},
            {"compute_capability", 90},
            {"sm_count", 132},
            {"warp_size", 32},
            {"shared_bytes_per_block_optin", 227 << 10},
            {"l2_bytes", 60 << 20},
            {"max_sm_clock_mhz", 1980},
            {"max_memory_clock_mhz", 3201},
            {"memory_bus_bits", 6144}}},
          {"rows", std::move(rows)}};
}

ordered_json measured(const std::string& kernel, std::int64_t n, double us,
                      std::size_t workspace_bytes = 0) {
  return {{"kernel", kernel},
          {"m", n},
          {"n", n},
          {"k", n},
          {"op_a", "N"},
          {"op_b", "T"},
          {"lda", n},
          {"ldb", n},
          {"ldc", n},
          {"batch", 1},
          {"alpha", 1.0},
          {"beta", 0.0},
          {"third", "short"},
          {"time_us", {{"median", us}}},
          {"workspace_bytes", workspace_bytes}};
}

const Kernel<Sgemm>& kernel_named(const std::string& name) {
  static const KernelList<Sgemm> all = on_host::sgemm_production();
  return test::kernel_named(all, name);
}

// What a kernel plans for a square NT product on the file's device.
Plan<Sgemm> plan_of(const std::string& name, std::int64_t n) {
  Sgemm p;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = n;
  p.op_b = Op::transpose;
  return *plan_for(kernel_named(name), p, device_of(h200_file({}), "file"));
}

TEST(ChoiceLoss, IsOfTheKernelWhosePlanCostsLeast) {
  const std::vector<std::string> names = {"stream_128x256", "stream_64x64", "stream_16x32"};
  std::string cheapest = names[0];
  for (const std::string& name : names) {
    if (plan_of(name, 700).cost < plan_of(cheapest, 700).cost) cheapest = name;
  }
  std::vector<ordered_json> rows;
  double us = 10;
  std::map<std::string, double> times;
  for (const std::string& name : names) {
    times[name] = name == cheapest ? 33 : us;
    rows.push_back(measured(name, 700, times[name], plan_of(name, 700).workspace_bytes));
    us += 1;
  }
  const std::vector<Chosen> found = chosen_in(h200_file(rows), "file");
  ASSERT_EQ(found.size(), 2u) << "in both arithmetics";
  for (const Chosen& one : found) {
    EXPECT_EQ(one.chosen.kernel, cheapest);
    EXPECT_EQ(one.chosen.predicted_us, plan_of(cheapest, 700).time_us);
    EXPECT_EQ(one.best.us, 10);
    EXPECT_DOUBLE_EQ(one.loss(), 3.3);
    EXPECT_FALSE(one.chosen.cut_otherwise);
    EXPECT_EQ(one.rows.size(), 3u);
  }
  EXPECT_EQ(found[0].math, Math::fp32);
  EXPECT_EQ(found[1].fp32_us, 33);
  const std::string table = choice_table(found);
  EXPECT_TRUE(contains(table, "230.00 %")) << table;
  EXPECT_TRUE(contains(table, "slower than fp32 by more than 3 %: 0 of 1")) << table;
}

TEST(ChoiceLoss, ASplitChoiceIsHeldAgainstThatOfPlainFp32) {
  const std::vector<ordered_json> rows = {
      measured("stream_128x256", 4096, 100, plan_of("stream_128x256", 4096).workspace_bytes),
      measured("hopper_fp16x3_128x128", 4096, 104,
               plan_of("hopper_fp16x3_128x128", 4096).workspace_bytes)};
  const std::vector<Chosen> found = chosen_in(h200_file(rows), "file");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rows.size(), 1u) << "a split kernel is none of plain fp32";
  EXPECT_EQ(found[1].chosen.kernel, "hopper_fp16x3_128x128");
  EXPECT_TRUE(contains(choice_table(found), "by more than 3 %: 1 of 1; at most 4.00 %"))
      << choice_table(found);
}

TEST(ChoiceLoss, SaysWhereAProductIsCutOtherwiseToday) {
  const std::size_t bytes = plan_of("stream_64x64", 700).workspace_bytes;
  const auto found = chosen_in(h200_file({measured("stream_64x64", 700, 5, bytes + 1)}), "file");
  EXPECT_TRUE(found[0].chosen.cut_otherwise);
  EXPECT_TRUE(contains(choice_table(found), "cut the product otherwise"));
}

TEST(ChoiceLoss, LeavesOutWhatIsNoKernelOfTheLibrary) {
  const auto found =
      chosen_in(h200_file({measured("cublas", 64, 1), measured("kernelwright", 64, 2),
                           measured("thin", 64, 2), measured("stream_16x32", 64, 3)}),
                "file");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rows.size(), 1u) << "and thin does not take 64 columns";
}

TEST(ChoiceLoss, IsAmongTheAskedKernels) {
  const ordered_json file =
      h200_file({measured("small_64x64", 64, 2), measured("stream_16x32", 64, 3),
                 measured("stream_32x32", 64, 4)});
  EXPECT_EQ(chosen_in(file, "file")[0].rows.size(), 3u);
  const auto found = chosen_in(file, "file", "stream_*");
  EXPECT_EQ(found[0].rows.size(), 2u);
  EXPECT_EQ(found[0].best.kernel, "stream_16x32");
  EXPECT_THROW(chosen_in(file, "file", "nothing*"), UsageError);
}

// Without the memory's clock, the bandwidth that was measured.
TEST(ChoiceLoss, TakesTheDeviceFromTheFile) {
  ordered_json file = h200_file({});
  Device device = device_of(file, "file");
  EXPECT_EQ(device.sm_count, 132);
  EXPECT_EQ(device.sm_clock_khz, 1980000);
  EXPECT_EQ(device.memory_clock_khz, 3201000);
  EXPECT_EQ(device.memory_bus_bits, 6144);
  file["device"].erase("memory_bus_bits");
  file["device"]["measured_read_gbs"] = 4500.5;
  device = device_of(file, "file");
  EXPECT_EQ(2e-6 * device.memory_clock_khz * device.memory_bus_bits / 8, 4500);
}

TEST(ChoiceLoss, RefusesFilesThatStateTooLittle) {
  ordered_json row = measured("stream_16x32", 64, 3);
  row.erase("workspace_bytes");
  EXPECT_THROW(chosen_in(h200_file({row}), "file"), UsageError);
  ordered_json file = h200_file({measured("stream_16x32", 64, 3)});
  file["device"].erase("sm_count");
  EXPECT_THROW(chosen_in(file, "file"), UsageError);
  EXPECT_THROW(chosen_in(ordered_json::array(), "file"), UsageError);
}

TEST(ChoiceLoss, IsACommand) {
  const std::string path = temporary_path("choice.json"), out = temporary_path("out.json");
  std::ofstream(path) << h200_file({measured("stream_16x32", 64, 3)}).dump();
  const ProgramRun run = run_kernelwright("choice '" + path + "' --json '" + out + "'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "choice.json, NVIDIA H200")) << run.out;
  EXPECT_TRUE(contains(run.out, "0.00 %")) << run.out;
  const ordered_json json = ordered_json::parse(read_text(out));
  EXPECT_EQ(json["files"][0]["products"][0]["product"], "64x64x64 NT");
  EXPECT_EQ(json["files"][0]["products"][0]["rows"][0]["us"], 3);
  std::ofstream(path) << h200_file({}).dump();
  EXPECT_EQ(run_kernelwright("choice '" + path + "'").exit_code, 2);
  std::ofstream(path) << "{";
  EXPECT_EQ(run_kernelwright("choice '" + path + "'").exit_code, 2);
}

}  // namespace
}  // namespace kw::bench
