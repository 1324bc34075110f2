// Where the ranks of a group wait for each other and pass each other a message: none waits longer
// than a limit, and none for a rank that failed. Ranks are threads (rendezvous.hpp), processes of
// one host (process_meeting.hpp) or of several nodes (nodes_meeting.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "status.hpp"

namespace kw::distributed {

constexpr std::size_t most_message_bytes = 1024;
// In place of the rank that failed.
constexpr int nobody = -1, somebody_late = -2;

// What a rank returns because another one failed or is late: device_error, with the argument
// "rank".
Status rank_failure(std::string message);
bool is_rank_failure(const Status& status);
// Of the ranks that did not come in time.
Status late_ranks(const std::vector<int>& missing, double limit_s);

// The words, or their beginning, in so many bytes.
inline void keep(char* to, std::size_t room, const std::string& words) {
  const std::size_t length = std::min(room - 1, words.size());
  std::memcpy(to, words.data(), length);
  to[length] = 0;
}

class Meeting {
 public:
  Meeting(int ranks, double limit_s) : ranks_(ranks), limit_s_(limit_s) {}
  virtual ~Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Returns when all ranks have come, with the message of rank r at `all` + r * `bytes`; a
  // rank_failure where one aborted, or did not come in time. All pass as many bytes. What a rank
  // wrote before it came, all see that return.
  virtual Status exchange(int rank, const void* own, std::size_t bytes, void* all) = 0;
  Status arrive(int rank) { return exchange(rank, nullptr, 0, nullptr); }

  // The first reason counts, and stays.
  virtual void abort(int rank, const Status& why) = 0;
  // What `rank` returns now: its own reason, where it is the one that failed.
  virtual Status failure(int rank) = 0;

  int ranks() const { return ranks_; }
  double limit_s() const { return limit_s_; }

 private:
  const int ranks_;
  const double limit_s_;
};

// The messages of all ranks, by rank.
template <class Message>
Status exchange(Meeting& meeting, int rank, const Message& own, std::vector<Message>* all) {
  static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) <= most_message_bytes);
  all->resize(static_cast<std::size_t>(meeting.ranks()));
  return meeting.exchange(rank, &own, sizeof(Message), all->data());
}

}  // namespace kw::distributed
