// Result files, field by field: names, order, types, units and how fields relate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels.hpp"
#include "program_run.hpp"
#include "sgemm/kernels.hpp"

namespace kw {
namespace {

using nlohmann::ordered_json;

const std::vector<std::string> row_fields = {
    "op",           "kernel",  "role",  "m",       "n",      "k",       "op_a",
    "op_b",         "lda",     "ldb",   "ldc",     "alpha",  "beta",    "batch",
    "layout",       "math",    "path",  "input",   "l2",     "timing",  "launch",
    "time_us",      "gflops",  "gbs",   "of_peak", "peer",   "vs_peer", "vs_previous",
    "sm_clock_mhz", "power_w", "error", "c_first", "c_last", "verified"};

const std::vector<std::string> reduction_fields = {
    "op",      "kernel", "role",    "n",        "dtype",   "reduce_op",   "shape",
    "rows",    "cols",   "ld",      "segments", "lengths", "misalign",    "correction",
    "math",    "path",   "input",   "l2",       "timing",  "launch",      "time_us",
    "gflops",  "gbs",    "of_peak", "peer",     "vs_peer", "vs_previous", "sm_clock_mhz",
    "power_w", "error",  "c_first", "c_last",   "verified"};

std::vector<std::string> names(const ordered_json& object) {
  std::vector<std::string> found;
  for (const auto& [name, value] : object.items()) found.push_back(name);
  return found;
}

bool is_one_of(const ordered_json& value, std::initializer_list<const char*> allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const char* a) { return value == a; });
}

bool is_positive(const ordered_json& value) { return value.is_number() && value.get<double>() > 0; }

bool is_positive_or_null(const ordered_json& value) {
  return value.is_null() || is_positive(value);
}

ordered_json run_json(const std::string& arguments, int exit_code = 0) {
  const ProgramRun run = run_kernelwright(arguments + " --json -");
  EXPECT_EQ(run.exit_code, exit_code) << arguments << "\n" << run.err;
  return ordered_json::parse(run.out);
}

