// The meeting of ranks that are processes of one host: a file in shared memory, which they find by
// the group's name. Each rank holds a lock on its byte of the file as long as its process lives,
// whatever ends it: so the others learn of its death at once, and need no process to watch them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "distributed/meeting.hpp"
#include "distributed/signals.hpp"
#include "distributed/watch.hpp"

namespace kw::distributed {

struct SharedFile;  // what lies in the file

class ProcessMeeting final : public Meeting {
 public:
  // Rank 0 makes the file, the others wait for it, no longer than the limit. They have not met yet
  // when this returns. `name`: 1 to 200 letters, digits, '.', '_' or '-'; of no other group that is
  // about to meet on this host.
  // Each rank gets a room of `room` bytes in memory that all reach.
  static Status join(const std::string& name, int ranks, int rank, double limit_s,
                     std::unique_ptr<ProcessMeeting>* meeting, std::size_t room = 0);
  ~ProcessMeeting() override;

  Status exchange(int rank, const void* own, std::size_t bytes, void* all) override;
  void abort(int rank, const Status& why) override;
  // Also looks whether the other processes live.
  Status failure(int rank) override;

  // The file needs its name no longer. From now on a thread looks who lives: once a rank has
  // failed, no stream waits for a signal any longer, whatever the process does meanwhile.
  void all_have_come();
  // What its ranks are called in messages, where they are some of a larger group's.
  void call_ranks(std::vector<int> numbers) { numbers_ = std::move(numbers); }

  // The number of this rank's next call, and the counter that comes to it.
  unsigned begin_call();
  Counter& signal(int rank, Signal which);
  // Where the counters are.
  void* memory() { return shared_; }
  std::size_t memory_bytes() const { return bytes_; }
  unsigned char* room(int rank);
  std::atomic<int>& landed(int rank);
  std::atomic<int>& readers_left(int rank, int slot);
  // The memory stays after this, until the process ends.
  void keep_memory() { keeps_memory_ = true; }

 private:
  ProcessMeeting(std::string path, int ranks, int rank, double limit_s, std::size_t room);
  Status create();
  Status open();
  Status try_open(bool* is_open);
  Status map(int file);
  Status lock_own();
  Status known_failure(int rank) const;
  int number(int rank) const;
  Status wait(unsigned turn, int rank);
  void find_dead();
  void find_left(unsigned turn);
  void forget_name();
  void look();

  const std::string path_;
  const int rank_;
  int file_ = -1;
  bool has_name_ = false, keeps_memory_ = false;
  const std::size_t room_;
  std::size_t bytes_ = 0;
  std::vector<int> numbers_;
  SharedFile* shared_ = nullptr;
  std::unique_ptr<Watch> watch_;
};

}  // namespace kw::distributed
