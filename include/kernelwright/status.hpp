// How a call can end: the codes shared by the C++ and the C interface, and the C++ exception.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "kernelwright/export.h"

namespace kw {

/// Outcome of a call. The values are those of `kwStatus_t` in kernelwright.h and never change.
enum class StatusCode : int {
  ok = 0,
  invalid_argument = 1,  ///< an argument breaks the documented contract; nothing was written
  unsupported = 2,       ///< no kernel in this build computes the problem on this device
  no_device = 3,         ///< the asked device is not present
  out_of_memory = 4,     ///< the device has no memory for a context, or for a reduction's workspace
  workspace_too_small = 5,  ///< the caller's workspace is smaller than a reduction needs
  device_error = 6,         ///< the device runtime reported an error; the message carries its text
  internal_error = 7,       ///< a defect of this library
  unusable_file = 8,        ///< a file is missing or not what the call needs; the message says why
};

/// Short name of a code, for example "invalid_argument". Never null.
KW_API const char* to_string(StatusCode code) noexcept;

/// Thrown by every C++ entry point. `what()` is a whole sentence with the argument's name and the
/// numbers that clash; `argument()` is that name alone ("lda"), empty where none is to blame.
class KW_API Error : public std::runtime_error {
 public:
  Error(StatusCode code, std::string argument, const std::string& message)
      : std::runtime_error(message), code_(code), argument_(std::move(argument)) {}

  StatusCode code() const noexcept { return code_; }
  const std::string& argument() const noexcept { return argument_; }

 private:
  StatusCode code_;
  std::string argument_;
};

}  // namespace kw
