// The meeting of ranks that are threads of one process.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "distributed/meeting.hpp"

namespace kw::distributed {

class Rendezvous final : public Meeting {
 public:
  Rendezvous(int ranks, double limit_s);

  Status exchange(int rank, const void* own, std::size_t bytes, void* all) override;
  void abort(int rank, const Status& why) override;
  Status failure(int rank) override;

 private:
  Status failure_locked(int rank) const;
  void abort_locked(int rank, const Status& why);
  Status too_late() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> is_here_;
  int here_ = 0;
  long long turn_ = 0;
  // Of this turn and of the one before, which some may still read while others pass the next.
  std::vector<unsigned char> messages_[2];
  int failed_rank_ = -1;  // -2: too late, none in particular
  Status why_;
};

}  // namespace kw::distributed
