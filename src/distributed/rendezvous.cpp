// Waiting with a limit.
#include "distributed/rendezvous.hpp"

#include <chrono>
#include <string>

#include "text.hpp"

namespace kw::distributed {

namespace {
constexpr int nobody = -1;
constexpr int somebody_late = -2;
}  // namespace

Status rank_failure(std::string message) {
  return Status::failure(StatusCode::device_error, std::move(message), "rank");
}

bool is_rank_failure(const Status& status) {
  return status.code == StatusCode::device_error && status.argument == "rank";
}

Rendezvous::Rendezvous(int ranks, double limit_s)
    : limit_s_(limit_s), is_here_(static_cast<std::size_t>(ranks), false) {}

Status Rendezvous::arrive(int rank) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (Status failed = failure_locked(rank); !failed.ok()) return failed;
  if (is_here_[static_cast<std::size_t>(rank)]) {
    return Status::failure(StatusCode::invalid_argument,
                           text("rank ", rank,
                                " is called by two threads at a time: call each "
                                "rank from one"),
                           "rank");
  }
  is_here_[static_cast<std::size_t>(rank)] = true;
  const long long turn = turn_;
  if (++here_ == static_cast<int>(is_here_.size())) {
    is_here_.assign(is_here_.size(), false);
    here_ = 0;
    ++turn_;
    changed_.notify_all();
    return Status::success();
  }
  const auto limit = std::chrono::duration<double>(limit_s_);
  const bool in_time =
      changed_.wait_for(lock, limit, [&] { return turn_ != turn || failed_rank_ != nobody; });
  if (turn_ != turn) return Status::success();
  if (!in_time) abort_locked(somebody_late, too_late());
  return failure_locked(rank);
}

Status Rendezvous::too_late() const {
  std::string missing;
  for (std::size_t rank = 0; rank < is_here_.size(); ++rank) {
    if (!is_here_[rank]) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  }
  return rank_failure(text("rank ", missing, " did not come within ", limit_s_,
                           " s: call every rank, or raise GroupOptions::time_limit_s"));
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

Status Rendezvous::failure(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_locked(rank);
}

Status Rendezvous::failure_locked(int rank) const {
  if (failed_rank_ == nobody) return Status::success();
  if (failed_rank_ == rank || failed_rank_ == somebody_late) return why_;
  return rank_failure(text("rank ", failed_rank_, " failed: ", why_.message));
}

}  // namespace kw::distributed
