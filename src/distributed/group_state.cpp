// Ranks: their devices, streams, events and buffers.
#include "distributed/group_state.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "text.hpp"

namespace kw::detail {

Status Seat::make_event(Event* event) {
  Status status = transfer_->create_event(event);
  if (status.ok()) events_.push_back(*event);
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
    for (Event* event : {&inputs_ready, &copies_done, &all_done}) {
      if (status.ok()) status = make_event(event);
    }
    for (Slot& slot : slots_) {
      if (status.ok()) status = make_event(&slot.filled);
    }
    return status;
  });
}

Seat::~Seat() {
  if (transfer_ == nullptr) return;
  (void)state().runtime().with_device([&] {
    (void)wait_for_own_streams();
    for (Slot& slot : slots_) {
      if (slot.data != nullptr) state().runtime().release(slot.data);
    }
    for (Event event : events_) transfer_->destroy_event(event);
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

namespace {

Status check_group(const Grid& grid, const std::vector<int>& ordinals, bool one_a_rank,
                   const GroupOptions& options) {
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

}  // namespace

Status GroupState::open(DeviceKind kind, const Grid& grid, const std::vector<int>& ordinals,
                        const GroupOptions& options, std::unique_ptr<GroupState>* state) {
  const bool is_gpu = kind == DeviceKind::cuda || kind == DeviceKind::hip;
  Status status = check_group(grid, ordinals, is_gpu, options);
  if (!status.ok()) return status;
  std::unique_ptr<GroupState> opened(new GroupState(grid, options.time_limit_s));
  try {
    for (int rank = 0; rank < grid.ranks(); ++rank) {
      const int ordinal = ordinals[static_cast<std::size_t>(rank)];
      opened->seats_.push_back(std::make_unique<Seat>(open_context(kind, ordinal), rank));
    }
  } catch (const Error& error) {
    return Status::failure(error.code(), text("rank ", opened->seats_.size(), ": ", error.what()),
                           error.argument());
  }
  for (const std::unique_ptr<Seat>& seat : opened->seats_) {
    status = seat->open(ordinals);
    if (!status.ok()) return status;
  }
  *state = std::move(opened);
  return status;
}

Status GroupState::check_rank(int rank) const {
  if (rank >= 0 && rank < grid_.ranks()) return Status::success();
  return Status::failure(StatusCode::invalid_argument,
                         text("rank is ", rank, ", but the grid is ", grid_.p, " x ", grid_.q,
                              ": pass 0 to ", grid_.ranks() - 1),
                         "rank");
}

Status GroupState::synchronize(int rank) {
  using Clock = std::chrono::steady_clock;
  Seat& its = seat(rank);
  Status status = its.state().runtime().with_device([&] {
    const auto end = Clock::now() + std::chrono::duration<double>(rendezvous_.limit_s());
    Status recorded = its.transfer().record(its.all_done, its.state().stream());
    while (recorded.ok()) {
      bool passed = false;
      recorded = its.transfer().has_passed(its.all_done, &passed);
      if (!recorded.ok() || passed) return recorded;
      recorded = rendezvous_.failure(rank);
      if (!recorded.ok()) return recorded;
      if (Clock::now() > end) {
        return distributed::rank_failure(
            text("the work of rank ", rank, " did not end within ", rendezvous_.limit_s(),
                 " s: raise GroupOptions::time_limit_s if it takes longer"));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return recorded;
  });
  if (!status.ok()) rendezvous_.abort(rank, status);
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
