// Programs of their own under the adapter: how they load cuBLAS, what the environment says, what
// `kernelwright run` makes of it.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support.hpp"

namespace kw::cublas {
namespace {

const std::string program = "'" KW_PROGRAM "' ";
const std::string client = "'" KW_CLIENT "' ";

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++found;
  }
  return found;
}

TEST(Loading, EveryWayOfLoadingCublas) {
  const struct {
    const char* way;
    const char* said;
    int products;
  } cases[] = {
      {"local", "sum 12 forwarded 0 version 13\n", 1},
      {"global", "sum 12 forwarded 0 version 13\n", 1},
      {"old", "sum 12 forwarded 0 version 12\n", 1},
      {"both", "sum 12 forwarded 0 version 13\nsum 12 forwarded 0 version 12\n", 2},
      {"again",
       "sum 12 forwarded 0 version 13\nsum 12 forwarded 0 version 13\nsum 12 forwarded 0 version "
       "13\n",
       3},
      {"looked-up", "sum 8 forwarded 0 version 13\n", 1},
      {"children", "sum 12 forwarded 0 version 13\nsum 12 forwarded 0 version 13\n", 2},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.way);
    const Outcome run = run_client(one.way);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, one.said);
    EXPECT_EQ(count(run.log, ", taken, fp32_split by "), one.products) << run.log;
  }
}

TEST(Loading, ForwardedCallsReachTheVersionThatTheCallerIsLinkedWith) {
  const Outcome run = run_client("both", "KERNELWRIGHT_SMALLEST=1e9");
  EXPECT_EQ(run.out, "sum 12 forwarded 1 version 13\nsum 12 forwarded 1 version 12\n");
  EXPECT_EQ(count(run.log, "smaller than KERNELWRIGHT_SMALLEST, "), 2) << run.log;
}

TEST(Loading, TheDefaultScopeHasCublasOnlyOnceItIsLoaded) {
  EXPECT_EQ(run_client("default-scope").out, "before 0 said 1 after 1\n");
}

TEST(Loading, WithoutADriverAllIsForwarded) {
  const Outcome run = run_client("driverless");
  EXPECT_EQ(run.out, "sum 8 forwarded 1 version 13\n");
  EXPECT_TRUE(contains(run.log, "no device that libkernelwright can use")) << run.log;
}

TEST(Loading, AProcessWithoutCublasNoticesNothing) {
  const Outcome run = run_client("nothing 5", "KERNELWRIGHT_MATH=typo");
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.out + run.log, "");
  EXPECT_EQ(run_shell("ls /proc/self/fd > /dev/null").exit_code, 0);
}

TEST(Environment, TheKillSwitch) {
  for (const char* way : {"local", "both"}) {
    const Outcome run = run_client(way, "KERNELWRIGHT_MATH=off");
    EXPECT_TRUE(contains(run.out, "sum 12 forwarded 1")) << run.out;
    EXPECT_EQ(run.log, "");
  }
  EXPECT_EQ(run_client("looked-up", "KERNELWRIGHT_MATH=off").out, "sum 8 forwarded 1 version 13\n");
}

TEST(Environment, Arithmetic) {
  EXPECT_TRUE(contains(run_client("local", "KERNELWRIGHT_MATH=fp32").log, "taken, fp32 by"));
  EXPECT_TRUE(contains(run_client("local", "KERNELWRIGHT_MATH=fp32_split").log, "fp32_split by"));
}

TEST(Environment, ATypoIsToldInOneLineAndTheDefaultHolds) {
  const Outcome run = run_client("local", "KERNELWRIGHT_MATH=fp64 KERNELWRIGHT_SMALLEST=some");
  EXPECT_EQ(run.out, "sum 12 forwarded 0 version 13\n");
  EXPECT_EQ(count(run.log, "its default holds"), 2) << run.log;
  EXPECT_TRUE(contains(run.log,
                       "KERNELWRIGHT_MATH is \"fp64\", not one of fp32_split, fp32, off: its "
                       "default holds"))
      << run.log;
  EXPECT_TRUE(contains(run.log, "KERNELWRIGHT_SMALLEST is \"some\", not a number")) << run.log;
  EXPECT_TRUE(contains(run.log, "taken, fp32_split by")) << run.log;
}

TEST(Environment, ALibraryThatCannotBeUsedIsToldOnce) {
  const struct {
    const char* library;
    const char* said;
  } cases[] = {{"/nonexistent/libkernelwright.so", "cannot be opened"},
               {KW_OTHER_LIBRARY, "is version 99.7.0, and this adapter is for"}};
  for (const auto& one : cases) {
    const Outcome run = run_client("again", std::string("KERNELWRIGHT_LIBRARY=") + one.library);
    EXPECT_TRUE(contains(run.out, "sum 12 forwarded 3")) << run.out;
    EXPECT_EQ(count(run.log, one.said), 1) << run.log;
    EXPECT_EQ(count(run.log, "libkernelwright cannot be used, "), 3) << run.log;
  }
}

