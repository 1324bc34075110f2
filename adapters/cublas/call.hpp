// A call of cuBLAS in one form, whichever symbol it came through, and why a call is not taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi.hpp"
#include "kernelwright/kernelwright.h"
#include "policy.hpp"
#include "symbols.hpp"

namespace kw::cublas {

// Why cuBLAS computes a call. The first is none; `reason_texts` says each.
enum class Reason : std::uint8_t {
  none,
  off,
  types,
  compute_type,
  math_mode,
  pedantic,
  arguments,
  nothing_to_do,
  operation,
  lt_epilogue,
  lt_order,
  lt_output,
  lt_scale,
  lt_pointer_mode,
  lt_shapes,
  lt_unknown,
  small,
  slower,
  unmeasured,
  no_library,
  no_device,
  capture,
  refused,
};

constexpr const char* reason_texts[] = {
    "",
    "switched off",
    "types other than FP32",
    "compute type other than FP32",
    "math mode that is not FP32",
    "PEDANTIC, which KERNELWRIGHT_PEDANTIC leaves to cuBLAS",
    "arguments for cuBLAS to judge",
    "nothing to multiply",
    "conjugation without transposition",
    "epilogue that the library does not have",
    "order of a matrix that is neither column- nor row-major",
    "C and D differ",
    "scaled inputs or outputs",
    "vector of scalars",
    "shapes or batches of the descriptors do not fit each other",
    "descriptor with an attribute that the adapter does not know",
    "smaller than KERNELWRIGHT_SMALLEST",
    "predicted to be slower than cuBLAS",
    "GPU for which cuBLAS was never measured",
    "libkernelwright cannot be used",
    "no device that libkernelwright can use",
    "capture that is broken, or without a workspace",
    "refused by libkernelwright",
};
constexpr std::size_t reason_count = sizeof reason_texts / sizeof reason_texts[0];
static_assert(reason_count == static_cast<std::size_t>(Reason::refused) + 1);

constexpr const char* text_of(Reason reason) {
  return reason_texts[static_cast<std::size_t>(reason)];
}

// The diagonal and what is below it or above it: of C, which alone is computed, or of an A that is
// symmetric or triangular.
enum class Triangle : std::uint8_t { none, lower, upper };

// What is computed: a product, or a routine of level 3 (kernelwright/level3.hpp). Those are column-
// major. Updates have m = n, and B, which ssyrk has as A, transposed as A is; of the others k is
// the size of A; strsm has its B as C. A factorisation has A as all three matrices.
enum class Routine : std::uint8_t { gemm, syrk, syrkx, syr2k, symm, trmm, trsm, potrf };

enum class Form : std::uint8_t { one, strided, pointers };

// C = activation(alpha op(A) op(B) + beta S + bias) in FP32, `batch` times, where S is C as it was
// or a matrix beside it; with Form::pointers a, b and c are arrays of pointers on the device, and
// there is nothing beside them.
struct Product {
  kwLayout_t layout = KW_COL_MAJOR;
  kwOp_t op_a = KW_OP_NONE, op_b = KW_OP_NONE;
  std::int64_t m = 0, n = 0, k = 0;
  const float* alpha = nullptr;
  const void* a = nullptr;
  std::int64_t lda = 0, stride_a = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0, stride_b = 0;
  const float* beta = nullptr;
  void* c = nullptr;
  std::int64_t ldc = 0, stride_c = 0;
  const float* bias = nullptr;  // an element for each row of C; null: none
  std::int64_t stride_bias = 0;
  kwActivation_t activation = KW_ACTIVATION_NONE;
  const float* source = nullptr;  // S, in C's layout; null: C
  std::int64_t ld_source = 0, stride_source = 0;
  std::int64_t batch = 1;
  Form form = Form::one;
  Routine routine = Routine::gemm;
  Triangle triangle = Triangle::none;
  bool on_right = false, unit_diagonal = false;  // A
  int* info = nullptr;                           // of potrf, on the device
  bool scalars_on_device = false;
  // Matrices and scalars are complex: sizes and strides count complex elements, pointers lead to
  // their real parts, and there is nothing beside them.
  bool is_complex = false;
};

constexpr std::size_t element_bytes(const Product& p) {
  return p.is_complex ? 2 * sizeof(float) : sizeof(float);
}

// What a product does beside multiplying, for keys: 0 is nothing. Less than 16.
constexpr std::int64_t epilogue_kind(const Product& p) {
  return (p.bias != nullptr ? 1 : 0) + (p.source != nullptr ? 2 : 0) + 4 * p.activation;
}
static_assert(KW_ACTIVATION_GELU_ERF == 3);

struct Call {
  Symbol symbol = {};
  Handle handle = nullptr;
  Stream stream = nullptr;
  Product product;
  bool pedantic = false;
  bool is_group = false;         // of several, which are decided together
  Reason reason = Reason::none;  // why it cannot be taken, as far as the arguments tell
};

// Products of one call in groups, each a batch of its own shape. `call` has the first one's, for
// the record, with as many entries as all groups have.
struct GroupedCall {
  Call call;
  std::vector<Product> groups;
  std::size_t done = 0;            // groups that the library computed
  std::int64_t done_products = 0;  // and their entries
};

// How the library would compute a call, as far as anybody is told.
struct Outlook {
  Arithmetic math = Arithmetic::fp32;
  const char* kernel = "";
  double time_us = 0, vendor_time_us = 0;  // predicted; 0: not
};

}  // namespace kw::cublas
