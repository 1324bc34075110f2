// A context: one device, one stream of work on it, and the scratch memory of the calls made there.
//
// Order      Calls put their work on the context's stream and return. On a GPU the work is
//            asynchronous: read results after `synchronize()` or in the stream's own order. On the
//            CPU a call has finished when it returns.
// Threads    Distinct contexts may be used at the same time; one context by one thread at a time.
// Same bits  Same inputs, device, library version, tune cache and workspace size: same bits. (Where
//            the device has no memory left for the context's own workspace, that has another size.)
// Errors     Every function throws kw::Error. After invalid_argument, unsupported and
//            workspace_too_small nothing was written. What a GPU only finds while it works is
//            reported by a later call or by `synchronize()`, as device_error.
// Graphs     Calls can be captured in a CUDA graph (`gpu_on_stream`). The captured addresses are
//            the workspace's, which lives as long as the context or is yours, and those of a few
//            counters of the context: it must outlive the graph, and neither two of its graphs nor
//            a graph and other calls of it may run at the same time. The library has CUDA graphs of
//            its own, up to 64 a context of some 100 KiB of device memory each: a shape whose call
//            takes 3 to 16 launches is launched as one from its third call on, but where you
//            capture.
// Device     A call leaves the calling thread's current GPU as it found it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernelwright/device.hpp"
#include "kernelwright/export.h"
#include "kernelwright/status.hpp"

namespace kw {

namespace detail {
class ContextState;
struct ContextAccess;
}  // namespace detail

class KW_API Context {
 public:
  /// Computes on this machine's CPU; matrices lie in host memory.
  static Context cpu();
  /// Computes on a GPU, on a stream of its own, which keeps its order with the default stream;
  /// matrices lie in that GPU's memory.
  /// no_device where there is no such GPU or this library was built without GPU kernels.
  static Context gpu(int ordinal = 0);
  /// The same on the caller's stream (cudaStream_t or hipStream_t of that GPU; null is the default
  /// stream), which must outlive the context's use of it. Waits once for the stream, which must not
  /// be capturing yet.
  static Context gpu_on_stream(void* stream, int ordinal = 0);

  Context(Context&& other) noexcept;
  Context& operator=(Context&& other) noexcept;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  /// Does not wait for the device beyond what freeing memory needs: call `synchronize` first where
  /// results matter.
  ~Context();

  DeviceKind device_kind() const;
  const std::string& device_name() const;

  /// Waits until the work of all calls so far is done.
  void synchronize();

  /// Later calls go to this stream of the same GPU. Nothing waits: the caller orders what is in
  /// flight on the old stream before what follows on the new one, as both use the context's scratch
  /// memory. A CPU context has no stream: null only.
  void set_stream(void* stream);

  /// Later calls take their scratch memory from here: device memory, 256-byte aligned, not used by
  /// anything else meanwhile. A product that would take more makes do with what there is, by a
  /// slower way at worst; a reduction that needs more fails with workspace_too_small. (null, 0)
  /// returns to the context's own workspace, which a call that needs more grows by an allocation;
  /// what it grew out of is kept until the context ends. Where the device has no memory for that,
  /// products make do with less, and no call asks for more until this function is called.
  void set_workspace(void* data, std::size_t bytes);

  /// Later products of the shapes in this file, which `kernelwright tune` wrote, use the kernels
  /// that were measured fastest; in place of what was loaded before. A new context loads the file
  /// that the environment variable KERNELWRIGHT_TUNE_CACHE names. unusable_file where the file is
  /// missing, damaged, or of another device, driver or library version: the context then chooses
  /// by its own rule.
  void load_tune_cache(const std::string& path);
  /// A sentence: which file is used, or why none is.
  const std::string& tune_cache_report() const;

 private:
  friend struct detail::ContextAccess;
  explicit Context(std::unique_ptr<detail::ContextState> state) noexcept;

  std::unique_ptr<detail::ContextState> state_;
};

}  // namespace kw
