// The timing core: whose turn it is, on which operands, how often, and what is timed.
#include "bench/contest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "kernels.hpp"

namespace kw::bench {
namespace {

// The CPU by the test's own clock: a timed call takes 2 us, but for the first ones, where the test
// says otherwise.
class ClockedRuntime : public Runtime {
 public:
  const Device& device() const override { return cpu_->device(); }
  Status allocate(void** data, std::size_t bytes) override { return cpu_->allocate(data, bytes); }
  void release(void* data) noexcept override { cpu_->release(data); }
  Status copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    return cpu_->copy(to, from, bytes, stream);
  }
  Status fill(void* data, unsigned char value, std::size_t bytes, Stream stream) override {
    return cpu_->fill(data, value, bytes, stream);
  }
  Status create_stream(Stream* stream) override { return cpu_->create_stream(stream); }
  void destroy_stream(Stream stream) noexcept override { cpu_->destroy_stream(stream); }
  Status synchronize(Stream stream) override {
    if (on_wait) on_wait();
    return cpu_->synchronize(stream);
  }
  Status time_us(const std::function<Status(Stream)>& work, Stream stream, double* us) override {
    Status status = work(stream);
    *us = 2;
    if (!first_calls_us.empty()) {
      *us = first_calls_us.front();
      first_calls_us.pop_front();
    }
    return status;
  }

  std::deque<double> first_calls_us;
  std::function<void()> on_wait;

 private:
  std::unique_ptr<Runtime> cpu_ = open_device("cpu");
};

class Contests : public testing::Test {
 protected:
  Contests() : bench_(runtime_), telemetry_(runtime_.device()) {}

  Contestant contestant(char name) {
    Contestant made;
    made.name = std::string(1, name);
    made.first_call_us = 1;
    made.call = [this, name](std::int64_t set, Stream) {
      order_ += name;
      sets_.push_back(set);
      return Status::success();
    };
    return made;
  }

  void run(std::vector<Contestant>& contestants, const ContestOptions& options) {
    run_contest(bench_, contestants, options, telemetry_,
                [this](double done) { progress_.push_back(done); });
  }

  ClockedRuntime runtime_;
  check::Workbench bench_;
  Telemetry telemetry_;
  std::string order_;
  std::vector<std::int64_t> sets_;
  std::vector<double> progress_;
};

TEST_F(Contests, TakeTurnsAfterAWarmUp) {
  std::vector<Contestant> three = {contestant('A'), contestant('B'), contestant('C')};
  ContestOptions options;
  options.budget_ms = 1e-9;
  run(three, options);
  EXPECT_EQ(order_,
            "ABC"
            "ABCABCABC");
  for (const Contestant& c : three) {
    EXPECT_EQ(c.samples_us.size(), 3u);
    EXPECT_EQ(c.timing, "clock");
  }
  EXPECT_EQ(progress_.back(), 1);
}

// A busy host stretches a single call.
TEST_F(Contests, AreJudgedByTheQuickestOfAFewCalls) {
  std::vector<Contestant> two = {contestant('A'), contestant('B')};
  ContestOptions options;
  options.budget_ms = 1e-9;
  runtime_.first_calls_us = {1300, 1250, 999};
  run(two, options);
  EXPECT_EQ(order_,
            "AAAB"
            "ABABAB");
  order_.clear();
  two = {contestant('A'), contestant('B')};
  runtime_.first_calls_us.assign(16, 1000);
  run(two, options);
  EXPECT_EQ(order_,
            "AAAAAAAABBBBBBBB"
            "ABABAB");
}

TEST_F(Contests, KeepRepeatingUntilTheBudgetIsSpent) {
  std::vector<Contestant> one = {contestant('A')};
  ContestOptions options;
  options.budget_ms = 1e9;
  options.max_repeats = 50;
  run(one, options);
  EXPECT_EQ(one[0].samples_us.size(), 50u);
}

TEST_F(Contests, LongCallsAreWarmedUpByTheVerificationAlone) {
  std::vector<Contestant> one = {contestant('A')};
  one[0].first_call_us = 1e6;
  ContestOptions options;
  options.budget_ms = 1e-9;
  run(one, options);
  EXPECT_EQ(order_, "AAA");
}

TEST_F(Contests, NeverMeetTheSameOperandsTwiceInARow) {
  std::vector<Contestant> two = {contestant('A'), contestant('B')};
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.buffer_sets = 3;
  run(two, options);
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    EXPECT_EQ(sets_[i], static_cast<std::int64_t>(i % 3));
  }
}

