// The launches of a call as one, beside a driver that writes down what it is asked for: which calls
// have a graph, what a later call changes of it, and what ends it.
#include "gpu/kept_launches.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "text.hpp"

namespace kw::gpu {
namespace {

// A launch that a call asks for: a kernel with two arguments.
struct Asked {
  const char* kernel = "a";
  int grid = 1;
  int first = 0;
  double second = 0;
  int cluster = 1;
  bool overlap = false;
};

struct Log {
  std::string text;
  bool is_capturing = false, refuses_record = false, refuses_set = false, forks = false;
  int nodes = 0;
};

struct LogDriver {
  using Node = int;
  Log* log;

  bool is_capturing(Stream) const { return log->is_capturing; }
  Status record(const std::function<Status(Stream)>& work) {
    if (log->refuses_record) return Status::failure(StatusCode::device_error, "no graph");
    log->text += "record(";
    Status status = work(Stream{});
    log->text += ")";
    return status;
  }
  Status last_node(Node* node) const {
    if (log->forks) return Status::failure(StatusCode::device_error, "a fork");
    *node = log->nodes++;
    return Status::success();
  }
  Status set(Node node, const LaunchRequest& launch) {
    if (log->refuses_set) return Status::failure(StatusCode::device_error, "not that");
    int first = 0;
    double second = 0;
    EXPECT_EQ(launch.argument_bytes.size(), 2u);
    std::memcpy(&first, launch.arguments[0], launch.argument_bytes[0]);
    std::memcpy(&second, launch.arguments[1], launch.argument_bytes[1]);
    log->text += text("set ", node, ": ", launch.shape.grid[0], " ", first, " ", second, " ");
    return Status::success();
  }
  Status launch(Stream) {
    log->text += "graph";
    return Status::success();
  }
};

class LaunchesAsOneTest : public ::testing::Test {
 protected:
  // What the driver is asked for by a call of these launches, which ends with that status.
  std::string call(std::vector<Asked> launches, StatusCode end = StatusCode::ok) {
    log_.text.clear();
    last_ = as_one_.launch(
        [&](Stream) {
          for (Asked& asked : launches) {
            Status status = launch(asked);
            if (!status.ok()) return status;
          }
          return end == StatusCode::ok ? Status::success() : Status::failure(end, "no");
        },
        Stream{});
    EXPECT_EQ(launch_taker, nullptr);
    return log_.text;
  }
  void become_graph(const std::vector<Asked>& launches) {
    for (int i = 0; i < calls_before_graph; ++i) call(launches);
    EXPECT_EQ(call(launches).substr(0, 7), "record(");
  }

  // A call of other launches than the recorded ones is launched as it is, and so are all after it.
  void expect_end(const std::vector<Asked>& recorded, const std::vector<Asked>& other,
                  const std::string& plain) {
    become_graph(recorded);
    EXPECT_EQ(call(other), plain);
    EXPECT_TRUE(last_.ok());
    EXPECT_EQ(call(recorded), "abc");
  }

  Log log_;
  Status last_ = Status::success();

 private:
  // As gpu::launch does it.
  Status launch(Asked& asked) {
    const auto make = [&] {
      log_.text += asked.kernel;
      return Status::success();
    };
    if (launch_taker == nullptr) return make();
    std::array<void*, 2> arguments{&asked.first, &asked.second};
    constexpr std::array<std::size_t, 2> bytes{sizeof(int), sizeof(double)};
    return launch_taker->take({asked.kernel,
                               {{asked.grid, 1, 1}, {32, 1, 1}, 0, 1},
                               asked.overlap,
                               asked.cluster,
                               false,
                               arguments.data(),
                               bytes},
                              make);
  }

