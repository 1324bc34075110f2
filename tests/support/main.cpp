// The entry of the test program: gives the run its seed, and prints it with every failure in a
// command that repeats it. The seed decides the order of the tests, host SIMT's order (unless
// KW_HOST_SIMT_SEED is set) and the data that tests draw. Memory of kernels is fenced (unless
// KW_HOST_SIMT_FENCES is set). Programs that tests start inherit both.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "support/run_seed.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace kw {
namespace {

constexpr const char* variable = "KW_TEST_SEED";

std::uint64_t choose_seed() {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::random_device{}() % 1'000'000'000;
  const char* const end = text + std::strlen(text);
  std::uint64_t seed = 0;
  const auto [stop, error] = std::from_chars(text, end, seed);
  if (error != std::errc() || stop != end) {
    std::fprintf(stderr, "%s is \"%s\": set it to a whole number from 0 on or unset it\n", variable,
                 text);
    std::exit(2);
  }
  return seed;
}

// "KW_TEST_SEED=7 build/cpu/tests/kw_tests"
std::string command;

// What a handler of signals writes: the test that runs now, as a command.
std::array<char, 1024> last_words;

void write_last_words() {
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, last_words.data(), std::strlen(last_words.data()));
}

class Again : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(last_words.data(), last_words.size(), "%s", (again(test) + "\n").c_str());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Failed()) std::puts(again(test).c_str());
    last_words[0] = '\0';
  }

  static std::string again(const testing::TestInfo& test) {
    return "again: " + command + " --gtest_filter='" + test.test_suite_name() + "." + test.name() +
           "'";
  }
};

void report_crashes() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(write_last_words);
#else
  const auto say_and_die = [](int signal) {
    write_last_words();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  };
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    std::signal(signal, say_and_die);
  }
#endif
}

// The command that runs the same part of the tests, in the same order.
std::string whole_run() {
  std::string text;
  for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) {
    if (const char* value = std::getenv(name)) text += std::string(name) + "=" + value + " ";
  }
  return text + command + " --gtest_filter='" + GTEST_FLAG_GET(filter) + "'";
}

// A death test runs this program again, for one test.
bool is_death_test(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).find("internal_run_death_test") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::uint64_t run_seed() {
  static const std::uint64_t seed = choose_seed();
  return seed;
}

unsigned seed_of(unsigned number) {
  std::seed_seq both{static_cast<unsigned>(run_seed()), static_cast<unsigned>(run_seed() >> 32),
                     number};
  unsigned seed = 0;
  both.generate(&seed, &seed + 1);
  return seed;
}

}  // namespace kw

int main(int argc, char** argv) {
  const std::uint64_t seed = kw::run_seed();
  setenv(kw::variable, std::to_string(seed).c_str(), 1);
  setenv("KW_HOST_SIMT_SEED", std::to_string(seed).c_str(), 0);
  setenv("KW_HOST_SIMT_FENCES", "1", 0);
  GTEST_FLAG_SET(shuffle, true);
  GTEST_FLAG_SET(random_seed, static_cast<int>(seed % 99999) + 1);

  kw::command = std::string(kw::variable) + "=" + std::to_string(seed) + " " + argv[0];
  const bool first_process = !kw::is_death_test(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  if (first_process && !GTEST_FLAG_GET(list_tests)) {
    std::printf("seed %llu, again: %s\n", static_cast<unsigned long long>(seed),
                kw::whole_run().c_str());
    std::fflush(stdout);
    testing::UnitTest::GetInstance()->listeners().Append(new kw::Again);
    kw::report_crashes();
  }
  return RUN_ALL_TESTS();
}
