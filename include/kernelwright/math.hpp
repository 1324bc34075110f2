// The arithmetic in which a product is computed.
//
// fp32_split sums products of narrower pieces (bfloat16 or scaled half precision), which tensor
// cores multiply exactly; a device without them, or a shape for which it is no faster, has fp32.
//
// Accuracy   fp32: from k = 2048 on sums are cut into pieces along k, about as short as
//            the vendor's where it cuts them; where a caller's workspace has no room for
//            that, they are not. fp32_split: no worse than an FP32 product's, whatever the
//            data. Where the pieces don't hold the data, the call computes in plain FP32:
//            infinities, NaN, subnormals and overflows come out as there. Attention promises
//            less, as attention.hpp has it. docs/accuracy.md has the rules and what was measured.
// Choice     By the data, on the device: asynchronous, nothing waits for the host, and a captured
//            call chooses anew in each replay.
// Same bits  as context.hpp has it: same data, same choice.
// Workspace  About 6 bytes an element of A and B. With less, in a caller's workspace or where the
//            device has no more memory, the call works in slices, from the size of one slice on; so
//            it does where it would take over 4 GiB. Where no slice fits, it is plain FP32.
#pragma once

namespace kw {

enum class Math : int {
  fp32 = 0,  ///< IEEE single precision: every product and sum rounded once, or fused
  /// No less accurate than fp32, by sums of products of narrower pieces where that is faster
  /// (docs/accuracy.md says what is promised); fp32 elsewhere.
  fp32_split = 1,
};

}  // namespace kw
