// The expansion pass, which brings a complex product into the form of a real one: what it reads and
// writes, between real_product.cu and expand.cu.
//
//   B'  of k x n complex elements b = br + i bi, twice as many rows and columns of floats: what A's
//       real parts and what A's imaginary parts are multiplied by, along k; what C's real parts and
//       what C's imaginary parts take, along n. It is stored as B is, [2k][2n] or [2n][2k].
//   A'  [2k][m], real and imaginary parts in turn along k, where A runs along m. Where A runs along
//       k, the caller's A is just that, [m][2k], and is not copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cgemm/scalars.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

// A real matrix that the pass writes, one per entry of the batch or one for all.
struct ExpandedOperand {
  float* data = nullptr;  // null: not written
  std::int64_t ld = 0;    // floats, a multiple of 4
  std::int64_t stride = 0;
  std::int64_t entries = 0;
  const float** pointers = nullptr;  // not null: the pass also writes the address of each entry
};

struct ExpandParams {
  Cgemm problem;
  ExpandedOperand a, b;
  bool scales_c = false;     // C may have to be multiplied by a complex beta
  SplitScalar alpha;         // where it is known on the host
  float* factors = nullptr;  // [2], not null: alpha's factor and the product's beta go here
};

// Whether one launch has the blocks for all of it.
bool fits_one_expansion(const Cgemm& problem);
Status launch_expand(const ExpandParams& params, Stream stream);
// The imaginary parts of C's diagonal become 0.
Status launch_real_diagonal(const Cgemm& problem, Stream stream);

}  // namespace KW_TARGET
