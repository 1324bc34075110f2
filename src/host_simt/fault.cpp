// What a block says when it fails.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string_view>
#include <tuple>

#include "host_simt/block.hpp"

#if defined(__SANITIZE_ADDRESS__)
// Undefined behaviour in a kernel is an illegal instruction in such builds; AddressSanitizer, which
// reads its options here, then says where. ASAN_OPTIONS comes after these.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_sigill=1";
}
#endif

namespace kw::host_simt {

bool same_place(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string to_text(const uint3& index) {
  return fmt::format("({},{},{})", index.x, index.y, index.z);
}

std::string to_text(const Site& site) {
  const std::string_view path = site.file_name();
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), site.line());
}

// Keeps the first fault only, and lets every waiting thread run so that it can unwind.
void BlockRunner::record_fault(const Thread& thread, const Site* site, const std::string& text) {
  if (fault_) return;
  fault_ = fmt::format("kernel {}, block {}, thread {}{}: {}", *grid_->kernel_name,
                       to_text(thread.block_index), to_text(thread.thread_index),
                       site != nullptr ? ", " + to_text(*site) : "", text);
  for (int i = 0; i < size_; ++i) {
    Thread& other = thread_at(i);
    if (other.state == Thread::State::waiting) make_ready(other);
  }
}

void BlockRunner::fault(const Thread& thread, const Site* site, const std::string& text) {
  record_fault(thread, site, text);
  throw Unwind();
}

// "mbarrier_wait for parity 1 of full, whose phase ..."
std::string BlockRunner::describe_wait(const Thread& thread) const {
  if (thread.mbarrier != nullptr) {
    return fmt::format("{} for parity {} of {}", thread.function, thread.parity,
                       describe_mbarrier(thread.mbarrier));
  }
  if (thread.named_barrier != 0) {
    const NamedBarrier& barrier = named_barriers_[static_cast<std::size_t>(thread.named_barrier)];
    return fmt::format("{} of barrier {}, where {} of {} have come", thread.function,
                       thread.named_barrier, barrier.arrived, barrier.threads);
  }
  return thread.function;
}

// "31 threads at __shfl_down_sync (a.cu:10), first (1,0,0); 1 thread at __syncthreads ..."
std::string BlockRunner::describe_waits() const {
  struct Wait {
    const Thread* first;
    int threads;
  };
  std::map<std::tuple<std::string, std::string, unsigned>, Wait> waits;
  for (int i = 0; i < size_; ++i) {
    const Thread& thread = thread_at(i);
    if (thread.state != Thread::State::waiting) continue;
    const std::tuple key(describe_wait(thread), to_text(thread.site), thread.site.column());
    ++waits.try_emplace(key, Wait{&thread, 0}).first->second.threads;
  }
  std::string text;
  for (const auto& [key, wait] : waits) {
    text += fmt::format("{}{} thread{} at {} ({}), first {}", text.empty() ? "" : "; ",
                        wait.threads, wait.threads == 1 ? "" : "s", std::get<0>(key),
                        std::get<1>(key), to_text(wait.first->thread_index));
  }
  return text;
}

void BlockRunner::report_deadlock() {
  // Whose wait cannot come true: an mbarrier rather than lanes of an exchange or some threads, and
  // those rather than the whole block or the cluster, which may just wait for them.
  const auto blame = [](const Thread& thread) {
    if (thread.mbarrier != nullptr) return 3;
    if (waits_for_cluster(thread)) return 0;
    return std::strncmp(thread.function, "__syncthreads", 13) != 0 ? 2 : 1;
  };
  const Thread* blamed = nullptr;
  for (int i = 0; i < size_; ++i) {
    const Thread& thread = thread_at(i);
    if (thread.state != Thread::State::waiting) continue;
    if (blamed == nullptr || blame(thread) > blame(*blamed)) blamed = &thread;
  }
  const char* cause = "the mask of an exchange names lanes that wait elsewhere";
  if (blamed->named_barrier != 0) cause = "a barrier of some threads waits for more than can come";
  if (blamed->mbarrier != nullptr) {
    cause = waits_for_bytes_only(blamed->mbarrier)
                ? "an mbarrier waits for bytes that no bulk_copy brings"
                : "an mbarrier waits for an arrival that nobody makes";
  }
  record_fault(*blamed, &blamed->site,
               fmt::format("deadlock: {}, so no thread of the block can go on: {}", cause,
                           describe_waits()));
}

}  // namespace kw::host_simt
