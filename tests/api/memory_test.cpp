// Products where there is little memory: a device that is nearly full, an allocation that fails
// between others, a workspace of the caller's that is small. The result is right in each case, and
// the path names the slower way.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/library_calls.hpp"
#include "check/cases.hpp"
#include "check/verify.hpp"
#include "program/program_run.hpp"
#include "support.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "host_simt/device_memory.hpp"

namespace kw::test {
namespace {

constexpr std::size_t kibibyte = 1024, mebibyte = 1024 * kibibyte;

// What the checked launch may allocate; no limit while this is not set.
class FreeMemory {
 public:
  explicit FreeMemory(std::size_t bytes) {
    host_simt::set_memory_bytes(host_simt::DeviceMemory::used_bytes() + bytes);
  }
  FreeMemory(const FreeMemory&) = delete;
  FreeMemory& operator=(const FreeMemory&) = delete;
  ~FreeMemory() { host_simt::set_memory_bytes(0); }
};

thread_local Kernel<Sgemm> checked_row;
thread_local std::size_t checked_free;

// A row that is the library's call, with so much memory free while it runs.
Kernel<Sgemm> with_free(const Kernel<Sgemm>& row, std::size_t bytes) {
  checked_row = row;
  checked_free = bytes;
  Kernel<Sgemm> limited = row;
  limited.launch = [](const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
    const FreeMemory limit(checked_free);
    return checked_row.launch(p, device, workspace, stream);
  };
  return limited;
}

// Shapes whose kernels take workspace in one arithmetic or the other, and the suite's small ones.
std::vector<check::SgemmCase> memory_cases() {
  std::vector<check::SgemmCase> cases = {{.m = 64, .n = 64, .k = 1500},
                                         {.m = 300, .n = 200, .k = 130},
                                         {.m = 33, .n = 129, .k = 600, .op_a = Op::transpose},
                                         {.m = 1, .n = 300, .k = 700},
                                         {.m = 96, .n = 96, .k = 200, .batch = 5}};
  for (const auto& more : {check::sgemm_edge_cases(), check::sgemm_batch_cases()}) {
    for (std::size_t i = 0; i < more.size(); i += 11) {
      if (more[i].m * more[i].n * more[i].k * more[i].batch < 200000) cases.push_back(more[i]);
    }
  }
  return cases;
}

TEST(LittleMemory, EveryCallIsRightWhateverTheDeviceHasLeft) {
  const auto& backend = *find_backend(present_devices().back());
  ASSERT_EQ(backend.kind, DeviceKind::host_simt);
  std::unique_ptr<Runtime> runtime;
  ASSERT_TRUE(backend.open(0, &runtime).ok());
  check::Workbench bench(*runtime);
  int with_less = 0;
  for (const check::SgemmCase& c : memory_cases()) {
    check::SgemmTrial trial(bench, c);
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      const std::string plenty = [&] {
        bench::LibraryCalls library(bench);
        const char* path = trial.verify(library.row(math)).path;
        return std::string(path != nullptr ? path : "");
      }();
      for (const std::size_t bytes : {std::size_t{0}, 6 * kibibyte, 300 * kibibyte}) {
        bench::LibraryCalls library(bench);
        const check::VerifyResult result = trial.verify(with_free(library.row(math), bytes));
        EXPECT_TRUE(result.ok()) << describe(c) << ", " << bytes << " bytes free, "
                                 << to_string(math) << ": " << result.message;
        if (result.path != nullptr && plenty != result.path) ++with_less;
      }
    }
  }
  EXPECT_GE(with_less, 10) << "most of these calls have use for workspace";
}

TEST(LittleMemory, ThePathNamesTheSlowerWay) {
  const auto& backend = *find_backend(present_devices().back());
  std::unique_ptr<Runtime> runtime;
  ASSERT_TRUE(backend.open(0, &runtime).ok());
  check::Workbench bench(*runtime);
  check::SgemmTrial trial(bench, {.m = 300, .n = 300, .k = 256});
  const auto path = [&](std::size_t bytes) {
    bench::LibraryCalls library(bench);
    const check::VerifyResult result =
        trial.verify(with_free(library.row(Math::fp32_split), bytes));
    EXPECT_TRUE(result.ok()) << result.message;
    return std::string(result.path);
  };
  const std::string plenty = path(100 * mebibyte), parts = path(700 * kibibyte), none = path(0);
  EXPECT_TRUE(plenty.starts_with("hopper_")) << plenty;
  EXPECT_FALSE(plenty.ends_with(" in sub-problems")) << plenty;
  EXPECT_TRUE(parts.starts_with("hopper_") && parts.ends_with(" in sub-problems")) << parts;
  EXPECT_FALSE(none.starts_with("hopper_")) << none;
}

// Host SIMT's device, of which some allocations fail.
class FailingRuntime final : public Runtime {
 public:
  static inline int until_failure = -1;  // allocations that succeed; -1: all do
  static inline bool fails_once = false;

