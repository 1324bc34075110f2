// What goes wrong below Python: a status of the C interface with its sentence. The module turns it
// into the Python exception of that status.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include "kernelwright/kernelwright.h"

namespace kw::python {

class Failure : public std::runtime_error {
 public:
  Failure(kwStatus_t status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  kwStatus_t status() const { return status_; }

 private:
  kwStatus_t status_;
};

// Its parts, one after the other.
template <class... Parts>
std::string sentence(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Failure(KW_STATUS_INVALID_ARGUMENT, sentence(parts...));
}

}  // namespace kw::python
