// The launches that a stream was given, captured once and launched as one as often as one likes:
// graphs of CUDA and HIP.
#pragma once

#include <functional>
#include <utility>

#include "gpu/gpu_api.hpp"

namespace KW_TARGET {

class CapturedGraph {
 public:
  CapturedGraph() = default;
  CapturedGraph(CapturedGraph&& other) noexcept
      : graph_(std::exchange(other.graph_, nullptr)), exec_(std::exchange(other.exec_, nullptr)) {}
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() {
    if (exec_ != nullptr) (void)KW_GPU_API(GraphExecDestroy)(exec_);
    if (graph_ != nullptr) (void)KW_GPU_API(GraphDestroy)(graph_);
  }

  Status capture(const std::function<Status(Stream)>& work, Stream stream,
                 KW_GPU_API(StreamCaptureMode) mode) {
    Status status =
        check(KW_GPU_API(StreamBeginCapture)(native(stream), mode), "begin of graph capture");
    if (!status.ok()) return status;
    Status worked = work(stream);
    // Ended in any case: a stream left capturing is of no use to anyone.
    status = check(KW_GPU_API(StreamEndCapture)(native(stream), &graph_), "graph capture");
    if (!worked.ok()) return worked;
    if (!status.ok()) return status;
    return check(instantiate(&exec_, graph_), "graph instantiation");
  }

  Status launch(Stream stream) {
    return check(KW_GPU_API(GraphLaunch)(exec_, native(stream)), "graph launch");
  }

  // Null until it is captured.
  KW_GPU_API(GraphExec_t) exec() const { return exec_; }

 private:
  KW_GPU_API(Graph_t) graph_ = nullptr;
  KW_GPU_API(GraphExec_t) exec_ = nullptr;
};

}  // namespace KW_TARGET
