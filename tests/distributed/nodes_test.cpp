// Groups whose ranks span nodes: the bits of their products beside those of one rank, what crosses
// the network, and ranks that fail. Each rank is a thread with a transport and a file of its own.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <thread>

#include "distributed/network.hpp"
#include "distributed/one_order.hpp"
#include "distributed/problems.hpp"
#include "distributed/thread_transport.hpp"

namespace kw {
namespace {

using detail::DistributedCall;
using detail::GroupState;
using distributed::Factor;
using distributed::Slots;
using test::DistributedProblem;
using test::ThreadNetwork;
using test::ThreadTransport;

// A grid, and how many rows and columns of it are a node.
struct Cluster {
  Grid grid;
  int node_p, node_q;

  int node(int rank) const {
    return grid.row(rank) / node_p * (grid.q + node_q - 1) / node_q + grid.col(rank) / node_q;
  }
  distributed::Nodes nodes() const {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(grid.ranks()));
    for (int rank = 0; rank < grid.ranks(); ++rank) names.push_back(std::to_string(node(rank)));
    distributed::Nodes found;
    EXPECT_TRUE(make_nodes(grid, names, &found).ok());
    return found;
  }
};

constexpr Cluster clusters[] = {
    {{2, 1}, 1, 1}, {{1, 3}, 1, 1}, {{2, 2}, 2, 1}, {{2, 2}, 1, 2}, {{2, 2}, 1, 1},
    {{3, 2}, 1, 2}, {{3, 2}, 3, 1}, {{6, 1}, 4, 1}, {{4, 2}, 2, 2}, {{2, 4}, 2, 2},
    {{2, 4}, 1, 4}, {{4, 2}, 4, 1}, {{2, 2}, 2, 2},
};

// So small that every panel takes many.
constexpr Slots small_slots{3, 160};

Status join(const Cluster& cluster, ThreadNetwork& network, int rank, double limit_s,
            std::unique_ptr<GroupState>* state) {
  return GroupState::join(
      DeviceKind::cpu, cluster.grid, std::make_unique<ThreadTransport>(network, rank), 0,
      "node-" + std::to_string(cluster.node(rank)), {limit_s}, state, small_slots);
}

// A thread for each rank but `absent`.
std::vector<Status> on_all_ranks(const Cluster& cluster, ThreadNetwork& network, double limit_s,
                                 const std::function<Status(int, GroupState&)>& body,
                                 int absent = -1) {
  std::vector<Status> statuses(static_cast<std::size_t>(cluster.grid.ranks()));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < cluster.grid.ranks(); ++rank) {
    if (rank == absent) continue;
    threads.emplace_back([&, rank] {
      std::unique_ptr<GroupState> state;
      Status status = join(cluster, network, rank, limit_s, &state);
      if (status.ok()) status = body(rank, *state);
      statuses[static_cast<std::size_t>(rank)] = status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

void expect_fine(const std::vector<Status>& statuses) {
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message;
}

void check(const Cluster& cluster, DistributedProblem p, int times = 1) {
  SCOPED_TRACE(testing::Message() << p.grid.p << " x " << p.grid.q << ", nodes of "
                                  << cluster.node_p << " x " << cluster.node_q);
  p.nodes = cluster.nodes();
  p.deal();
  ThreadNetwork network(cluster.grid.ranks());
  expect_fine(on_all_ranks(cluster, network, 60, [&](int rank, GroupState& group) {
    Status status;
    for (int i = 0; status.ok() && i < times; ++i) {
      if (i > 0) p.c.deal_own(cluster.grid, rank);
      status = detail::sgemm_distributed(group, rank, test::call_of(p, rank));
    }
    return status.ok() ? group.synchronize(rank) : status;
  }));
  const std::vector<float> found = p.c.collected(p.grid);
  const std::vector<float> want = test::in_the_same_order(p);
  EXPECT_EQ(std::memcmp(found.data(), want.data(), found.size() * sizeof(float)), 0)
      << "other bits than one rank's same order";
}

DistributedProblem in_blocks(const Grid& grid) {
  return {grid,
          {block_distribution(67, 101, grid), Layout::row_major, 1},
          {block_distribution(101, 53, grid), Layout::col_major, 2},
          {block_distribution(67, 53, grid), Layout::row_major, 3},
          Op::none,
          Op::none,
          1.0f,
          0.0f,
          {Math::fp32, 16}};
}

TEST(DistributedNodes, SameBitsAsOneRankInTheSameOrder) {
  for (const Cluster& cluster : clusters) {
    check(cluster, in_blocks(cluster.grid));
    check(cluster, test::odd_problem(cluster.grid), 2);
  }
}

TEST(DistributedNodes, RanksWithoutElementsSendWhatTheyHave) {
  const Cluster cluster{{4, 2}, 2, 1};
  const Grid& grid = cluster.grid;
  check(cluster, {grid,
                  {block_distribution(3, 9, grid), Layout::row_major, 1},
                  {block_distribution(9, 1, grid), Layout::row_major, 2},
                  {block_distribution(3, 1, grid), Layout::row_major, 3},
                  Op::none,
                  Op::none,
                  1.0f,
                  0.0f,
                  {Math::fp32, 4}});
}

// How many bytes each rank receives from other nodes.
std::vector<std::size_t> received(const Cluster& cluster) {
  DistributedProblem p = in_blocks(cluster.grid);
  p.deal();
  ThreadNetwork network(cluster.grid.ranks());
  expect_fine(on_all_ranks(cluster, network, 60, [&](int rank, GroupState& group) {
    return detail::sgemm_distributed(group, rank, test::call_of(p, rank));
  }));
  std::vector<std::size_t> bytes(static_cast<std::size_t>(cluster.grid.ranks()));
  for (const auto& [pair, sent] : network.sent) {
    EXPECT_NE(cluster.node(pair.first), cluster.node(pair.second));
    bytes[static_cast<std::size_t>(pair.second)] += sent;
  }
  return bytes;
}

TEST(DistributedNodes, EveryPieceCrossesTheNetworkOnceANode) {
  // Each node needs of A what it has, and of B the other's half.
  std::vector<std::size_t> bytes = received({{2, 4}, 1, 4});
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}),
            101u * 53u * sizeof(float));
  // Of A the other's half, which goes to two ranks of a row.
  bytes = received({{2, 4}, 2, 2});
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}),
            67u * 101u * sizeof(float));
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t col = 0; col < 4; col += 2) {
      const std::size_t first = 4 * row + col;
      const auto [less, more] = std::minmax(bytes[first], bytes[first + 1]);
      EXPECT_LT(more - less, more / 4) << first;
    }
  }
}

