// The result type that travels inside the library. Only src/api turns it into an exception or a
// code.
#pragma once

#include <string>
#include <utility>

#include "kernelwright/status.hpp"

namespace kw {

// A success has no strings. Moving one moves none, so that a call which checks its arguments one by
// one takes no longer for it.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  std::string argument;  // the argument to blame, or empty
  std::string message;

  Status() = default;
  Status(const Status&) = default;
  Status& operator=(const Status&) = default;
  ~Status() = default;
  Status(Status&& other) noexcept : code(other.code) {
    if (!other.ok()) take_strings(other);
  }
  Status& operator=(Status&& other) noexcept {
    if (!ok() || !other.ok()) take_strings(other);
    code = other.code;
    return *this;
  }

  bool ok() const { return code == StatusCode::ok; }

  static Status success() { return {}; }
  static Status failure(StatusCode code, std::string message, std::string argument = {}) {
    Status status;
    status.code = code;
    status.argument = std::move(argument);
    status.message = std::move(message);
    return status;
  }

 private:
  void take_strings(Status& other) noexcept {
    argument = std::move(other.argument);
    message = std::move(other.message);
  }
};

}  // namespace kw
