// Messages and notices over a transport, waited for with a limit.
#include "distributed/nodes_meeting.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include "text.hpp"

namespace kw::distributed {

namespace {

// Ranks other than 0 wait so much longer, so that it is rank 0 who says which ones are missing.
constexpr double grace_of_others_s = 0.25;

}  // namespace

NodesMeeting::NodesMeeting(std::unique_ptr<Transport> transport, double limit_s)
    : Meeting(transport->ranks(), limit_s), transport_(std::move(transport)) {}

// Memory that the transport may still use stays to the process's end.
NodesMeeting::~NodesMeeting() {
  if (failed_rank_ != nobody) transport_->abandon();
  bool is_free = cancel_pending();
  for (int telling : tellings_) {
    bool done = false;
    if (!is_done(telling, &done).ok() || (!done && !transport_->cancel(telling))) is_free = false;
  }
  if (is_free) return;
  (void)messages_.release();
  (void)told_.release();
}

template <class Work>
Status NodesMeeting::guarded(const Work& work) {
  try {
    work();
    return Status::success();
  } catch (const Error& error) {
    return Status::failure(error.code(), error.what(), error.argument());
  } catch (const std::exception& error) {
    return Status::failure(StatusCode::device_error, text("the transport failed: ", error.what()));
  }
}

Status NodesMeeting::send(int to, const void* bytes_of, std::size_t bytes, int* request) {
  return guarded([&] { *request = transport_->send(to, data, bytes_of, bytes); });
}

Status NodesMeeting::receive(int from, void* bytes_of, std::size_t bytes, int* request) {
  return guarded([&] { *request = transport_->receive(from, data, bytes_of, bytes); });
}

Status NodesMeeting::is_done(int request, bool* done) {
  return guarded([&] { *done = transport_->is_done(request); });
}

void NodesMeeting::join_node(Nodes nodes, std::unique_ptr<ProcessMeeting> node) {
  nodes_ = std::move(nodes);
  node_ = std::move(node);
  node_->call_ranks(nodes_.ranks(nodes_.node(transport_->rank())));
}

Status NodesMeeting::wait(int rank, const std::function<Status(bool*, bool*)>& look,
                          const std::function<Status()>& late, double grace_s) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  while (true) {
    bool is_over = false, moved = false;
    Status status = look(&is_over, &moved);
    if (!status.ok() || is_over) return status;
    if (moved) {
      last = Clock::now();
      continue;
    }
    status = failure(rank);
    if (!status.ok()) return status;
    const auto idle = Clock::now() - last;
    if (idle > std::chrono::duration<double>(limit_s() + grace_s)) {
      abort(somebody_late, late());
      return known(rank);
    }
    // A transport may move its bytes only where it is called: whoever sleeps holds a message up.
    // But others may need the processor to get on.
    if (idle < std::chrono::milliseconds(5)) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

Status NodesMeeting::wait_for_all(int rank, const std::function<Status()>& late, double grace_s) {
  return wait(
      rank,
      [&](bool* is_over, bool* moved) {
        for (std::size_t i = 0; i < pending_.size();) {
          bool done = false;
          Status looked = is_done(pending_[i].request, &done);
          if (!looked.ok()) return looked;
          if (done) {
            pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            ++i;
          }
        }
        // A rank that comes gives the others no more time.
        *moved = false;
        *is_over = pending_.empty();
        return Status::success();
      },
      late, grace_s);
}

bool NodesMeeting::cancel_pending() {
  bool all = true;
  for (const Pending& each : pending_) all = transport_->cancel(each.request) && all;
  if (all) pending_.clear();
  return all;
}

// Of rank 0.
Status NodesMeeting::collect(std::size_t bytes) {
  for (int other = 1; other < ranks(); ++other) {
    int request = 0;
    Status status = guarded([&] {
      request = transport_->receive(
          other, meetings, messages_->data() + bytes * static_cast<std::size_t>(other), bytes);
    });
    if (!status.ok()) return status;
    pending_.push_back({request, other});
  }
  return wait_for_all(
      0,
      [&] {
        std::vector<int> missing;
        for (const Pending& each : pending_) missing.push_back(each.rank);
        return late_ranks(missing, limit_s());
      },
      0);
}

// A binomial tree: a rank has the messages from the one without its lowest bit, and sends them to
// those that have one lower bit more.
Status NodesMeeting::pass_on(int rank, std::size_t bytes) {
  const std::size_t all_bytes = bytes * static_cast<std::size_t>(ranks());
  int lowest = rank & -rank;
  if (rank == 0) {
    for (lowest = 1; lowest < ranks();) lowest *= 2;
  } else {
    int request = 0;
    Status status = guarded([&] {
      request = transport_->receive(rank - lowest, meetings, messages_->data(), all_bytes);
    });
    if (!status.ok()) return status;
    pending_.push_back({request, rank - lowest});
    const auto late = [&] {
      return rank_failure(text("rank 0 did not say within ", limit_s(),
                               " s that all ranks have come: call every rank, or raise "
                               "GroupOptions::time_limit_s"));
    };
    status = wait_for_all(rank, late, grace_of_others_s);
    if (!status.ok()) return status;
  }
  for (int bit = lowest / 2; bit > 0; bit /= 2) {
    if (rank + bit >= ranks()) continue;
    int request = 0;
    Status status = guarded(
        [&] { request = transport_->send(rank + bit, meetings, messages_->data(), all_bytes); });
    if (!status.ok()) return status;
    pending_.push_back({request, rank + bit});
  }
  return Status::success();
}

Status NodesMeeting::exchange(int rank, const void* own, std::size_t bytes, void* all) {
  Status status = failure(rank);
  if (!status.ok()) return status;
  const std::size_t each = std::max<std::size_t>(1, bytes);
  const auto late = [&] {
    std::vector<int> slow;
    for (const Pending& pending : pending_) slow.push_back(pending.rank);
    return late_ranks(slow, limit_s());
  };
  messages_->assign(each * static_cast<std::size_t>(ranks()), 0);
  unsigned char* const place = messages_->data() + each * static_cast<std::size_t>(rank);
  if (bytes > 0) std::memcpy(place, own, bytes);
  if (rank == 0) {
    status = collect(each);
  } else {
    int request = 0;
    status = guarded([&] { request = transport_->send(0, meetings, place, each); });
    if (status.ok()) {
      pending_.push_back({request, 0});
      status = wait_for_all(rank, late, grace_of_others_s);
    }
  }
  if (status.ok()) status = pass_on(rank, each);
  if (status.ok()) status = wait_for_all(rank, late, grace_of_others_s);
  if (!status.ok()) {
    abort(rank, status);
    return known(rank);
  }
  if (bytes > 0) std::memcpy(all, messages_->data(), messages_->size());
  return Status::success();
}

void NodesMeeting::learn(int rank, const Status& why) {
  if (failed_rank_ != nobody) return;
  failed_rank_ = rank;
  why_ = why;
  if (node_ == nullptr) return;
  const int own = transport_->rank();
  if (rank == own) {
    node_->abort(place_in_node(own), why);
  } else {
    node_->abort(somebody_late, known(own));
  }
}

void NodesMeeting::tell_others(int rank, const Status& why) {
  told_ = std::make_unique<Notice>();
  told_->rank = rank;
  told_->code = static_cast<int>(why.code);
  keep(told_->argument, sizeof(told_->argument), why.argument);
  keep(told_->message, sizeof(told_->message), why.message);
  for (int other = 0; other < ranks(); ++other) {
    if (other == transport_->rank()) continue;
    // Where it fails, the time limit tells it.
    (void)guarded([&] {
      tellings_.push_back(transport_->send(other, notices, told_.get(), sizeof(Notice)));
    });
  }
}

void NodesMeeting::abort(int rank, const Status& why) {
  if (failed_rank_ != nobody) return;
  learn(rank, why);
  tell_others(rank, why);
}

Status NodesMeeting::known(int rank) const {
  if (failed_rank_ == nobody) return Status::success();
  if (failed_rank_ == rank || failed_rank_ == somebody_late) return why_;
  return rank_failure(text("rank ", failed_rank_, " failed: ", why_.message));
}

Status NodesMeeting::failure(int rank) {
  if (failed_rank_ != nobody) return known(rank);
  Notice notice;
  bool has_come = false;
  const Status looked =
      guarded([&] { has_come = transport_->take_any(notices, &notice, sizeof(notice)); });
  if (!looked.ok()) {
    abort(rank, looked);
  } else if (has_come) {
    learn(notice.rank,
          Status::failure(static_cast<StatusCode>(notice.code), notice.message, notice.argument));
  } else if (node_ != nullptr) {
    const Status of_node = node_->failure(place_in_node(rank));
    // As they are: they name the rank.
    if (!of_node.ok()) abort(somebody_late, of_node);
  }
  return known(rank);
}

}  // namespace kw::distributed