  explicit FailingRuntime(std::unique_ptr<Runtime> inner) : inner_(std::move(inner)) {}
  const Device& device() const override { return inner_->device(); }
  Status allocate(void** data, std::size_t bytes) override {
    if (until_failure == 0) {
      if (fails_once) until_failure = -1;
      return Status::failure(StatusCode::out_of_memory, "no memory, says the test");
    }
    if (until_failure > 0) --until_failure;
    return inner_->allocate(data, bytes);
  }
  void release(void* data) noexcept override { inner_->release(data); }
  Status copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    return inner_->copy(to, from, bytes, stream);
  }
  Status fill(void* data, unsigned char value, std::size_t bytes, Stream stream) override {
    return inner_->fill(data, value, bytes, stream);
  }
  Status create_stream(Stream* stream) override { return inner_->create_stream(stream); }
  void destroy_stream(Stream stream) noexcept override { inner_->destroy_stream(stream); }
  Status synchronize(Stream stream) override { return inner_->synchronize(stream); }
  Status time_us(const std::function<Status(Stream)>& work, Stream stream, double* us) override {
    return inner_->time_us(work, stream, us);
  }

 private:
  std::unique_ptr<Runtime> inner_;
};

Status open_failing(int ordinal, std::unique_ptr<Runtime>* runtime) {
  std::unique_ptr<Runtime> inner;
  Status status = host_simt::open(ordinal, &inner);
  if (status.ok()) *runtime = std::make_unique<FailingRuntime>(std::move(inner));
  return status;
}

TEST(LittleMemory, AnyAllocationMayFail) {
  present_devices();
  std::unique_ptr<Runtime> runtime;
  ASSERT_TRUE(host_simt::open(0, &runtime).ok());
  check::Workbench bench(*runtime);
  check::SgemmTrial small(bench, {.m = 64, .n = 64, .k = 1000}),
      large(bench, {.m = 260, .n = 150, .k = 200});
  Backend backend = host_simt::backend();
  backend.open = open_failing;
  for (const bool once : {true, false}) {
    for (int number = 0; number < 5; ++number) {
      SCOPED_TRACE(testing::Message() << "allocation " << number << (once ? " fails" : " on fail"));
      FailingRuntime::until_failure = number;
      FailingRuntime::fails_once = once;
      std::unique_ptr<detail::ContextState> state;
      const Status opened = detail::ContextState::open(backend, 0, Stream{}, &state);
      EXPECT_EQ(opened.code, number == 0 ? StatusCode::out_of_memory : StatusCode::ok);
      if (!opened.ok()) continue;
      bench::LibraryCalls library(std::move(state));
      for (const Math math : {Math::fp32, Math::fp32_split}) {
        for (check::SgemmTrial* trial : {&small, &large, &small}) {
          const check::VerifyResult result = trial->verify(library.row(math));
          EXPECT_TRUE(result.ok()) << result.message;
        }
      }
    }
  }
  FailingRuntime::until_failure = -1;
}

// Else each call would ask for memory again, and wait for the device's answer.
TEST(LittleMemory, IsAskedForAgainOnceAWorkspaceWasSet) {
  present_devices();
  std::unique_ptr<Runtime> runtime;
  ASSERT_TRUE(host_simt::open(0, &runtime).ok());
  std::unique_ptr<detail::ContextState> state;
  ASSERT_TRUE(detail::ContextState::open(host_simt::backend(), 0, Stream{}, &state).ok());
  Workspace found;
  {
    const FreeMemory limit(100 * kibibyte);
    EXPECT_EQ(state->workspace(2 * mebibyte, &found).code, StatusCode::out_of_memory);
  }
  const std::size_t left = state->workspace_limit(Math::fp32);
  EXPECT_GE(left, 75 * kibibyte);
  EXPECT_LE(left, 100 * kibibyte);
  EXPECT_EQ(state->workspace_limit(Math::fp32_split), left);
  EXPECT_TRUE(state->workspace(left, &found).ok()) << "what there was is the context's now";
  ASSERT_TRUE(state->set_workspace(nullptr, 0).ok());
  EXPECT_GT(state->workspace_limit(Math::fp32), 2 * mebibyte);
  EXPECT_TRUE(state->workspace(2 * mebibyte, &found).ok());
}

// --- as the program checks it

TEST(LeaveFree, WholeCallsAreVerifiedAndTheirWaysNamed) {
  const ProgramRun run = run_kernelwright(
      "verify sgemm --device host-simt --leave-free 0.25 --shape 200x140x150 --json -",
      "KW_HOST_SIMT_MEMORY=100000000");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto file = nlohmann::json::parse(run.out);
  int in_parts = 0;
  for (const auto& row : file["rows"]) {
    EXPECT_TRUE(row["verified"]);
    const std::string kernel = row["kernel"], path = row["path"];
    EXPECT_TRUE(kernel == "kernelwright" || kernel == "kernelwright_split") << kernel;
    EXPECT_FALSE(kernel == "kernelwright" && path.ends_with(" in sub-problems")) << path;
    in_parts += path.ends_with(" in sub-problems") ? 1 : 0;
  }
  EXPECT_GT(in_parts, 0);
}

TEST(LeaveFree, TakesNoMemoryOfTheMachine) {
  for (const char* device : {"cpu", "host-simt"}) {
    const ProgramRun run =
        run_kernelwright(std::string("verify sgemm --leave-free 1 --shape 8 --device ") + device);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_TRUE(contains(run.err, "is this machine's")) << run.err;
  }
}

}  // namespace
}  // namespace kw::test
#endif
