// What the conformance adapters share: one context of this library, and matrices where it computes.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>

#include "api/c_handle.hpp"
#include "kernelwright/kernelwright.h"

extern "C" void xerbla_(const char* routine, const int* argument, std::size_t routine_length);

namespace kw::conformance {

using kw::detail::ContextState;

[[noreturn]] inline void give_up(const char* what) {
  std::fprintf(stderr, "kernelwright conformance: %s\n", what);
  std::abort();
}

inline void require(const kw::Status& status) {
  if (!status.ok()) give_up(status.message.c_str());
}

class Library {
 public:
  Library() {
    const char* wanted = std::getenv("KW_CONFORMANCE_DEVICE");
    on_gpu_ = wanted != nullptr && std::string_view(wanted) == "gpu";
    require(on_gpu_ ? ContextState::open_gpu(0, std::nullopt, &context_.state)
                    : ContextState::open_cpu(&context_.state));
  }
  ~Library() {
    std::fprintf(stderr, "kernelwright conformance: %ld calls on %s\n", calls_,
                 kwDeviceKind(&context_));
  }

  kwHandle_t handle() { return &context_; }
  kw::Runtime& runtime() { return context_.state->runtime(); }
  kw::Stream stream() const { return context_.state->stream(); }
  bool on_gpu() const { return on_gpu_; }
  void count() { ++calls_; }

 private:
  kwContext context_;
  bool on_gpu_ = false;
  long calls_ = 0;
};

inline Library& library() {
  static Library it;
  return it;
}

// A column-major matrix where the library computes: the program's own, or a copy on the GPU.
class There {
 public:
  There(const float* here, std::int64_t cols, std::int64_t ld) : here_(here) {
    if (!library().on_gpu()) return;
    // With the whole last column, as BLAS's arrays are declared.
    bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(cols * ld, 0)) * sizeof(float);
    require(library().runtime().allocate(&data_, bytes_ > 0 ? bytes_ : sizeof(float)));
    require(library().runtime().copy(data_, here, bytes_, library().stream()));
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;
  ~There() {
    if (data_ != nullptr) library().runtime().release(data_);
  }

  const float* data() const { return data_ != nullptr ? static_cast<float*>(data_) : here_; }
  void bring_back(float* here) const {
    if (data_ != nullptr)
      require(library().runtime().copy(here, data_, bytes_, library().stream()));
  }

 private:
  const float* here_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

inline kwOp_t to_op(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'N': return KW_OP_NONE;
    case 'T':
    case 'C': return KW_OP_TRANSPOSE;
    default: return -1;
  }
}

// Which of two letters, large or small, a parameter is.
inline int one_of(char letter, char zero, char one) {
  const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return upper == zero ? 0 : upper == one ? 1 : -1;
}
inline kwSide_t to_side(const char* letter) { return one_of(*letter, 'L', 'R'); }
inline kwUplo_t to_uplo(const char* letter) { return one_of(*letter, 'L', 'U'); }
inline kwDiag_t to_diag(const char* letter) { return one_of(*letter, 'N', 'U'); }

// The place of the argument that a message begins with among a routine's, from 1; 0: none.
template <std::size_t count>
int number_of(std::string_view message, const std::string_view (&names)[count]) {
  const std::string_view name = message.substr(0, message.find(' '));
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  return found == std::end(names) ? 0 : static_cast<int>(found - std::begin(names)) + 1;
}

// After a call: a wrong argument goes to BLAS's xerbla_, all else ends the program.
template <std::size_t count>
void report(kwStatus_t status, const char* routine, const std::string_view (&names)[count]) {
  if (status == KW_STATUS_OK) return;
  const char* message = kwLastErrorMessage(library().handle());
  const int argument = number_of(message, names);
  if (status != KW_STATUS_INVALID_ARGUMENT || argument == 0) give_up(message);
  xerbla_(routine, &argument, 6);
}

}  // namespace kw::conformance
