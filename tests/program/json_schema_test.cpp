// Result files of each command, field by field.
#include "json_schema.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "sgemm/kernels.hpp"

namespace kw {
namespace {

TEST(JsonSchema, BenchSgemmOnTheCpu) {
  const std::string command = "bench sgemm --device cpu --shape 64,48x56x72 --budget-ms 3";
  const ordered_json file = run_json(command);
  expect_header(file, "cpu", "kernelwright " + command + " --json -");
  const double peak = file["device"]["measured_fp32_tflops"].get<double>();
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_launch(row["launch"], false);
    expect_error(row);
    expect_timed(row);
    EXPECT_TRUE(row["verified"].get<bool>());
    EXPECT_EQ(row["timing"], "clock");
    EXPECT_NEAR(row["of_peak"].get<double>(), row["gflops"].get<double>() * 1e-3 / peak, 1e-9);
    EXPECT_TRUE(row["sm_clock_mhz"].is_null());
    EXPECT_TRUE(row["power_w"].is_null());
  }
}

TEST(JsonSchema, BenchOfBatches) {
  const ordered_json file = run_json(
      "bench sgemm --device cpu --no-ceilings --budget-ms 3 --shape 24x16x40 --batch 7 "
      "--ops nt,tn");
  EXPECT_TRUE(file["device"]["measured_fp32_tflops"].is_null());
  EXPECT_TRUE(file["device"]["measured_read_gbs"].is_null());
  std::set<std::string> ops;
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_error(row);
    expect_timed(row);
    EXPECT_EQ(row["batch"], 7);
    EXPECT_TRUE(row["verified"].get<bool>());
    EXPECT_NE(row["role"], "rung") << "a rung computes one product";
    ops.insert(row["op_a"].get<std::string>() + row["op_b"].get<std::string>());
  }
  EXPECT_EQ(ops, (std::set<std::string>{"NT", "TN"}));
}

// Ratios come from medians of the same file.
TEST(JsonSchema, RatiosAreThoseOfTheRows) {
  const ordered_json file =
      run_json("bench sgemm --device cpu --no-ceilings --shape 96 --budget-ms 3");
  const auto median_of = [&](const std::string& kernel) {
    for (const ordered_json& row : file["rows"]) {
      if (row["kernel"] == kernel) return row["time_us"]["median"].get<double>();
    }
    return std::nan("");
  };
  const bool has_peer = !peers::sgemm_cpu().empty();
  for (const ordered_json& row : file["rows"]) {
    ASSERT_EQ(row["peer"].is_string(), has_peer);
    ASSERT_EQ(row["vs_peer"].is_number(), has_peer);
    if (!has_peer) continue;
    EXPECT_NEAR(row["vs_peer"].get<double>(),
                median_of(row["peer"]) / row["time_us"]["median"].get<double>(), 1e-9);
  }
}

TEST(JsonSchema, SweepsOfProductsSayWhichProductARowIsOf) {
  std::vector<std::string> fields = row_fields;
  for (const char* name : {"sweep", "seed", "number", "program", "third", "roofline_us"}) {
    fields.emplace_back(name);
  }
  for (const char* sweep : {"random --seed 1234 --count 9", "programs"}) {
    const bool is_random = std::string(sweep) != "programs";
    const std::string limits = std::string(" --device cpu --max-work 3e7 --json -");
    const std::string bench = std::string("bench sgemm --budget-ms 3 --sweep ") + sweep + limits;
    const ProgramRun run = run_kernelwright(bench);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(contains(run.err, "products are left out: more than 3e+07 operations")) << run.err;
    const ordered_json file = ordered_json::parse(run.out);
    expect_header(file, "cpu", "kernelwright " + bench);
    std::set<std::string> kernels;
    for (const ordered_json& row : file["rows"]) {
      EXPECT_EQ(names(row), fields);
      expect_error(row);
      expect_timed(row);
      EXPECT_TRUE(row["verified"].get<bool>());
      EXPECT_EQ(row["sweep"], is_random ? "random" : "programs");
      EXPECT_EQ(row["seed"].is_null(), !is_random);
      EXPECT_EQ(row["program"].is_string(), !is_random);
      if (is_random) {
        EXPECT_EQ(row["seed"], 1234);
      }
      EXPECT_GE(row["number"], 0);
      EXPECT_TRUE(is_one_of(row["third"], {"short", "middle", "long"}));
      EXPECT_TRUE(is_positive(row["roofline_us"]));
      const double operations = 2.0 * row["m"].get<double>() * row["n"].get<double>() *
                                row["k"].get<double>() * row["batch"].get<double>();
      EXPECT_LE(operations, 3e7);
      const double peak = file["device"]["measured_fp32_tflops"].get<double>();
      EXPECT_GE(row["roofline_us"].get<double>(), operations / (peak * 1e6) * (1 - 1e-12));
      kernels.insert(row["kernel"].get<std::string>());
    }
    EXPECT_EQ(kernels.size(), peers::sgemm_cpu().empty() ? 1u : 2u)
        << "the library's first kernel and the vendor, none of the others";
  }
}

