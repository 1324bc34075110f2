// cuSOLVER's Cholesky factorisations as calls of the one form.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call.hpp"
#include "vendor.hpp"

namespace kw::cublas {

// The arguments of cusolverDnSpotrf, and of cusolverDnXpotrf.
struct Potrf {
  Handle handle;
  Enum fill;
  int n;
  float* a;
  int lda;
  float* workspace;
  int workspace_floats;
  int* info;
};
struct Xpotrf {
  Handle handle;
  void* options;
  Enum fill;
  std::int64_t n;
  Enum type_a;
  void* a;
  std::int64_t lda;
  Enum compute;
  void* on_device;
  std::size_t device_bytes;
  void* on_host;
  std::size_t host_bytes;
  int* info;
};

// The library has a workspace of its own. One that is less than cuSOLVER itself asks for is
// cuSOLVER's to judge.
Call decode_factorisation(const Vendor& vendor, Symbol symbol, const Potrf& potrf);
Call decode_factorisation(const Vendor& vendor, Symbol symbol, const Xpotrf& potrf);

}  // namespace kw::cublas
