// The public headers bring in no vendor's header. That each compiles alone is tested by compiling
// each alone (public_interface.cmake).
#include "kernelwright/cgemm.hpp"
#include "kernelwright/context.hpp"
#include "kernelwright/device.hpp"
#include "kernelwright/export.h"
#include "kernelwright/kernelwright.h"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"
#include "kernelwright/rowwise.hpp"
#include "kernelwright/scale_add.hpp"
#include "kernelwright/sgemm.hpp"
#include "kernelwright/status.hpp"
#include "kernelwright/version.hpp"

#if defined(CUDART_VERSION) || defined(__DRIVER_TYPES_H__) || defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)
#error "a public header includes a vendor's GPU header"
#endif
#if defined(CBLAS_H) || defined(OPENBLAS_CONST)
#error "a public header includes cblas.h"
#endif

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace kw {
namespace {

TEST(Headers, ContextMovesOnly) {
  EXPECT_FALSE(std::is_copy_constructible_v<Context>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<Context>);
}

TEST(Headers, EveryStatusHasAName) {
  for (int code = 0; code <= static_cast<int>(StatusCode::unusable_file); ++code) {
    EXPECT_NE(std::string(to_string(static_cast<StatusCode>(code))), "unknown") << code;
  }
  EXPECT_STREQ(to_string(static_cast<StatusCode>(99)), "unknown");
}

TEST(Headers, ViewsDescribeTheSameMemory) {
  float data[12] = {};
  const MatrixView<float> rows = row_major(data, 3, 4);
  EXPECT_EQ(rows.ld, 4);
  EXPECT_EQ(col_major(data, 3, 4).ld, 3);
  EXPECT_EQ(row_major(data, 2, 4, 6).ld, 6);
  const MatrixView<const float> turned = transposed(rows);
  EXPECT_EQ(turned.op_rows(), 4);
  EXPECT_EQ(turned.op_cols(), 3);
  EXPECT_EQ(transposed(turned).op_rows(), 3);
}

}  // namespace
}  // namespace kw