// Of kernels that predict their times the promising ones, with what they planned.
TEST(JsonSchema, RowsWithinAPredictionStateIt) {
  std::vector<std::string> fields = row_fields;
  fields.insert(fields.end(), {"predicted_us", "workspace_bytes"});
  const auto predictions = [&](const char* limit) {
    const ordered_json file = run_json(fmt::format(
        "bench sgemm --device host-simt --shape 16x40x70 --kernel 'stream_*,async_tile' "
        "--no-peer --budget-ms 1 --within {}",
        limit));
    std::map<std::string, double> found;
    for (const ordered_json& row : file["rows"]) {
      EXPECT_EQ(names(row), fields);
      EXPECT_TRUE(row["workspace_bytes"].is_number_integer());
      const bool predicts = row["kernel"] != "async_tile";
      EXPECT_EQ(row["predicted_us"].is_null(), !predicts);
      if (predicts) found[row["kernel"]] = row["predicted_us"].get<double>();
    }
    EXPECT_EQ(file["rows"].size(), found.size() + 1) << "async_tile predicts nothing and stays";
    return found;
  };
  const std::map<std::string, double> all = predictions("1000"), near = predictions("1.5");
  double least = all.begin()->second;
  for (const auto& [kernel, us] : all) least = std::min(least, us);
  for (const auto& [kernel, us] : all)
    EXPECT_EQ(near.contains(kernel), us <= 1.5 * least) << kernel;
  EXPECT_LT(near.size(), all.size());
}

// What a random row states is enough to repeat it.
TEST(JsonSchema, ARandomRowCanBeRepeated) {
  const ordered_json file = run_json(
      "verify sgemm --device cpu --sweep random --seed 99 --count 4 --max-work 1e7 --kernel "
      "cpu_loop");
  for (const ordered_json& row : file["rows"]) {
    EXPECT_TRUE(row["verified"].get<bool>());
    expect_untimed(row);
    EXPECT_TRUE(row["roofline_us"].is_null());
    const auto number = [&](const char* name) { return row[name].get<std::int64_t>(); };
    const std::int64_t pads[] = {number("lda") - (row["op_a"] == "T" ? number("m") : number("k")),
                                 number("ldb") - (row["op_b"] == "T" ? number("k") : number("n")),
                                 number("ldc") - number("n")};
    const ordered_json again = run_json(fmt::format(
        "bench sgemm --device cpu --no-ceilings --budget-ms 3 --no-peer --kernel cpu_loop "
        "--seed {} --shape {}x{}x{} --op-a {} --op-b {} --pad {},{},{}",
        number("seed"), number("m"), number("n"), number("k"), row["op_a"].get<std::string>(),
        row["op_b"].get<std::string>(), pads[0], pads[1], pads[2]));
    const ordered_json& same = again["rows"][0];
    for (const char* name :
         {"m", "n", "k", "lda", "ldb", "ldc", "op_a", "op_b", "c_first", "c_last"}) {
      EXPECT_EQ(row[name], same[name]) << name;
    }
  }
}

