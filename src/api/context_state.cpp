// Streams, scratch memory and tune cache of a context.
#include "api/context_state.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "text.hpp"

namespace kw::detail {

namespace {

constexpr std::size_t workspace_alignment = 256;
constexpr std::size_t smallest_workspace = std::size_t{1} << 20;
// Where there is no memory: what no kernel has use for is not asked for.
constexpr std::size_t least_workspace = std::size_t{1} << 10;
// A split product of 16384 x 16384 x 16384 fits (6 bytes per element of A and B, 3.2 GB).
// Sub-problems of that size keep every multiprocessor busy, and 80 GB cards have the memory.
constexpr std::size_t largest_sub_problem_workspace = std::size_t{4} << 30;

}  // namespace

Status ContextState::open(const Backend& backend, int ordinal, std::optional<Stream> stream,
                          std::unique_ptr<ContextState>* state) {
  std::unique_ptr<Runtime> runtime;
  Status status = backend.open(ordinal, &runtime);
  if (!status.ok()) return status;
  std::unique_ptr<ContextState> opened(new ContextState(std::move(runtime)));
  opened->sgemm_ = backend.sgemm();
  opened->level3_ = backend.level3();
  opened->scale_add_ = backend.scale_add();
  opened->reduce_ = backend.reduce();
  opened->cgemm_ = backend.cgemm();
  opened->ctrsm_ = backend.ctrsm();
  opened->rowwise_ = backend.rowwise();
  opened->attention_ = backend.attention();
  opened->load_tune_cache_of_environment();
  if (stream) opened->stream_ = *stream;
  status = opened->runtime_->with_device([&] {
    Status made = stream ? Status::success() : opened->make_stream();
    return made.ok() ? opened->make_tickets() : made;
  });
  if (status.ok()) *state = std::move(opened);
  return status;
}

Status ContextState::make_stream() {
  Stream made;
  Status status = runtime_->create_stream(&made);
  if (!status.ok()) return status;
  own_stream_ = made;
  stream_ = made;
  return status;
}

// Waits until they are zero: later calls may use another stream.
Status ContextState::make_tickets() {
  constexpr std::size_t bytes = ticket_count * sizeof(unsigned);
  void* data = nullptr;
  Status status = runtime_->allocate(&data, bytes);
  if (!status.ok()) return status;
  tickets_ = static_cast<unsigned*>(data);
  status = runtime_->fill(data, 0, bytes, stream_);
  return status.ok() ? runtime_->synchronize(stream_) : status;
}

Status ContextState::open_cpu(std::unique_ptr<ContextState>* state) {
  return open(*find_backend(DeviceKind::cpu), 0, Stream{}, state);
}

Status ContextState::open_gpu(int ordinal, std::optional<Stream> stream,
                              std::unique_ptr<ContextState>* state) {
  // The first kind with a device. Where there is none, the first kind that this build supports: its
  // error says why it has no device.
  const Backend* found = nullptr;
  for (DeviceKind kind : {DeviceKind::cuda, DeviceKind::hip}) {
    const Backend* backend = find_backend(kind);
    if (backend == nullptr) continue;
    if (backend->device_count() > 0) return open(*backend, ordinal, stream, state);
    if (found == nullptr) found = backend;
  }
  if (found != nullptr) return open(*found, ordinal, stream, state);
  return Status::failure(StatusCode::no_device,
                         "this kernelwright was built without GPU kernels: build it where nvcc or "
                         "hipcc is on PATH (CMake option KW_CUDA=ON or KW_HIP=ON), or use a CPU "
                         "context");
}

ContextState::~ContextState() {
  (void)runtime_->with_device([&] {
    for (const Workspace& workspace : own_workspaces_) runtime_->release(workspace.data);
    if (tickets_ != nullptr) runtime_->release(tickets_);
    if (own_stream_) runtime_->destroy_stream(*own_stream_);
    return Status::success();
  });
}

Status ContextState::synchronize() {
  return runtime_->with_device([&] { return runtime_->synchronize(stream_); });
}

Status ContextState::set_stream(void* handle) {
  if (handle != nullptr && !device().is_gpu()) {
    return Status::failure(StatusCode::invalid_argument,
                           text("stream is not null, but a ", to_string(device().kind),
                                " context has no streams: pass null"),
                           "stream");
  }
  stream_ = {handle};
  return Status::success();
}

Status ContextState::set_workspace(void* data, std::size_t bytes) {
  if (data == nullptr && bytes > 0) {
    return Status::failure(StatusCode::invalid_argument,
                           text("workspace is null with ", bytes,
                                " bytes: pass device memory, or null with 0 bytes for the "
                                "context's own"),
                           "workspace");
  }
  const auto misalignment = reinterpret_cast<std::uintptr_t>(data) % workspace_alignment;
  if (misalignment != 0) {
    return Status::failure(
        StatusCode::invalid_argument,
        text("workspace lies ", misalignment, " bytes past a multiple of ", workspace_alignment,
             ": align it to ", workspace_alignment, " bytes"),
        "workspace");
  }
  own_limit_ = asked_limit_;  // there may be memory again
  if (data == nullptr) {
    callers_workspace_.reset();
  } else {
    callers_workspace_ = Workspace{data, bytes, tickets_};
  }
  return Status::success();
}

Status ContextState::reserve_workspace(std::size_t bytes) {
  if (bytes == 0 || (!own_workspaces_.empty() && own_workspaces_.back().bytes >= bytes)) {
    return Status::success();
  }
  asked_limit_ = std::max(asked_limit_, bytes);
  own_limit_ = asked_limit_;
  return runtime_->with_device([&] { return grow_workspace(bytes); });
}

void ContextState::limit_workspace(std::size_t bytes) {
  const std::size_t present = own_workspaces_.empty() ? 0 : own_workspaces_.back().bytes;
  asked_limit_ = std::max(bytes, present);
  own_limit_ = asked_limit_;
}

Status ContextState::load_tune_cache(const std::string& path) {
  plans_.clear();
  Status status = TuneCache::read(path, device(), &tune_cache_);
  if (!status.ok()) {
    tune_cache_report_ = status.message;
    return status;
  }
  const auto is_unknown = [&](const auto& entry) {
    return std::none_of(sgemm_.begin(), sgemm_.end(), [&](const Kernel<Sgemm>& kernel) {
      return kernel.name == entry.second.kernel;
    });
  };
  const auto& choices = tune_cache_.choices();
  const auto unknown = std::count_if(choices.begin(), choices.end(), is_unknown);
  tune_cache_report_ = text("tune cache ", path, ", shapes: ", choices.size());
  if (unknown > 0) tune_cache_report_ += text(", of kernels that are not here: ", unknown);
  return status;
}

void ContextState::load_tune_cache_of_environment() {
  const char* const path = std::getenv("KERNELWRIGHT_TUNE_CACHE");
  if (path != nullptr && *path != '\0') {
    // A file that cannot be used is no error here: the report says why.
    static_cast<void>(load_tune_cache(path));
  } else {
    tune_cache_report_ = "no tune cache: KERNELWRIGHT_TUNE_CACHE names none and none was loaded";
  }
}

std::size_t ContextState::workspace_limit(Math math) const {
  if (callers_workspace_) return callers_workspace_->bytes;
  return math == Math::fp32 ? own_limit_ : std::min(own_limit_, largest_sub_problem_workspace);
}

std::size_t ContextState::complex_workspace_limit(Math math) const {
  if (callers_workspace_ || math == Math::fp32) return workspace_limit(math);
  return std::min(own_limit_, 2 * largest_sub_problem_workspace);
}

Status ContextState::workspace(std::size_t bytes, Workspace* found) {
  if (callers_workspace_) {
    *found = *callers_workspace_;
    if (found->bytes >= bytes) return Status::success();
    return Status::failure(StatusCode::workspace_too_small,
                           text("the workspace has ", found->bytes, " bytes, but this call takes ",
                                bytes, ": set a larger one, or none for the context's own"),
                           "workspace");
  }
  if (bytes == 0) {
    *found = {nullptr, 0, tickets_};
    return Status::success();
  }
  if (own_workspaces_.empty() || own_workspaces_.back().bytes < bytes) {
    if (bytes > asked_limit_) {
      return Status::failure(
          StatusCode::workspace_too_small,
          text("this call takes ", bytes, " bytes of workspace, but its limit is ", asked_limit_,
               ": set a higher limit"),
          "workspace");
    }
    Status status = grow_workspace(bytes);
    if (!status.ok()) return status;
  }
  *found = own_workspaces_.back();
  return Status::success();
}

// Sizes double, so all of them together have at most four times the largest size needed; less where
// the device has no more.
Status ContextState::grow_workspace(std::size_t bytes) {
  const std::size_t rounded =
      std::min(std::max(std::bit_ceil(bytes), smallest_workspace), std::max(bytes, asked_limit_));
  Status status = add_workspace(rounded);
  if (status.code == StatusCode::out_of_memory && rounded > bytes) status = add_workspace(bytes);
  if (status.code != StatusCode::out_of_memory) return status;
  const auto present = [&] { return own_workspaces_.empty() ? 0 : own_workspaces_.back().bytes; };
  const std::size_t before = present();
  // Steps of a quarter find at least three quarters of what there is.
  for (std::size_t less = bytes / 4 * 3; less > before && less >= least_workspace;
       less = less / 4 * 3) {
    Status added = add_workspace(less);
    if (added.ok()) break;
    if (added.code != StatusCode::out_of_memory) return added;
  }
  own_limit_ = present();
  return status;
}

Status ContextState::add_workspace(std::size_t bytes) {
  Workspace grown{nullptr, bytes, tickets_};
  own_workspaces_.reserve(own_workspaces_.size() + 1);
  Status status = runtime_->allocate(&grown.data, grown.bytes);
  if (status.ok()) own_workspaces_.push_back(grown);
  return status;
}

}  // namespace kw::detail
