// The operations as both interfaces call them: check, quick return, canonical form, choice, launch.
#pragma once

#include <cstddef>
#include <string>

#include "api/context_state.hpp"
#include "kernelwright/attention.hpp"
#include "kernelwright/cgemm.hpp"
#include "kernelwright/level3.hpp"
#include "kernelwright/matrix.hpp"
#include "kernelwright/reduce.hpp"
#include "kernelwright/rowwise.hpp"
#include "kernelwright/sgemm.hpp"

namespace kw::detail {

// `count` products of one shape. The views are entry 0 and the others lie strides further on; or,
// with `by_pointers`, the arrays hold the addresses of all entries.
struct SgemmBatch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  bool by_pointers = false;
  const float* const* a = nullptr;
  const float* const* b = nullptr;
  float* const* c = nullptr;
};

struct SgemmCall {
  Scalar alpha = 1;
  MatrixView<const float> a, b;
  Scalar beta = 0;
  MatrixView<float> c;
  SgemmOptions options;
  SgemmBatch batch = {};
};

Status sgemm(ContextState& state, const SgemmCall& call);
Status sgemm_workspace_bytes(const ContextState& state, const SgemmCall& call, std::size_t* bytes);
// Which kernel computed the call that was this context's last one, and whether in sub-problems;
// empty where there was nothing to do. Waits for it.
Status sgemm_path(ContextState& state, const SgemmCall& call, std::string* path);

// How a call would be computed; `kernel` is null where there is nothing to do.
struct SgemmOutlook {
  const char* kernel = nullptr;
  double time_us = 0;
  std::size_t workspace_bytes = 0;
};
// Keeps the plan for the call itself. Neither allocates device memory nor waits.
Status sgemm_outlook(ContextState& state, const SgemmCall& call, SgemmOutlook* outlook);

// strsm writes `c`, its B; spotrf its A.
struct Level3Call {
  Routine routine = Routine::syrk;
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  Diag diag = Diag::non_unit;
  Scalar alpha = 1;
  MatrixView<const float> a, b;
  Scalar beta = 0;
  MatrixView<float> c;
  Level3Options options;
  std::int64_t batch = 1, stride_a = 0, stride_c = 0;
  int* info = nullptr;  // of spotrf; its workspace is asked for without
};

Status level3(ContextState& state, const Level3Call& call);
Status level3_workspace_bytes(const ContextState& state, const Level3Call& call,
                              std::size_t* bytes);
// As sgemm_outlook.
Status level3_outlook(ContextState& state, const Level3Call& call, SgemmOutlook* outlook);
// The batch has the addresses of complex matrices.
struct CgemmCall {
  ComplexScalar alpha = 1;
  MatrixView<const std::complex<float>> a, b;
  ComplexScalar beta = 0;
  MatrixView<std::complex<float>> c;
  CgemmOptions options;
  SgemmBatch batch = {};
};

// csyrk, and cherk, whose scalars are real: those on the device are floats.
struct CsyrkCall {
  Uplo uplo = Uplo::lower;
  bool hermitian = false;
  ComplexScalar alpha = 1;
  MatrixView<const std::complex<float>> a;
  ComplexScalar beta = 0;
  MatrixView<std::complex<float>> c;
  CgemmOptions options;
};

Status csyrk(ContextState& state, const CsyrkCall& call);
Status csyrk_workspace_bytes(const ContextState& state, const CsyrkCall& call, std::size_t* bytes);
Status csyrk_outlook(ContextState& state, const CsyrkCall& call, SgemmOutlook* outlook);

// A complex triangular system; `b` is its right-hand side and becomes the solution.
struct CtrsmCall {
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  Diag diag = Diag::non_unit;
  ComplexScalar alpha = 1;
  MatrixView<const std::complex<float>> a;
  MatrixView<std::complex<float>> b;
  CgemmOptions options;
  std::int64_t batch = 1, stride_a = 0, stride_b = 0;
};

Status ctrsm(ContextState& state, const CtrsmCall& call);
Status ctrsm_workspace_bytes(const ContextState& state, const CtrsmCall& call, std::size_t* bytes);
Status ctrsm_outlook(ContextState& state, const CtrsmCall& call, SgemmOutlook* outlook);

// A real scalar as a call of cherk takes it.
ComplexScalar real_scalar(const Scalar& scalar);

Status cgemm(ContextState& state, const CgemmCall& call);
Status cgemm_workspace_bytes(const ContextState& state, const CgemmCall& call, std::size_t* bytes);
Status cgemm_outlook(ContextState& state, const CgemmCall& call, SgemmOutlook* outlook);
// The batch of arrays of pointers to complex matrices.
SgemmBatch complex_pointers(std::int64_t batch, const std::complex<float>* const* a,
                            const std::complex<float>* const* b, std::complex<float>* const* c);

struct ScaleAddCall {
  float scale = 1;
  MatrixView<const float> a;
  float shift = 0;
  MatrixView<float> b;
};

Status scale_add(ContextState& state, const ScaleAddCall& call);

struct AttentionCall {
  HeadsView<const float> q, k, v;
  HeadsView<float> o;
  AttentionOptions options;
};

Status attention(ContextState& state, const AttentionCall& call);
// Looks at no pointer but whether there are a mask and offsets.
Status attention_workspace_bytes(const ContextState& state, const AttentionCall& call,
                                 std::size_t* bytes);

struct ReduceCall {
  ReduceOp op = ReduceOp::sum;
  ReduceView view;
  ReduceOutput out;
  ReduceOptions options;
};

Status reduce(ContextState& state, const ReduceCall& call);
// Looks at no pointer: the arrays need not exist yet.
Status reduce_workspace_bytes(const ContextState& state, const ReduceCall& call,
                              std::size_t* bytes);

struct RowwiseCall {
  RowwiseOp op = RowwiseOp::softmax;
  RowsView x;
  RowsOutput y;
  RowwiseOptions options;
};

Status rowwise(ContextState& state, const RowwiseCall& call);
// Looks at no array: they need not exist yet.
Status rowwise_workspace_bytes(const ContextState& state, const RowwiseCall& call,
                               std::size_t* bytes);

}  // namespace kw::detail
