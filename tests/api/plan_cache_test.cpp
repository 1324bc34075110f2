// The plans that a context keeps: a kept plan is what planning anew gives, however calls differ;
// the cache is bounded; a tune cache loaded later empties it.
#include "api/plan_cache.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "api/calls.hpp"
#include "select.hpp"
#include "support.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "sgemm/kernels.hpp"
#include "sgemm/stream/schedule.hpp"
#include "support/h200.hpp"
#endif

namespace kw::test {
namespace {

// --- the key

// Of a call of which no two numbers are the same, with pointers as in a program.
struct KeyedCall {
  Sgemm problem;
  Math math = Math::fp32;
  std::size_t limit = 1 << 20;

  KeyedCall() {
    Sgemm& p = problem;
    p.m = 1, p.n = 2, p.k = 3, p.lda = 4, p.ldb = 5, p.ldc = 6, p.batch = 7;
    p.stride_a = 8, p.stride_b = 9, p.stride_c = 10;
    p.alpha = 2, p.beta = 3;
    p.a = at(0x1000), p.b = at(0x2000), p.c = at(0x3000);
  }
  static float* at(std::uintptr_t address) { return reinterpret_cast<float*>(address); }
  detail::PlanKey key() const { return {problem, math, limit}; }
};

template <class Change>
bool changes_key(const Change& change) {
  KeyedCall call;
  const detail::PlanKey before = call.key();
  change(call);
  const bool differs = !(call.key() == before);
  EXPECT_TRUE(differs || call.key().hash() == before.hash());
  return differs;
}

TEST(PlanKey, TellsApartWhatPlansMayLookAt) {
  using Call = KeyedCall;
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.m = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.n = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.k = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.lda = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.ldb = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.ldc = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.batch = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.stride_a = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.stride_b = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.stride_c = 11; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.op_a = Op::transpose; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.op_b = Op::transpose; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.math = Math::fp32_split; }));
  EXPECT_TRUE(changes_key([](Call& c) { c.limit = 1 << 21; }));
  for (const float value : {0.0f, -0.0f, 1.0f}) {
    EXPECT_TRUE(changes_key([&](Call& c) { c.problem.alpha = value; }));
    EXPECT_TRUE(changes_key([&](Call& c) { c.problem.beta = value; }));
  }
  for (const std::uintptr_t past : {4, 8, 12}) {
    EXPECT_TRUE(changes_key([&](Call& c) { c.problem.a = Call::at(0x1000 + past); }));
    EXPECT_TRUE(changes_key([&](Call& c) { c.problem.b = Call::at(0x2000 + past); }));
    EXPECT_TRUE(changes_key([&](Call& c) { c.problem.c = Call::at(0x3000 + past); }));
  }
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.alpha_at = Call::at(64); }));
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.beta_at = Call::at(64); }));
  static const float* const entries[1] = {nullptr};
  EXPECT_TRUE(changes_key([](Call& c) { c.problem.a_array = entries; }));
}

TEST(PlanKey, IsTheSameWhereNoPlanMayDiffer) {
  using Call = KeyedCall;
  EXPECT_FALSE(changes_key([](Call&) {}));
  EXPECT_FALSE(changes_key([](Call& c) { c.problem.alpha = -0.5f; }));
  EXPECT_FALSE(changes_key([](Call& c) { c.problem.beta = nan; }));
  EXPECT_FALSE(changes_key([](Call& c) { c.problem.a = Call::at(0x7000); }));
  EXPECT_FALSE(changes_key([](Call& c) { c.problem.c = Call::at(0x7010); }));
  KeyedCall one, another;
  one.problem.batch = another.problem.batch = 1;
  another.problem.stride_a = another.problem.stride_b = another.problem.stride_c = 77;
  EXPECT_TRUE(one.key() == another.key()) << "one product has no strides";
}

// Whoever plans for the key sees what it tells, and of addresses no better alignment than it tells.
TEST(PlanKey, GivesBackTheProblem) {
  KeyedCall call;
  call.problem.op_b = Op::transpose;
  call.problem.beta = 1;
  call.problem.b = KeyedCall::at(0x2008);
  call.problem.beta_at = KeyedCall::at(64);
  call.math = Math::fp32_split;
  const detail::PlanKey key = call.key();
  EXPECT_EQ(key.math(), Math::fp32_split);
  EXPECT_EQ(key.workspace_limit(), std::size_t{1} << 20);
  const Sgemm& p = call.problem;
  const Sgemm seen = key.problem();
  EXPECT_EQ(std::tie(seen.m, seen.n, seen.k, seen.lda, seen.ldb, seen.ldc, seen.batch),
            std::tie(p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch));
  EXPECT_EQ(std::tie(seen.stride_a, seen.stride_b, seen.stride_c, seen.op_a, seen.op_b),
            std::tie(p.stride_a, p.stride_b, p.stride_c, p.op_a, p.op_b));
  EXPECT_EQ(seen.beta, 1);
  EXPECT_NE(seen.alpha, 0);
  EXPECT_NE(seen.alpha, 1);
  EXPECT_EQ(seen.alpha_at, nullptr);
  EXPECT_NE(seen.beta_at, nullptr);
  EXPECT_EQ(seen.a_array, nullptr);
  const auto trailing_zeros = [](const void* address) {
    return std::countr_zero(reinterpret_cast<std::uintptr_t>(address));
  };
  EXPECT_EQ(trailing_zeros(seen.a), 4);
  EXPECT_EQ(trailing_zeros(seen.b), 3);
  EXPECT_EQ(trailing_zeros(seen.c), 4);
  EXPECT_TRUE(detail::PlanKey(seen, key.math(), key.workspace_limit()) == key);
}