  LaunchesAsOne<LogDriver> as_one_{LogDriver{&log_}};
};

const char *const a = "a", *const b = "b", *const c = "c";
const std::vector<Asked> chain{{a, 4, 1, 0.5}, {b, 5, 2, 0.25}, {c, 6, 3, 0.125}};

TEST_F(LaunchesAsOneTest, TheFirstCallsAreLaunchedAsTheyAreThenTheyAreAGraph) {
  for (int i = 0; i < calls_before_graph; ++i) EXPECT_EQ(call(chain), "abc");
  EXPECT_EQ(call(chain), "record(abc)graph");
  EXPECT_EQ(call(chain), "graph");
  EXPECT_TRUE(last_.ok());
}

TEST_F(LaunchesAsOneTest, WhatChangesIsSetAndOnlyThat) {
  become_graph(chain);
  std::vector<Asked> other = chain;
  other[1].first = 7;
  EXPECT_EQ(call(other), "set 1: 5 7 0.25 graph");
  EXPECT_EQ(call(other), "graph");
  EXPECT_EQ(call(chain), "set 1: 5 2 0.25 graph");
  other = chain;
  other[0].second = 8;
  other[2].grid = 9;
  EXPECT_EQ(call(other), "set 0: 4 1 8 set 2: 9 3 0.125 graph");
  EXPECT_EQ(call(other), "graph");
}

TEST_F(LaunchesAsOneTest, FewLaunchesHaveNoGraph) {
  const std::vector<Asked> few(fewest_launches - 1);
  for (int i = 0; i < calls_before_graph + 2; ++i)
    EXPECT_EQ(call(few), std::string(few.size(), 'a'));
}

TEST_F(LaunchesAsOneTest, VeryManyLaunchesHaveNoGraph) {
  const std::vector<Asked> many(most_launches + 1);
  for (int i = 0; i < calls_before_graph + 2; ++i)
    EXPECT_EQ(call(many), std::string(most_launches + 1, 'a'));
}

TEST_F(LaunchesAsOneTest, AnotherKernelEndsIt) {
  std::vector<Asked> other = chain;
  other[2].kernel = a;
  expect_end(chain, other, "aba");
}

TEST_F(LaunchesAsOneTest, MoreLaunchesEndIt) {
  std::vector<Asked> more = chain;
  more.push_back({a});
  expect_end(chain, more, "abca");
}

TEST_F(LaunchesAsOneTest, FewerLaunchesEndIt) { expect_end(chain, {chain[0], chain[1]}, "ab"); }

TEST_F(LaunchesAsOneTest, AnotherClusterEndsIt) {
  std::vector<Asked> other = chain;
  other[0].cluster = 2;
  expect_end(chain, other, "abc");
}

TEST_F(LaunchesAsOneTest, AnotherOverlapEndsIt) {
  std::vector<Asked> other = chain;
  other[1].overlap = true;
  expect_end(chain, other, "abc");
}

TEST_F(LaunchesAsOneTest, WhatTheCallerCapturesIsLaunchedAsItIs) {
  become_graph(chain);
  log_.is_capturing = true;
  EXPECT_EQ(call(chain), "abc");
  log_.is_capturing = false;
  EXPECT_EQ(call(chain), "graph");
}

TEST_F(LaunchesAsOneTest, WhereNoGraphIsToBeHadCallsGoOn) {
  log_.refuses_record = true;
  for (int i = 0; i < calls_before_graph + 2; ++i) {
    EXPECT_EQ(call(chain), "abc");
    EXPECT_TRUE(last_.ok());
  }
}

TEST_F(LaunchesAsOneTest, LaunchesBesideEachOtherHaveNoGraph) {
  log_.forks = true;
  for (int i = 0; i < calls_before_graph; ++i) call(chain);
  EXPECT_EQ(call(chain), "record(a)abc");
  EXPECT_EQ(call(chain), "abc");
}

TEST_F(LaunchesAsOneTest, AGraphThatCannotBeChangedEnds) {
  become_graph(chain);
  log_.refuses_set = true;
  std::vector<Asked> other = chain;
  other[0].first = 7;
  EXPECT_EQ(call(other), "abc");
  EXPECT_TRUE(last_.ok());
  EXPECT_EQ(call(chain), "abc");
}

TEST_F(LaunchesAsOneTest, ACallThatFailsLaunchesNothing) {
  become_graph(chain);
  EXPECT_EQ(call(chain, StatusCode::workspace_too_small), "");
  EXPECT_EQ(last_.code, StatusCode::workspace_too_small);
  EXPECT_EQ(call(chain), "graph");
}

TEST_F(LaunchesAsOneTest, ACallThatFailsAtFirstDoesNotCount) {
  EXPECT_EQ(call({}, StatusCode::workspace_too_small), "");
  for (int i = 0; i < calls_before_graph; ++i) EXPECT_EQ(call(chain), "abc");
  EXPECT_EQ(call(chain), "record(abc)graph");
}

}  // namespace
}  // namespace kw::gpu
