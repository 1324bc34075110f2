// What is behind a handle of the C interface: a context, its options, and the sentence of its last
// failure. No exception leaves a function that goes through here.
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "api/check.hpp"
#include "api/context_state.hpp"
#include "kernelwright/kernelwright.h"
#include "kernelwright/reduce.hpp"
#include "kernelwright/sgemm.hpp"

struct kwContext {
  std::unique_ptr<kw::detail::ContextState> state;
  kw::ReduceOptions reduce_options;
  kw::SgemmOptions sgemm_options;
  kwPointerMode_t pointer_mode = KW_POINTER_MODE_HOST;
  std::string last_error;
};

namespace kw::c_abi {

// The sentence of this thread's last failed call without a handle.
inline thread_local std::string error_without_handle;

// Runs `body`, turns what it throws into a status, and keeps the sentence.
template <class Body>
kwStatus_t guarded(std::string& last_error, const Body& body) noexcept {
  try {
    last_error.clear();
    Status status = body();
    last_error = std::move(status.message);
    return static_cast<kwStatus_t>(status.code);
  } catch (const std::bad_alloc&) {
    return KW_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    try {
      last_error = error.what();
    } catch (...) {
      last_error.clear();
    }
    return KW_STATUS_INTERNAL_ERROR;
  } catch (...) {
    return KW_STATUS_INTERNAL_ERROR;
  }
}

template <class Body>
kwStatus_t with_handle(kwHandle_t handle, const Body& body) noexcept {
  if (handle == nullptr) {
    return guarded(error_without_handle, [] {
      return detail::invalid("handle is null: create one with kwCreateCpu or kwCreateGpu",
                             "handle");
    });
  }
  return guarded(handle->last_error, [&] { return body(*handle); });
}

template <class Body>
kwStatus_t with_state(kwHandle_t handle, const Body& body) noexcept {
  return with_handle(handle, [&](kwContext& context) { return body(*context.state); });
}

inline Status first_failure(std::initializer_list<Status> statuses) {
  for (const Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace kw::c_abi
