// Contexts: opening, streams, workspaces, errors of kernels, and several at once.
#include "kernelwright/context.hpp"

#include <thread>

#include "api/calls.hpp"
#include "kernelwright/sgemm.hpp"
#include "kernelwright/version.hpp"
#include "support.hpp"

namespace kw::test {
namespace {

bool gpu_is_here() {
  for (const Backend& backend : backends()) {
    if ((backend.kind == DeviceKind::cuda || backend.kind == DeviceKind::hip) &&
        backend.device_count() > 0) {
      return true;
    }
  }
  return false;
}

TEST(Context, TellsItsDevice) {
  const Context context = Context::cpu();
  EXPECT_EQ(context.device_kind(), DeviceKind::cpu);
  EXPECT_FALSE(context.device_name().empty());
  for (DeviceKind kind : present_devices()) {
    EXPECT_EQ(detail::open_context(kind).device_kind(), kind);
  }
}

TEST(Context, GpuOrAReasonWhyNot) {
  if (gpu_is_here()) {
    EXPECT_NO_THROW(Context::gpu().synchronize());
    EXPECT_NO_THROW(Context::gpu_on_stream(nullptr).synchronize());
    return;
  }
  std::vector<std::string> reason = {"without GPU kernels", "KW_CUDA=ON", "KW_HIP=ON"};
  if (find_backend(DeviceKind::hip) != nullptr) reason = {"no HIP device", "driver"};
  if (find_backend(DeviceKind::cuda) != nullptr) reason = {"no CUDA device", "driver"};
  expect_error([] { Context::gpu(); }, StatusCode::no_device, "", reason);
  expect_error([] { Context::gpu_on_stream(nullptr); }, StatusCode::no_device, "", reason);
}

TEST(Context, OrdinalThatIsNotHere) {
  for (DeviceKind kind : present_devices()) {
    for (int ordinal : {-1, 4711}) {
      const std::optional<Error> error = error_of([&] { detail::open_context(kind, ordinal); });
      ASSERT_TRUE(error) << to_string(kind);
      EXPECT_EQ(error->code(), StatusCode::no_device);
      EXPECT_NE(std::string(error->what()).find(std::to_string(ordinal)), std::string::npos)
          << error->what();
    }
  }
}

TEST(Context, StreamOnACpu) {
  Context context = Context::cpu();
  int not_a_stream = 0;
  expect_error([&] { context.set_stream(&not_a_stream); }, StatusCode::invalid_argument, "stream",
               {"cpu", "pass null"});
  EXPECT_NO_THROW(context.set_stream(nullptr));
}

TEST(Context, WorkspaceThatCannotBe) {
  Context context = Context::cpu();
  alignas(256) char memory[512];
  expect_error([&] { context.set_workspace(nullptr, 100); }, StatusCode::invalid_argument,
               "workspace", {"null with 100 bytes"});
  expect_error([&] { context.set_workspace(memory + 8, 100); }, StatusCode::invalid_argument,
               "workspace", {"8 bytes past a multiple of 256"});
  EXPECT_NO_THROW(context.set_workspace(memory, sizeof memory));
  EXPECT_NO_THROW(context.set_workspace(nullptr, 0));
}

TEST(Context, MovedFrom) {
  Context context = Context::cpu();
  const Context other = std::move(context);
  // NOLINTNEXTLINE(bugprone-use-after-move): what happens then is the point.
  expect_error([&] { context.synchronize(); }, StatusCode::invalid_argument, "context",
               {"moved from"});
}

TEST(Context, Version) { EXPECT_STREQ(version(), KW_EXPECTED_VERSION); }

// A backend on the CPU whose kernels the tests choose.
Backend cpu_with(KernelList<Sgemm> (*kernels)()) {
  Backend backend = *find_backend(DeviceKind::cpu);
  backend.sgemm = kernels;
  return backend;
}

std::unique_ptr<detail::ContextState> open(const Backend& backend) {
  std::unique_ptr<detail::ContextState> state;
  detail::throw_unless_ok(detail::ContextState::open(backend, 0, std::nullopt, &state));
  return state;
}

bool supports_all(const Sgemm&, const Device&) { return true; }
bool supports_none(const Sgemm&, const Device&) { return false; }
std::size_t two_mebibytes_a_row(const Sgemm& p, const Device&) {
  return static_cast<std::size_t>(p.m) << 21;
}
// Leaves the workspace's address and size in C.
Status show_workspace(const Sgemm& p, const Device&, Workspace workspace, Stream) {
  std::memset(workspace.data, 0xAB, workspace.bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data);
  std::memcpy(p.c, &address, sizeof address);
  std::memcpy(p.c + 2, &workspace.bytes, sizeof workspace.bytes);
  return Status::success();
}
Status fail(const Sgemm&, const Device&, Workspace, Stream) {
  return Status::failure(StatusCode::device_error, "the device is on fire");
}
Kernel<Sgemm> kernel(bool (*supports)(const Sgemm&, const Device&), KernelLaunch<Sgemm>* launch,
                     std::size_t (*workspace)(const Sgemm&, const Device&)) {
  return {"test", nullptr, "", Role::production, Math::fp32, supports, workspace, launch};
}

struct Seen {
  std::uintptr_t address;
  std::size_t bytes;
};

// A product of m x 4; its result is what the kernel saw.
Status call(detail::ContextState& state, std::int64_t m, Seen* seen, Math math = Math::fp32) {
  std::vector<float> a(64), b(64), c(64);
  detail::SgemmCall call;
  call.a = row_major<const float>(a.data(), m, 3);
  call.b = row_major<const float>(b.data(), 3, 4);
  call.c = row_major(c.data(), m, 4);
  call.options.math = math;
  Status status = detail::sgemm(state, call);
  std::memcpy(&seen->address, c.data(), sizeof seen->address);
  std::memcpy(&seen->bytes, c.data() + 2, sizeof seen->bytes);
  return status;
}

TEST(ContextWorkspace, GrowsAndKeepsWhatAGraphMayHold) {
  const auto state = open(cpu_with(
      [] { return KernelList<Sgemm>{kernel(supports_all, show_workspace, two_mebibytes_a_row)}; }));
  Seen small{}, large{}, again{};
  ASSERT_TRUE(call(*state, 1, &small).ok());
  ASSERT_TRUE(call(*state, 5, &large).ok());
  ASSERT_TRUE(call(*state, 1, &again).ok());
  EXPECT_GE(small.bytes, std::size_t{1} << 21);
  EXPECT_GE(large.bytes, std::size_t{5} << 21);
  EXPECT_NE(large.address, small.address) << "the small one must stay valid";
  EXPECT_EQ(again.address, large.address);
  EXPECT_EQ(large.address % 256, 0u);
}

TEST(ContextWorkspace, TheCallersIsUsedOrRefused) {
  const auto state = open(cpu_with(
      [] { return KernelList<Sgemm>{kernel(supports_all, show_workspace, two_mebibytes_a_row)}; }));
  constexpr std::size_t bytes = std::size_t{2} << 21;
  void* memory = nullptr;
  ASSERT_TRUE(state->runtime().allocate(&memory, bytes).ok());
  ASSERT_TRUE(state->set_workspace(memory, bytes).ok());
  Seen seen{};
  ASSERT_TRUE(call(*state, 2, &seen).ok());
  EXPECT_EQ(seen.address, reinterpret_cast<std::uintptr_t>(memory));
  EXPECT_EQ(seen.bytes, bytes);
  const Status refused = call(*state, 3, &seen);
  EXPECT_EQ(refused.code, StatusCode::workspace_too_small);
  EXPECT_NE(refused.message.find("4194304 bytes"), std::string::npos) << refused.message;
  EXPECT_NE(refused.message.find("6291456"), std::string::npos) << refused.message;
  EXPECT_EQ(seen.address, 0u) << "C was written";
  state->runtime().release(memory);
}

std::size_t five_gibibytes(const Sgemm&, const Device&) { return std::size_t{5} << 30; }
// Leaves the size of the workspace in C.
Status show_bytes(const Sgemm& p, const Device&, Workspace workspace, Stream) {
  std::memcpy(p.c + 2, &workspace.bytes, sizeof workspace.bytes);
  return Status::success();
}
// Works from one mebibyte on.
template <std::size_t workspace(const Sgemm&, const Device&)>
Kernel<Sgemm> slicing() {
  Kernel<Sgemm> made = kernel(supports_all, show_bytes, workspace);
  made.math = Math::fp32_split;
  made.make_plan = [](const Sgemm& p, const Device& device) -> std::optional<Plan<Sgemm>> {
    return Plan<Sgemm>{.time_us = 1,
                       .cost = 1,
                       .workspace_bytes = workspace(p, device),
                       .min_workspace_bytes = std::size_t{1} << 20};
  };
  return made;
}

TEST(ContextWorkspace, ASlicingKernelMakesDoWithLess) {
  const auto state = open(cpu_with([] {
    return KernelList<Sgemm>{kernel(supports_all, fail, no_workspace<Sgemm>),
                             slicing<two_mebibytes_a_row>()};
  }));
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  void* memory = nullptr;
  ASSERT_TRUE(state->runtime().allocate(&memory, 4 * mebibyte).ok());
  Seen seen{};
  for (const std::size_t bytes : {mebibyte, 3 * mebibyte, 4 * mebibyte}) {
    ASSERT_TRUE(state->set_workspace(memory, bytes).ok());
    ASSERT_TRUE(call(*state, 2, &seen, Math::fp32_split).ok());
    EXPECT_EQ(seen.bytes, bytes);
  }
  ASSERT_TRUE(call(*state, 1, &seen, Math::fp32_split).ok());
  EXPECT_EQ(seen.bytes, 2 * mebibyte) << "no more than it has use for";
  EXPECT_EQ(call(*state, 2, &seen).message, "the device is on fire") << "fp32 has its own kernel";
  state->runtime().release(memory);
}

TEST(ContextWorkspace, WhereNoSliceFitsAnotherKernelComputes) {
  const auto with_fp32 = open(cpu_with([] {
    return KernelList<Sgemm>{slicing<two_mebibytes_a_row>(),
                             kernel(supports_all, fail, two_mebibytes_a_row),
                             kernel(supports_all, show_bytes, no_workspace<Sgemm>)};
  }));
  const auto alone =
      open(cpu_with([] { return KernelList<Sgemm>{slicing<two_mebibytes_a_row>()}; }));
  alignas(256) static char memory[512];
  Seen seen{0, 1};
  ASSERT_TRUE(with_fp32->set_workspace(memory, sizeof memory).ok());
  EXPECT_TRUE(call(*with_fp32, 2, &seen, Math::fp32_split).ok());
  EXPECT_EQ(seen.bytes, 0u);
  seen.bytes = 1;
  EXPECT_TRUE(call(*with_fp32, 2, &seen).ok());
  EXPECT_EQ(seen.bytes, 0u) << "in plain fp32 likewise";
  ASSERT_TRUE(alone->set_workspace(memory, sizeof memory).ok());
  const Status refused = call(*alone, 2, &seen, Math::fp32_split);
  EXPECT_EQ(refused.code, StatusCode::workspace_too_small);
  EXPECT_NE(refused.message.find("512 bytes"), std::string::npos) << refused.message;
}

TEST(ContextWorkspace, ItsOwnGrowsNoFurtherForSlices) {
  const auto state = open(cpu_with([] { return KernelList<Sgemm>{slicing<five_gibibytes>()}; }));
  Seen seen{};
  ASSERT_TRUE(call(*state, 1, &seen, Math::fp32_split).ok());
  EXPECT_EQ(seen.bytes, std::size_t{4} << 30);
}

// Else slices, and with them the bits, would follow from the calls before.
TEST(ContextWorkspace, WhatCallsBeforeMadeOfItIsNotSeen) {
  const auto state =
      open(cpu_with([] { return KernelList<Sgemm>{slicing<two_mebibytes_a_row>()}; }));
  Seen first{}, larger{}, again{};
  ASSERT_TRUE(call(*state, 3, &first, Math::fp32_split).ok());
  ASSERT_TRUE(call(*state, 9, &larger, Math::fp32_split).ok());
  ASSERT_TRUE(call(*state, 3, &again, Math::fp32_split).ok());
  EXPECT_GT(larger.bytes, first.bytes);
  EXPECT_EQ(again.bytes, first.bytes);
}

// Leaves the address of the tickets in C, and 0 where all of them are.
Status show_tickets(const Sgemm& p, const Device&, Workspace workspace, Stream) {
  std::size_t bits = 0;
  for (std::size_t i = 0; i < ticket_count; ++i) bits |= workspace.tickets[i];
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.tickets);
  std::memcpy(p.c, &address, sizeof address);
  std::memcpy(p.c + 2, &bits, sizeof bits);
  return Status::success();
}

// Host SIMT's memory is full of NaN until somebody writes to it.
TEST(ContextWorkspace, BringsTicketsThatAreZero) {
  for (DeviceKind kind : present_devices()) {
    if (kind != DeviceKind::cpu && kind != DeviceKind::host_simt) continue;  // not ours to read
    SCOPED_TRACE(to_string(kind));
    Backend plain = *find_backend(kind), scratch = plain;
    plain.sgemm = [] {
      return KernelList<Sgemm>{kernel(supports_all, show_tickets, no_workspace<Sgemm>)};
    };
    scratch.sgemm = [] {
      return KernelList<Sgemm>{kernel(supports_all, show_tickets, two_mebibytes_a_row)};
    };
    const auto without = open(plain), with = open(scratch);
    Seen first{}, grown{}, again{}, callers{};
    ASSERT_TRUE(call(*without, 1, &first).ok());
    ASSERT_TRUE(call(*with, 1, &grown).ok());
    ASSERT_TRUE(call(*with, 1, &again).ok());
    void* memory = nullptr;
    ASSERT_TRUE(with->runtime().allocate(&memory, std::size_t{1} << 21).ok());
    ASSERT_TRUE(with->set_workspace(memory, std::size_t{1} << 21).ok());
    ASSERT_TRUE(call(*with, 1, &callers).ok());
    with->runtime().release(memory);
    EXPECT_NE(first.address, 0u);
    EXPECT_NE(first.address, grown.address) << "each context has its own";
    EXPECT_EQ(grown.address, again.address);
    EXPECT_EQ(grown.address, callers.address);
    for (const Seen& seen : {first, grown, again, callers}) EXPECT_EQ(seen.bytes, 0u);
  }
}

TEST(ContextKernels, TheFirstThatSupportsTheProblemRuns) {
  const auto state = open(cpu_with([] {
    return KernelList<Sgemm>{kernel(supports_none, fail, no_workspace<Sgemm>),
                             kernel(supports_all, show_workspace, two_mebibytes_a_row),
                             kernel(supports_all, fail, no_workspace<Sgemm>)};
  }));
  Seen seen{};
  EXPECT_TRUE(call(*state, 1, &seen).ok());
}

TEST(ContextKernels, NoneSupportsTheProblem) {
  const auto state = open(
      cpu_with([] { return KernelList<Sgemm>{kernel(supports_none, fail, no_workspace<Sgemm>)}; }));
  Seen seen{};
  const Status status = call(*state, 2, &seen);
  EXPECT_EQ(status.code, StatusCode::unsupported);
  EXPECT_NE(status.message.find("2 x 4 x 3"), std::string::npos) << status.message;
}

TEST(ContextKernels, ALaunchThatFails) {
  const auto state = open(
      cpu_with([] { return KernelList<Sgemm>{kernel(supports_all, fail, no_workspace<Sgemm>)}; }));
  Seen seen{};
  const Status status = call(*state, 2, &seen);
  EXPECT_EQ(status.code, StatusCode::device_error);
  EXPECT_EQ(status.message, "the device is on fire");
}

TEST(ContextThreads, SeveralContextsAtOnce) {
  for (DeviceKind kind : present_devices()) {
    SCOPED_TRACE(to_string(kind));
    constexpr int thread_count = 4;
    int wrong[thread_count] = {};
    {
      std::vector<std::jthread> threads;
      threads.reserve(thread_count);
      for (int t = 0; t < thread_count; ++t) {
        threads.emplace_back([kind, t, &wrong] {
          Context context = detail::open_context(kind);
          const std::int64_t n = 24 + 8 * t;
          // Integers: exact in any order.
          const DeviceFloats a(context, std::vector<float>(static_cast<std::size_t>(n * n), 1.0f));
          const DeviceFloats b(context, std::vector<float>(static_cast<std::size_t>(n * n),
                                                           static_cast<float>(t + 1)));
          const DeviceFloats c(context, std::vector<float>(static_cast<std::size_t>(n * n), nan));
          for (int repeat = 0; repeat < 5; ++repeat) {
            sgemm(context, 1, row_major(a.data(), n, n), row_major(b.data(), n, n), 0,
                  row_major(c.data(), n, n));
            for (float value : c.get()) {
              if (value != static_cast<float>(n * (t + 1))) ++wrong[t];
            }
          }
        });
      }
    }
    for (int t = 0; t < thread_count; ++t) EXPECT_EQ(wrong[t], 0) << "thread " << t;
  }
}

}  // namespace
}  // namespace kw::test