TEST_F(Contests, FlushBeforeEachTimedCall) {
  std::vector<Contestant> two = {contestant('A'), contestant('B')};
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.flush = [this](Stream) {
    order_ += '.';
    return Status::success();
  };
  run(two, options);
  EXPECT_EQ(order_, ".A.B.A.B.A.B.A.B");
}

// With graphs that replay what was captured, and a note of what is timed.
class GraphRuntime final : public ClockedRuntime {
 public:
  explicit GraphRuntime(std::string& order) : order_(order) {}

  Status time_us(const std::function<Status(Stream)>& work, Stream stream, double* us) override {
    order_ += '(';
    Status status = ClockedRuntime::time_us(work, stream, us);
    order_ += ')';
    return status;
  }
  bool supports_graphs() const override { return true; }
  Status capture(const std::function<Status(Stream)>& work, Stream stream,
                 std::unique_ptr<Graph>* graph) override {
    order_ += '[';
    Status status = work(stream);
    order_ += ']';
    *graph = std::make_unique<Replay>(order_);
    return status;
  }

 private:
  struct Replay final : Graph {
    explicit Replay(std::string& order) : order_(order) {}
    Status replay(Stream) override {
      order_ += 'g';
      return Status::success();
    }
    std::string& order_;
  };

  std::string& order_;
};

class GraphContests : public testing::Test {
 protected:
  // The order of events of one contestant: calls by their sets, (timed), [captured], '.' a flush.
  std::string run(const ContestOptions& options, const char* timing = "graph") {
    GraphRuntime runtime(order_);
    check::Workbench bench(runtime);
    Telemetry telemetry(runtime.device());
    std::vector<Contestant> one(1);
    one[0].name = "A";
    one[0].first_call_us = 1;
    one[0].call = [&](std::int64_t set, Stream) {
      order_ += static_cast<char>('0' + set);
      return Status::success();
    };
    order_.clear();
    run_contest(bench, one, options, telemetry, [](double) {});
    EXPECT_EQ(one[0].timing, timing);
    calls_us_ = one[0].samples_us;
    return order_;
  }
  std::string order_;
  std::vector<double> calls_us_;
};

TEST_F(GraphContests, OfColdSmallCallsVisitEachSetOnceAfterAFlush) {
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.buffer_sets = 8;
  options.many_rounds = false;
  options.flush = [this](Stream) {
    order_ += '.';
    return Status::success();
  };
  EXPECT_EQ(run(options), ".(0)[01234567].(g).(g).(g).(g)");
  EXPECT_EQ(calls_us_, std::vector<double>(3, 2.0 / 8)) << "the replay's time by its calls";
}

TEST_F(GraphContests, OfOtherCallsGoRoundUntilTheyAreLongEnough) {
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.buffer_sets = 3;
  const std::string order = run(options);
  const std::string captured = order.substr(4, order.find(']') - 4);
  EXPECT_EQ(captured.size(), 252u) << "500 us of 2 us calls in whole rounds";
  EXPECT_EQ(captured.substr(0, 7), "0120120");
}

TEST_F(GraphContests, AreNotMadeOfCallsThatAreTimedAlone) {
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.buffer_sets = 4;
  options.timing = TimingMethod::alone;
  options.flush = [this](Stream) {
    order_ += '.';
    return Status::success();
  };
  EXPECT_EQ(run(options, "alone"), ".(0).(1).(2).(3)");
}