TEST(Environment, LogLevels) {
  const Outcome quiet = run_client("local", "KERNELWRIGHT_LOG=off KERNELWRIGHT_MATH=fp64");
  EXPECT_EQ(quiet.log, "");
  const Outcome warnings = run_client("local", "KERNELWRIGHT_LOG=warnings");
  EXPECT_EQ(warnings.log, "");
  const Outcome summary = run_client("again", "KERNELWRIGHT_LOG=summary");
  EXPECT_TRUE(contains(summary.log, "3 calls taken, 0 to cuBLAS")) << summary.log;
  const Outcome forwarded =
      run_client("again", "KERNELWRIGHT_LOG=summary KERNELWRIGHT_SMALLEST=1000000");
  EXPECT_TRUE(contains(forwarded.log, "3 to cuBLAS: smaller than")) << forwarded.log;
}

TEST(Environment, ALogThatCannotBeWrittenGoesToStandardError) {
  const Outcome run = run_client("local", "KERNELWRIGHT_LOG_FILE=/nonexistent/log");
  EXPECT_TRUE(contains(run.out, "taken, fp32_split by")) << run.out;
}

nlohmann::json read_report(const std::string& path) {
  auto report = nlohmann::json::parse(read_file(path), nullptr, false);
  unlink(path.c_str());
  return report;
}

TEST(RunCommand, SaysWhatWasTaken) {
  const std::string path = temporary("report.json");
  const Outcome run =
      run_shell(program + "run --verify 1 --report '" + path + "' -- " + client + "again");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(contains(run.out, "3 calls of cuBLAS taken, 0 left to it")) << run.out;
  EXPECT_TRUE(contains(run.out, "3 calls verified")) << run.out;
  EXPECT_TRUE(contains(run.out, "nn 2x2x3")) << run.out;
  const nlohmann::json report = read_report(path);
  ASSERT_EQ(report["calls"].size(), 1u) << report;
  const nlohmann::json& call = report["calls"][0];
  EXPECT_EQ(call["symbol"], "cublasSgemm_v2");
  EXPECT_EQ(call["calls"], 3);
  EXPECT_EQ(call["verified"], 3);
  EXPECT_EQ(call["taken"], true);
  EXPECT_EQ(call["k"], 3);
  EXPECT_EQ(report["exit_code"], 0);
}

TEST(RunCommand, SaysWhatWasForwardedAndWhy) {
  const Outcome run =
      run_shell("KERNELWRIGHT_SMALLEST=1e6 " + program + "run -- " + client + "local");
  EXPECT_TRUE(contains(run.out, "0 calls of cuBLAS taken, 1 left to it")) << run.out;
  EXPECT_TRUE(contains(run.out, "smaller than KERNELWRIGHT_SMALLEST")) << run.out;
}

TEST(RunCommand, AddsProcessesUp) {
  const Outcome run = run_shell(program + "run -- " + client + "children");
  EXPECT_TRUE(contains(run.out, "2 calls of cuBLAS taken, 0 left to it, in 2 processes"))
      << run.out;
}

TEST(RunCommand, PassesTheExitCodeOn) {
  EXPECT_EQ(run_shell(program + "run --quiet -- " + client + "nothing 41").exit_code, 41);
  EXPECT_EQ(run_shell(program + "run --quiet -- " + client + "killed 15").exit_code, 128 + 15);
  EXPECT_EQ(run_shell(program + "run -- /nonexistent/program").exit_code, 2);
}

TEST(RunCommand, ArgumentsOfTheProgramAreItsOwn) {
  const Outcome run = run_shell(program + "run --quiet -- echo --math -x --report -- 'a b'");
  EXPECT_EQ(run.out, "--math -x --report -- a b\n");
}

TEST(RunCommand, SetsTheArithmetic) {
  const std::string path = temporary("report.json");
  run_shell(program + "run --math fp32 --report '" + path + "' -- " + client + "local");
  EXPECT_EQ(read_report(path)["calls"][0]["math"], "fp32");
  const Outcome off = run_shell(program + "run --math off -- " + client + "local");
  EXPECT_TRUE(contains(off.out, "sum 12 forwarded 1")) << off.out;
}

TEST(RunCommand, AReportThatCannotBeWrittenIsToldBeforeTheProgramRuns) {
  const Outcome run =
      run_shell(program + "run --report /nonexistent/r.json -- " + client + "local");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_FALSE(contains(run.out, "sum 12")) << run.out;
  EXPECT_TRUE(contains(run.out, "--report: cannot write /nonexistent/r.json")) << run.out;
}

}  // namespace
}  // namespace kw::cublas
