// cublasLtMatmul: what its descriptors say, as a product of the library.
#pragma once

#include "call.hpp"
#include "vendor.hpp"

namespace kw::cublas {

struct LtMatmul {
  void* description = nullptr;
  const void* alpha = nullptr;
  const void* a = nullptr;
  void* a_layout = nullptr;
  const void* b = nullptr;
  void* b_layout = nullptr;
  const void* beta = nullptr;
  const void* c = nullptr;
  void* c_layout = nullptr;
  void* d = nullptr;
  void* d_layout = nullptr;
};

// Fills in the call's product, or its reason.
void decode(const LtMatmul& matmul, const LtGetters& getters, Call* call);

}  // namespace kw::cublas