// The messages of a product, against its schedules.
class MessagesCheck {
 public:
  MessagesCheck(const Cluster& cluster, const DistributedProblem& p) : product_(p.product()) {
    product_.nodes = cluster.nodes();
    panel_k_ = p.options.panel_k;
    shape_.along_k = {true, false};
    shape_.most_elements = 13;
  }

  void every_reader_gets_its_panels() const {
    for (int rank = 0; rank < product_.grid.ranks(); ++rank) {
      const auto all = messages_to(product_, product_.nodes.node(rank), panel_k_, shape_);
      for (const distributed::Step& step : make_schedule(product_, rank, panel_k_).steps) {
        for (Factor factor : {Factor::a, Factor::b}) {
          const distributed::Panel& panel = factor == Factor::a ? step.a : step.b;
          std::multiset<Element> want, got;
          for (const distributed::Piece& piece : panel.pieces) {
            if (!product_.nodes.are_one(piece.owner, rank)) add(piece, &want);
          }
          EXPECT_TRUE(want.empty() || step.network >= 0);
          for (const distributed::Message& message : all) {
            if (message.step != step.network || message.factor != factor) continue;
            if (!message.is_read_by(rank)) continue;
            EXPECT_LE(message.piece.elements(), shape_.most_elements);
            EXPECT_EQ(message.from, message.piece.owner);
            EXPECT_TRUE(message.is_read_by(message.to));
            add(message.piece, &got);
          }
          EXPECT_EQ(got, want);
        }
      }
    }
  }

  // What a rank sends to another, it sends in the order in which that one receives.
  void both_ends_have_one_order() const {
    for (int from = 0; from < product_.grid.ranks(); ++from) {
      const auto sent = messages_from(product_, from, panel_k_, shape_);
      for (int to = 0; to < product_.grid.ranks(); ++to) {
        const auto received = messages_to(product_, product_.nodes.node(to), panel_k_, shape_);
        std::vector<int> at_sender, at_receiver;
        for (const distributed::Message& message : sent) {
          if (message.to == to) at_sender.push_back(message.place);
        }
        for (const distributed::Message& message : received) {
          if (message.from == from && message.to == to) at_receiver.push_back(message.place);
        }
        EXPECT_EQ(at_sender, at_receiver) << from << " to " << to;
        EXPECT_TRUE(std::is_sorted(at_sender.begin(), at_sender.end()));
      }
    }
  }