void expect_header(const ordered_json& file, const char* kind, const std::string& command) {
  EXPECT_EQ(names(file),
            (std::vector<std::string>{"schema", "command", "date", "device", "software", "rows"}));
  EXPECT_EQ(file["schema"], 1);
  EXPECT_EQ(file["command"], command);
  EXPECT_EQ(file["date"].get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
  const ordered_json& device = file["device"];
  EXPECT_TRUE(device["name"].is_string());
  EXPECT_EQ(device["kind"], kind);
  EXPECT_TRUE(is_positive(device["sm_count"]));
  for (const char* name : {"measured_fp32_tflops", "measured_read_gbs", "measured_copy_gbs"}) {
    ASSERT_TRUE(device.contains(name));
    EXPECT_TRUE(is_positive_or_null(device[name])) << name;
  }
  ASSERT_TRUE(device.contains("empty_kernel_us"));
  const bool is_gpu = device["kind"] == "cuda" || device["kind"] == "hip";
  EXPECT_TRUE(is_gpu || device["empty_kernel_us"].is_null());
  if (device["empty_kernel_us"].is_object()) {
    EXPECT_EQ(names(device["empty_kernel_us"]), (std::vector<std::string>{"graph", "events"}));
    for (const ordered_json& us : device["empty_kernel_us"]) EXPECT_TRUE(is_positive(us));
  }
  const ordered_json& software = file["software"];
  for (const char* name : {"kernelwright", "compiler", "os"}) {
    EXPECT_TRUE(software[name].is_string()) << name;
  }
  for (const char* name : {"driver", "driver_api", "runtime", "cublas", "cub", "rocblas",
                           "openblas", "cuda_compiler", "hip_compiler"}) {
    ASSERT_TRUE(software.contains(name));
    EXPECT_TRUE(software[name].is_string() || software[name].is_null()) << name;
  }
  EXPECT_TRUE(file["rows"].is_array());
  EXPECT_FALSE(file["rows"].empty());
}

void expect_problem(const ordered_json& row) {
  EXPECT_EQ(names(row), row_fields);
  const bool is_sgemm = row["op"] == "sgemm";
  EXPECT_TRUE(is_one_of(row["op"], {"sgemm", "scale_add"}));
  EXPECT_TRUE(row["kernel"].is_string());
  EXPECT_TRUE(row["path"].is_string());
  // Kernels in plain fp32 don't choose by the data; the library's choice among them does.
  if (row["math"] == "fp32") {
    EXPECT_EQ(row["path"] == row["kernel"], row["kernel"] != "kernelwright");
  }
  EXPECT_TRUE(is_one_of(row["role"], {"rung", "production", "peer", "reference"}));
  for (const char* name : {"m", "n", "lda", "ldb", "batch"}) {
    EXPECT_TRUE(row[name].is_number_integer()) << name;
  }
  for (const char* name : {"k", "ldc"}) {
    EXPECT_EQ(row[name].is_number_integer(), is_sgemm) << name;
    EXPECT_EQ(row[name].is_null(), !is_sgemm) << name;
  }
  for (const char* name : {"op_a", "op_b"}) {
    EXPECT_TRUE(is_sgemm ? is_one_of(row[name], {"N", "T"}) : row[name].is_null()) << name;
  }
  EXPECT_TRUE(row["alpha"].is_number());
  EXPECT_TRUE(row["beta"].is_number());
  EXPECT_GE(row["batch"], is_sgemm ? 0 : 1);
  EXPECT_EQ(row["layout"], "row_major");
  EXPECT_TRUE(is_one_of(row["math"], {"fp32", "fp32_split"}));
  EXPECT_TRUE(is_one_of(row["input"], {"uniform", "unit", "normal", "constant", "integers"}));
  EXPECT_TRUE(row["verified"].is_boolean());
  EXPECT_TRUE(row["c_first"].is_number());
  EXPECT_TRUE(row["c_last"].is_number());
}

void expect_reduction(const ordered_json& row) {
  EXPECT_EQ(names(row), reduction_fields);
  EXPECT_EQ(row["op"], "reduce");
  EXPECT_EQ(row["path"], row["kernel"]);
  EXPECT_TRUE(is_one_of(row["role"], {"rung", "production", "peer", "reference"}));
  EXPECT_TRUE(row["n"].is_number_integer());
  EXPECT_TRUE(row["misalign"].is_number_integer());
  EXPECT_TRUE(is_one_of(row["shape"], {"whole", "rows", "columns", "segments"}));
  const bool is_matrix = row["shape"] == "rows" || row["shape"] == "columns";
  for (const char* name : {"rows", "cols", "ld"}) {
    EXPECT_TRUE(is_matrix ? row[name].is_number_integer() : row[name].is_null()) << name;
  }
  const bool has_segments = row["shape"] == "segments";
  EXPECT_TRUE(has_segments ? row["segments"].is_number_integer() : row["segments"].is_null());
  EXPECT_TRUE(has_segments ? row["lengths"].is_string() : row["lengths"].is_null());
  EXPECT_EQ(row["correction"].is_number_integer(), row["reduce_op"] == "variance");
  EXPECT_TRUE(row["gflops"].is_null());
  EXPECT_TRUE(row["verified"].is_boolean());
}

double bytes_of(const std::string& dtype) {
  if (dtype == "int8") return 1;
  if (dtype == "float16" || dtype == "bfloat16") return 2;
  return dtype == "float32" || dtype == "int32" ? 4 : 8;
}

void expect_launch(const ordered_json& launch, bool is_gpu_kernel) {
  EXPECT_EQ(launch.is_null(), !is_gpu_kernel);
  if (launch.is_null()) return;
  EXPECT_EQ(names(launch), (std::vector<std::string>{"grid", "block", "shared_bytes"}));
  for (const char* name : {"grid", "block"}) {
    ASSERT_EQ(launch[name].size(), 3u);
    for (const ordered_json& extent : launch[name]) EXPECT_GE(extent.get<int>(), 1);
  }
  EXPECT_GE(launch["shared_bytes"].get<int>(), 0);
}

void expect_error(const ordered_json& row) {
  const ordered_json& error = row["error"];
  EXPECT_EQ(names(error), (std::vector<std::string>{"max", "rms", "mean_signed", "bound"}));
  EXPECT_GE(error["max"].get<double>(), error["rms"].get<double>());
  EXPECT_GE(error["rms"].get<double>(), std::fabs(error["mean_signed"].get<double>()));
  if (row["op"] == "sgemm" && row["beta"] == 0.0) {
    EXPECT_LE(error["max"].get<double>(), error["bound"].get<double>());
  }
}

void expect_time(const ordered_json& row) {
  EXPECT_TRUE(is_one_of(row["timing"], {"events", "graph", "alone", "clock"}));
  const ordered_json& time = row["time_us"];
  ASSERT_EQ(names(time),
            (std::vector<std::string>{"min", "median", "mean", "max", "iqr", "repeats"}));
  EXPECT_GT(time["min"].get<double>(), 0);
  EXPECT_LE(time["min"].get<double>(), time["median"].get<double>());
  EXPECT_LE(time["median"].get<double>(), time["max"].get<double>());
  EXPECT_LE(time["mean"].get<double>(), time["max"].get<double>());
  EXPECT_LE(time["iqr"].get<double>(), time["max"].get<double>() - time["min"].get<double>());
  EXPECT_GE(time["repeats"].get<int>(), 3);
}

void expect_timed(const ordered_json& row) {
  EXPECT_EQ(row["l2"], "hot");
  expect_time(row);
  const double median = row["time_us"]["median"].get<double>();
  const double m = row["m"].get<double>();
  const double n = row["n"].get<double>();
  if (row["op"] == "sgemm") {
    const double k = row["k"].get<double>();
    const double batch = row["batch"].get<double>();
    const double flops = 2 * m * n * k * batch;
    const double bytes = 4 * (m * k + k * n + m * n) * batch;
    EXPECT_NEAR(row["gflops"].get<double>() * median * 1e3 / flops, 1, 1e-9);
    EXPECT_NEAR(row["gbs"].get<double>() * median * 1e3 / bytes, 1, 1e-9);
  } else {
    EXPECT_NEAR(row["gbs"].get<double>() * median * 1e3 / (8 * m * n), 1, 1e-9);
  }
}

void expect_untimed(const ordered_json& row) {
  for (const char* name : {"l2", "timing", "time_us", "gflops", "gbs", "of_peak", "peer", "vs_peer",
                           "vs_previous", "sm_clock_mhz", "power_w"}) {
    EXPECT_TRUE(row[name].is_null()) << name;
  }
}

TEST(JsonSchema, BenchSgemmOnTheCpu) {
  const std::string command = "bench sgemm --device cpu --shape 64,48x56x72 --quick";
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
  const ordered_json file =
      run_json("bench sgemm --device cpu --shape 24x16x40 --batch 7 --ops nt,tn --quick");
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
  const ordered_json file = run_json("bench sgemm --device cpu --shape 96 --quick");
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

TEST(JsonSchema, BenchScaleAddOnTheCpu) {
  const ordered_json file = run_json("bench scale_add --device cpu --shape 256,100x300 --quick");
  const double read_gbs = file["device"]["measured_read_gbs"].get<double>();
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_error(row);
    expect_timed(row);
    EXPECT_EQ(row["op"], "scale_add");
    EXPECT_EQ(row["alpha"], 1.25);
    EXPECT_EQ(row["beta"], -0.5);
    EXPECT_NEAR(row["of_peak"].get<double>(), row["gbs"].get<double>() / read_gbs, 1e-9);
  }
}

TEST(JsonSchema, BenchReduceOnTheCpu) {
  for (const char* l2 : {"hot", "cold"}) {
    const ordered_json file = run_json(
        "bench reduce --device cpu --shape 5000 --op sum,variance,argmin --correction 1 "
        "--dtype float32,int8 --misalign 3 --quick --l2 " +
        std::string(l2));
    const double read_gbs = file["device"]["measured_read_gbs"].get<double>();
    std::set<std::pair<std::string, std::string>> seen;
    for (const ordered_json& row : file["rows"]) {
      expect_reduction(row);
      expect_launch(row["launch"], false);
      expect_error(row);
      expect_time(row);
      EXPECT_EQ(row["l2"], l2);
      EXPECT_EQ(row["timing"], "clock");
      EXPECT_EQ(row["shape"], "whole");
      EXPECT_EQ(row["n"], 5000);
      EXPECT_EQ(row["misalign"], 3);
      EXPECT_TRUE(row["verified"].get<bool>());
      if (row["reduce_op"] == "variance") {
        EXPECT_EQ(row["correction"], 1);
      }
      const bool is_wide = row["reduce_op"] == "argmin" || row["dtype"] == "int8";
      const double result = is_wide ? 8 : 4;
      const double bytes = 5000 * bytes_of(row["dtype"]) + result;
      const double gbs = row["gbs"].get<double>();
      EXPECT_NEAR(gbs * row["time_us"]["median"].get<double>() * 1e3 / bytes, 1, 1e-9);
      EXPECT_NEAR(row["of_peak"].get<double>(), gbs / read_gbs, 1e-9);
      seen.insert({row["reduce_op"].get<std::string>(), row["dtype"].get<std::string>()});
    }
    EXPECT_EQ(seen.size(), 6u);
  }
}

TEST(JsonSchema, ReductionsSayTheirShape) {
  const ordered_json columns =
      run_json("bench reduce --device cpu --shape 50x70 --axis columns --quick --no-peer");
  for (const ordered_json& row : columns["rows"]) {
    expect_reduction(row);
    EXPECT_EQ(row["shape"], "columns");
    EXPECT_EQ(row["rows"], 50);
    EXPECT_EQ(row["cols"], 70);
    EXPECT_EQ(row["n"], 3500);
  }
  const ordered_json segments =
      run_json("bench reduce --device cpu --shape 40 --segments equal --quick --l2 cold");
  for (const ordered_json& row : segments["rows"]) {
    expect_reduction(row);
    EXPECT_EQ(row["segments"], 40);
    EXPECT_EQ(row["lengths"], "equal");
    EXPECT_EQ(row["n"], 40 * 64);
    const double bytes = 40 * 64 * 4 + 41 * 8 + 40 * 4;
    EXPECT_NEAR(row["gbs"].get<double>() * row["time_us"]["median"].get<double>() * 1e3 / bytes, 1,
                1e-9);
  }
}

TEST(JsonSchema, VerifyReduceHasNoTimes) {
  const ordered_json file = run_json("verify reduce --device cpu --shape 1000,20x30 --op mean,min");
  for (const ordered_json& row : file["rows"]) {
    expect_reduction(row);
    expect_untimed(row);
    EXPECT_TRUE(row["verified"].get<bool>());
  }
}

TEST(JsonSchema, ScalarsReadBackAsTyped) {
  const ordered_json file =
      run_json("bench sgemm --device cpu --shape 32 --quick --alpha 0.1 --beta -1.5 --op-a T");
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

TEST(JsonSchema, DevicesListsTheCpuMeasured) {
  const ordered_json file = run_json("devices --no-measure");
  EXPECT_EQ(file["schema"], 1);
  ASSERT_FALSE(file["devices"].empty());
  EXPECT_EQ(file["devices"][0]["kind"], "cpu");
}

#ifdef KW_HAVE_HOST_SIMT
TEST(JsonSchema, BenchOnHostSimt) {
  const ordered_json file =
      run_json("bench sgemm --device host-simt --shape 32,17x9x21 --quick --kernel 'r0*'");
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
       {"bench sgemm --shape 64x96x40 --quick", "verify sgemm --shape 64x96x40",
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

TEST(JsonSchema, BenchReduceOnHostSimt) {
  const ordered_json file =
      run_json("bench reduce --device host-simt --shape 3000 --quick --kernel 'r*'");
  bool improves = false;
  for (const ordered_json& row : file["rows"]) {
    expect_reduction(row);
    expect_launch(row["launch"], true);
    expect_time(row);
    EXPECT_TRUE(row["verified"].get<bool>());
    improves |= row["vs_previous"].is_number();
  }
  EXPECT_TRUE(improves);
}
#endif

}  // namespace
}  // namespace kw
