// The operations as both interfaces call them: check, quick return, canonical form, choice, launch.
#pragma once

#include <cstddef>

#include "api/context_state.hpp"
#include "kernelwright/matrix.hpp"
#include "kernelwright/sgemm.hpp"

namespace kw::detail {

struct SgemmCall {
  float alpha = 1;
  MatrixView<const float> a, b;
  float beta = 0;
  MatrixView<float> c;
  SgemmOptions options;
};

Status sgemm(ContextState& state, const SgemmCall& call);
Status sgemm_workspace_bytes(const ContextState& state, const SgemmCall& call, std::size_t* bytes);

struct ScaleAddCall {
  float scale = 1;
  MatrixView<const float> a;
  float shift = 0;
  MatrixView<float> b;
};

Status scale_add(ContextState& state, const ScaleAddCall& call);

}  // namespace kw::detail
