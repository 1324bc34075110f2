// Held by whoever forks, from before until after.
#include "fork_lock.hpp"

#include <pthread.h>

#include <chrono>

namespace kw::cublas {

namespace {

std::timed_mutex mutex;
bool held_over_fork = false;  // by the thread that forks

// Not for ever: who forks may be what the maker waits for, a library's initialisation say.
void before_fork() { held_over_fork = mutex.try_lock_for(std::chrono::seconds(2)); }
void after_fork() {
  if (held_over_fork) mutex.unlock();
}

__attribute__((constructor)) void watch_forks() {
  static_cast<void>(pthread_atfork(before_fork, after_fork, after_fork));
}

}  // namespace

std::unique_lock<std::timed_mutex> lock_over_forks() { return std::unique_lock(mutex); }

}  // namespace kw::cublas
