// The lock for what a process makes once: a fork waits for it, so that no child finds it half made
// by a thread that is not there.
#pragma once

#include <mutex>

namespace kw::cublas {

std::unique_lock<std::timed_mutex> lock_over_forks();

}  // namespace kw::cublas
