// Ctrl-C while measuring, result files that grow row by row, and what is in them when it ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/result_file.hpp"
#include "bench/results.hpp"
#include "estimate.hpp"
#include "kernels.hpp"
#include "program.hpp"
#include "program_run.hpp"
#include "terminal.hpp"

namespace kw {
namespace {

using nlohmann::ordered_json;

// More shapes than are measured before the test is over.
std::string long_bench(const std::string& json) {
  std::string shapes = "16";
  for (int n = 17; n < 400; ++n) shapes += "," + std::to_string(n);
  return "bench scale_add --device cpu --budget-ms 400 --shape " + shapes + " --json '" + json +
         "'";
}

// However long a busy machine takes; a program that ends before it holds fails the test.
template <class Holds>
void wait_until(const ProgramUnderWay& program, const Holds& holds) {
  while (!holds()) {
    ASSERT_FALSE(program.has_ended()) << program.so_far().out << program.so_far().err;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void wait_for(const ProgramUnderWay& program, const std::string& path) {
  wait_until(program, [&] { return std::filesystem::exists(path); });
}

class Interrupt : public testing::Test {
 protected:
  ~Interrupt() override { std::filesystem::remove(json_); }

  std::string json_ = temporary_path("interrupted.json");
};

TEST_F(Interrupt, KeepsTheRowsSoFarAndSaysSo) {
  ProgramUnderWay program(long_bench(json_));
  ASSERT_NO_FATAL_FAILURE(wait_for(program, json_));
  program.send(SIGINT);
  const ProgramRun run = program.wait();
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_TRUE(contains(run.err, "stopping after the call under way")) << run.err;
  EXPECT_TRUE(contains(run.err, "interrupted after ")) << run.err;
  EXPECT_TRUE(contains(run.err, json_)) << run.err;
  const auto file = ordered_json::parse(read_text(json_));
  EXPECT_EQ(file["interrupted"], true);
  EXPECT_FALSE(file["rows"].empty());
  EXPECT_TRUE(file["device"]["measured_read_gbs"].is_number());
  for (const auto& row : file["rows"]) EXPECT_TRUE(row["time_us"].is_object());
}

TEST_F(Interrupt, WithoutWarningLeavesAWholeFileToo) {
  ProgramUnderWay program(long_bench(json_));
  ASSERT_NO_FATAL_FAILURE(wait_for(program, json_));
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().exit_code, -SIGKILL);
  const auto file = ordered_json::parse(read_text(json_));
  EXPECT_EQ(file["schema"], 1);
  EXPECT_EQ(file["interrupted"], true);
  EXPECT_FALSE(file["rows"].empty());
}

TEST_F(Interrupt, ASecondOneEndsItAtOnce) {
  // Its float64 product takes far longer than this test.
  ProgramUnderWay program(
      "bench sgemm --device cpu --kernel r00_cpu_loop --no-peer --shape 6144 --max-call-ms 0 "
      "--json '" +
      json_ + "'");
  ASSERT_NO_FATAL_FAILURE(
      wait_until(program, [&] { return contains(program.so_far().out, "measured peak"); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  program.send(SIGINT);
  ASSERT_NO_FATAL_FAILURE(
      wait_until(program, [&] { return contains(program.so_far().err, "stopping"); }));
  program.send(SIGINT);
  const ProgramRun run = program.wait();
  EXPECT_EQ(run.exit_code, -SIGINT) << run.out << run.err;
  EXPECT_FALSE(std::filesystem::exists(json_));
}

TEST_F(Interrupt, AResultFileThatCannotBeWrittenIsRefusedBeforeTheWork) {
  const std::string in_the_way = temporary_path("folder.json");
  std::filesystem::create_directory(in_the_way);
  for (const std::string& path : {std::string("/no/such/folder/x.json"), in_the_way}) {
    for (const char* command :
         {"bench sgemm --device cpu --shape 8", "devices", "verify sgemm --device cpu --shape 8",
          "accuracy sgemm --device cpu", "accuracy sgemm --device cpu --classes unit"}) {
      const ProgramRun run = run_kernelwright(std::string(command) + " --json '" + path + "'");
      EXPECT_EQ(run.exit_code, 2) << command << run.err;
      EXPECT_TRUE(contains(run.err, "--json: cannot write " + path)) << command << run.err;
      EXPECT_EQ(run.out, "") << "it began to work";
    }
  }
  std::filesystem::remove_all(in_the_way);
}

TEST_F(Interrupt, AUsageErrorLeavesAnOlderFileAsItWas) {
  std::ofstream(json_) << "older";
  EXPECT_EQ(run_kernelwright(
                "bench sgemm --device cpu --no-ceilings --shape 512 --kernel 'r00*' --no-peer "
                "--max-call-ms 0.001 --json '" +
                json_ + "'")
                .exit_code,
            2);
  EXPECT_EQ(read_text(json_), "older");
  for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir())) {
    EXPECT_FALSE(entry.path().string().starts_with(json_ + ".")) << entry.path();
  }
}

bench::Row row_named(const char* kernel) {
  bench::Row row;
  row.op = "sgemm";
  row.kernel = kernel;
  row.role = "rung";
  row.k = 8;
  return row;
}

TEST_F(Interrupt, AResultFileIsAWholeDocumentAfterEachRow) {
  const ordered_json head = {{"schema", 1}, {"command", "x"}, {"device", {{"name", "y"}}}};
  std::ofstream(json_) << "older";
  bench::ResultFile file(json_);
  file.begin(head);
  EXPECT_EQ(read_text(json_), "older") << "before there is a row";
  ordered_json want = head;
  want["rows"] = ordered_json::array();
  for (const char* name : {"first", "second", "third"}) {
    file.add({row_named(name)});
    want["rows"].push_back(bench::to_json(row_named(name)));
    ordered_json marked = want;
    marked["interrupted"] = true;
    EXPECT_EQ(read_text(json_), marked.dump(1) + "\n");
  }
  file.finish(false);
  EXPECT_EQ(read_text(json_), want.dump(1) + "\n");
}

TEST_F(Interrupt, AResultFileFollowsLinksAndWritesIntoPipes) {
  const std::string target = temporary_path("target.json");
  std::ofstream(target) << "older";
  std::filesystem::create_symlink(target, json_);
  {
    bench::ResultFile file(json_);
    file.begin({{"schema", 1}});
    file.add({row_named("only")});
    file.finish(false);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(json_));
  EXPECT_EQ(ordered_json::parse(read_text(target))["rows"].size(), 1u);
  std::filesystem::remove(target);
  bench::ResultFile full("/dev/full");
  full.begin({{"schema", 1}});
  full.add({row_named("only")});
  EXPECT_THROW(full.finish(false), std::runtime_error);
}

TEST(ProgressLines, LiveOnATerminalOnly) {
  const std::string bench =
      "bench scale_add --device cpu --no-ceilings --shape 64,128,256 --budget-ms 200";
  EXPECT_TRUE(contains(run_in_terminal(bench, "-u NO_COLOR TERM=xterm").err, "\x1b[K"));
  for (const char* environment : {"TERM=dumb", "-u TERM", "TERM=xterm NO_COLOR=1"}) {
    const ProgramRun run = run_in_terminal(bench, environment);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_FALSE(contains(run.err, "\x1b")) << environment << run.err;
  }
}

// What a progress display writes over a made-up clock.
struct Stage {
  explicit Stage(bool is_live) : file(std::tmpfile()) {
    output.file = file;
    output.is_live = is_live;
    output.now = [this] { return now; };
  }
  ~Stage() { std::fclose(file); }
  std::string written() const {
    std::fflush(file);
    std::rewind(file);
    std::string text(10000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
  }

  double now = 1000;
  std::FILE* file;
  ProgressOutput output;
};

TEST(ProgressLines, ElsewhereNowAndThenWithAnEstimate) {
  Stage stage(false);
  Progress progress(stage.output);
  progress.plan(std::vector<Estimate::Part>(4));
  for (int second = 0; second < 100; ++second) {
    if (second == 40) progress.next();
    progress.show("step " + std::to_string(second));
    stage.now += 1;
  }
  EXPECT_EQ(stage.written(),
            "kernelwright: [1 of 4] step 30\n"
            "kernelwright: [2 of 4, about 2 min left] step 60\n"
            "kernelwright: [2 of 4, about 70 s left] step 90\n");
}

TEST(ProgressLines, AreReplacedOnATerminal) {
  Stage stage(true);
  {
    Progress progress(stage.output);
    progress.show("first");
    progress.show("too soon");
    stage.now += 1;
    progress.show(std::string(200, 'x'));
    progress.say("left out");
  }
  EXPECT_EQ(stage.written(),
            "\r\x1b[Kfirst\r\x1b[K" + std::string(79, 'x') + "\r\x1b[Kkernelwright: left out\n");
}

TEST(Estimates, AddFixedTimesAndARate) {
  Estimate estimate({{1, 10}, {1, 20}, {2, 40}});
  EXPECT_EQ(estimate.remaining_s(0), std::nullopt);
  estimate.done(6);  // half a second for each of ten
  EXPECT_EQ(estimate.remaining_s(0), 1 + 10 + 2 + 20);
  EXPECT_EQ(estimate.remaining_s(3), 30);
  estimate.done(1);  // nothing beyond what is fixed
  EXPECT_NEAR(*estimate.remaining_s(0), 2 + 40 * 5.0 / 30, 1e-12);
  EXPECT_EQ(estimate.remaining_s(1000), 0);
  EXPECT_EQ(duration_text(40), "40 s");
  EXPECT_EQ(duration_text(150), "3 min");
  EXPECT_EQ(duration_text(7800), "2 h 10 min");
}

}  // namespace
}  // namespace kw
