// Which kernels the command line's globs choose.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels.hpp"
#include "program.hpp"

namespace kw {
namespace {

std::vector<std::string> chosen(const std::string& globs) {
  KernelList<Sgemm> all;
  for (const char* name : {"r01_naive", "r02_tile", "amd_01_naive", "own", "cublas"}) {
    Kernel<Sgemm> kernel = {};
    kernel.name = name;
    all.push_back(kernel);
  }
  std::vector<std::string> names;
  for (const Kernel<Sgemm>& kernel : select_kernels(all, globs)) names.emplace_back(kernel.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(KernelGlobs, ChooseInTheOrderOfTheList) {
  EXPECT_EQ(chosen("").size(), 5u);
  EXPECT_EQ(chosen("own,r0*"), (Names{"r01_naive", "r02_tile", "own"}));
}

TEST(KernelGlobs, TakeAway) {
  EXPECT_EQ(chosen("!amd_*"), (Names{"r01_naive", "r02_tile", "own", "cublas"}));
  EXPECT_EQ(chosen("!amd_*,!r01*"), (Names{"r02_tile", "own", "cublas"}));
  EXPECT_EQ(chosen("*naive,!amd_*"), (Names{"r01_naive"}));
  EXPECT_EQ(chosen("!*,own"), (Names{"own"}));
}

TEST(KernelGlobs, ThatLeaveNothingAreRefused) {
  EXPECT_THROW(chosen("!*"), UsageError);
  EXPECT_THROW(chosen("own,!own"), UsageError);
}

TEST(KernelGlobs, ThatMatchNothingAreNamed) {
  for (const char* globs : {"x*", "own,x*", "!x*"}) {
    try {
      chosen(globs);
      FAIL() << globs;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("x*"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("amd_01_naive"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kw