TEST(PlanKey, OfArraysOfPointersHasArrays) {
  static const float* const inputs[1] = {nullptr};
  static float* const outputs[1] = {nullptr};
  KeyedCall call;
  call.problem.a_array = call.problem.b_array = inputs;
  call.problem.c_array = outputs;
  const Sgemm seen = call.key().problem();
  EXPECT_NE(seen.a_array, nullptr);
  EXPECT_NE(seen.b_array, nullptr);
  EXPECT_NE(seen.c_array, nullptr);
}

TEST(PlanCache, IsBoundedAndKeepsWhatCameLast) {
  detail::PlanCache cache;
  for (std::int64_t m = 1; m <= 3 * static_cast<std::int64_t>(detail::PlanCache::most); ++m) {
    KeyedCall call;
    call.problem.m = m;
    EXPECT_EQ(cache.find(call.key()), nullptr);
    const detail::PlannedSgemm& kept =
        cache.keep(call.key(), {{}, static_cast<std::size_t>(10 * m)});
    EXPECT_EQ(kept.workspace_bytes, static_cast<std::size_t>(10 * m));
    ASSERT_EQ(cache.find(call.key()), &kept);
    EXPECT_LE(cache.size(), detail::PlanCache::most);
  }
  EXPECT_GT(cache.size(), 0u);
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
}

// --- calls

int plans_made = 0;

// Supports what is aligned; leaves in C how the plan saw the call, as the launch was told.
std::optional<Plan<Sgemm>> make_counted_plan(const Sgemm& p, const Device&) {
  ++plans_made;
  Plan<Sgemm> plan = {.time_us = 1, .cost = 1};
  plan.data.set(p.m);
  return plan;
}
Status leave_planned_m(const Sgemm& p, const Device&, const Plan<Sgemm>& plan, Workspace, Stream) {
  *p.c = static_cast<float>(plan.data.get<std::int64_t>());
  return Status::success();
}

std::unique_ptr<detail::ContextState> open_counted() {
  Backend backend = *find_backend(DeviceKind::cpu);
  backend.sgemm = [] {
    return KernelList<Sgemm>{{.name = "counted",
                              .parent = nullptr,
                              .idea = "",
                              .role = Role::production,
                              .math = Math::fp32,
                              .make_plan = make_counted_plan,
                              .launch_plan = leave_planned_m}};
  };
  std::unique_ptr<detail::ContextState> state;
  detail::throw_unless_ok(detail::ContextState::open(backend, 0, std::nullopt, &state));
  plans_made = 0;
  return state;
}

// What the launch of an m x 8 product was told to be the plan's m; `past`: C's elements past a
// multiple of 16 bytes.
float planned_m(detail::ContextState& state, std::int64_t m, std::size_t past = 0) {
  alignas(16) float a[512] = {}, b[64] = {}, c[512] = {};
  detail::SgemmCall call;
  call.a = row_major<const float>(a, m, 8);
  call.b = row_major<const float>(b, 8, 8);
  call.c = row_major(c + past, m, 8);
  detail::throw_unless_ok(detail::sgemm(state, call));
  return c[past];
}

TEST(PlannedCalls, ArePlannedOnceAKey) {
  const auto state = open_counted();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(planned_m(*state, 4), 4);
  EXPECT_EQ(plans_made, 1);
  EXPECT_EQ(planned_m(*state, 5), 5);
  EXPECT_EQ(planned_m(*state, 4), 4);
  EXPECT_EQ(plans_made, 2);
  for (const std::size_t past : {4, 8}) EXPECT_EQ(planned_m(*state, 4, past), 4);
  EXPECT_EQ(plans_made, 2) << "C is as aligned as before";
  for (const std::size_t past : {1, 5, 2, 3}) EXPECT_EQ(planned_m(*state, 4, past), 4);
  EXPECT_EQ(plans_made, 5);
}

TEST(PlannedCalls, OfMoreShapesThanAreKeptAreRight) {
  const auto state = open_counted();
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t m = 1; m <= 60; ++m) {
      for (const std::size_t past : {0, 1, 2, 3, 4, 5}) {
        EXPECT_EQ(planned_m(*state, m, past), m);
      }
    }
    EXPECT_EQ(plans_made, (round + 1) * 240) << "four alignments of C at 60 shapes fit";
    state->plans().clear();
  }
}

