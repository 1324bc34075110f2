// What the environment asks of the adapter, read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kw::cublas {

enum class Arithmetic : std::uint8_t { off, fp32, fp32_split };
// As KERNELWRIGHT_MATH has it.
const char* name_of(Arithmetic math);
enum class LogLevel : std::uint8_t { off, warnings, summary, calls };

struct Policy {
  Arithmetic math = Arithmetic::fp32_split;
  Arithmetic pedantic = Arithmetic::fp32;  // off: such calls go to cuBLAS
  bool take_slower = false;
  bool take_unmeasured = false;
  bool on_cpu = false;
  double smallest = 0;  // operations, 2 m n k batch
  std::size_t workspace_bytes = std::size_t{4} << 30;
  std::size_t capture_bytes = std::size_t{256} << 20;
  LogLevel log = LogLevel::warnings;
  std::string log_file;
  std::string record_folder;
  std::int64_t verify_every = 0;  // 0: never
};

// `get` gives a variable's value or null, as getenv does. A value that a variable does not have
// adds a line to `complaints`, and the variable's default holds.
Policy read_policy(const char* (*get)(const char* name), std::vector<std::string>* complaints);

// Every variable that read_policy reads, for the documentation's test.
std::vector<std::string> policy_variables();

}  // namespace kw::cublas
