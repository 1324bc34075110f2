// The tune cache: its file, what is refused and why, the choice that follows, and contexts.
#include "tune_cache.hpp"

#include <filesystem>
#include <fstream>

#include "api/calls.hpp"
#include "kernelwright/sgemm.hpp"
#include "kernelwright/version.hpp"
#include "program/program_run.hpp"
#include "support.hpp"

namespace kw::test {
namespace {

Device device(const std::string& name = "Invented GPU 3", const std::string& driver = "12.3") {
  Device made;
  made.name = name;
  made.driver = driver;
  return made;
}

class TuneCacheFile : public testing::Test {
 protected:
  ~TuneCacheFile() override { std::filesystem::remove(path_); }

  void put(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  void put_good() const {
    TuneCache cache;
    cache.set({4096, 17, 0, Op::none, Op::transpose, 1}, {"stream_256x128", 2700.53});
    cache.set({1, 2, 3, Op::transpose, Op::none, 12345678901}, {"thin", 0.125});
    ASSERT_TRUE(cache.write(path_, device()).ok());
  }
  std::string refusal(const Device& on = device()) const {
    TuneCache cache;
    cache.set({1, 1, 1}, {"left over", 1});
    const Status status = TuneCache::read(path_, on, &cache);
    EXPECT_EQ(status.code, StatusCode::unusable_file);
    EXPECT_EQ(status.argument, "path");
    EXPECT_NE(status.message.find(path_), std::string::npos) << status.message;
    EXPECT_TRUE(cache.choices().empty());
    return status.message;
  }

  std::string path_ = temporary_path("tune.txt");
};

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(TuneCacheFile, KeepsWhatWasWritten) {
  put_good();
  TuneCache cache;
  ASSERT_TRUE(TuneCache::read(path_, device(), &cache).ok());
  ASSERT_EQ(cache.choices().size(), 2u);
  const TuneChoice& large = cache.choices().at({4096, 17, 0, Op::none, Op::transpose, 1});
  EXPECT_EQ(large.kernel, "stream_256x128");
  EXPECT_EQ(large.us, 2700.53);
  const TuneChoice& thin = cache.choices().at({1, 2, 3, Op::transpose, Op::none, 12345678901});
  EXPECT_EQ(thin.kernel, "thin");
  EXPECT_EQ(thin.us, 0.125);
}

TEST_F(TuneCacheFile, IsTextThatSaysWhatItIs) {
  put_good();
  const std::string text = read_text(path_);
  EXPECT_SAYS(text, std::string("kernelwright tune cache | 1 | ") + version() +
                        " | Invented GPU 3 | 12.3\n");
  EXPECT_SAYS(text, "\nsgemm 4096 17 0 n t 1 -> stream_256x128 2700.53 us\n");
  EXPECT_TRUE(TuneCache::is_one(path_));
}

TEST_F(TuneCacheFile, HoldsADeviceWhoseNameHasItsSeparators) {
  const Device odd = device("GPU | of\nmany | words", "");
  TuneCache cache;
  ASSERT_TRUE(cache.write(path_, odd).ok());
  EXPECT_TRUE(TuneCache::read(path_, odd, &cache).ok());
}

TEST_F(TuneCacheFile, OfAnotherDeviceDriverVersionOrFormatIsRefused) {
  put_good();
  EXPECT_SAYS(refusal(device("Other GPU")), "device \"Invented GPU 3\", but this is \"Other GPU\"");
  EXPECT_SAYS(refusal(device("Invented GPU 3", "13.0")), "driver \"12.3\", but this is \"13.0\"");
  put("kernelwright tune cache | 1 | 0.0.0 | Invented GPU 3 | 12.3\n");
  EXPECT_SAYS(refusal(), std::string("version \"0.0.0\", but this is \"") + version());
  put("kernelwright tune cache | 2 | x\n");
  EXPECT_SAYS(refusal(), "format \"2\", but this is \"1\"");
  EXPECT_TRUE(TuneCache::is_one(path_)) << "though it cannot be used";
}

TEST_F(TuneCacheFile, ThatIsNoneIsRefused) {
  EXPECT_SAYS(refusal(), "does not exist");
  put("");
  EXPECT_SAYS(refusal(), "cannot be read");
  EXPECT_FALSE(TuneCache::is_one(path_));
  put("{\"schema\": 1}\n");
  EXPECT_SAYS(refusal(), "no tune cache");
  EXPECT_FALSE(TuneCache::is_one(path_));
  put(std::string(100000, '\0'));
  EXPECT_SAYS(refusal(), "no tune cache");
  put("kernelwright tune cache | 1\n");
  EXPECT_SAYS(refusal(), "names no version");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_SAYS(refusal(), "not a regular file");
  EXPECT_FALSE(TuneCache::is_one(path_));
}

TEST_F(TuneCacheFile, DamagedAnywhereIsRefusedAsAWhole) {
  put_good();
  const std::string good = read_text(path_);
  for (const char* line : {
           "sgemm 8 8 8 n n 1 -> thin 5.0\n",          // no unit
           "sgemm 8 8 8 n n 1 -> thin 5.0 us more\n",  // too long
           "sgemm 8 8 8 n c 1 -> thin 5.0 us\n",       // no such operation
           "sgemm 8 8 8.5 n n 1 -> thin 5.0 us\n",     // not whole
           "sgemm 8 8 -8 n n 1 -> thin 5.0 us\n",      // below 0
           "sgemm 8 8 99999999999999999999 n n 1 -> thin 5.0 us\n",
           "sgemm 8 8 8 n n 1 -> thin nan us\n",
           "sgemm 8 8 8 n n 1 -> thin fast us\n",
           "sgemm 8 8 8 n n 1 => thin 5.0 us\n",
           "gemv 8 8 8 n n 1 -> thin 5.0 us\n",
           "\n",
       }) {
    put(good + line);
    EXPECT_SAYS(refusal(), "line 4 cannot be understood");
  }
  put(good.substr(0, good.size() - 1));
  EXPECT_SAYS(refusal(), "line 3 is cut off");
}

TEST_F(TuneCacheFile, IsReplacedAsAWholeOrNotAtAll) {
  put_good();
  TuneCache cache;
  cache.set({5, 5, 5}, {"thin", 1});
  ASSERT_TRUE(cache.write(path_, device()).ok());
  ASSERT_TRUE(TuneCache::read(path_, device(), &cache).ok());
  EXPECT_EQ(cache.choices().size(), 1u);
  const Status failed = cache.write("/no/such/folder/tune.txt", device());
  EXPECT_EQ(failed.code, StatusCode::unusable_file);
  EXPECT_SAYS(failed.message, "/no/such/folder/tune.txt");
  const auto folder = std::filesystem::path(path_).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().string();
    EXPECT_FALSE(name.starts_with(path_) && name != path_) << "left behind: " << name;
  }
}

// --- the choice

bool always(const Sgemm&, const Device&) { return true; }
bool aligned(const Sgemm& p, const Device&) { return p.lda % 4 == 0; }
std::optional<Plan<Sgemm>> by_rule(const Sgemm&, const Device&) {
  return Plan<Sgemm>{.time_us = 1, .cost = 1};
}
// Leaves its number in C.
template <int number>
Status leave_number(const Sgemm& p, const Device&, Workspace, Stream) {
  *p.c = number;
  return Status::success();
}

KernelList<Sgemm> invented_kernels() {
  return {{"general", nullptr, "", Role::production, Math::fp32, always, no_workspace<Sgemm>,
           leave_number<1>, by_rule},
          {"special", nullptr, "", Role::production, Math::fp32, aligned, no_workspace<Sgemm>,
           leave_number<2>}};
}

Sgemm problem(std::int64_t m, std::int64_t lda) {
  Sgemm p;
  p.m = m;
  p.n = p.k = 8;
  p.lda = lda;
  return p;
}

const char* chosen(const Sgemm& p, const TuneCache& cache, Math math = Math::fp32) {
  static const KernelList<Sgemm> kernels = invented_kernels();
  return choose_kernel(p, device(), kernels, cache, math)->kernel->name;
}

TEST(TuneCacheChoice, HoldsInPlainFp32Alone) {
  TuneCache cache;
  cache.set({16, 8, 8}, {"special", 1});
  EXPECT_STREQ(chosen(problem(16, 8), cache, Math::fp32_split), "general");
}

TEST(TuneCacheChoice, HoldsForTheExactShapeAlone) {
  TuneCache cache;
  cache.set({16, 8, 8}, {"special", 1});
  EXPECT_STREQ(chosen(problem(16, 8), cache), "special");
  EXPECT_STREQ(chosen(problem(17, 8), cache), "general");
  Sgemm other = problem(16, 8);
  other.op_b = Op::transpose;
  EXPECT_STREQ(chosen(other, cache), "general");
  other = problem(16, 8);
  other.batch = 2;
  EXPECT_STREQ(chosen(other, cache), "general");
}

TEST(TuneCacheChoice, PassesOverWhatIsNotHereOrCannot) {
  TuneCache cache;
  cache.set({16, 8, 8}, {"special", 1});
  cache.set({20, 8, 8}, {"of_a_later_version", 1});
  EXPECT_STREQ(chosen(problem(16, 9), cache), "general") << "its rows are not aligned";
  EXPECT_STREQ(chosen(problem(20, 8), cache), "general");
}

// --- contexts

std::unique_ptr<detail::ContextState> open_invented() {
  Backend backend = *find_backend(DeviceKind::cpu);
  backend.sgemm = invented_kernels;
  std::unique_ptr<detail::ContextState> state;
  detail::throw_unless_ok(detail::ContextState::open(backend, 0, std::nullopt, &state));
  return state;
}

// The number of the kernel that computes an m x 8 product.
float used_kernel(detail::ContextState& state, std::int64_t m) {
  std::vector<float> a(64), b(64), c(64);
  detail::SgemmCall call;
  call.a = row_major<const float>(a.data(), m, 8);
  call.b = row_major<const float>(b.data(), 8, 8);
  call.c = row_major(c.data(), m, 8);
  detail::throw_unless_ok(detail::sgemm(state, call));
  return c[0];
}

class TuneCacheContext : public TuneCacheFile {
 protected:
  TuneCacheContext() { unsetenv("KERNELWRIGHT_TUNE_CACHE"); }
  ~TuneCacheContext() override { unsetenv("KERNELWRIGHT_TUNE_CACHE"); }

