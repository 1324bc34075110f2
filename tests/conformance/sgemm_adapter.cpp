// Lends this library to BLAS's own test program for SGEMM: the Fortran symbol sgemm_, computed by
// kwSgemm. Preloaded into xblat3s, whose xerbla_ it tells about wrong arguments by BLAS's numbers.
//
// KW_CONFORMANCE_DEVICE   cpu (default: in place, in the program's memory) or gpu (copied there)
// At the end one line on stderr says what was computed where: a preload that failed has none.
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

namespace {

using kw::detail::ContextState;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "kernelwright conformance: %s\n", what);
  std::abort();
}

void require(const kw::Status& status) {
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

Library& library() {
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

kwOp_t to_op(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'N': return KW_OP_NONE;
    case 'T':
    case 'C': return KW_OP_TRANSPOSE;
    default: return -1;
  }
}

// SGEMM's arguments by number, as this library's messages name them: the first word.
int number_of(std::string_view message) {
  static constexpr std::string_view names[] = {"op_a", "op_b", "m",   "n",    "k", "alpha", "a",
                                               "lda",  "b",    "ldb", "beta", "c", "ldc"};
  const std::string_view name = message.substr(0, message.find(' '));
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  return found == std::end(names) ? 0 : static_cast<int>(found - std::begin(names)) + 1;
}

}  // namespace

extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c,
                       const int* ldc) {
  library().count();
  const kwOp_t op_a = to_op(*transa), op_b = to_op(*transb);
  const There there_a(a, op_a == KW_OP_NONE ? *k : *m, *lda);
  const There there_b(b, op_b == KW_OP_NONE ? *n : *k, *ldb);
  const There there_c(c, *n, *ldc);
  const kwStatus_t status =
      kwSgemm(library().handle(), KW_COL_MAJOR, op_a, op_b, *m, *n, *k, alpha, there_a.data(), *lda,
              there_b.data(), *ldb, beta, const_cast<float*>(there_c.data()), *ldc);
  if (status == KW_STATUS_OK) return there_c.bring_back(c);
  const char* message = kwLastErrorMessage(library().handle());
  const int argument = number_of(message);
  if (status != KW_STATUS_INVALID_ARGUMENT || argument == 0) give_up(message);
  xerbla_("SGEMM ", &argument, 6);
}
