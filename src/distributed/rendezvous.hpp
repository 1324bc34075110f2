// Where the ranks of a process wait for each other: none longer than a limit, and none for a rank
// that failed.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "status.hpp"

namespace kw::distributed {

// What a rank returns because another one failed or is late: device_error, with the argument
// "rank".
Status rank_failure(std::string message);
bool is_rank_failure(const Status& status);

class Rendezvous {
 public:
  Rendezvous(int ranks, double limit_s);

  // Returns when all ranks have come; a rank_failure where one aborted, or did not come in time.
  // What a rank wrote before it came, all see that return.
  Status arrive(int rank);

  // The first reason counts, and stays.
  void abort(int rank, const Status& why);
  // What `rank` returns now: its own reason, where it is the one that failed.
  Status failure(int rank) const;

  double limit_s() const { return limit_s_; }

 private:
  Status failure_locked(int rank) const;
  void abort_locked(int rank, const Status& why);
  Status too_late() const;

  const double limit_s_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> is_here_;
  int here_ = 0;
  long long turn_ = 0;
  int failed_rank_ = -1;  // -2: too late, none in particular
  Status why_;
};

}  // namespace kw::distributed
