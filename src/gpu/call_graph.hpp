// CUDA's graph of a call's launches, for LaunchesAsOne (kept_launches.hpp).
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "gpu/captured_graph.hpp"
#include "gpu/gpu_api.hpp"
#include "gpu/kept_launches.hpp"

namespace KW_TARGET {

// What the graphs of a context share: a stream that nobody else knows, made when it is first asked
// for, where launches are recorded, since CUDA's default stream records none; and how many there
// are, since each has memory of the device.
class GraphRecorder {
 public:
  GraphRecorder() = default;
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;
  ~GraphRecorder() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status stream(cudaStream_t* stream) {
    Status status = Status::success();
    if (stream_ == nullptr)
      status = check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream creation");
    *stream = stream_;
    return status;
  }

  bool has_room() const { return graphs_ < most_graphs; }
  void add() { ++graphs_; }
  void remove() { --graphs_; }

 private:
  static constexpr int most_graphs = 64;  // of some 100 KiB (results/h200/explored-call-graphs.txt)

  cudaStream_t stream_ = nullptr;
  int graphs_ = 0;
};

// What this thread does meanwhile leaves other threads' captures alone.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Functions are called with the device as the current one; the recorder lives longer.
class CallGraph {
 public:
  using Node = cudaGraphNode_t;

  explicit CallGraph(GraphRecorder& recorder) : recorder_(&recorder) {}
  CallGraph(CallGraph&&) noexcept = default;
  CallGraph(const CallGraph&) = delete;
  CallGraph& operator=(const CallGraph&) = delete;
  ~CallGraph() {
    if (graph_.exec() != nullptr) recorder_->remove();
  }

  // Yes too where it cannot be told: whoever launches then hears why.
  bool is_capturing(Stream stream) const {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    return !check(cudaStreamIsCapturing(native(stream), &capture), "capture status").ok() ||
           capture != cudaStreamCaptureStatusNone;
  }

  Status record(const std::function<Status(Stream)>& work) {
    if (!recorder_->has_room())
      return Status::failure(StatusCode::unsupported, "the context has as many graphs as it may");
    const RelaxedCapture relaxed;
    cudaStream_t stream = nullptr;
    Status status = recorder_->stream(&stream);
    if (status.ok()) status = graph_.capture(work, Stream{stream}, cudaStreamCaptureModeRelaxed);
    if (status.ok()) recorder_->add();
    return status;
  }

  Status last_node(Node* node) const {
    cudaStream_t stream = nullptr;
    Status status = recorder_->stream(&stream);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* last = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    const auto capture_info = cudaStreamGetCaptureInfo;
#else
    const auto capture_info = cudaStreamGetCaptureInfo_v3;
#endif
    if (status.ok())
      status = check(capture_info(stream, &capture, nullptr, nullptr, &last, &edges, &count),
                     "capture info");
    if (!status.ok()) return status;
    if (count != 1)
      return Status::failure(StatusCode::device_error, "launches that do not follow each other");
    *node = *last;
    return status;
  }

  Status set(Node node, const kw::gpu::LaunchRequest& launch) {
    const kw::gpu::LaunchShape& shape = launch.shape;
    const auto dim = [](auto x, auto y, auto z) {
      return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
    };
    cudaKernelNodeParams params = {};
    params.func = const_cast<void*>(launch.kernel);
    params.gridDim = dim(shape.grid[0], shape.grid[1], shape.grid[2]);
    params.blockDim = dim(shape.block[0], shape.block[1], shape.block[2]);
    params.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
    params.kernelParams = launch.arguments;
    return check(cudaGraphExecKernelNodeSetParams(graph_.exec(), node, &params), "graph update");
  }

  Status launch(Stream stream) { return graph_.launch(stream); }

 private:
  GraphRecorder* recorder_;
  CapturedGraph graph_;
};

}  // namespace KW_TARGET
