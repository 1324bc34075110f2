// Lanes: found, opened, given to captures and taken back.
#include "session.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "fork_lock.hpp"

namespace kw::cublas {

namespace {

const char* from_environment(const char* name) { return std::getenv(name); }

// Never destroyed: calls may come while the process ends.
std::atomic<Session*> current{nullptr};

Session* make_session() {
  std::vector<std::string> complaints;
  Policy policy = read_policy(from_environment, &complaints);
  auto* const made = new Session(std::move(policy));
  for (const std::string& complaint : complaints) {
    made->record().line(LogLevel::warnings, complaint);
  }
  return made;
}

// A child of fork begins anew. What its parent had is left alone: locks that threads held which are
// not here, and contexts of a GPU, which do not survive a fork.
void begin_anew_in_child() {
  Session* const before = current.load();
  if (before != nullptr) current.store(new Session(before->policy()));
}

bool is_read_by_anyone(const Policy& policy) {
  return policy.log >= LogLevel::summary || !policy.record_folder.empty() ||
         policy.verify_every > 0;
}

}  // namespace

Session& session() {
  Session* made = current.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  const auto lock = lock_over_forks();
  made = current.load(std::memory_order_acquire);
  if (made == nullptr) {
    made = make_session();
    current.store(made, std::memory_order_release);
    static_cast<void>(pthread_atfork(nullptr, nullptr, begin_anew_in_child));
  }
  return *made;
}

Session* session_so_far() { return current.load(std::memory_order_acquire); }

bool is_switched_off() { return session().policy().math == Arithmetic::off; }

Session::Session(Policy policy)
    : policy_(std::move(policy)), recording_(is_read_by_anyone(policy_)), record_(policy_) {}

std::size_t Session::Hash::operator()(const Key& key) const {
  return MixedWords()(Words<4>{reinterpret_cast<std::int64_t>(key.handle),
                               reinterpret_cast<std::int64_t>(key.stream), key.device,
                               static_cast<std::int64_t>(key.capture)});
}

// Lanes to close once the session's lock is given back: who is in a call of such a lane holds its
// lock, and may be waiting for the session's.
class Session::Closing {
 public:
  Closing() = default;
  ~Closing() {
    for (const auto& lane : lanes_) lane->close();
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  void add(std::shared_ptr<Lane> lane) { lanes_.push_back(std::move(lane)); }

 private:
  std::vector<std::shared_ptr<Lane>> lanes_;
};

Lane* Session::lane_for(const Call& call, Reason* reason, bool* captured) {
  Key key{call.handle, call.stream, 0, 0};
  int ordinal = 0;
  if (driver().current_device == nullptr || driver().current_device(&ordinal) != 0) {
    *reason = Reason::no_device;
    return nullptr;
  }
  const Capture capture = capture_of(call.stream);
  *captured = capture.id != 0;
  if (!capture.known) {
    *reason = Reason::capture;
    return nullptr;
  }
  key.device = ordinal;
  key.capture = capture.id;
  static thread_local Recent recent;
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  if (recent.session == this && recent.generation == generation && recent.key == key) {
    return recent.lane.get();
  }
  recent = {};
  Closing closing;  // ends after the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = lanes_.find(key);
  std::shared_ptr<Lane> lane = found != lanes_.end() ? found->second : nullptr;
  if (lane == nullptr) {
    lane = *captured ? lane_of_capture(key, capture, reason, closing)
                     : open_lane(key, reason, closing);
  }
  if (lane == nullptr) return nullptr;
  *reason = Reason::none;
  recent = {this, generation_.load(std::memory_order_acquire), key, std::move(lane)};
  return recent.lane.get();
}

Device& Session::device(int ordinal) {
  Device& known = devices_[ordinal];
  known.session = this;
  known.ordinal = ordinal;
  return known;
}

std::shared_ptr<Lane> Session::new_lane(const Key& key, std::size_t workspace_bytes,
                                        Reason* reason) {
  const std::string& no_library = library().why_not;
  Device& on = device(static_cast<int>(key.device));
  std::shared_ptr<Lane> opened;
  if (on.why_not.empty() && no_library.empty())
    opened = Lane::open(on, policy_, workspace_bytes, &on.why_not);
  if (opened != nullptr && opened->use_stream(key.stream)) {
    record_.set_device(on.name);
    return opened;
  }
  *reason = no_library.empty() ? Reason::no_device : Reason::no_library;
  const std::string& why = no_library.empty() ? on.why_not : no_library;
  record_.warn_once("lane", "all calls go to cuBLAS: " + why);
  return nullptr;
}

std::shared_ptr<Lane> Session::open_lane(const Key& key, Reason* reason, Closing& closing) {
  std::shared_ptr<Lane> opened = new_lane(key, policy_.workspace_bytes, reason);
  if (opened == nullptr) return nullptr;
  take_back_lanes(closing);
  close_oldest_lane(closing);
  opened_.push_back(key);
  return lanes_.emplace(key, std::move(opened)).first->second;
}

// A program that makes ever new streams would gather lanes for all of them.
void Session::close_oldest_lane(Closing& closing) {
  while (opened_.size() >= most_lanes) {
    const auto oldest = lanes_.find(opened_.front());
    opened_.pop_front();
    if (oldest == lanes_.end()) continue;
    closing.add(std::move(oldest->second));
    lanes_.erase(oldest);
    ++generation_;
  }
}

// A graph may be launched whenever, so it has a lane of its own, which stays with it.
std::shared_ptr<Lane> Session::lane_of_capture(const Key& key, const Capture& capture,
                                               Reason* reason, Closing& closing) {
  *reason = Reason::capture;
  if (policy_.capture_bytes == 0 || !driver().keeps_with_graphs()) return nullptr;
  take_back_lanes(closing);
  std::vector<std::shared_ptr<Lane>>& unused = device(static_cast<int>(key.device)).unused;
  std::shared_ptr<Lane> lane;
  if (unused.empty()) {
    lane = new_lane(key, policy_.capture_bytes, reason);
  } else {
    lane = std::move(unused.back());
    unused.pop_back();
    if (!lane->use_stream(key.stream)) lane = nullptr;
  }
  if (lane == nullptr || !destroy_with_graph(capture.graph, lane.get(), capture_is_gone))
    return nullptr;
  return lanes_.emplace(key, std::move(lane)).first->second;
}

// Called by the driver, from any thread, once a graph and its instances are gone. The driver may
// hold locks of its own meanwhile, so none is waited for here over which it is called.
void Session::capture_is_gone(void* data) {
  auto* const gone = static_cast<Lane*>(data);
  Session& owner = *gone->device().session;
  const std::lock_guard<std::mutex> lock(owner.gone_mutex_);
  owner.gone_.push_back(gone);
}

// Some of the lanes whose graphs are gone are kept for other captures.
void Session::take_back_lanes(Closing& closing) {
  std::vector<const Lane*> gone;
  {
    const std::lock_guard<std::mutex> lock(gone_mutex_);
    gone.swap(gone_);
  }
  for (const Lane* lane : gone) {
    const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                    [&](const auto& entry) { return entry.second.get() == lane; });
    if (found == lanes_.end()) continue;
    std::vector<std::shared_ptr<Lane>>& unused = found->second->device().unused;
    if (unused.size() < most_unused)
      unused.push_back(std::move(found->second));
    else
      closing.add(std::move(found->second));
    lanes_.erase(found);
    ++generation_;
  }
}

void Session::forget(Handle handle) {
  Closing closing;  // ends after the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = lanes_.begin(); at != lanes_.end();) {
    // What a graph captured stays with the graph.
    const bool goes = at->first.handle == handle && at->first.capture == 0;
    if (goes) {
      closing.add(at->second);
      std::erase(opened_, at->first);
    }
    at = goes ? lanes_.erase(at) : std::next(at);
  }
  take_back_lanes(closing);
  for (auto& [ordinal, device] : devices_) {
    for (std::shared_ptr<Lane>& lane : device.unused) closing.add(std::move(lane));
    device.unused.clear();
  }
  ++generation_;
}

}  // namespace kw::cublas
