// Groups over MPI: a program that mpirun starts with some number of ranks, on the CPU. Every rank
// runs every test. Names of nodes are made up, so that what crosses the network crosses MPI.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "distributed/one_order.hpp"
#include "distributed/problems.hpp"
#include "kernelwright/mpi.hpp"

namespace kw {
namespace {

using detail::GroupState;
using distributed::Slots;
using test::DistributedProblem;

int ranks_of_world() {
  int ranks = 0;
  (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}
int rank_of_world() {
  int rank = 0;
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// Rectangles of the grid, of which there are several or one.
std::string node_of(const Grid& grid, int node_p, int node_q) {
  const int rank = rank_of_world();
  return std::to_string(grid.row(rank) / node_p) + "-" + std::to_string(grid.col(rank) / node_q);
}

std::vector<Grid> grids() {
  std::vector<Grid> all;
  for (int p = 1; p <= ranks_of_world(); ++p) {
    if (ranks_of_world() % p == 0) all.push_back({p, ranks_of_world() / p});
  }
  return all;
}

void expect_own_bits(DistributedProblem& p, const std::vector<float>& want) {
  const std::vector<float> found = p.c.collected(p.grid);
  // The other ranks' parts are theirs.
  const float* const whole = p.c.whole.data();
  const std::vector<float>& own = p.c.parts[static_cast<std::size_t>(rank_of_world())];
  std::int64_t compared = 0;
  p.c.each(p.grid, [&](float& element, float& part) {
    if (&part < own.data() || &part >= own.data() + own.size()) return;
    const auto i = static_cast<std::size_t>(&element - whole);
    EXPECT_EQ(std::memcmp(&found[i], &want[i], sizeof(float)), 0) << found[i] << " " << want[i];
    ++compared;
  });
  EXPECT_EQ(compared, local_rows(p.c.d, p.grid, rank_of_world()) *
                          local_cols(p.c.d, p.grid, rank_of_world()));
}

// `small`: so that every panel takes many messages; else as the library has them.
void check(const Grid& grid, int node_p, int node_q, bool small) {
  SCOPED_TRACE(testing::Message() << grid.p << " x " << grid.q << ", nodes of " << node_p << " x "
                                  << node_q << ", rank " << rank_of_world());
  DistributedProblem p = test::odd_problem(grid);
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(grid.ranks()));
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    names.push_back(std::to_string(grid.row(rank) / node_p) + "-" +
                    std::to_string(grid.col(rank) / node_q));
  }
  ASSERT_TRUE(make_nodes(grid, names, &p.nodes).ok());
  std::unique_ptr<GroupState> group;
  const Status joined = GroupState::join(
      DeviceKind::cpu, grid, std::make_unique<MpiTransport>(MPI_COMM_WORLD), 0,
      node_of(grid, node_p, node_q), {60}, &group, small ? Slots{3, 160} : Slots{});
  ASSERT_TRUE(joined.ok()) << joined.message;
  const std::vector<float> want = test::in_the_same_order(p);
  for (int time = 0; time < 2; ++time) {
    p.c.deal(grid);
    const int rank = rank_of_world();
    const Status status = detail::sgemm_distributed(*group, rank, test::call_of(p, rank));
    ASSERT_TRUE(status.ok()) << status.message;
    expect_own_bits(p, want);
  }
}

TEST(OverMpi, SameBitsAsOneRankInTheSameOrder) {
  for (const Grid& grid : grids()) {
    check(grid, 1, 1, true);
    check(grid, grid.p, 1, true);
    check(grid, 1, grid.q, false);
    if (grid.p % 2 == 0) check(grid, grid.p / 2, grid.q, true);
    if (grid.p % 2 == 0 && grid.q % 2 == 0) check(grid, 2, 2, true);
    check(grid, grid.p, grid.q, true);
  }
}

TEST(OverMpi, ThePublicCall) {
  const Grid grid = grids().front();
  const int rank = rank_of_world();
  DistributedProblem p = test::odd_problem(grid);
  Group group = join_mpi_cpu(grid, MPI_COMM_WORLD, {60}, "node-" + std::to_string(rank));
  const detail::DistributedCall c = test::call_of(p, rank);
  sgemm_distributed(group, rank, c.alpha, c.a, c.b, c.beta, c.c, c.options);
  group.synchronize(rank);
  distributed::Nodes& nodes = p.nodes;
  for (int each = 0; each < grid.ranks(); ++each) nodes.of_rank.push_back(each);
  expect_own_bits(p, test::in_the_same_order(p));
}

Group one_node_each(const Grid& grid, double limit_s) {
  return join_mpi_cpu(grid, MPI_COMM_WORLD, {limit_s}, "node-" + std::to_string(rank_of_world()));
}

TEST(OverMpi, ARankThatFailsEndsTheCallOnAll) {
  const Grid grid = grids().back();
  const int rank = rank_of_world(), last = grid.ranks() - 1;
  DistributedProblem p = test::odd_problem(grid);
  Group group = one_node_each(grid, 600);
  GroupState& state = detail::GroupAccess::state(group);
  state.before_step = [&](int its, int step) {
    if (its != last || step < 1) return Status::success();
    return Status::failure(StatusCode::out_of_memory, "no memory", "c");
  };
  const auto begin = std::chrono::steady_clock::now();
  const Status status = detail::sgemm_distributed(state, rank, test::call_of(p, rank));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(status.message,
            rank == last ? "no memory" : "rank " + std::to_string(last) + " failed: no memory");
}

TEST(OverMpi, OneThatStopsIsNotWaitedForLongerThanTheLimit) {
  if (ranks_of_world() != 3) return;  // the same with others
  const Grid grid = grids().back();
  const int rank = rank_of_world(), last = grid.ranks() - 1;
  DistributedProblem p = test::odd_problem(grid);
  Group group = one_node_each(grid, 2);
  GroupState& state = detail::GroupAccess::state(group);
  if (rank == last) std::this_thread::sleep_for(std::chrono::milliseconds(2800));
  const Status status = detail::sgemm_distributed(state, rank, test::call_of(p, rank));
  EXPECT_TRUE(distributed::is_rank_failure(status)) << status.message;
  EXPECT_NE(status.message.find("rank " + std::to_string(last) + " did not come within 2 s"),
            std::string::npos)
      << status.message;
}

TEST(OverMpi, WrongDescriptorsAreNamedOnAllRanks) {
  const Grid grid = grids().front();
  const int rank = rank_of_world();
  DistributedProblem p = test::odd_problem(grid);
  Group group = one_node_each(grid, 60);
  GroupState& state = detail::GroupAccess::state(group);
  detail::DistributedCall call = test::call_of(p, rank);
  if (rank == 1) call.c.whole.block_cols = 3;
  const Status status = detail::sgemm_distributed(state, rank, call);
  EXPECT_EQ(status.code, StatusCode::invalid_argument);
  EXPECT_EQ(status.message,
            "rank 1: c.whole.block_cols is 3, but that of rank 0 is 4: pass the same on all ranks");
  EXPECT_TRUE(detail::sgemm_distributed(state, rank, test::call_of(p, rank)).ok());
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  int threads = 0;
  (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
  testing::InitGoogleTest(&argc, argv);
  // One rank speaks; each that fails ends with another code than 0.
  if (kw::rank_of_world() != 0) {
    testing::TestEventListeners& all = testing::UnitTest::GetInstance()->listeners();
    if (argc < 2) delete all.Release(all.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  (void)MPI_Finalize();
  return failed;
}