  // Of this machine's CPU: special for 4 x 8 x 8, and one of a kernel that is not here.
  void put_mine() const {
    TuneCache cache;
    cache.set({4, 8, 8}, {"special", 1});
    cache.set({5, 8, 8}, {"of_a_later_version", 1});
    ASSERT_TRUE(cache.write(path_, open_invented()->device()).ok());
  }
};

TEST_F(TuneCacheContext, UsesWhatItLoads) {
  put_mine();
  const auto state = open_invented();
  EXPECT_EQ(used_kernel(*state, 4), 1);
  EXPECT_SAYS(state->tune_cache_report(), "KERNELWRIGHT_TUNE_CACHE names none");
  ASSERT_TRUE(state->load_tune_cache(path_).ok());
  EXPECT_EQ(used_kernel(*state, 4), 2);
  EXPECT_EQ(used_kernel(*state, 5), 1);
  EXPECT_EQ(used_kernel(*state, 6), 1);
  EXPECT_EQ(state->tune_cache_report(),
            "tune cache " + path_ + ", shapes: 2, of kernels that are not here: 1");
}

TEST_F(TuneCacheContext, UsesTheFileOfTheEnvironment) {
  put_mine();
  setenv("KERNELWRIGHT_TUNE_CACHE", path_.c_str(), 1);
  const auto state = open_invented();
  EXPECT_EQ(used_kernel(*state, 4), 2);
  EXPECT_SAYS(state->tune_cache_report(), path_);
  std::filesystem::remove(path_);
  EXPECT_EQ(used_kernel(*state, 4), 2) << "it is read once";
}

TEST_F(TuneCacheContext, OpensAllTheSameWhereTheFileOfTheEnvironmentCannotBeUsed) {
  put("nonsense\n");
  setenv("KERNELWRIGHT_TUNE_CACHE", path_.c_str(), 1);
  const auto state = open_invented();
  EXPECT_EQ(used_kernel(*state, 4), 1);
  EXPECT_SAYS(state->tune_cache_report(), "is not used: it is no tune cache");
}

TEST_F(TuneCacheContext, GoesOnByTheRuleWhereLoadingFails) {
  put_mine();
  const auto state = open_invented();
  ASSERT_TRUE(state->load_tune_cache(path_).ok());
  const Status status = state->load_tune_cache("/no/such/file");
  EXPECT_EQ(status.code, StatusCode::unusable_file);
  EXPECT_EQ(used_kernel(*state, 4), 1);
  EXPECT_EQ(state->tune_cache_report(), status.message);
}

TEST_F(TuneCacheContext, ThrowsFromThePublicCall) {
  Context context = Context::cpu();
  expect_error([&] { context.load_tune_cache("/no/such/file"); }, StatusCode::unusable_file, "path",
               {"/no/such/file", "does not exist"});
  EXPECT_SAYS(context.tune_cache_report(), "/no/such/file is not used");
}

}  // namespace
}  // namespace kw::test
