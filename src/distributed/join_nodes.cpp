// A group whose ranks reach each other by a transport: who shares a node, and what they share.
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "distributed/group_state.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

constexpr unsigned current_version = 1;  // of what ranks of different nodes pass each other
constexpr std::size_t most_name = 200;

struct NodeMessage {
  unsigned version;
  JoinMessage join;
  int process;
  std::int64_t time;
  int slot_count;
  std::size_t slot_bytes;
  char name[most_name + 1];
};

Status check_transport(const Transport& transport, const Grid& grid) {
  const int rank = transport.rank(), ranks = transport.ranks();
  if (ranks == grid.ranks() && rank >= 0 && rank < ranks) return Status::success();
  return Status::failure(
      StatusCode::invalid_argument,
      text("the transport has ", ranks, " ranks, of which this is ", rank, ", but the grid is ",
           grid.p, " x ", grid.q, ": pass a grid of as many ranks"),
      "grid");
}

Status check_node_name(const std::string& name) {
  if (name.size() <= most_name) return Status::success();
  return Status::failure(StatusCode::invalid_argument,
                         text("node has ", name.size(), " letters: pass ", most_name, " at most"),
                         "node");
}

std::string host_name() {
  char name[256] = {};
  (void)gethostname(name, sizeof(name) - 1);
  return std::string(name).substr(0, most_name);
}

Status check_same(const std::vector<NodeMessage>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const NodeMessage &its = all[rank], &first = all[0];
    if (its.version != first.version || its.slot_count != first.slot_count ||
        its.slot_bytes != first.slot_bytes) {
      return Status::failure(StatusCode::invalid_argument,
                             text("rank ", rank,
                                  " has another version of this library than rank 0: use one on "
                                  "all nodes"),
                             "transport");
    }
    Status status = check_joins_same(static_cast<int>(rank), its.join, first.join);
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace

// Ranks of a node meet in a file of its own, whose name all can tell from what rank 0 passes on.
Status GroupState::find_node(DeviceKind kind, const std::string& name,
                             distributed::NodesMeeting& meeting, distributed::Slots slots) {
  NodeMessage own = {};
  own.version = current_version;
  own.join = {grid_.p, grid_.q, kind};
  own.process = getpid();
  own.time = std::chrono::system_clock::now().time_since_epoch().count();
  own.slot_count = slots.count;
  own.slot_bytes = slots.bytes;
  std::memcpy(own.name, name.data(), name.size());
  std::vector<NodeMessage> all;
  Status status = exchange(meeting, own_rank_, own, &all);
  if (status.ok()) status = check_same(all);
  if (!status.ok()) return status;
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const NodeMessage& its : all) names.emplace_back(its.name);
  distributed::Nodes nodes;
  status = distributed::make_nodes(grid_, names, &nodes);
  if (!status.ok()) return status;
  const int node = nodes.node(own_rank_);
  const std::vector<int> ranks = nodes.ranks(node);
  const std::string file = text("nodes-", all[0].process, "-", all[0].time, "-", node);
  std::unique_ptr<distributed::ProcessMeeting> its;
  status = distributed::ProcessMeeting::join(file, static_cast<int>(ranks.size()),
                                             nodes.place(own_rank_), meeting.limit_s(), &its,
                                             nodes.are_several() ? slots.room() : 0);
  if (!status.ok()) return status;
  processes_ = its.get();
  nodes_ = nodes;
  meeting.join_node(std::move(nodes), std::move(its));
  return status;
}

Status GroupState::join(DeviceKind kind, const Grid& grid, std::unique_ptr<Transport> transport,
                        int ordinal, const std::string& node, const GroupOptions& options,
                        std::unique_ptr<GroupState>* state, distributed::Slots slots) {
  if (transport == nullptr) {
    return Status::failure(StatusCode::invalid_argument, "transport is null", "transport");
  }
  const int rank = transport->rank();
  auto made =
      std::make_unique<distributed::NodesMeeting>(std::move(transport), options.time_limit_s);
  distributed::NodesMeeting& meeting = *made;
  Status status = check_group(grid, options);
  if (status.ok()) status = check_transport(meeting.transport(), grid);
  const std::string name = node.empty() ? host_name() : node;
  if (status.ok()) status = check_node_name(name);
  std::unique_ptr<GroupState> joined;
  if (status.ok()) {
    joined.reset(new GroupState(grid, rank));
    joined->meeting_ = std::move(made);
    status = joined->find_node(kind, name, meeting, slots);
  }
  if (status.ok()) status = joined->take_seat(kind, ordinal);
  if (status.ok() && joined->nodes_.are_several()) {
    Seat& seat = joined->seat(rank);
    joined->link_ = std::make_unique<distributed::NodeLink>(meeting, slots);
    status =
        seat.state().runtime().with_device([&] { return joined->link_->open(seat.transfer()); });
  }
  // None goes on before all have come so far.
  if (status.ok()) status = meeting.arrive(rank);
  if (status.ok()) {
    joined->processes_->all_have_come();
    *state = std::move(joined);
  } else {
    meeting.abort(rank, status);
  }
  return status;
}

}  // namespace kw::detail
