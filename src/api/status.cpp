// Names of status codes, and the library's version.
#include "kernelwright/status.hpp"

#include "kernelwright/version.hpp"

namespace kw {

const char* to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::ok: return "ok";
    case StatusCode::invalid_argument: return "invalid_argument";
    case StatusCode::unsupported: return "unsupported";
    case StatusCode::no_device: return "no_device";
    case StatusCode::out_of_memory: return "out_of_memory";
    case StatusCode::workspace_too_small: return "workspace_too_small";
    case StatusCode::device_error: return "device_error";
    case StatusCode::internal_error: return "internal_error";
    case StatusCode::unusable_file: return "unusable_file";
  }
  return "unknown";
}

const char* version() noexcept { return KW_VERSION; }

}  // namespace kw