// By events a call takes longer than in a graph: a ratio of the two would say so of kernels that
// are equal.
TEST_F(GraphContests, AllTakePlaceAsTheShortestCallAsks) {
  const auto timings = [this](std::deque<double> calls_us) {
    GraphRuntime runtime(order_);
    check::Workbench bench(runtime);
    Telemetry telemetry(runtime.device());
    runtime.first_calls_us = std::move(calls_us);
    std::vector<Contestant> two(2);
    for (Contestant& c : two) {
      c.first_call_us = 1;
      c.call = [](std::int64_t, Stream) { return Status::success(); };
    }
    ContestOptions options;
    options.budget_ms = 1e-9;
    run_contest(bench, two, options, telemetry, [](double) {});
    return two[0].timing + " " + two[1].timing;
  };
  EXPECT_EQ(timings({900, 1250, 1250, 1250, 1250, 1250, 1250, 1250, 1250}), "graph graph");
  EXPECT_EQ(timings({1250, 1250, 1250, 1250, 1250, 1250, 1250, 1250, 900}), "graph graph");
  std::deque<double> long_calls(9, 5000);
  long_calls.front() = 900;
  EXPECT_EQ(timings(long_calls), "graph clock") << "too long for a graph of twenty";
  EXPECT_EQ(timings(std::deque<double>(16, 1250)), "clock clock");
}

// A few calls between two waits, and no clock of the device.
TEST_F(Contests, OfTheHostsTimeEnqueueAFewCallsOnAnIdleDevice) {
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.timing = TimingMethod::enqueue;
  runtime_.on_wait = [this] { order_ += '|'; };
  std::vector<Contestant> two = {contestant('A'), contestant('B')};
  run(two, options);
  const std::string a = "|AAAAAAAAA|", b = "|BBBBBBBBB|";  // eight, and one before
  EXPECT_EQ(order_, "A" + a + "B" + b + a + b + a + b + a + b);
  for (const Contestant& c : two) {
    EXPECT_EQ(c.timing, "enqueue");
    ASSERT_EQ(c.samples_us.size(), 3u);
    for (const double us : c.samples_us) {
      EXPECT_GT(us, 0);
      EXPECT_NE(us, 2) << "the device's clock says 2 us";
    }
  }
}

TEST_F(Contests, OfTheHostsTimeEnqueueAsManyCallsHoweverLongTheyTakeTheDevice) {
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.timing = TimingMethod::enqueue;
  std::vector<Contestant> one = {contestant('A')};
  one[0].first_call_us = 1e6;
  run(one, options);
  EXPECT_EQ(order_, std::string(4 * 9, 'A')) << "to warm up, and three samples";
}

TEST_F(Contests, OfTheHostsTimeLeaveOutTheFirstCallAfterAWait) {
  constexpr int slow_ms = 40;
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.timing = TimingMethod::enqueue;
  bool has_waited = true;
  runtime_.on_wait = [&] { has_waited = true; };
  std::vector<Contestant> one = {contestant('A')};
  one[0].call = [&](std::int64_t, Stream) {
    if (has_waited) std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
    has_waited = false;
    return Status::success();
  };
  run(one, options);
  ASSERT_EQ(one[0].samples_us.size(), 3u);
  EXPECT_LT(*std::min_element(one[0].samples_us.begin(), one[0].samples_us.end()),
            1e3 * slow_ms / 8);
}

TEST_F(Contests, PassLaunchErrorsOn) {
  std::vector<Contestant> one = {contestant('A')};
  one[0].call = [](std::int64_t, Stream) {
    return Status::failure(StatusCode::device_error, "lost");
  };
  EXPECT_THROW(run(one, {}), Error);
}

}  // namespace
}  // namespace kw::bench
