// kernelwright tune: measures, writes a cache that contexts accept, keeps what was there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernels.hpp"
#include "program_run.hpp"
#include "tune_cache.hpp"

namespace kw {
namespace {

class Tune : public testing::Test {
 protected:
  ~Tune() override { std::filesystem::remove_all(path_); }

  TuneCache read(const char* device) const {
    add_developer_backends();
    TuneCache cache;
    const Status status = TuneCache::read(path_, open_device(device)->device(), &cache);
    EXPECT_TRUE(status.ok()) << status.message;
    return cache;
  }

  std::string path_ = temporary_path("tuned.txt");
};

TEST_F(Tune, WritesTheFastestOfEachShapeAndKeepsTheOthers) {
  const std::string tune = "tune sgemm --device cpu --quick --out '" + path_ + "' ";
  const ProgramRun first = run_kernelwright(tune + "--shape 16,8x9x10 --ops nn,tn");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_FALSE(contains(first.err, "\x1b")) << "a live line in a pipe";
  for (const char* part : {"16x16x16 NN", "8x9x10 TN", "fastest", "by rule", "cpu_loop"}) {
    EXPECT_TRUE(contains(first.out, part)) << part << "\n" << first.out;
  }
  EXPECT_TRUE(contains(first.out, "Shapes in " + path_ + ": 4")) << first.out;
  const ProgramRun second = run_kernelwright(tune + "--shape 16 --batch 3");
  EXPECT_TRUE(contains(second.out, "Shapes in " + path_ + ": 5")) << second.out << second.err;

  const TuneCache cache = read("cpu");
  ASSERT_EQ(cache.choices().size(), 5u);
  EXPECT_TRUE(cache.choices().contains({8, 9, 10, Op::transpose, Op::none, 1}));
  EXPECT_TRUE(cache.choices().contains({16, 16, 16, Op::none, Op::none, 3}));
  std::vector<std::string> names;
  for (const Kernel<Sgemm>& kernel : find_backend(DeviceKind::cpu)->sgemm()) {
    names.emplace_back(kernel.name);
  }
  for (const auto& [key, choice] : cache.choices()) {
    EXPECT_GT(choice.us, 0);
    EXPECT_EQ(std::count(names.begin(), names.end(), choice.kernel), 1) << choice.kernel;
  }
}

TEST_F(Tune, ReplacesACacheOfAnotherDeviceAndSaysSo) {
  Device other;
  other.name = "Invented GPU 3";
  TuneCache foreign;
  foreign.set({7, 7, 7}, {"thin", 1});
  ASSERT_TRUE(foreign.write(path_, other).ok());
  const ProgramRun run =
      run_kernelwright("tune sgemm --device cpu --quick --shape 8 --out '" + path_ + "'");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.err, "Invented GPU 3")) << run.err;
  EXPECT_TRUE(contains(run.err, "it is replaced")) << run.err;
  EXPECT_EQ(read("cpu").choices().size(), 1u);
}

TEST_F(Tune, LeavesAnotherFileAlone) {
  std::ofstream(path_) << "my letters\n";
  const ProgramRun run =
      run_kernelwright("tune sgemm --device cpu --quick --shape 8 --out '" + path_ + "'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, path_ + " is no tune cache")) << run.err;
  EXPECT_EQ(read_text(path_), "my letters\n");
}

TEST_F(Tune, WritesWhereTheLibraryLooksOrIntoTheUsersCacheFolder) {
  const std::string tune = "tune sgemm --device cpu --quick --shape 8";
  const ProgramRun named = run_kernelwright(tune, "KERNELWRIGHT_TUNE_CACHE='" + path_ + "'");
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(read("cpu").choices().size(), 1u);

  std::filesystem::remove(path_);
  for (const std::string& variables :
       {"XDG_CACHE_HOME='" + path_ + "'", "XDG_CACHE_HOME= HOME='" + path_ + "'"}) {
    const ProgramRun run = run_kernelwright(tune, "KERNELWRIGHT_TUNE_CACHE= " + variables);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(contains(run.out, "Shapes in " + path_)) << run.out;
    EXPECT_TRUE(contains(run.out, "/kernelwright/tune-")) << run.out;
  }
  const ProgramRun homeless =
      run_kernelwright(tune, "KERNELWRIGHT_TUNE_CACHE= XDG_CACHE_HOME= HOME=");
  EXPECT_EQ(homeless.exit_code, 2);
  EXPECT_TRUE(contains(homeless.err, "--out")) << homeless.err;
}

#ifdef KW_HAVE_HOST_SIMT
TEST_F(Tune, ComparesTheKernelsThatTakeAShape) {
  const ProgramRun run = run_kernelwright(
      "tune sgemm --device host-simt --quick --shape 1x64x64,64x64x8 --out '" + path_ + "'");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "thin")) << run.out;
  EXPECT_EQ(read("host-simt").choices().size(), 2u);
}
#endif

}  // namespace
}  // namespace kw
