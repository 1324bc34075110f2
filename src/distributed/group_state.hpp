// The ranks of a group: a context, a stream of copies, events and buffers each; where they meet;
// and what they pass to a call. Where each rank is a process, a group has the seat of its own rank
// alone, and of the others what they passed on when they joined. Where ranks span nodes, those of
// the own node are as processes of one host are, and to the others there is a link.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/context_state.hpp"
#include "distributed/meeting.hpp"
#include "distributed/node_link.hpp"
#include "distributed/nodes_meeting.hpp"
#include "distributed/process_meeting.hpp"
#include "distributed/schedule.hpp"
#include "distributed/timeline.hpp"
#include "gpu/transfer.hpp"
#include "kernelwright/distributed.hpp"

namespace kw::detail {

constexpr int most_ranks = 4096;

// What a rank passes to a call.
struct DistributedCall {
  float alpha = 1, beta = 0;
  DistributedMatrix<const float> a, b;
  DistributedMatrix<float> c;
  DistributedOptions options;

  distributed::Product product(const Grid& grid, const distributed::Nodes& nodes) const {
    return {grid, a.whole, b.whole, c.whole, a.op, b.op, nodes};
  }
};

// What the ranks pass each other at the begin of a call; memory only where they are processes.
struct CallMessage {
  DistributedCall call;
  SharedMemory a = {}, b = {};
  unsigned number = 0;  // of the rank's calls
};

// For measurements: a call that only copies, or only multiplies what lies in the buffers; when its
// parts began and ended.
struct CallParts {
  bool copies = true, products = true;
  distributed::Timeline* timeline = nullptr;
};

// The place of one rank; only its own thread changes it.
class Seat {
 public:
  Seat(Context context, int rank) : context_(std::move(context)), rank_(rank) {}
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat();

  // `peers` are the devices of this process's ranks.
  Status open(const std::vector<int>& peers);
  // Whether all is done that was put on the streams, or is so within the limit.
  bool becomes_idle(double limit_s);

  Context& context() { return context_; }
  ContextState& state() { return ContextAccess::state(context_); }
  Transfer& transfer() { return *transfer_; }
  Stream channel() const { return channel_; }
  int rank() const { return rank_; }

  // One of two buffers of an operand, at least so large. A larger one takes the place of the one
  // before once nothing uses that.
  enum class Operand { a = 0, b = 1 };
  Status reserve(Operand operand, int buffer, std::size_t bytes);
  float* buffer(Operand operand, int number) const {
    return static_cast<float*>(slot(operand, number).data);
  }
  Event filled(Operand operand, int number) const { return slot(operand, number).filled; }

  // The end of the product of a step.
  Status product_event(int step, Event* event);

  Event signals[distributed::signal_count];  // for the ranks of this process
  Event all_done;

 private:
  struct Slot {
    void* data = nullptr;
    std::size_t bytes = 0;
    Event filled;
  };
  const Slot& slot(Operand operand, int number) const {
    return slots_[2 * static_cast<int>(operand) + number];
  }
  Status wait_for_own_streams();

  Context context_;
  int rank_;
  std::unique_ptr<Transfer> transfer_;
  Stream channel_;
  bool has_channel_ = false;
  Slot slots_[4];
  std::vector<Event> products_;
  std::vector<Event> made_;  // all that were
  Status make_event(Event* event);
};

class GroupState {
 public:
  // `ordinals` are devices of the kind, one a rank.
  static Status open(DeviceKind kind, const Grid& grid, const std::vector<int>& ordinals,
                     const GroupOptions& options, std::unique_ptr<GroupState>* state);
  // This process is one rank.
  static Status join(DeviceKind kind, const Grid& grid, int rank, const std::string& name,
                     int ordinal, const GroupOptions& options, std::unique_ptr<GroupState>* state);
  // This process is the rank that the transport says; `node` or the host's name says which ranks
  // share a node.
  static Status join(DeviceKind kind, const Grid& grid, std::unique_ptr<Transport> transport,
                     int ordinal, const std::string& node, const GroupOptions& options,
                     std::unique_ptr<GroupState>* state, distributed::Slots slots = {});
  ~GroupState();
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  const Grid& grid() const { return grid_; }
  bool is_of_processes() const { return own_rank_ >= 0; }
  int first_rank() const { return is_of_processes() ? own_rank_ : 0; }
  // Of a rank of this process.
  Seat& seat(int rank) { return *seats_[static_cast<std::size_t>(rank)]; }
  distributed::Meeting& meeting() { return *meeting_; }
  const distributed::Nodes& nodes() const { return nodes_; }
  // To ranks of other nodes; null where there are none.
  distributed::NodeLink* link() { return link_.get(); }

  // Whether it is a rank of this process.
  Status check_rank(int rank) const;
  Status synchronize(int rank);
  Status close_memory(int rank);

  // The number of the rank's next call, which the others learn by its message.
  unsigned begin_call();
  // The signal stands for what is on the rank's stream now.
  Status signal(int rank, distributed::Signal which, Stream stream, unsigned call);
  // What follows on a stream of `rank` waits for another rank's signal of its call, which has been
  // put on a stream before. One of another node has sent what it sends by then.
  Status wait_for(int rank, Stream stream, int other, distributed::Signal which, unsigned call);

  // For tests: what happens to a rank before its step; a failure or an exception ends the rank.
  std::function<Status(int rank, int step)> before_step;

 private:
  GroupState(const Grid& grid, int own_rank);
  Status take_seat(DeviceKind kind, int ordinal);
  Status find_node(DeviceKind kind, const std::string& name, distributed::NodesMeeting& meeting,
                   distributed::Slots slots);

  Grid grid_;
  int own_rank_;  // -1: all are of this process
  std::unique_ptr<distributed::Meeting> meeting_;
  // The meeting, or that of the own node, where ranks are processes.
  distributed::ProcessMeeting* processes_ = nullptr;
  distributed::Nodes nodes_;
  std::vector<std::unique_ptr<Seat>> seats_;  // gone before the meeting
  std::unique_ptr<distributed::NodeLink> link_;
};

struct GroupAccess {
  static Group make(std::unique_ptr<GroupState> state) { return Group(std::move(state)); }
  static GroupState& state(const Group& group);
};

Status check_group(const Grid& grid, const GroupOptions& options);
// What a rank that joins tells the others, and whether it is what rank 0 told.
struct JoinMessage {
  int p, q;
  DeviceKind kind;
};
Status check_joins_same(int rank, const JoinMessage& its, const JoinMessage& first);
// The whole call of one rank (run_rank.cpp). Whatever fails, the other ranks learn of it.
Status sgemm_distributed(GroupState& group, int rank, const DistributedCall& call,
                         const CallParts& parts = {});
// The first failure among `statuses`, by preference one that is no consequence of another rank's.
Status first_cause(const std::vector<Status>& statuses);

}  // namespace kw::detail
