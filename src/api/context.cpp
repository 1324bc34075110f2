// kw::Context: the state behind it, and exceptions in place of statuses.
#include "kernelwright/context.hpp"

#include <utility>

#include "api/context_state.hpp"
#include "text.hpp"

namespace kw {

namespace detail {

ContextState& ContextAccess::state(const Context& context) {
  if (context.state_ == nullptr) {
    throw Error(StatusCode::invalid_argument, "context",
                "context was moved from: use the one that it was moved to");
  }
  return *context.state_;
}

Context open_context(DeviceKind kind, int ordinal) {
  const Backend* backend = find_backend(kind);
  if (backend == nullptr) {
    throw Error(StatusCode::no_device, "kind",
                text("this program has no ", to_string(kind),
                     " backend: build with it, or add it with add_backend"));
  }
  std::unique_ptr<ContextState> state;
  throw_unless_ok(ContextState::open(*backend, ordinal, std::nullopt, &state));
  return ContextAccess::make(std::move(state));
}

}  // namespace detail

using detail::ContextAccess;
using detail::ContextState;
using detail::throw_unless_ok;

Context::Context(std::unique_ptr<ContextState> state) noexcept : state_(std::move(state)) {}
Context::Context(Context&& other) noexcept = default;
Context& Context::operator=(Context&& other) noexcept = default;
Context::~Context() = default;

Context Context::cpu() {
  std::unique_ptr<ContextState> state;
  throw_unless_ok(ContextState::open_cpu(&state));
  return Context(std::move(state));
}

Context Context::gpu(int ordinal) {
  std::unique_ptr<ContextState> state;
  throw_unless_ok(ContextState::open_gpu(ordinal, std::nullopt, &state));
  return Context(std::move(state));
}

Context Context::gpu_on_stream(void* stream, int ordinal) {
  std::unique_ptr<ContextState> state;
  throw_unless_ok(ContextState::open_gpu(ordinal, Stream{stream}, &state));
  return Context(std::move(state));
}

DeviceKind Context::device_kind() const { return ContextAccess::state(*this).device().kind; }

const std::string& Context::device_name() const {
  return ContextAccess::state(*this).device().name;
}

void Context::synchronize() { throw_unless_ok(ContextAccess::state(*this).synchronize()); }

void Context::set_stream(void* stream) {
  throw_unless_ok(ContextAccess::state(*this).set_stream(stream));
}

void Context::set_workspace(void* data, std::size_t bytes) {
  throw_unless_ok(ContextAccess::state(*this).set_workspace(data, bytes));
}

void Context::load_tune_cache(const std::string& path) {
  throw_unless_ok(ContextAccess::state(*this).load_tune_cache(path));
}

const std::string& Context::tune_cache_report() const {
  return ContextAccess::state(*this).tune_cache_report();
}

}  // namespace kw