TEST(PlannedCalls, FollowATuneCacheThatIsLoadedLater) {
  const auto state = open_counted();
  EXPECT_EQ(planned_m(*state, 4), 4);
  EXPECT_EQ(state->plans().size(), 1u);
  EXPECT_FALSE(state->load_tune_cache("/no/such/file").ok());
  EXPECT_EQ(state->plans().size(), 0u) << "the context has no tune cache any more";
  EXPECT_EQ(planned_m(*state, 4), 4);
  EXPECT_EQ(plans_made, 2);
}

// --- the library's kernels

#ifdef KW_HAVE_HOST_SIMT

// Of a plan's own data the schedule of stream_tile is compared, bit for bit: it has no gaps whose
// bits mean nothing. A part that the kernel of another part computes has none of its own.
bool same_plan(const Choice<Sgemm>& x, const Choice<Sgemm>& y) {
  static_assert(std::has_unique_object_representations_v<StreamSchedule>);
  const Plan<Sgemm>&p = x.plan, &q = y.plan;
  const auto name_of = [](const Choice<Sgemm>& choice) {
    return std::string_view(choice.kernel != nullptr ? choice.kernel->name : "");
  };
  const std::string_view name = name_of(x);
  return name == name_of(y) && p.time_us == q.time_us && p.cost == q.cost &&
         p.workspace_bytes == q.workspace_bytes && p.min_workspace_bytes == q.min_workspace_bytes &&
         (!name.starts_with("stream_") ||
          std::memcmp(&p.data, &q.data, sizeof(StreamSchedule)) == 0) &&
         std::equal(p.parts.begin(), p.parts.end(), q.parts.begin(), q.parts.end(), same_plan);
}

Sgemm random_problem(std::mt19937& engine) {
  const auto below = [&](std::int64_t count) {
    return std::uniform_int_distribution<std::int64_t>(0, count - 1)(engine);
  };
  const auto size = [&] {
    return static_cast<std::int64_t>(std::exp2(0.014 * static_cast<double>(below(1000))));
  };
  const std::int64_t beyond[] = {0, 0, 1, 4, 32};
  Sgemm p;
  p.m = size(), p.n = size(), p.k = below(20) == 0 ? 0 : size();
  p.op_a = below(2) == 0 ? Op::none : Op::transpose;
  p.op_b = below(2) == 0 ? Op::none : Op::transpose;
  p.lda = (p.op_a == Op::none ? p.k : p.m) + beyond[below(5)];
  p.ldb = (p.op_b == Op::none ? p.n : p.k) + beyond[below(5)];
  p.ldc = p.n + beyond[below(5)];
  const float scalars[] = {1, 1, 0, 0.37f, -2};
  p.alpha = scalars[below(5)];
  p.beta = scalars[below(5)];
  const auto address = [&] {
    return 256 * (1 + below(1000000)) + (below(2) == 0 ? 0 : 4 * below(64));
  };
  p.a = KeyedCall::at(static_cast<std::uintptr_t>(address()));
  p.b = KeyedCall::at(static_cast<std::uintptr_t>(address()));
  p.c = KeyedCall::at(static_cast<std::uintptr_t>(address()));
  if (below(3) == 0) {
    p.batch = 1 + below(100);
    p.stride_a = p.m * p.k + below(5);
    p.stride_b = p.k * p.n + below(5);
    p.stride_c = p.m * p.n + below(5);
  }
  if (below(8) == 0) {
    static const float* const inputs[1] = {nullptr};
    static float* const outputs[1] = {nullptr};
    p.a_array = p.b_array = inputs;
    p.c_array = outputs;
  }
  if (below(8) == 0) p.alpha_at = p.beta_at = KeyedCall::at(4096);
  return p;
}

// What planning looks at of a call is in its key: a plan for the key is the plan for the call.
TEST(PlanKeyOfTheLibrary, PlansAsTheCallItself) {
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  const Device device = test::h200();
  std::mt19937 engine(seed_of(26));
  for (int i = 0; i < 4000; ++i) {
    const Sgemm p = random_problem(engine);
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      const std::size_t limit = i % 4 == 0 ? std::size_t{1} << (10 + i % 20) : any_workspace;
      const detail::PlanKey key(p, math, limit);
      const auto of_call = select_kernel(p, device, kernels, math, limit);
      const auto of_key =
          select_kernel(key.problem(), device, kernels, key.math(), key.workspace_limit());
      ASSERT_EQ(of_call.has_value(), of_key.has_value());
      if (!of_call) continue;
      ASSERT_TRUE(same_plan(*of_call, *of_key))
          << of_call->kernel->name << " for the call, " << of_key->kernel->name
          << " for its key: " << p.m << " x " << p.n << " x " << p.k << ", lda " << p.lda
          << ", ldb " << p.ldb << ", ldc " << p.ldc << ", batch " << p.batch << ", "
          << to_string(math);
    }
  }
}

#endif

}  // namespace
}  // namespace kw::test
