// The result type that travels inside the library. Only src/api turns it into an exception or a
// code.
#pragma once

#include <string>
#include <utility>

#include "kernelwright/status.hpp"

namespace kw {

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  std::string argument;  // the argument to blame, or empty
  std::string message;

  bool ok() const { return code == StatusCode::ok; }

  static Status success() { return {}; }
  static Status failure(StatusCode code, std::string message, std::string argument = {}) {
    return {code, std::move(argument), std::move(message)};
  }
};

}  // namespace kw
