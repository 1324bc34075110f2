// What the process keeps: its policy, the library's contexts, the record. One for a process: a
// forked child begins with a new one, for neither contexts nor locks of its parent are of use
// there.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "call.hpp"
#include "driver.hpp"
#include "lane.hpp"
#include "policy.hpp"
#include "record.hpp"

namespace kw::cublas {

class Session {
 public:
  explicit Session(Policy policy);

  const Policy& policy() const { return policy_; }
  Record& record() { return record_; }
  // Whether anybody will read the record.
  bool is_recording() const { return recording_; }

  // The lane for a call; null, and why, where there is none. It may be closed by the time that its
  // mutex is had; the next lane_for then gives another. Valid until this thread's next call of it.
  Lane* lane_for(const Call& call, Reason* reason, bool* captured);
  // Whether the taken call at hand is one of those to verify.
  bool is_turn_to_verify() { return taken_++ % policy_.verify_every == 0; }
  // The program destroys the handle: its lanes go, and those that captures do not use any more.
  void forget(Handle handle);

 private:
  // What belongs together: calls of one handle on one stream of one device, and in one capture.
  struct Key {
    Handle handle;
    Stream stream;
    std::int64_t device;
    std::uint64_t capture;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  // The last lane of a thread, so that most calls look up no map.
  struct Recent {
    const Session* session = nullptr;
    std::uint64_t generation = 0;
    Key key{};
    std::shared_ptr<Lane> lane;
  };
  static constexpr std::size_t most_lanes = 64, most_unused = 8;

  Device& device(int ordinal);
  class Closing;
  std::shared_ptr<Lane> new_lane(const Key& key, std::size_t workspace_bytes, Reason* reason);
  std::shared_ptr<Lane> open_lane(const Key& key, Reason* reason, Closing& closing);
  std::shared_ptr<Lane> lane_of_capture(const Key& key, const Capture& capture, Reason* reason,
                                        Closing& closing);
  void close_oldest_lane(Closing& closing);
  void take_back_lanes(Closing& closing);
  static void capture_is_gone(void* lane);

  const Policy policy_;
  const bool recording_;
  Record record_;
  std::mutex gone_mutex_;
  std::vector<const Lane*> gone_;  // whose graphs are gone, not yet taken back
  // Of all below. Who waits for it may hold a lane's lock; who has it waits for no lane's.
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Lane>, Hash> lanes_;
  std::deque<Key> opened_;  // those without a capture, oldest first
  std::map<int, Device> devices_;
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<std::int64_t> taken_{0};
};

Session& session();
// Null where no call has come yet.
Session* session_so_far();
bool is_switched_off();

}  // namespace kw::cublas
