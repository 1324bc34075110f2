// Ranks: their devices, streams, events and buffers.
#include "distributed/group_state.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "distributed/rendezvous.hpp"
#include "text.hpp"

namespace kw::detail {

Status Seat::make_event(Event* event) {
  Status status = transfer_->create_event(event);
  if (status.ok()) made_.push_back(*event);
  return status;
}

Status Seat::open(const std::vector<int>& peers) {
  return state().runtime().with_device([&] {
    transfer_ = state().runtime().open_transfer();
    Status status = transfer_->create_channel(&channel_);
    has_channel_ = status.ok();
    for (int peer : peers) {
      if (status.ok()) status = transfer_->open_peer(peer);
    }
    for (Event& event : signals) {
      if (status.ok()) status = make_event(&event);
    }
    if (status.ok()) status = make_event(&all_done);
    for (Slot& slot : slots_) {
      if (status.ok()) status = make_event(&slot.filled);
    }
    return status;
  });
}

bool Seat::becomes_idle(double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
  bool passed = false;
  const auto is_done = [&](Stream stream) {
    Status status = transfer_->record(all_done, stream);
    passed = false;
    while (status.ok() && !passed && Clock::now() < end) {
      status = transfer_->has_passed(all_done, &passed);
      if (!passed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status;
  };
  (void)state().runtime().with_device([&] {
    Status status = is_done(state().stream());
    return passed ? is_done(channel_) : status;
  });
  return passed;
}

Seat::~Seat() {
  if (transfer_ == nullptr) return;
  (void)state().runtime().with_device([&] {
    (void)wait_for_own_streams();
    transfer_->close_memory();
    transfer_->close_counters();
    for (Slot& slot : slots_) {
      if (slot.data != nullptr) state().runtime().release(slot.data);
    }
    for (Event event : made_) transfer_->destroy_event(event);
    if (has_channel_) transfer_->destroy_channel(channel_);
    return Status::success();
  });
}

Status Seat::wait_for_own_streams() {
  Status copied = has_channel_ ? state().runtime().synchronize(channel_) : Status::success();
  Status multiplied = state().synchronize();
  return copied.ok() ? multiplied : copied;
}

Status Seat::reserve(Operand operand, int buffer, std::size_t bytes) {
  Slot& slot = slots_[2 * static_cast<int>(operand) + buffer];
  if (slot.bytes >= bytes) return Status::success();
  if (slot.data != nullptr) {
    Status idle = wait_for_own_streams();
    if (!idle.ok()) return idle;
    state().runtime().release(slot.data);
    slot.data = nullptr;
    slot.bytes = 0;
  }
  Status status = state().runtime().allocate(&slot.data, bytes);
  if (status.ok()) slot.bytes = bytes;
  return status;
}

Status Seat::product_event(int step, Event* event) {
  while (products_.size() <= static_cast<std::size_t>(step)) {
    Event made;
    Status status = make_event(&made);
    if (!status.ok()) return status;
    products_.push_back(made);
  }
  *event = products_[static_cast<std::size_t>(step)];
  return Status::success();
}

Status check_group(const Grid& grid, const GroupOptions& options) {
  constexpr int most = most_ranks;
  if (grid.p < 1 || grid.q < 1 || grid.p > most || grid.q > most / grid.p) {
    return Status::failure(
        StatusCode::invalid_argument,
        text("grid is ", grid.p, " x ", grid.q, ": pass 1 or more each, ", most, " ranks at most"),
        "grid");
  }
  if (!(options.time_limit_s > 0 && options.time_limit_s <= 1e6)) {
    return Status::failure(
        StatusCode::invalid_argument,
        text("time_limit_s is ", options.time_limit_s, ": pass more than 0, and 10^6 at most"),
        "options.time_limit_s");
  }
  return Status::success();
}

namespace {

Status check_ordinals(const Grid& grid, const std::vector<int>& ordinals, bool one_a_rank) {
  if (static_cast<int>(ordinals.size()) != grid.ranks()) {
    return Status::failure(StatusCode::invalid_argument,
                           text("ordinals has ", ordinals.size(), " entries, but the grid is ",
                                grid.p, " x ", grid.q, ": name one GPU a rank, or none"),
                           "ordinals");
  }
  std::vector<int> sorted = ordinals;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (one_a_rank && twice != sorted.end()) {
    return Status::failure(
        StatusCode::invalid_argument,
        text("ordinals names GPU ", *twice, " twice: name another for each rank"), "ordinals");
  }
  return Status::success();
}

Status check_in_grid(const Grid& grid, int rank) {
  if (rank >= 0 && rank < grid.ranks()) return Status::success();
  return Status::failure(StatusCode::invalid_argument,
                         text("rank is ", rank, ", but the grid is ", grid.p, " x ", grid.q,
                              ": pass 0 to ", grid.ranks() - 1),
                         "rank");
}

Status make_seat(DeviceKind kind, int ordinal, int rank, std::unique_ptr<Seat>* seat) {
  try {
    *seat = std::make_unique<Seat>(open_context(kind, ordinal), rank);
    return Status::success();
  } catch (const Error& error) {
    return Status::failure(error.code(), text("rank ", rank, ": ", error.what()), error.argument());
  }
}

// What a process passes on when it joins.
}  // namespace

Status check_joins_same(int rank, const JoinMessage& its, const JoinMessage& first) {
  if (its.p == first.p && its.q == first.q && its.kind == first.kind) return Status::success();
  return Status::failure(
      StatusCode::invalid_argument,
      text("rank ", rank, " joins a grid of ", its.p, " x ", its.q, " of ", to_string(its.kind),
           " devices, rank 0 one of ", first.p, " x ", first.q, " of ", to_string(first.kind),
           ": pass the same on all ranks"),
      "grid");
}

GroupState::GroupState(const Grid& grid, int own_rank)
    : grid_(grid), own_rank_(own_rank), seats_(static_cast<std::size_t>(grid.ranks())) {}

// After a failure the streams wait for no other rank. Where the device does not end what it does,
// to free anything would wait for it.
GroupState::~GroupState() {
  if (!is_of_processes()) return;
  std::unique_ptr<Seat>& own = seats_[static_cast<std::size_t>(own_rank_)];
  if (own != nullptr && processes_ != nullptr && !meeting_->failure(own_rank_).ok() &&
      !own->becomes_idle(processes_->limit_s())) {
    (void)link_.release();
    (void)own.release();
    processes_->keep_memory();
  }
}

Status GroupState::open(DeviceKind kind, const Grid& grid, const std::vector<int>& ordinals,
                        const GroupOptions& options, std::unique_ptr<GroupState>* state) {
  const bool is_gpu = kind == DeviceKind::cuda || kind == DeviceKind::hip;
  Status status = check_group(grid, options);
  if (status.ok()) status = check_ordinals(grid, ordinals, is_gpu);
  if (!status.ok()) return status;
  std::unique_ptr<GroupState> opened(new GroupState(grid, -1));
  opened->meeting_ = std::make_unique<distributed::Rendezvous>(grid.ranks(), options.time_limit_s);
  for (int rank = 0; status.ok() && rank < grid.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    status = make_seat(kind, ordinals[r], rank, &opened->seats_[r]);
  }
  for (int rank = 0; status.ok() && rank < grid.ranks(); ++rank) {
    status = opened->seat(rank).open(ordinals);
  }
  if (status.ok()) *state = std::move(opened);
  return status;
}

Status GroupState::join(DeviceKind kind, const Grid& grid, int rank, const std::string& name,
                        int ordinal, const GroupOptions& options,
                        std::unique_ptr<GroupState>* state) {
  Status status = check_group(grid, options);
  if (status.ok()) status = check_in_grid(grid, rank);
  if (!status.ok()) return status;
  std::unique_ptr<GroupState> joined(new GroupState(grid, rank));
  std::unique_ptr<distributed::ProcessMeeting> meeting;
  status =
      distributed::ProcessMeeting::join(name, grid.ranks(), rank, options.time_limit_s, &meeting);
  if (!status.ok()) return status;
  distributed::ProcessMeeting& its = *meeting;
  joined->meeting_ = std::move(meeting);
  joined->processes_ = &its;
  status = joined->take_seat(kind, ordinal);
  if (status.ok()) {
    its.all_have_come();
    *state = std::move(joined);
  } else {
    its.abort(rank, status);
  }
  return status;
}

Status GroupState::take_seat(DeviceKind kind, int ordinal) {
  std::unique_ptr<Seat>& own = seats_[static_cast<std::size_t>(own_rank_)];
  const JoinMessage message{grid_.p, grid_.q, kind};
  Status status = make_seat(kind, ordinal, own_rank_, &own);
  if (status.ok()) status = own->open({ordinal});
  if (status.ok()) {
    status = own->transfer().open_counters(processes_->memory(), processes_->memory_bytes());
  }
  std::vector<JoinMessage> all;
  if (status.ok()) status = exchange(*meeting_, own_rank_, message, &all);
  for (int rank = 0; status.ok() && rank < grid_.ranks(); ++rank) {
    status = check_joins_same(rank, all[static_cast<std::size_t>(rank)], all[0]);
  }
  return status;
}

Status GroupState::check_rank(int rank) const {
  Status status = check_in_grid(grid_, rank);
  if (!status.ok() || !is_of_processes() || rank == own_rank_) return status;
  return Status::failure(
      StatusCode::invalid_argument,
      text("rank ", rank, " is another process's: this one has rank ", own_rank_), "rank");
}

unsigned GroupState::begin_call() { return processes_ == nullptr ? 0 : processes_->begin_call(); }

Status GroupState::signal(int rank, distributed::Signal which, Stream stream, unsigned call) {
  Seat& its = seat(rank);
  Status status = its.transfer().record(its.signals[static_cast<int>(which)], stream);
  if (!status.ok() || processes_ == nullptr) return status;
  return its.transfer().set(stream, processes_->signal(nodes_.place(rank), which), call);
}

Status GroupState::wait_for(int rank, Stream stream, int other, distributed::Signal which,
                            unsigned call) {
  Transfer& transfer = seat(rank).transfer();
  if (!nodes_.are_one(rank, other)) return Status::success();
  if (processes_ == nullptr || other == rank) {
    return transfer.wait(stream, seat(other).signals[static_cast<int>(which)]);
  }
  return transfer.wait(stream, processes_->signal(nodes_.place(other), which), call);
}

Status GroupState::close_memory(int rank) {
  Seat& its = seat(rank);
  return its.state().runtime().with_device([&] {
    its.transfer().close_memory();
    return Status::success();
  });
}

Status GroupState::synchronize(int rank) {
  using Clock = std::chrono::steady_clock;
  Seat& its = seat(rank);
  Status status = its.state().runtime().with_device([&] {
    const auto end = Clock::now() + std::chrono::duration<double>(meeting_->limit_s());
    Status recorded = its.transfer().record(its.all_done, its.state().stream());
    while (recorded.ok()) {
      bool passed = false;
      recorded = its.transfer().has_passed(its.all_done, &passed);
      if (!recorded.ok() || passed) return recorded;
      recorded = meeting_->failure(rank);
      if (!recorded.ok()) return recorded;
      if (Clock::now() > end) {
        return distributed::rank_failure(
            text("the work of rank ", rank, " did not end within ", meeting_->limit_s(),
                 " s: raise GroupOptions::time_limit_s if it takes longer"));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return recorded;
  });
  if (!status.ok()) meeting_->abort(rank, status);
  return status;
}

Status first_cause(const std::vector<Status>& statuses) {
  Status found;
  for (const Status& status : statuses) {
    if (status.ok()) continue;
    if (found.ok()) found = status;
    if (!distributed::is_rank_failure(status)) return status;
  }
  return found;
}

}  // namespace kw::detail
