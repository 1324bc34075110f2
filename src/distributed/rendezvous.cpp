// Waiting with a limit, and messages between threads.
#include "distributed/rendezvous.hpp"

#include <chrono>
#include <cstring>
#include <string>

#include "text.hpp"

namespace kw::distributed {

Status rank_failure(std::string message) {
  return Status::failure(StatusCode::device_error, std::move(message), "rank");
}

bool is_rank_failure(const Status& status) {
  return status.code == StatusCode::device_error && status.argument == "rank";
}

Status late_ranks(const std::vector<int>& missing, double limit_s) {
  std::string names;
  for (int rank : missing) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return rank_failure(text("rank ", names, " did not come within ", limit_s,
                           " s: call every rank, or raise GroupOptions::time_limit_s"));
}

Rendezvous::Rendezvous(int ranks, double limit_s)
    : Meeting(ranks, limit_s), is_here_(static_cast<std::size_t>(ranks), false) {}

Status Rendezvous::exchange(int rank, const void* own, std::size_t bytes, void* all) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (Status failed = failure_locked(rank); !failed.ok()) return failed;
  if (is_here_[static_cast<std::size_t>(rank)]) {
    return Status::failure(StatusCode::invalid_argument,
                           text("rank ", rank,
                                " is called by two threads at a time: call each "
                                "rank from one"),
                           "rank");
  }
  const long long turn = turn_;
  std::vector<unsigned char>& messages = messages_[turn % 2];
  const std::size_t all_bytes = bytes * is_here_.size();
  if (here_ == 0) messages.resize(all_bytes);
  if (messages.size() != all_bytes) {
    return Status::failure(StatusCode::internal_error, "ranks pass messages of different sizes");
  }
  is_here_[static_cast<std::size_t>(rank)] = true;
  if (bytes > 0) std::memcpy(messages.data() + bytes * static_cast<std::size_t>(rank), own, bytes);
  if (++here_ == static_cast<int>(is_here_.size())) {
    is_here_.assign(is_here_.size(), false);
    here_ = 0;
    ++turn_;
    changed_.notify_all();
  } else {
    const auto limit = std::chrono::duration<double>(limit_s());
    const bool in_time =
        changed_.wait_for(lock, limit, [&] { return turn_ != turn || failed_rank_ != nobody; });
    if (turn_ == turn && !in_time) abort_locked(somebody_late, too_late());
    if (turn_ == turn) return failure_locked(rank);
  }
  if (bytes > 0) std::memcpy(all, messages.data(), all_bytes);
  return Status::success();
}

Status Rendezvous::too_late() const {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < is_here_.size(); ++rank) {
    if (!is_here_[rank]) missing.push_back(static_cast<int>(rank));
  }
  return late_ranks(missing, limit_s());
}

void Rendezvous::abort(int rank, const Status& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  abort_locked(rank, why);
}

void Rendezvous::abort_locked(int rank, const Status& why) {
  if (failed_rank_ != nobody) return;
  failed_rank_ = rank;
  why_ = why;
  changed_.notify_all();
}

Status Rendezvous::failure(int rank) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_locked(rank);
}

Status Rendezvous::failure_locked(int rank) const {
  if (failed_rank_ == nobody) return Status::success();
  if (failed_rank_ == rank || failed_rank_ == somebody_late) return why_;
  return rank_failure(text("rank ", failed_rank_, " failed: ", why_.message));
}

}  // namespace kw::distributed