TEST(JsonSchema, BenchScaleAddOnTheCpu) {
  const ordered_json file =
      run_json("bench scale_add --device cpu --no-ceilings --shape 256,100x300 --budget-ms 3");
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_error(row);
    expect_timed(row);
    EXPECT_EQ(row["op"], "scale_add");
    EXPECT_EQ(row["alpha"], 1.25);
    EXPECT_EQ(row["beta"], -0.5);
    EXPECT_TRUE(row["of_peak"].is_null()) << "what caches hold has no share of memory's bandwidth";
  }
}

TEST(JsonSchema, BenchLevel3OnTheCpu) {
  const ordered_json file = run_json(
      "bench level3 --device cpu --no-ceilings --op ssyrk,strsm --shape 40x30x20 --uplo upper "
      "--diag u --budget-ms 3");
  std::set<std::string> seen;
  for (const ordered_json& row : file["rows"]) {
    expect_error(row);
    expect_timed(row);
    const bool solves = row["op"] == "strsm";
    seen.insert(row["op"].get<std::string>());
    EXPECT_EQ(row["uplo"], "upper");
    EXPECT_EQ(row["side"].is_null(), !solves);
    EXPECT_EQ(row["unit_diagonal"], solves);
    EXPECT_EQ(row["m"], 40);
    EXPECT_EQ(row["n"], solves ? 30 : 40);
    EXPECT_EQ(row["k"], solves ? 40 : 20);
    EXPECT_TRUE(row["gflops"].is_number());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ssyrk", "strsm"}));
}

TEST(JsonSchema, ScalarsReadBackAsTyped) {
  const ordered_json file = run_json(
      "bench sgemm --device cpu --no-ceilings --shape 32 --budget-ms 3 --alpha 0.1 --beta -1.5 "
      "--op-a T");
  for (const ordered_json& row : file["rows"]) {
    EXPECT_EQ(row["alpha"].dump(), "0.1");
    EXPECT_EQ(row["beta"].dump(), "-1.5");
    EXPECT_EQ(row["op_a"], "T");
    EXPECT_EQ(row["op_b"], "N");
  }
}

TEST(JsonSchema, VerifyHasNoTimes) {
  const ordered_json file = run_json("verify sgemm --device cpu --shape 33x34x35");
  expect_header(file, "cpu", "kernelwright verify sgemm --device cpu --shape 33x34x35 --json -");
  EXPECT_TRUE(file["device"]["measured_fp32_tflops"].is_null());
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_error(row);
    expect_untimed(row);
    EXPECT_TRUE(row["verified"].get<bool>());
  }
}

TEST(JsonSchema, AccuracyCoversInputsAndDepths) {
  const ordered_json file = run_json("accuracy sgemm --device cpu --size 16 --max-k 64");
  std::set<std::pair<std::string, int>> seen;
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_error(row);
    expect_untimed(row);
    seen.insert({row["input"].get<std::string>(), row["k"].get<int>()});
  }
  EXPECT_EQ(seen.size(), 3u * 5u) << "unit, uniform, normal at k = 1, 8, 16, 32, 64";
}

TEST(JsonSchema, TheAccuracySuiteAddsItsFields) {
  std::vector<std::string> fields = row_fields;
  for (const char* name : {"seeds", "rms_vs_peer", "max_vs_peer", "same_bits"}) {
    fields.emplace_back(name);
  }
  const ordered_json file = run_json(
      "accuracy sgemm --device cpu --classes unit,mixed,odd_tn,empty_added --kernel 'cpu_*' --size "
      "9 "
      "--max-k 1 --seeds 2",
      // At k = 1 every correct product has the same error.
      0);
  std::set<std::string> seen;
  for (const ordered_json& row : file["rows"]) {
    EXPECT_EQ(names(row), fields);
    expect_error(row);
    EXPECT_TRUE(row["time_us"].is_null());
    EXPECT_TRUE(row["vs_peer"].is_null());
    EXPECT_EQ(row["seeds"], 2);
    EXPECT_EQ(row["same_bits"], true);
    EXPECT_EQ(row["verified"], true);
    const bool is_compared = row["role"] == "production" && !peers::sgemm_cpu().empty() &&
                             (row["input"] == "unit" || row["input"] == "odd_tn");
    for (const char* name : {"rms_vs_peer", "max_vs_peer"}) {
      EXPECT_EQ(row[name].is_number(), is_compared) << name;
    }
    EXPECT_EQ(row["peer"].is_string(), is_compared);
    EXPECT_EQ(row["k"], row["input"] == "empty_added" ? 0 : 1);
    seen.insert(row["input"].get<std::string>());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"unit", "mixed", "odd_tn", "empty_added"}));
}

