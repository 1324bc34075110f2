// What the fields of a result file must be: names, order, types, units and how they relate.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "program_run.hpp"

namespace kw {
using nlohmann::ordered_json;

inline const std::vector<std::string> row_fields = {
    "op",           "kernel",  "role",  "m",       "n",      "k",       "op_a",
    "op_b",         "lda",     "ldb",   "ldc",     "alpha",  "beta",    "batch",
    "layout",       "math",    "path",  "input",   "l2",     "timing",  "launch",
    "time_us",      "gflops",  "gbs",   "of_peak", "peer",   "vs_peer", "vs_previous",
    "sm_clock_mhz", "power_w", "error", "c_first", "c_last", "verified"};

inline const std::vector<std::string> reduction_fields = {
    "op",      "kernel", "role",    "n",        "dtype",   "reduce_op",   "shape",
    "rows",    "cols",   "ld",      "segments", "lengths", "misalign",    "correction",
    "math",    "path",   "input",   "l2",       "timing",  "launch",      "time_us",
    "gflops",  "gbs",    "of_peak", "peer",     "vs_peer", "vs_previous", "sm_clock_mhz",
    "power_w", "error",  "c_first", "c_last",   "verified"};

inline std::vector<std::string> names(const ordered_json& object) {
  std::vector<std::string> found;
  for (const auto& [name, value] : object.items()) found.push_back(name);
  return found;
}

inline bool is_one_of(const ordered_json& value, std::initializer_list<const char*> allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const char* a) { return value == a; });
}

inline bool is_positive(const ordered_json& value) {
  return value.is_number() && value.get<double>() > 0;
}

inline bool is_positive_or_null(const ordered_json& value) {
  return value.is_null() || is_positive(value);
}

inline ordered_json run_json(const std::string& arguments, int exit_code = 0) {
  const ProgramRun run = run_kernelwright(arguments + " --json -");
  EXPECT_EQ(run.exit_code, exit_code) << arguments << "\n" << run.err;
  return ordered_json::parse(run.out);
}

inline void expect_header(const ordered_json& file, const char* kind, const std::string& command) {
  EXPECT_EQ(names(file),
            (std::vector<std::string>{"schema", "command", "date", "device", "software", "rows"}));
  EXPECT_EQ(file["schema"], 1);
  EXPECT_EQ(file["command"], command);
  EXPECT_EQ(file["date"].get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
  const ordered_json& device = file["device"];
  EXPECT_TRUE(device["name"].is_string());
  EXPECT_EQ(device["kind"], kind);
  EXPECT_TRUE(is_positive(device["sm_count"]));
  for (const char* name :
       {"measured_fp32_tflops", "measured_read_gbs", "measured_copy_gbs", "measured_cache_gbs"}) {
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

inline void expect_problem(const ordered_json& row) {
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

inline void expect_reduction(const ordered_json& row) {
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

inline double bytes_of(const std::string& dtype) {
  if (dtype == "int8") return 1;
  if (dtype == "float16" || dtype == "bfloat16") return 2;
  return dtype == "float32" || dtype == "int32" ? 4 : 8;
}

inline void expect_launch(const ordered_json& launch, bool is_gpu_kernel) {
  EXPECT_EQ(launch.is_null(), !is_gpu_kernel);
  if (launch.is_null()) return;
  EXPECT_EQ(names(launch), (std::vector<std::string>{"grid", "block", "shared_bytes"}));
  for (const char* name : {"grid", "block"}) {
    ASSERT_EQ(launch[name].size(), 3u);
    for (const ordered_json& extent : launch[name]) EXPECT_GE(extent.get<int>(), 1);
  }
  EXPECT_GE(launch["shared_bytes"].get<int>(), 0);
}

inline void expect_error(const ordered_json& row) {
  const ordered_json& error = row["error"];
  EXPECT_EQ(names(error), (std::vector<std::string>{"max", "rms", "mean_signed", "bound"}));
  EXPECT_GE(error["max"].get<double>(), error["rms"].get<double>());
  EXPECT_GE(error["rms"].get<double>(), std::fabs(error["mean_signed"].get<double>()));
  if (row["op"] == "sgemm" && row["beta"] == 0.0) {
    EXPECT_LE(error["max"].get<double>(), error["bound"].get<double>());
  }
}

inline void expect_time(const ordered_json& row) {
  EXPECT_TRUE(is_one_of(row["timing"], {"events", "graph", "alone", "enqueue", "clock"}));
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

inline void expect_timed(const ordered_json& row) {
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
  } else if (row["op"] == "scale_add") {
    EXPECT_NEAR(row["gbs"].get<double>() * median * 1e3 / (8 * m * n), 1, 1e-9);
  }
}

inline void expect_untimed(const ordered_json& row) {
  for (const char* name : {"l2", "timing", "time_us", "gflops", "gbs", "of_peak", "peer", "vs_peer",
                           "vs_previous", "sm_clock_mhz", "power_w"}) {
    EXPECT_TRUE(row[name].is_null()) << name;
  }
}

}  // namespace kw
