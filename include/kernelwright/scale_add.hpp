// Elementwise B = scale * A + shift.
#pragma once

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/matrix.hpp"

namespace kw {

/// B = scale * A + shift on the context's stream, one rounding an element: the same bits on every
/// device.
///
/// A and B have the same shape and the same order in memory (layout and op). B may be A itself, but
/// may not share elements with it in any other way. scale == 0: A is not read and may be null.
KW_API void scale_add(Context& context, float scale, MatrixView<const float> a, float shift,
                      MatrixView<float> b);

}  // namespace kw
