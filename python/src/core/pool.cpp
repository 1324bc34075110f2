// Contexts: found, opened, given to captures and taken back.
#include "core/pool.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "core/error.hpp"

namespace kw::python {

namespace {

// Never destroyed: calls may come while the process ends.
std::atomic<Pool*> current{nullptr};
// Counts what makes a thread's last context wrong: contexts that were closed or handed on.
std::atomic<std::uint64_t> generation{1};

void begin_anew_in_child() {
  current.store(new Pool);
  ++generation;
}

// What a context's own workspace may grow to; products make do with less.
std::size_t workspace_limit() {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const char* const asked = std::getenv("KERNELWRIGHT_WORKSPACE_MIB");
  char* end = nullptr;
  const unsigned long long value = asked == nullptr ? 0 : std::strtoull(asked, &end, 10);
  const bool is_number = asked != nullptr && end != asked && *end == '\0';
  return (is_number ? static_cast<std::size_t>(value) : 4096) * mib;
}

std::shared_ptr<Context> open(int ordinal, Stream stream) {
  const AllocatesBesideCaptures allocates;
  auto made = std::make_shared<Context>();
  // On a stream of its own first: the caller's may be capturing, which cannot be waited for.
  const kwStatus_t status =
      ordinal == on_cpu ? kwCreateCpu(&made->handle) : kwCreateGpu(&made->handle, ordinal);
  if (status != KW_STATUS_OK) throw Failure(status, kwLastErrorMessage(nullptr));
  made->check(kwSetStream(made->handle, ordinal == on_cpu ? nullptr : stream));
  made->check(kwSetWorkspaceLimit(made->handle, workspace_limit()));
  return made;
}

}  // namespace

Pool& pool() {
  Pool* made = current.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  auto* const first = new Pool;
  if (current.compare_exchange_strong(made, first)) {
    static_cast<void>(pthread_atfork(nullptr, nullptr, begin_anew_in_child));
    return *first;
  }
  delete first;
  return *made;
}

void Context::check(kwStatus_t status) const {
  if (status != KW_STATUS_OK) throw Failure(status, kwLastErrorMessage(handle));
}

void Context::use_math(kwMath_t wanted) {
  if (math == wanted) return;
  check(kwSetMath(handle, wanted));
  math = wanted;
}

void Context::use_epilogue(const kwEpilogue* epilogue) {
  if (epilogue == nullptr && !has_epilogue) return;
  check(kwSetEpilogue(handle, epilogue));
  has_epilogue = epilogue != nullptr;
}

std::size_t Pool::Hash::operator()(const Key& key) const {
  std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(key.stream);
  for (const std::uint64_t part : {static_cast<std::uint64_t>(key.ordinal), key.capture}) {
    mixed = (mixed ^ part) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 32;
  }
  return static_cast<std::size_t>(mixed);
}

std::shared_ptr<Context> Pool::context(int ordinal, Stream stream) {
  // The last one of a thread, so that most calls look up no map.
  struct Recent {
    const Pool* pool = nullptr;
    std::uint64_t generation = 0;
    Key key{};
    std::weak_ptr<Context> context;
  };
  static thread_local Recent recent;
  const Capture capture = ordinal == on_cpu ? Capture{} : capture_of(stream);
  const Key key{ordinal, ordinal == on_cpu ? nullptr : stream, capture.id};
  const std::uint64_t now = generation.load(std::memory_order_acquire);
  if (recent.pool == this && recent.generation == now && recent.key == key) {
    std::shared_ptr<Context> known = recent.context.lock();
    if (known != nullptr) return known;
  }
  std::shared_ptr<Context> found = find_or_open(key, capture);
  recent = {this, generation.load(std::memory_order_acquire), key, found};
  return found;
}

std::shared_ptr<Context> Pool::find_or_open(const Key& key, const Capture& capture) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = contexts_.find(key);
  if (known != contexts_.end()) return known->second;
  const int ordinal = static_cast<int>(key.ordinal);
  if (capture.id == 0) {
    std::shared_ptr<Context> made = open(ordinal, key.stream);
    close_oldest();
    opened_.push_back(key);
    return contexts_.emplace(key, std::move(made)).first->second;
  }
  std::shared_ptr<Context> made = take_spare(ordinal);
  if (made == nullptr) {
    made = open(ordinal, key.stream);
  } else {
    made->check(kwSetStream(made->handle, key.stream));
  }
  made->is_captured = true;
  // Where the graph would not keep it, the context is kept for good.
  auto* const captured = new Captured{this, key};
  if (!destroy_with_graph(capture.graph, captured, graph_is_gone)) delete captured;
  return contexts_.emplace(key, std::move(made)).first->second;
}

std::shared_ptr<Context> Pool::take_spare(int ordinal) {
  auto& spares = spares_[ordinal];
  if (spares.empty()) return nullptr;
  std::shared_ptr<Context> taken = std::move(spares.back());
  spares.pop_back();
  return taken;
}

// Called by the driver, from any thread: no function of it may be called here.
void Pool::graph_is_gone(void* data) {
  const std::unique_ptr<Captured> captured(static_cast<Captured*>(data));
  Pool& owner = *captured->pool;
  const std::lock_guard<std::mutex> lock(owner.mutex_);
  const auto found = owner.contexts_.find(captured->key);
  if (found == owner.contexts_.end()) return;
  owner.spares_[captured->key.ordinal].push_back(std::move(found->second));
  owner.contexts_.erase(found);
  ++generation;
}

// Freeing waits for the device, so nothing that the context still computes loses its memory.
void Pool::close_oldest() {
  while (opened_.size() >= most_streams) {
    contexts_.erase(opened_.front());
    opened_.pop_front();
    ++generation;
  }
}

std::size_t Pool::size() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return contexts_.size();
}

std::size_t Pool::spares() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t count = 0;
  for (const auto& entry : spares_) count += entry.second.size();
  return count;
}

void Pool::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Key& key : opened_) contexts_.erase(key);
  opened_.clear();
  spares_.clear();
  ++generation;
}

}  // namespace kw::python
