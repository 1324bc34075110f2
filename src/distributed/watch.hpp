// Something that is done every so often, by a thread of its own, for as long as this lives.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace kw::distributed {

class Watch {
 public:
  Watch(std::function<void()> look, std::chrono::milliseconds between)
      : look_(std::move(look)), between_(between), thread_([this] { run(); }) {}
  ~Watch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    ends_.notify_all();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ends_.wait_for(lock, between_, [this] { return is_over_; })) look_();
  }

  const std::function<void()> look_;
  const std::chrono::milliseconds between_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses what is above
};

}  // namespace kw::distributed
