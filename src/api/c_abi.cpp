// The C interface: handles.
#include <memory>
#include <optional>

#include "api/c_handle.hpp"
#include "api/check.hpp"
#include "kernelwright/version.hpp"
#include "text.hpp"

namespace {

using kw::Layout;
using kw::Op;
using kw::Status;
using kw::StatusCode;
using kw::c_abi::error_without_handle;
using kw::c_abi::guarded;
using kw::c_abi::with_handle;
using kw::c_abi::with_state;
using kw::detail::ContextState;
using kw::detail::invalid;

static_assert(KW_STATUS_OK == static_cast<int>(StatusCode::ok));
static_assert(KW_STATUS_INVALID_ARGUMENT == static_cast<int>(StatusCode::invalid_argument));
static_assert(KW_STATUS_UNSUPPORTED == static_cast<int>(StatusCode::unsupported));
static_assert(KW_STATUS_NO_DEVICE == static_cast<int>(StatusCode::no_device));
static_assert(KW_STATUS_OUT_OF_MEMORY == static_cast<int>(StatusCode::out_of_memory));
static_assert(KW_STATUS_WORKSPACE_TOO_SMALL == static_cast<int>(StatusCode::workspace_too_small));
static_assert(KW_STATUS_DEVICE_ERROR == static_cast<int>(StatusCode::device_error));
static_assert(KW_STATUS_INTERNAL_ERROR == static_cast<int>(StatusCode::internal_error));
static_assert(KW_STATUS_UNUSABLE_FILE == static_cast<int>(StatusCode::unusable_file));
static_assert(KW_ROW_MAJOR == static_cast<int>(Layout::row_major));
static_assert(KW_COL_MAJOR == static_cast<int>(Layout::col_major));
static_assert(KW_OP_NONE == static_cast<int>(Op::none));
static_assert(KW_OP_TRANSPOSE == static_cast<int>(Op::transpose));
static_assert(KW_OP_CONJUGATE_TRANSPOSE == static_cast<int>(Op::conjugate_transpose));

template <class Open>
kwStatus_t create(kwHandle_t* handle, const Open& open) noexcept {
  return guarded(error_without_handle, [&] {
    if (handle == nullptr) {
      return invalid("handle is null: pass the address of a kwHandle_t", "handle");
    }
    *handle = nullptr;
    auto context = std::make_unique<kwContext>();
    Status status = open(&context->state);
    if (status.ok()) *handle = context.release();
    return status;
  });
}

}  // namespace

kwStatus_t kwCreateCpu(kwHandle_t* handle) {
  return create(handle, [](auto* state) { return ContextState::open_cpu(state); });
}

kwStatus_t kwCreateGpu(kwHandle_t* handle, int ordinal) {
  return create(handle,
                [&](auto* state) { return ContextState::open_gpu(ordinal, std::nullopt, state); });
}

kwStatus_t kwCreateGpuOnStream(kwHandle_t* handle, void* stream, int ordinal) {
  return create(handle, [&](auto* state) {
    return ContextState::open_gpu(ordinal, kw::Stream{stream}, state);
  });
}

void kwDestroy(kwHandle_t handle) { delete handle; }

kwStatus_t kwSetStream(kwHandle_t handle, void* stream) {
  return with_state(handle, [&](ContextState& state) { return state.set_stream(stream); });
}

kwStatus_t kwSynchronize(kwHandle_t handle) {
  return with_state(handle, [](ContextState& state) { return state.synchronize(); });
}

kwStatus_t kwSetWorkspace(kwHandle_t handle, void* data, size_t bytes) {
  return with_state(handle, [&](ContextState& state) { return state.set_workspace(data, bytes); });
}

kwStatus_t kwReserveWorkspace(kwHandle_t handle, size_t bytes) {
  return with_state(handle, [&](ContextState& state) { return state.reserve_workspace(bytes); });
}

kwStatus_t kwSetWorkspaceLimit(kwHandle_t handle, size_t bytes) {
  return with_state(handle, [&](ContextState& state) {
    state.limit_workspace(bytes);
    return Status::success();
  });
}

kwStatus_t kwLoadTuneCache(kwHandle_t handle, const char* path) {
  return with_state(handle, [&](ContextState& state) {
    if (path == nullptr) return invalid("path is null: pass the name of a tune cache", "path");
    return state.load_tune_cache(path);
  });
}

const char* kwTuneCacheReport(kwHandle_t handle) {
  return handle == nullptr ? nullptr : handle->state->tune_cache_report().c_str();
}

kwStatus_t kwSetPointerMode(kwHandle_t handle, kwPointerMode_t mode) {
  return with_handle(handle, [&](kwContext& context) {
    if (mode != KW_POINTER_MODE_HOST && mode != KW_POINTER_MODE_DEVICE) {
      return invalid(kw::text("mode is ", mode, ": pass 0 (host) or 1 (device)"), "mode");
    }
    context.pointer_mode = mode;
    return Status::success();
  });
}

kwStatus_t kwGetPointerMode(kwHandle_t handle, kwPointerMode_t* mode) {
  return with_handle(handle, [&](const kwContext& context) {
    if (mode == nullptr)
      return invalid("mode is null: pass the address of a kwPointerMode_t", "mode");
    *mode = context.pointer_mode;
    return Status::success();
  });
}

const char* kwDeviceKind(kwHandle_t handle) {
  return handle == nullptr ? nullptr : kw::to_string(handle->state->device().kind);
}

const char* kwDeviceName(kwHandle_t handle) {
  return handle == nullptr ? nullptr : handle->state->device().name.c_str();
}

const char* kwStatusString(kwStatus_t status) {
  return kw::to_string(static_cast<StatusCode>(status));
}

const char* kwLastErrorMessage(kwHandle_t handle) {
  return (handle == nullptr ? error_without_handle : handle->last_error).c_str();
}

const char* kwVersion(void) { return kw::version(); }
