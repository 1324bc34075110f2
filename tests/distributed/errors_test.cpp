// Distributed calls that go wrong: every rank returns, in time, with the same reason.
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "distributed/support.hpp"

namespace kw {
namespace {

using detail::DistributedCall;
using detail::GroupAccess;
using detail::GroupState;
using test::DistributedProblem;

DistributedProblem problem(const Grid& grid) {
  DistributedProblem p{grid,
                       {block_distribution(12, 40, grid), Layout::row_major, 1},
                       {block_distribution(40, 8, grid), Layout::row_major, 2},
                       {block_distribution(12, 8, grid), Layout::row_major, 3},
                       Op::none,
                       Op::none,
                       1.0f,
                       0.0f,
                       {Math::fp32, 4}};
  p.deal();
  return p;
}

DistributedCall call_of(DistributedProblem& p, int rank) {
  return {p.alpha,      p.beta,   p.a.input(rank, p.op_a), p.b.input(rank, p.op_b),
          p.c.of(rank), p.options};
}

// All ranks but `absent`, each in a thread.
std::vector<Status> call_all(Group& group, DistributedProblem& p, int absent,
                             const std::function<void(int, DistributedCall&)>& change = {}) {
  std::vector<Status> statuses(static_cast<std::size_t>(p.grid.ranks()));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < p.grid.ranks(); ++rank) {
    if (rank == absent) continue;
    threads.emplace_back([&, rank] {
      DistributedCall call = call_of(p, rank);
      if (change) change(rank, call);
      statuses[static_cast<std::size_t>(rank)] =
          detail::sgemm_distributed(GroupAccess::state(group), rank, call);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

TEST(DistributedErrors, WrongArgumentsAreNamedWithRankAndNumbersOnAllRanks) {
  struct Wrong {
    std::function<void(DistributedCall&)> change;
    const char* argument;
    const char* words;
  };
  const Wrong wrongs[] = {
      {[](DistributedCall& c) { c.a.ld = 1; }, "lda", "lda is 1"},
      {[](DistributedCall& c) { c.b.data = nullptr; }, "b", "null"},
      {[](DistributedCall& c) { c.c.whole.block_cols = 0; }, "c.whole.block_cols",
       "c.whole.block_cols is 0: pass 1 to"},
      {[](DistributedCall& c) { c.a.whole.first_col = 2; }, "a.whole.first_col",
       "first_col is 2: pass 0 to 1 in a grid of 2 x 2"},
      {[](DistributedCall& c) { c.a.whole.rows = -5; }, "a.whole.rows", "rows is -5"},
      {[](DistributedCall& c) { c.b.whole.cols = 9; }, "b.whole.cols",
       "b.whole.cols is 9, but that of rank 0 is 8"},
      {[](DistributedCall& c) { c.alpha = 2; }, "alpha", "alpha is 2, but that of rank 0 is 1"},
      {[](DistributedCall& c) { c.beta = 2; }, "beta", "beta is 2, but that of rank 0 is 0"},
      {[](DistributedCall& c) { c.options.math = static_cast<Math>(7); }, "options.math", "is 7"},
      {[](DistributedCall& c) { c.options.panel_k = -1; }, "options.panel_k", "is -1"},
      {[](DistributedCall& c) { c.c.data = const_cast<float*>(c.a.data); }, "c", "A"},
      {[](DistributedCall& c) { c.c.op = Op::transpose; }, "c.op", "c.op"},
  };
  const Grid grid{2, 2};
  Group group = Group::cpu(grid, {5});
  DistributedProblem p = problem(grid);
  for (const Wrong& wrong : wrongs) {
    const std::vector<Status> statuses =
        call_all(group, p, -1, [&](int rank, DistributedCall& call) {
          if (rank == 2) wrong.change(call);
        });
    for (const Status& status : statuses) {
      EXPECT_EQ(status.code, StatusCode::invalid_argument) << status.message;
      EXPECT_EQ(status.argument, wrong.argument);
      EXPECT_NE(status.message.find("rank 2: "), std::string::npos) << status.message;
      EXPECT_NE(status.message.find(wrong.words), std::string::npos) << status.message;
    }
  }
  // Nothing was sent, so the group goes on.
  for (const Status& status : call_all(group, p, -1)) EXPECT_TRUE(status.ok()) << status.message;
}

TEST(DistributedErrors, ShapesThatDoNotFitAreNamed) {
  const Grid grid{2, 1};
  Group group = Group::cpu(grid, {5});
  DistributedProblem p = problem(grid);
  const auto statuses = call_all(group, p, -1, [&](int, DistributedCall& call) {
    call.b.whole = block_distribution(38, 8, grid);
  });
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code, StatusCode::invalid_argument);
    EXPECT_EQ(status.argument, "b");
    EXPECT_NE(status.message.find("is 40, but that of rows of op(B) is 38"), std::string::npos)
        << status.message;
  }
}

void expect_that_all_learn(const std::vector<Status>& statuses, int dying, StatusCode own,
                           const std::string& words) {
  for (int rank = 0; rank < static_cast<int>(statuses.size()); ++rank) {
    const Status& status = statuses[static_cast<std::size_t>(rank)];
    EXPECT_EQ(status.code, rank == dying ? own : StatusCode::device_error) << rank;
    EXPECT_NE(status.message.find(words), std::string::npos) << status.message;
    if (rank != dying) {
      EXPECT_NE(status.message.find("rank " + std::to_string(dying) + " failed"), std::string::npos)
          << status.message;
    }
  }
}

TEST(DistributedErrors, ARankThatFailsEndsTheCallOnAll) {
  const Grid grid{2, 2};
  for (int dying : {0, 3}) {
    for (bool throws : {false, true}) {
      Group group = Group::cpu(grid, {30});
      DistributedProblem p = problem(grid);
      GroupState& state = GroupAccess::state(group);
      state.before_step = [&](int rank, int step) {
        if (rank != dying || step != 2) return Status::success();
        if (throws) throw std::runtime_error("the planted fault");
        return Status::failure(StatusCode::device_error, "the planted fault");
      };
      const auto begin = std::chrono::steady_clock::now();
      expect_that_all_learn(call_all(group, p, -1), dying,
                            throws ? StatusCode::internal_error : StatusCode::device_error,
                            "the planted fault");
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
      // The group is of no more use.
      state.before_step = nullptr;
      for (const Status& status : call_all(group, p, -1)) EXPECT_FALSE(status.ok());
    }
  }
}

TEST(DistributedErrors, ARankThatNeverComesIsNotWaitedForLongerThanTheLimit) {
  const Grid grid{3, 1};
  Group group = Group::cpu(grid, {0.2});
  DistributedProblem p = problem(grid);
  const std::vector<Status> statuses = call_all(group, p, 1);
  for (int rank : {0, 2}) {
    const Status& status = statuses[static_cast<std::size_t>(rank)];
    EXPECT_EQ(status.code, StatusCode::device_error);
    EXPECT_NE(status.message.find("rank 1 did not come within 0.2 s"), std::string::npos)
        << status.message;
  }
}

TEST(DistributedErrors, ARankThatHangsBetweenStepsIsNotWaitedFor) {
  const Grid grid{2, 1};
  Group group = Group::cpu(grid, {0.2});
  DistributedProblem p = problem(grid);
  GroupAccess::state(group).before_step = [](int rank, int step) {
    if (rank == 1 && step == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    return Status::success();
  };
  const std::vector<Status> statuses = call_all(group, p, -1);
  EXPECT_EQ(statuses[0].code, StatusCode::device_error);
  EXPECT_NE(statuses[0].message.find("rank 1 did not come"), std::string::npos)
      << statuses[0].message;
  EXPECT_EQ(statuses[1].code, StatusCode::device_error);  // when it wakes
}

TEST(DistributedErrors, AbortEndsTheWaitOfOthers) {
  const Grid grid{2, 1};
  Group group = Group::cpu(grid, {30});
  DistributedProblem p = problem(grid);
  std::thread waiting([&] {
    const DistributedCall c = call_of(p, 0);
    try {
      sgemm_distributed(group, 0, c.alpha, c.a, c.b, c.beta, c.c, c.options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::device_error);
      EXPECT_STREQ(error.what(), "rank 1 failed: its data did not arrive");
    }
  });
  group.abort(1, "its data did not arrive");
  waiting.join();
}

void expect_error(const std::function<void()>& call, StatusCode code, const std::string& argument,
                  const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "no error, but " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.argument(), argument);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(DistributedErrors, GroupsAreChecked) {
  const auto invalid = StatusCode::invalid_argument;
  expect_error([] { Group::cpu({0, 2}); }, invalid, "grid", "grid is 0 x 2");
  expect_error([] { Group::cpu({65536, 65536}); }, invalid, "grid", "65536 x 65536");
  expect_error(
      [] {
        Group::cpu({2, 1}, {0});
      },
      invalid, "options.time_limit_s", "time_limit_s is 0");
  Group group = Group::cpu({2, 1});
  expect_error([&] { group.context(2); }, invalid, "rank", "rank is 2, but the grid is 2 x 1");
  DistributedProblem p = problem({2, 1});
  expect_error(
      [&] {
        sgemm_distributed(group, 1.0f, {p.a.input(0, Op::none)}, {p.b.input(0, Op::none)}, 0.0f,
                          {p.c.of(0)});
      },
      invalid, "a", "a has 1 entries, but the grid has 2 ranks");
  Group moved = std::move(group);
  // NOLINTNEXTLINE(bugprone-use-after-move): that it is an error is the point
  expect_error([&] { group.synchronize(0); }, invalid, "group", "moved from");
}

}  // namespace
}  // namespace kw