TEST(JsonSchema, TheAccuracyOfSystemsHasTheSuitesFields) {
  const ordered_json file =
      run_json("accuracy strsm --device cpu --lines 5 --max-size 33 --kernel 'cpu_*'", 0);
  std::set<std::string> seen;
  for (const ordered_json& row : file["rows"]) {
    expect_error(row);
    EXPECT_EQ(row["op"], "strsm");
    EXPECT_EQ(row["k"], 33);
    EXPECT_EQ(row["seeds"], 1);
    for (const char* name : {"rms_vs_peer", "max_vs_peer", "same_bits"})
      EXPECT_TRUE(row.contains(name) && row[name].is_null()) << name << ": no peer, no second call";
    EXPECT_EQ(row["verified"], true);
    EXPECT_GT(row["error"]["max"], 0);
    seen.insert(row["input"].get<std::string>() + " " + row["side"].get<std::string>());
  }
  EXPECT_EQ(seen.size(), 6u) << "random, graded and ill, on both sides";
}

TEST(JsonSchema, DevicesListsTheCpuMeasured) {
  const ordered_json file = run_json("devices --no-measure");
  EXPECT_EQ(file["schema"], 1);
  ASSERT_FALSE(file["devices"].empty());
  EXPECT_EQ(file["devices"][0]["kind"], "cpu");
}

#ifdef KW_HAVE_HOST_SIMT
TEST(JsonSchema, BenchOnHostSimt) {
  const ordered_json file =
      run_json("bench sgemm --device host-simt --shape 32,17x9x21 --budget-ms 3 --kernel 'r0*'");
  EXPECT_TRUE(file["device"]["measured_fp32_tflops"].is_null());
  EXPECT_EQ(file["device"]["kind"], "host-simt");
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_launch(row["launch"], true);
    expect_error(row);
    expect_timed(row);
    EXPECT_TRUE(row["verified"].get<bool>());
    EXPECT_TRUE(row["of_peak"].is_null());
    EXPECT_TRUE(row["peer"].is_null());
  }
}

// The library's choices name the kernel that computed.
TEST(JsonSchema, PathsOfTheChoices) {
  const KernelList<Sgemm> production = on_host::sgemm_production();
  for (const char* command :
       {"bench sgemm --shape 64x96x40 --budget-ms 3", "verify sgemm --shape 64x96x40",
        "accuracy sgemm --classes uniform --size 64 --max-k 1"}) {
    const ordered_json file =
        run_json(std::string(command) + " --device host-simt --kernel 'kernelwright*'");
    std::set<std::string> kernels;
    for (const ordered_json& row : file["rows"]) {
      if (!row["kernel"].get<std::string>().starts_with("kernelwright")) continue;
      kernels.insert(row["kernel"].get<std::string>());
      const bool in_fp32 = row["kernel"] == "kernelwright";
      EXPECT_EQ(row["math"], in_fp32 ? "fp32" : "fp32_split");
      const auto path = std::find_if(production.begin(), production.end(), [&](const auto& kernel) {
        return row["path"] == kernel.name;
      });
      ASSERT_NE(path, production.end()) << row["path"];
      if (in_fp32) {
        EXPECT_EQ(path->math, Math::fp32);
      }
    }
    EXPECT_EQ(kernels, (std::set<std::string>{"kernelwright", "kernelwright_split"})) << command;
  }
}
#endif

}  // namespace
}  // namespace kw
