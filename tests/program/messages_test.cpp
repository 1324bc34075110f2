// What the program says: help where nothing is asked, its name before every message, no control
// characters, a broken tune cache by name, errors of its own output.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdio>
#include <fstream>

#include "kernels.hpp"
#include "program_run.hpp"
#include "text.hpp"
#include "tune_cache.hpp"

namespace kw {
namespace {

TEST(Messages, WithoutACommandThereIsHelp) {
  const ProgramRun bare = run_kernelwright("");
  EXPECT_EQ(bare.exit_code, 0);
  EXPECT_EQ(bare.err, "");
  EXPECT_EQ(bare.out, run_kernelwright("--help").out);
  EXPECT_TRUE(contains(bare.out, "Without a command: this help")) << bare.out;
}

TEST(Messages, HelpTakesTheWordsOfACommand) {
  for (const char* command : {"", "bench", "bench sgemm", "verify", "compare"}) {
    const ProgramRun run = run_kernelwright(std::string("help ") + command);
    EXPECT_EQ(run.exit_code, 0) << command << run.err;
    EXPECT_EQ(run.out, run_kernelwright(std::string(command) + " --help").out) << command;
  }
  for (const char* command : {"help gemm", "help bench gemm", "help list sgemm"}) {
    const ProgramRun run = run_kernelwright(command);
    EXPECT_EQ(run.exit_code, 2) << command;
    EXPECT_TRUE(run.err.starts_with("kernelwright: help: \"")) << run.err;
  }
}

TEST(Messages, OfWrongValuesNameWhatIsRight) {
  const std::pair<const char*, const char*> misuses[] = {
      {"bench sgemm --pad -1,0,0", "--pad: -1 is outside of 0 to 1099511627776"},
      {"bench sgemm --pad 0,0,99999999999999999999", "--pad: 99999999999999999999 is outside of"},
      {"bench sgemm --seed -1", "--seed: \"-1\" is not a whole number from 0 to"},
      {"verify --seed 1.5", "--seed: \"1.5\" is not a whole number"},
      {"bench sgemm --shape ''", "--shape: is empty"},
      {"bench reduce --shape ''", "--shape: is empty"},
      {"verify sgemm --shape ''", "--shape: is empty"},
      {"tune sgemm --shape ''", "--shape: is empty"},
      {"bench sgemm --kernel ''", "--kernel: is empty"},
      {"bench sgemm --device cpu --shape 64,,64", "item 2 of 3 in \"64,,64\" is empty"},
      {"bench scale_add --device cpu --shape 64,", "item 2 of 2 in \"64,\" is empty"},
      {"bench sgemm --budget-ms -5", "--budget-ms: -5 is not above 0"},
      {"bench sgemm --max-call-ms -1", "--max-call-ms: -1 is not from 0 to"}};
  for (const auto& [arguments, message] : misuses) {
    const ProgramRun run = run_kernelwright(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_TRUE(contains(run.err, message)) << arguments << "\n" << run.err;
    EXPECT_LT(run.err.size(), 250u) << run.err;
  }
}

TEST(Messages, HelpHasTheExitCodesAndHowToTakeKernelsAway) {
  const ProgramRun run = run_kernelwright("--help");
  for (const char* part :
       {"Exit code: 0 fine; 1 ", "2 wrong usage", "3 the asked", "4 the work", "130 interrupted"}) {
    EXPECT_TRUE(contains(run.out, part)) << part;
  }
  for (const char* command : {"bench sgemm --help", "verify --help"}) {
    EXPECT_TRUE(contains(run_kernelwright(command).out, "!amd_*")) << command;
  }
}

TEST(Messages, OfWhatIsLeftOutBeginWithTheProgramsName) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --no-ceilings --shape 512 --kernel 'r00*' --no-peer --max-call-ms "
      "0.5");
  EXPECT_TRUE(run.err.starts_with("kernelwright: r00_cpu_loop is left out")) << run.err;
}

TEST(Messages, AKernelListWithoutKernelsEndsInAMessage) {
  for (const char* command : {"bench sgemm --shape 8", "verify sgemm", "bench reduce --shape 8"}) {
    const ProgramRun run = run_kernelwright(std::string(command) + " --device cpu --kernel '!*'");
    EXPECT_EQ(run.exit_code, 2) << command << run.out;
    EXPECT_TRUE(contains(run.err, "\"!*\" takes every kernel away")) << run.err;
  }
}

TEST(Messages, AnOutputThatCannotBeWrittenIsNoticed) {
  for (const char* command :
       {"bench scale_add --device cpu --shape 8 --budget-ms 3", "list",
        "verify scale_add --device cpu",
        "bench scale_add --device cpu --no-ceilings --shape 8 --budget-ms 3 --json -",
        "devices --no-measure"}) {
    const std::string err = temporary_path("full.txt");
    const std::string line = "'" + program_path() + "' " + command + " >/dev/full 2>'" + err + "'";
    const int state = std::system(line.c_str());
    EXPECT_EQ(WEXITSTATUS(state), 4) << command << read_text(err);
    EXPECT_TRUE(contains(read_text(err), "No space left on device")) << read_text(err);
    std::remove(err.c_str());
  }
}

TEST(Messages, ShowAFilesControlBytesEscaped) {
  EXPECT_EQ(escaped("ok \x1b[31m\n\xff"), "ok \\x1b[31m\\x0a\\xff");
  EXPECT_EQ(escaped(std::string(100, 'a')), std::string(80, 'a') + "...");
  const std::string path = temporary_path("broken_cache.txt");
  std::ofstream(path) << "kernelwright tune cache | 1 | \x1b[31mred\a | x | y\n";
  TuneCache cache;
  const Status status = TuneCache::read(path, open_device("cpu")->device(), &cache);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(contains(status.message, "\\x1b[31mred\\x07")) << status.message;
  EXPECT_FALSE(contains(status.message, "\x1b"));
  std::remove(path.c_str());
}

TEST(Messages, ABrokenTuneCacheIsMentioned) {
  for (const char* command : {"bench scale_add --device cpu --no-ceilings --shape 8 --budget-ms 3",
                              "verify scale_add --device cpu --shape 8", "devices --no-measure"}) {
    const ProgramRun run =
        run_kernelwright(command, "KERNELWRIGHT_TUNE_CACHE=/no/such/tune/cache.txt");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(
        contains(run.err,
                 "kernelwright: KERNELWRIGHT_TUNE_CACHE: tune cache /no/such/tune/cache.txt "
                 "is not used: it does not exist"))
        << command << run.err;
  }
}

TEST(Messages, AMissingDriverIsCalledMissing) {
  const Backend* cuda = find_backend(DeviceKind::cuda);
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver != nullptr) {
    dlclose(driver);
    return;  // it is there
  }
  if (cuda == nullptr) return;  // nobody asks for it
  const ProgramRun run = run_kernelwright("verify sgemm --device cuda --shape 8");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_TRUE(contains(run.err, "no CUDA driver is installed")) << run.err;
  EXPECT_FALSE(contains(run.err, "insufficient")) << run.err;
}

}  // namespace
}  // namespace kw
