// The arithmetic in which a product is computed.
#pragma once

namespace kw {

enum class Math : int {
  fp32 = 0,  ///< IEEE single precision: every product and sum rounded once, or fused
};

}  // namespace kw
