// The process's contexts of the library, one for each device, stream and capture.
//
// Streams    Calls on one stream share a context, whose scratch memory they use in the stream's
//            order. At most 64 are kept; the oldest is closed, after its stream has run dry.
// Captures   Calls in one captured graph share a context that belongs to the graph: once the graph
//            and what was instantiated from it are gone, it serves another capture.
// Threads    Any; a context is held by one thread at a time.
// Fork       A child begins with a new pool: no context of a GPU survives a fork.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/driver.hpp"
#include "kernelwright/kernelwright.h"

namespace kw::python {

constexpr int on_cpu = -1;  // in place of a GPU's ordinal

// One context. Who calls it holds its mutex.
struct Context {
  kwHandle_t handle = nullptr;
  std::mutex mutex;
  kwMath_t math = KW_MATH_FP32;
  bool has_epilogue = false;
  bool is_captured = false;  // belongs to a graph

  Context() = default;
  ~Context() { kwDestroy(handle); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // What a status says, with the context's sentence.
  void check(kwStatus_t status) const;
  void use_math(kwMath_t wanted);
  void use_epilogue(const kwEpilogue* epilogue);
};

class Pool {
 public:
  // A context for a call on `stream` of the GPU `ordinal`, or on the CPU.
  std::shared_ptr<Context> context(int ordinal, Stream stream);
  // How many there are, and how many of them wait for a capture.
  std::size_t size();
  std::size_t spares();
  // Closes all that belong to no graph, once what they do is done.
  void clear();

 private:
  struct Key {
    std::int64_t ordinal;
    Stream stream;
    std::uint64_t capture;
    bool operator==(const Key& other) const {
      return ordinal == other.ordinal && stream == other.stream && capture == other.capture;
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  // A capture's context, as its graph knows it.
  struct Captured {
    Pool* pool;
    Key key;
  };
  static constexpr std::size_t most_streams = 64;

  std::shared_ptr<Context> find_or_open(const Key& key, const Capture& capture);
  std::shared_ptr<Context> take_spare(int ordinal);
  static void graph_is_gone(void* captured);
  void close_oldest();

  std::mutex mutex_;  // of all below
  std::unordered_map<Key, std::shared_ptr<Context>, Hash> contexts_;
  std::deque<Key> opened_;  // those of streams, oldest first
  std::unordered_map<std::int64_t, std::vector<std::shared_ptr<Context>>> spares_;  // by device
};

Pool& pool();

// A context while a call uses it. A captured call may allocate scratch memory, which its graph
// keeps.
class Call {
 public:
  Call(int ordinal, Stream stream)
      : context_(pool().context(ordinal, stream)), lock_(context_->mutex) {
    if (context_->is_captured) allocates_.emplace();
  }
  Context* operator->() { return context_.get(); }
  Context& operator*() { return *context_; }

 private:
  std::shared_ptr<Context> context_;
  std::lock_guard<std::mutex> lock_;
  std::optional<AllocatesBesideCaptures> allocates_;
};

}  // namespace kw::python