 private:
  using Element = std::array<std::int64_t, 5>;
  static void add(const distributed::Piece& piece, std::multiset<Element>* all) {
    for (std::int64_t line = 0; line < piece.lines; ++line) {
      for (std::int64_t k = 0; k < piece.k; ++k) {
        all->insert({piece.owner, piece.from_line + line, piece.from_k + k, piece.to_line + line,
                     piece.to_k + k});
      }
    }
  }

  distributed::Product product_;
  std::int64_t panel_k_;
  distributed::MessageShape shape_;
};

TEST(DistributedNodes, MessagesAreWhatTheSchedulesNeed) {
  for (const Cluster& cluster : clusters) {
    for (const DistributedProblem& p : {in_blocks(cluster.grid), test::odd_problem(cluster.grid)}) {
      const MessagesCheck messages(cluster, p);
      messages.every_reader_gets_its_panels();
      messages.both_ends_have_one_order();
    }
  }
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

const Cluster two_nodes{{2, 2}, 1, 2};

TEST(DistributedNodes, ARankThatFailsEndsTheCallOnAll) {
  DistributedProblem p = test::odd_problem(two_nodes.grid);
  ThreadNetwork network(4);
  const auto begin = std::chrono::steady_clock::now();
  const auto statuses = on_all_ranks(two_nodes, network, 60, [&](int rank, GroupState& group) {
    group.before_step = [](int its, int step) {
      if (its != 3 || step < 1) return Status::success();
      return Status::failure(StatusCode::out_of_memory, "no memory", "c");
    };
    Status first = detail::sgemm_distributed(group, rank, test::call_of(p, rank));
    // The group is of no more use.
    const Status second = detail::sgemm_distributed(group, rank, test::call_of(p, rank));
    EXPECT_EQ(second.message, first.message);
    return first;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(statuses[rank].message, rank == 3 ? "no memory" : "rank 3 failed: no memory");
    EXPECT_EQ(statuses[rank].argument, rank == 3 ? "c" : "rank");
  }
}

TEST(DistributedNodes, AnExceptionOfTheTransportIsTheReason) {
  DistributedProblem p = test::odd_problem(two_nodes.grid);
  ThreadNetwork network(4);
  network.broken = 1;
  const auto statuses = on_all_ranks(two_nodes, network, 60, [&](int rank, GroupState& group) {
    return detail::sgemm_distributed(group, rank, test::call_of(p, rank));
  });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(statuses[rank].code, StatusCode::device_error);
    EXPECT_TRUE(says(statuses[rank].message, "the transport failed: the cable is cut"))
        << statuses[rank].message;
    EXPECT_EQ(says(statuses[rank].message, "rank 1 failed: "), rank != 1);
  }
}

// Rank 3 is held up until the others have returned.
std::vector<Status> with_rank_3_held_up(bool in_the_call) {
  DistributedProblem p = test::odd_problem(two_nodes.grid);
  ThreadNetwork network(4);
  std::atomic<int> returned = 0;
  const auto hold_up = [&] {
    while (returned < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  return on_all_ranks(two_nodes, network, 1.5, [&](int rank, GroupState& group) {
    group.before_step = [&](int its, int step) {
      if (in_the_call && its == 3 && step == 1) hold_up();
      return Status::success();
    };
    if (!in_the_call && rank == 3) hold_up();
    Status status = detail::sgemm_distributed(group, rank, test::call_of(p, rank));
    ++returned;
    return status;
  });
}

TEST(DistributedNodes, OneThatStopsIsNotWaitedForLongerThanTheLimit) {
  const auto begin = std::chrono::steady_clock::now();
  for (const Status& status : with_rank_3_held_up(true)) {
    EXPECT_TRUE(distributed::is_rank_failure(status)) << status.message;
    EXPECT_TRUE(says(status.message, " within 1.5 s")) << status.message;
  }
  for (const Status& status : with_rank_3_held_up(false)) {
    EXPECT_TRUE(says(status.message, "rank 3 did not come within 1.5 s")) << status.message;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(13));
}

TEST(DistributedNodes, OneWhoseNetworkIsGoneIsNotWaitedForEither) {
  DistributedProblem p = test::odd_problem(two_nodes.grid);
  ThreadNetwork network(4);
  const auto statuses = on_all_ranks(two_nodes, network, 1.5, [&](int rank, GroupState& group) {
    group.before_step = [&](int its, int step) {
      if (its == 3 && step == 1) network.silent = 3;
      return Status::success();
    };
    return detail::sgemm_distributed(group, rank, test::call_of(p, rank));
  });
  for (const Status& status : statuses) {
    EXPECT_TRUE(distributed::is_rank_failure(status)) << status.message;
    EXPECT_TRUE(says(status.message, "within 1.5 s")) << status.message;
  }
}

TEST(DistributedNodes, OneThatNeverJoinsIsNotWaitedFor) {
  for (int absent : {3, 0}) {
    ThreadNetwork network(4);
    const auto statuses = on_all_ranks(
        two_nodes, network, 0.5, [](int, GroupState&) { return Status::success(); }, absent);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == absent) continue;
      const std::string& words = statuses[static_cast<std::size_t>(rank)].message;
      EXPECT_TRUE(says(words, "rank " + std::to_string(absent) + " did not ")) << words;
    }
  }
}

TEST(DistributedNodes, WrongDescriptorsAreNamedWithRankAndNumbersOnAllRanks) {
  const std::function<void(DistributedCall&)> changes[] = {
      [](DistributedCall& c) { c.a.whole.block_rows = 8; },
      [](DistributedCall& c) { c.b.ld = 1; },
  };
  const char* const words[] = {"rank 2: a.whole.block_rows is 8, but that of rank 0 is 7",
                               "rank 2: ldb is 1"};
  for (std::size_t i = 0; i < 2; ++i) {
    DistributedProblem p = test::odd_problem(two_nodes.grid);
    ThreadNetwork network(4);
    const auto statuses = on_all_ranks(two_nodes, network, 60, [&](int rank, GroupState& group) {
      DistributedCall call = test::call_of(p, rank);
      if (rank == 2) changes[i](call);
      Status wrong = detail::sgemm_distributed(group, rank, call);
      // The group goes on.
      const Status right = detail::sgemm_distributed(group, rank, test::call_of(p, rank));
      EXPECT_TRUE(right.ok()) << right.message;
      return wrong;
    });
    for (const Status& status : statuses) {
      EXPECT_EQ(status.code, StatusCode::invalid_argument);
      EXPECT_TRUE(says(status.message, words[i])) << status.message;
    }
  }
}

TEST(DistributedNodes, GroupsThatCannotBeAreRefused) {
  distributed::Nodes nodes;
  const Status corner = make_nodes({2, 2}, {"x", "x", "x", "y"}, &nodes);
  EXPECT_EQ(corner.argument, "node");
  EXPECT_TRUE(says(corner.message, "node x has the ranks 0, 1, 2, which are no rectangle"))
      << corner.message;
  // Of as many ranks as the transport has.
  ThreadNetwork network(2);
  std::unique_ptr<GroupState> state;
  const auto refused = [&](const Grid& grid, const std::string& node) {
    return GroupState::join(DeviceKind::cpu, grid, std::make_unique<ThreadTransport>(network, 0), 0,
                            node, {0.2}, &state);
  };
  EXPECT_EQ(refused({3, 1}, "").argument, "grid");
  EXPECT_EQ(refused({0, 1}, "").argument, "grid");
  EXPECT_EQ(refused({2, 1}, std::string(201, 'x')).argument, "node");
  EXPECT_EQ(GroupState::join(DeviceKind::cpu, {2, 1}, nullptr, 0, "", {}, &state).argument,
            "transport");
  // Grids that differ.
  ThreadNetwork other(2);
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      std::unique_ptr<GroupState> joined;
      const Status status =
          join({rank == 0 ? Grid{2, 1} : Grid{1, 2}, 1, 1}, other, rank, 60, &joined);
      EXPECT_EQ(status.code, StatusCode::invalid_argument);
      EXPECT_TRUE(says(status.message, "rank 1 joins a grid of 1 x 2")) << status.message;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kw
