// What errors a split product has, as the guard sees them (terms.hpp, peaks.hpp).
#pragma once

namespace kw::hopper {

// Mean square errors of an element, in units of one rounding of its whole sum (terms.hpp): at least
// so many where signs are mixed; and where all products have one sign, the square of a lean towards
// zero. It is larger where few products count, and where in a window of the tensor cores' chain
// `few_in_window` or fewer outweigh the others, of which all then lose what lies below those.
// Fitted to drawn data in a model of the tensor cores' arithmetic; fp16x3's to data of which each
// rounding of FP32's sum errs as little as was drawn, 0.25 of u |A| |B| in place of the usual 0.4;
// bf16x6's also to outliers of both operands, some of which meet.
struct SplitErrors {
  float least, lean, lean_of_few, lean_of_peaks;
};
inline constexpr float few_in_window = 4.5f;
inline constexpr SplitErrors bf16x6_errors = {6, 2, 6, 3};
inline constexpr SplitErrors fp16x3_errors = {12, 11.2f, 0, 23.2f};

}  // namespace kw::hopper
