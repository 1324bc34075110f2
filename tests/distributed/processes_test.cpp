// Groups whose ranks are processes: their meeting, the bits of their products beside those of
// threads, and the death of one.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include "distributed/problems.hpp"
#include "distributed/process_meeting.hpp"

namespace kw {
namespace {

using distributed::ProcessMeeting;
using test::DistributedProblem;

// Of no other test and no other process.
std::string new_name() {
  static int number = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
}

std::string file_of(const std::string& name) {
  return "/dev/shm/kernelwright-" + std::to_string(getuid()) + "-" + name;
}

struct Ran {
  int exit_code = 0;
  std::string out;
};

// A process for each of `ranks`; `what` of it.
std::vector<Ran> run_ranks(const Grid& grid, const std::vector<int>& ranks, const char* limit_s,
                           const std::function<std::string(int)>& what) {
  const std::string name = new_name();
  std::vector<Ran> all(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string command = "exec " KW_RANK " " + std::to_string(grid.p) + " " +
                                  std::to_string(grid.q) + " " + std::to_string(ranks[i]) + " " +
                                  name + " " + limit_s + " " + what(ranks[i]);
      FILE* const pipe = popen(command.c_str(), "r");
      char bytes[4096];
      for (std::size_t n; (n = fread(bytes, 1, sizeof(bytes), pipe)) > 0;) {
        all[i].out.append(bytes, n);
      }
      all[i].exit_code = pclose(pipe);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return all;
}

std::string nothing_special(int) { return ""; }

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(DistributedProcesses, SameBitsAsThreads) {
  for (const Grid& grid : {Grid{2, 1}, Grid{3, 1}, Grid{2, 2}, Grid{3, 2}}) {
    std::vector<int> ranks(static_cast<std::size_t>(grid.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::vector<Ran> ran = run_ranks(grid, ranks, "60", nothing_special);
    DistributedProblem p = test::odd_problem(grid);
    Group group = Group::cpu(grid);
    p.multiply(group);
    for (std::size_t rank = 0; rank < ran.size(); ++rank) {
      const std::vector<float>& part = p.c.parts[rank];
      EXPECT_EQ(ran[rank].exit_code, 0) << ran[rank].out;
      ASSERT_EQ(ran[rank].out.size(), part.size() * sizeof(float)) << ran[rank].out;
      EXPECT_EQ(std::memcmp(ran[rank].out.data(), part.data(), ran[rank].out.size()), 0)
          << "rank " << rank << " of " << grid.p << " x " << grid.q;
    }
  }
}

TEST(DistributedProcesses, TheDeathOfOneEndsTheCallOnAllAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Ran> ran =
      run_ranks({3, 1}, {0, 1, 2}, "600", [](int rank) { return rank == 1 ? "die" : ""; });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(ran[1].exit_code, SIGKILL);
  for (int rank : {0, 2}) {
    const Ran& its = ran[static_cast<std::size_t>(rank)];
    EXPECT_NE(its.exit_code, 0);
    EXPECT_TRUE(contains(its.out, "rank: rank 1 failed: its process ")) << its.out;
    EXPECT_TRUE(contains(its.out, " has ended")) << its.out;
  }
}

// What a device's stream does with a wait: it looks at a number, and at nothing else.
bool comes_to(const Counter& counter, std::uint32_t value, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!has_reached(counter.load(), value)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(DistributedProcesses, NoStreamWaitsForARankThatIsGone) {
  const Grid grid{2, 1};
  const std::string name = new_name();
  const std::string command = "exec " KW_RANK " 2 1 1 " + name + " 600 vanish";
  FILE* const other = popen(command.c_str(), "r");
  Group group = Group::join_cpu(grid, 0, name, {600});
  detail::GroupState& state = detail::GroupAccess::state(group);
  auto& meeting = dynamic_cast<ProcessMeeting&>(state.meeting());
  for (distributed::Signal which :
       {distributed::Signal::inputs_ready, distributed::Signal::copies_done}) {
    Counter& signal = meeting.signal(1, which);
    // The process's own thread makes no call of the group.
    bool came = false;
    std::thread stream([&] { came = comes_to(signal, 1, std::chrono::seconds(20)); });
    stream.join();
    EXPECT_TRUE(came);
    // A stream of a rank that lives may set its signals to a call before, late.
    signal.store(0);
    EXPECT_TRUE(comes_to(signal, 1, std::chrono::seconds(20)));
  }
  EXPECT_EQ(pclose(other), SIGKILL);
  DistributedProblem p = test::odd_problem(grid);
  const Status status = detail::sgemm_distributed(state, 0, test::call_of(p, 0));
  EXPECT_TRUE(distributed::is_rank_failure(status)) << status.message;
  EXPECT_TRUE(contains(status.message, "rank 1 failed: its process ")) << status.message;
}

TEST(DistributedProcesses, SignalsComeToTheNumberOfTheCall) {
  const Grid grid{2, 1};
  const std::string name = new_name();
  const auto body = [&](int rank) {
    Group group = Group::join_cpu(grid, rank, name, {60});
    detail::GroupState& state = detail::GroupAccess::state(group);
    auto& meeting = dynamic_cast<ProcessMeeting&>(state.meeting());
    DistributedProblem p = test::odd_problem(grid);
    for (std::uint32_t call = 1; call <= 3; ++call) {
      const Status status = detail::sgemm_distributed(state, rank, test::call_of(p, rank));
      ASSERT_TRUE(status.ok()) << status.message;
      for (int other = 0; other < 2; ++other) {
        EXPECT_TRUE(has_reached(meeting.signal(other, distributed::Signal::inputs_ready), call));
        EXPECT_TRUE(has_reached(meeting.signal(other, distributed::Signal::copies_done), call));
      }
      EXPECT_EQ(meeting.signal(rank, distributed::Signal::copies_done).load(), call);
    }
    ASSERT_TRUE(meeting.arrive(rank).ok());
  };
  std::thread other(body, 1);
  body(0);
  other.join();
}

TEST(DistributedProcesses, CountersGoRound) {
  EXPECT_TRUE(has_reached(5, 5));
  EXPECT_FALSE(has_reached(4, 5));
  EXPECT_TRUE(has_reached(2, 0xFFFFFFFEu));
  EXPECT_FALSE(has_reached(0xFFFFFFFEu, 2));
  EXPECT_TRUE(has_reached(7 + distributed::past_all_calls, 7));
}

TEST(DistributedProcesses, OneThatNeverComesOrLeavesIsNotWaitedFor) {
  std::vector<Ran> ran = run_ranks({3, 1}, {0, 2}, "0.4", nothing_special);
  for (const Ran& its : ran) {
    EXPECT_TRUE(contains(its.out, "rank 1 did not come within 0.4 s")) << its.out;
  }
  ran = run_ranks({2, 1}, {1}, "0.2", nothing_special);
  EXPECT_TRUE(contains(ran[0].out, "rank 0 did not make ")) << ran[0].out;
  ran = run_ranks({2, 1}, {0, 1}, "600", [](int rank) { return rank == 0 ? "leave" : ""; });
  EXPECT_TRUE(contains(ran[1].out, "rank 0 failed: it has left the group")) << ran[1].out;
}

// A thread a rank, each with a file and a mapping of its own, as processes have them.
void with_ranks(int ranks, double limit_s, const std::function<void(int, ProcessMeeting&)>& body) {
  const std::string name = new_name();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::unique_ptr<ProcessMeeting> meeting;
      const Status joined = ProcessMeeting::join(name, ranks, rank, limit_s, &meeting);
      ASSERT_TRUE(joined.ok()) << joined.message;
      body(rank, *meeting);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(access(file_of(name).c_str(), F_OK), 0) << "the file is still there";
}

struct Message {
  int rank, turn;
  char more[900];
};

TEST(ProcessMeeting, PassesEveryMessageOfEveryTurn) {
  with_ranks(5, 60, [](int rank, ProcessMeeting& meeting) {
    for (int turn = 0; turn < 200; ++turn) {
      std::vector<Message> all;
      const Status status = exchange(meeting, rank, Message{rank, turn, {}}, &all);
      ASSERT_TRUE(status.ok()) << status.message;
      for (int other = 0; other < 5; ++other) {
        EXPECT_EQ(all[static_cast<std::size_t>(other)].rank, other);
        EXPECT_EQ(all[static_cast<std::size_t>(other)].turn, turn);
      }
    }
  });
}

TEST(ProcessMeeting, TheFirstReasonReachesAllAndStays) {
  with_ranks(3, 60, [](int rank, ProcessMeeting& meeting) {
    ASSERT_TRUE(meeting.arrive(rank).ok());
    if (rank == 1) {
      meeting.abort(1, Status::failure(StatusCode::out_of_memory, "no memory", "c"));
      meeting.abort(1, Status::failure(StatusCode::internal_error, "another"));
    }
    for (int i = 0; i < 2; ++i) {
      const Status status = meeting.arrive(rank);
      EXPECT_EQ(status.code, rank == 1 ? StatusCode::out_of_memory : StatusCode::device_error);
      EXPECT_EQ(status.argument, rank == 1 ? "c" : "rank");
      EXPECT_EQ(status.message, rank == 1 ? "no memory" : "rank 1 failed: no memory");
    }
  });
}

TEST(ProcessMeeting, MessagesOfDifferentSizesAreRefused) {
  with_ranks(2, 60, [](int rank, ProcessMeeting& meeting) {
    char own[8] = {}, all[16];
    const Status status = meeting.exchange(rank, own, rank == 0 ? 8 : 4, all);
    EXPECT_EQ(status.code, StatusCode::internal_error);
  });
}

TEST(ProcessMeeting, WhatADeadGroupLeftBehindIsNoHindrance) {
  const std::string name = new_name();
  {
    std::ofstream left(file_of(name), std::ios::binary);
    left << std::string(100000, '\0');
  }
  std::unique_ptr<ProcessMeeting> meeting;
  const Status late = ProcessMeeting::join(name, 2, 1, 0.1, &meeting);
  EXPECT_TRUE(contains(late.message, "rank 0 did not make ")) << late.message;
  ASSERT_TRUE(ProcessMeeting::join(name, 1, 0, 5, &meeting).ok());
  EXPECT_TRUE(meeting->arrive(0).ok());
  // While it waits for its ranks no other takes its name.
  std::unique_ptr<ProcessMeeting> second;
  const Status taken = ProcessMeeting::join(name, 1, 0, 0.1, &second);
  EXPECT_TRUE(contains(taken.message, "another group of the name ")) << taken.message;
  const Status differs = ProcessMeeting::join(name, 2, 1, 0.1, &second);
  EXPECT_EQ(differs.argument, "grid");
  meeting = nullptr;
  EXPECT_NE(access(file_of(name).c_str(), F_OK), 0);
}

TEST(ProcessMeeting, AForkedChildEndsItWithoutAHangAndWithoutLeaving) {
  std::unique_ptr<ProcessMeeting> meeting;
  ASSERT_TRUE(ProcessMeeting::join(new_name(), 1, 0, 5, &meeting).ok());
  meeting->all_have_come();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends it where it hangs
    meeting = nullptr;
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(meeting->arrive(0).ok());
}

void expect_invalid(const std::function<void()>& call, const std::string& argument) {
  try {
    call();
    ADD_FAILURE() << "no error of " << argument;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument) << error.what();
    EXPECT_EQ(error.argument(), argument) << error.what();
  }
}

TEST(DistributedProcesses, ArgumentsAreChecked) {
  expect_invalid([] { Group::join_cpu({2, 1}, 2, "x"); }, "rank");
  expect_invalid([] { Group::join_cpu({2, 1}, -1, "x"); }, "rank");
  expect_invalid([] { Group::join_cpu({0, 1}, 0, "x"); }, "grid");
  for (const char* name : {"", "a/b", "a b"}) {
    expect_invalid([&] { Group::join_cpu({1, 1}, 0, name); }, "name");
  }
  expect_invalid([] { Group::join_cpu({1, 1}, 0, std::string(201, 'x')); }, "name");
  // Two grids of as many ranks.
  const std::string name = new_name();
  std::thread other([&] { expect_invalid([&] { Group::join_cpu({1, 2}, 1, name); }, "grid"); });
  expect_invalid([&] { Group::join_cpu({2, 1}, 0, name); }, "grid");
  other.join();
}

TEST(DistributedProcesses, ARankCallsForItselfAlone) {
  const Grid grid{2, 1};
  const std::string name = new_name();
  const auto body = [&](int rank) {
    Group group = Group::join_cpu(grid, rank, name, {60});
    DistributedProblem p = test::odd_problem(grid);
    expect_invalid([&] { group.context(1 - rank); }, "rank");
    expect_invalid([&] { p.multiply(group); }, "group");
    // What is wrong with one rank's arguments all learn, and the group goes on.
    for (bool is_wrong : {true, false}) {
      detail::DistributedCall c = test::call_of(p, rank);
      if (is_wrong && rank == 1) c.a.ld = 1;
      const auto call = [&] {
        sgemm_distributed(group, rank, c.alpha, c.a, c.b, c.beta, c.c, c.options);
      };
      if (is_wrong) {
        expect_invalid(call, "lda");
      } else {
        EXPECT_NO_THROW(call());
      }
    }
    group.synchronize(rank);
    group.close_memory(rank);
  };
  std::thread other(body, 1);
  body(0);
  other.join();
}

}  // namespace
}  // namespace kw
