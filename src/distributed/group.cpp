// The public face of groups and of their products.
#include <algorithm>
#include <thread>

#include "distributed/group_state.hpp"
#include "text.hpp"

namespace kw {

using detail::DistributedCall;
using detail::GroupState;
using detail::most_ranks;
using detail::throw_unless_ok;

namespace {

std::int64_t divided(std::int64_t length, int ranks) {
  return std::max<std::int64_t>(1, (length + ranks - 1) / ranks);
}

std::vector<int> numbered(const Grid& grid) {
  std::vector<int> ordinals;
  if (grid.p < 1 || grid.q < 1 || grid.p > most_ranks || grid.q > most_ranks / grid.p) {
    return ordinals;  // refused later
  }
  for (int rank = 0; rank < grid.ranks(); ++rank) ordinals.push_back(rank);
  return ordinals;
}

DeviceKind kind_of_gpus() {
  for (DeviceKind kind : {DeviceKind::cuda, DeviceKind::hip}) {
    const Backend* backend = find_backend(kind);
    if (backend != nullptr && backend->device_count() > 0) return kind;
  }
  (void)Context::gpu();  // whose error says why there is none
  return DeviceKind::cuda;
}

Group open_group(DeviceKind kind, const Grid& grid, const std::vector<int>& ordinals,
                 const GroupOptions& options) {
  std::unique_ptr<GroupState> state;
  throw_unless_ok(GroupState::open(kind, grid, ordinals, options, &state));
  return detail::GroupAccess::make(std::move(state));
}

Group join_group(DeviceKind kind, const Grid& grid, int rank, const std::string& name, int ordinal,
                 const GroupOptions& options) {
  std::unique_ptr<GroupState> state;
  throw_unless_ok(GroupState::join(kind, grid, rank, name, ordinal, options, &state));
  return detail::GroupAccess::make(std::move(state));
}

Group join_nodes(DeviceKind kind, const Grid& grid, std::unique_ptr<Transport> transport,
                 int ordinal, const GroupOptions& options, const std::string& node) {
  std::unique_ptr<GroupState> state;
  throw_unless_ok(
      GroupState::join(kind, grid, std::move(transport), ordinal, node, options, &state));
  return detail::GroupAccess::make(std::move(state));
}

template <class T>
void check_entries(const Group& group, const std::vector<DistributedMatrix<T>>& matrices,
                   const char* name) {
  const auto ranks = static_cast<std::size_t>(group.grid().ranks());
  if (matrices.size() == ranks) return;
  throw Error(StatusCode::invalid_argument, name,
              text(name, " has ", matrices.size(), " entries, but the grid has ", ranks,
                   " ranks: pass one entry a rank"));
}

}  // namespace

namespace detail {

GroupState& GroupAccess::state(const Group& group) {
  if (group.state_ == nullptr) {
    throw Error(StatusCode::invalid_argument, "group",
                "group was moved from: use the one that it was moved to");
  }
  return *group.state_;
}

}  // namespace detail

using detail::GroupAccess;

Distribution block_distribution(std::int64_t rows, std::int64_t cols, const Grid& grid) {
  return {rows, cols, divided(rows, std::max(1, grid.p)), divided(cols, std::max(1, grid.q)), 0, 0};
}

Distribution scalapack_distribution(const int (&descriptor)[9]) {
  constexpr int dense = 1;
  if (descriptor[0] != dense) {
    throw Error(StatusCode::invalid_argument, "descriptor",
                text("descriptor[0], DTYPE_, is ", descriptor[0],
                     ": pass that of a dense matrix, 1, as DESCINIT makes it"));
  }
  return {descriptor[2], descriptor[3], descriptor[4], descriptor[5], descriptor[6], descriptor[7]};
}

std::int64_t local_rows(const Distribution& matrix, const Grid& grid, int rank) {
  return distributed::Dealt{matrix.rows, matrix.block_rows, matrix.first_row, grid.p}.count(
      grid.row(rank));
}

std::int64_t local_cols(const Distribution& matrix, const Grid& grid, int rank) {
  return distributed::Dealt{matrix.cols, matrix.block_cols, matrix.first_col, grid.q}.count(
      grid.col(rank));
}

Group::Group(std::unique_ptr<GroupState> state) noexcept : state_(std::move(state)) {}
Group::Group(Group&& other) noexcept = default;
Group& Group::operator=(Group&& other) noexcept = default;
Group::~Group() = default;

Group Group::cpu(const Grid& grid, const GroupOptions& options) {
  const std::vector<int> all_on_one(numbered(grid).size(), 0);
  return open_group(DeviceKind::cpu, grid, all_on_one, options);
}

Group Group::gpus(const Grid& grid, const std::vector<int>& ordinals, const GroupOptions& options) {
  return open_group(kind_of_gpus(), grid, ordinals.empty() ? numbered(grid) : ordinals, options);
}

Group Group::join_cpu(const Grid& grid, int rank, const std::string& name,
                      const GroupOptions& options) {
  return join_group(DeviceKind::cpu, grid, rank, name, 0, options);
}

Group Group::join_gpu(const Grid& grid, int rank, const std::string& name, int ordinal,
                      const GroupOptions& options) {
  return join_group(kind_of_gpus(), grid, rank, name, ordinal, options);
}

Group Group::join_cpu(const Grid& grid, std::unique_ptr<Transport> transport,
                      const GroupOptions& options, const std::string& node) {
  return join_nodes(DeviceKind::cpu, grid, std::move(transport), 0, options, node);
}

Group Group::join_gpu(const Grid& grid, std::unique_ptr<Transport> transport, int ordinal,
                      const GroupOptions& options, const std::string& node) {
  return join_nodes(kind_of_gpus(), grid, std::move(transport), ordinal, options, node);
}

const Grid& Group::grid() const { return GroupAccess::state(*this).grid(); }

Context& Group::context(int rank) {
  GroupState& state = GroupAccess::state(*this);
  throw_unless_ok(state.check_rank(rank));
  return state.seat(rank).context();
}

void Group::synchronize(int rank) {
  GroupState& state = GroupAccess::state(*this);
  throw_unless_ok(state.check_rank(rank));
  throw_unless_ok(state.synchronize(rank));
}

void Group::close_memory(int rank) {
  GroupState& state = GroupAccess::state(*this);
  throw_unless_ok(state.check_rank(rank));
  throw_unless_ok(state.close_memory(rank));
}

void Group::abort(int rank, const std::string& reason) {
  GroupState& state = GroupAccess::state(*this);
  throw_unless_ok(state.check_rank(rank));
  state.meeting().abort(rank, distributed::rank_failure(reason));
}

void sgemm_distributed(Group& group, int rank, float alpha, const DistributedMatrix<const float>& a,
                       const DistributedMatrix<const float>& b, float beta,
                       const DistributedMatrix<float>& c, const DistributedOptions& options) {
  throw_unless_ok(
      detail::sgemm_distributed(GroupAccess::state(group), rank, {alpha, beta, a, b, c, options}));
}

void sgemm_distributed(Group& group, float alpha,
                       const std::vector<DistributedMatrix<const float>>& a,
                       const std::vector<DistributedMatrix<const float>>& b, float beta,
                       const std::vector<DistributedMatrix<float>>& c,
                       const DistributedOptions& options) {
  check_entries(group, a, "a");
  check_entries(group, b, "b");
  check_entries(group, c, "c");
  GroupState& state = GroupAccess::state(group);
  if (state.is_of_processes()) {
    throw Error(StatusCode::invalid_argument, "group",
                "the group's ranks are processes: each calls with its own rank");
  }
  std::vector<Status> statuses(a.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] = detail::sgemm_distributed(state, static_cast<int>(rank),
                                                 {alpha, beta, a[rank], b[rank], c[rank], options});
    });
  }
  for (std::thread& thread : threads) thread.join();
  throw_unless_ok(detail::first_cause(statuses));
}

}  // namespace kw
