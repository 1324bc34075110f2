// The launches of a call as one, for calls that come again: a graph of them is kept, is told what
// has changed, and is launched. The host then takes for a chain of launches what it takes for one.
//
// The first calls are launched as they are, and their launches counted: a graph costs as much as
// ten launches to make, and its first launch does not begin while the stream's previous one ends,
// so only chains have one. A call that launches other kernels than the one that was recorded ends
// it.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "gpu/launch_taker.hpp"
#include "gpu/runtime.hpp"
#include "kernel.hpp"
#include "status.hpp"

namespace kw::gpu {

// So many calls are launched as they are; chains of so many launches then have a graph.
constexpr int calls_before_graph = 2;
constexpr int fewest_launches = 2;
constexpr int most_launches = 16;

// A launch as a graph has it. `Node` is the driver's name of it.
template <class Node>
class KeptLaunch {
 public:
  KeptLaunch(const LaunchRequest& launch, Node node)
      : node_(node), launch_(launch), arguments_(bytes_of(launch)) {
    launch_.arguments = nullptr;
    launch_.argument_bytes = {};
  }
  Node node() const { return node_; }
  // Whether the graph's launch can become that one: all that a node keeps is the same.
  bool can_become(const LaunchRequest& launch) const {
    return launch.kernel == launch_.kernel && launch.overlap == launch_.overlap &&
           launch.cluster == launch_.cluster && launch.together == launch_.together;
  }
  bool is(const LaunchRequest& launch) const {
    const LaunchShape &x = launch.shape, &y = launch_.shape;
    for (int i = 0; i < 3; ++i) {
      if (x.grid[i] != y.grid[i] || x.block[i] != y.block[i]) return false;
    }
    if (x.shared_bytes != y.shared_bytes) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < launch.argument_bytes.size(); ++i) {
      const std::size_t bytes = launch.argument_bytes[i];
      if (std::memcmp(arguments_.data() + at, launch.arguments[i], bytes) != 0) return false;
      at += bytes;
    }
    return true;
  }
  void become(const LaunchRequest& launch) { *this = KeptLaunch(launch, node_); }

 private:
  static std::vector<unsigned char> bytes_of(const LaunchRequest& launch) {
    std::vector<unsigned char> bytes;
    for (std::size_t i = 0; i < launch.argument_bytes.size(); ++i) {
      const auto* from = static_cast<const unsigned char*>(launch.arguments[i]);
      bytes.insert(bytes.end(), from, from + launch.argument_bytes[i]);
    }
    return bytes;
  }

  Node node_;
  LaunchRequest launch_;
  std::vector<unsigned char> arguments_;
};

// A Driver makes one graph:
//   bool is_capturing(Stream)              whether the caller captures that stream
//   Status record(work)                    begins a graph, calls work(stream), ends it
//   Status last_node(Node*)                of the graph that is being recorded
//   Status set(Node, const LaunchRequest&)  for the graph's next launches
//   Status launch(Stream)
template <class Driver>
class LaunchesAsOne final : public Runtime::KeptLaunches {
 public:
  using Work = std::function<Status(Stream)>;
  using Node = typename Driver::Node;

  explicit LaunchesAsOne(Driver driver) : driver_(std::move(driver)) {}

  Status launch(const Work& work, Stream stream) {
    if (ended_ || driver_.is_capturing(stream)) return work(stream);
    if (calls_ < calls_before_graph) return count(work, stream);
    bool is_ready = false;
    Status status = kept_.empty() ? record(work, &is_ready) : update(work, &is_ready);
    if (is_ready) return status.ok() ? driver_.launch(stream) : status;
    ended_ = true;
    return work(stream);
  }

 private:
  // Takes this thread's launches while it lives.
  template <class Take>
  class Taker final : public LaunchTaker {
   public:
    explicit Taker(Take take) : take_(std::move(take)) { launch_taker = this; }
    Taker(const Taker&) = delete;
    Taker& operator=(const Taker&) = delete;
    ~Taker() { launch_taker = nullptr; }
    Status take(const LaunchRequest& launch, const std::function<Status()>& make) override {
      return take_(launch, make);
    }

   private:
    Take take_;
  };

  Status count(const Work& work, Stream stream) {
    int launches = 0;
    const Taker taker([&](const LaunchRequest&, const std::function<Status()>& make) {
      ++launches;
      return make();
    });
    Status status = work(stream);
    if (status.ok()) {
      ++calls_;
      ended_ = launches < fewest_launches || launches > most_launches;
    }
    return status;
  }

  Status record(const Work& work, bool* is_ready) {
    const Taker taker([&](const LaunchRequest& launch, const std::function<Status()>& make) {
      Status status = make();
      Node node{};
      if (status.ok()) status = driver_.last_node(&node);
      if (status.ok()) kept_.emplace_back(launch, node);
      return status;
    });
    Status status = driver_.record(work);
    *is_ready = status.ok();
    return status;
  }

  // Ready too where the call itself is at fault: then it launches nothing, as it would have.
  Status update(const Work& work, bool* is_ready) {
    std::size_t next = 0;
    bool is_same = true;
    const Taker taker([&](const LaunchRequest& launch, const std::function<Status()>&) {
      is_same = is_same && next < kept_.size() && kept_[next].can_become(launch);
      if (!is_same) return Status::success();
      KeptLaunch<Node>& kept = kept_[next++];
      if (kept.is(launch)) return Status::success();
      const Status status = driver_.set(kept.node(), launch);
      is_same = status.ok();
      if (is_same) kept.become(launch);
      return Status::success();
    });
    Status status = work(Stream{});
    *is_ready = is_same && (!status.ok() || next == kept_.size());
    return status;
  }

  Driver driver_;
  int calls_ = 0;
  bool ended_ = false;
  std::vector<KeptLaunch<Node>> kept_;  // empty: nothing is recorded
};

}  // namespace kw::gpu
