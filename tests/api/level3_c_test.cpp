// Level 3 from C.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernelwright/kernelwright.h"
#include "kernelwright/level3.hpp"
#include "level3_support.hpp"

namespace kw::test {
namespace {

// The C interface, in both layouts: the same bits as the C++ one.
TEST(CLevel3, SameBitsAsCpp) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  Context context = Context::cpu();
  const float alpha = 0.5f, beta = 2;
  for (const Layout layout : {Layout::row_major, Layout::col_major}) {
    const auto as_c = static_cast<kwLayout_t>(layout);
    LaidOut a(12, 12, layout, 18, 0.1f);
    const LaidOut b(12, 12, layout, 19), c(12, 12, layout, 20);
    for (std::int64_t i = 0; i < 12; ++i) a.at(i, i) = 2;
    const auto va = a.view<const float>(a.values.data(), Op::transpose);
    const auto vb = b.view<const float>(b.values.data());
    const auto compare = [&](const auto& by_c, const auto& by_cpp) {
      std::vector<float> x = c.values, y = c.values;
      EXPECT_EQ(by_c(x.data()), KW_STATUS_OK) << kwLastErrorMessage(handle);
      by_cpp(c.view(y.data()));
      EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(float)), 0);
    };
    const float *pa = a.values.data(), *pb = b.values.data();
    int info = -1;
    compare(
        [&](float* x) {
          for (int i = 0; i < 12; ++i) x[i * (c.ld + 1)] = 30;
          return kwSpotrf(handle, as_c, KW_UPPER, 12, x, c.ld, &info);
        },
        [&](auto x) {
          for (int i = 0; i < 12; ++i) x.data[i * (c.ld + 1)] = 30;
          spotrf(context, Uplo::upper, x, &info);
        });
    EXPECT_EQ(info, 0);
    compare(
        [&](float* x) {
          return kwSsyrk(handle, as_c, KW_UPPER, KW_OP_TRANSPOSE, 12, 12, &alpha, pa, a.ld, &beta,
                         x, c.ld);
        },
        [&](auto x) { ssyrk(context, Uplo::upper, alpha, va, beta, x); });
    compare(
        [&](float* x) {
          return kwSsyrkx(handle, as_c, KW_LOWER, KW_OP_NONE, 12, 12, &alpha, pb, b.ld, pb, b.ld,
                          &beta, x, c.ld);
        },
        [&](auto x) { ssyrkx(context, Uplo::lower, alpha, vb, vb, beta, x); });
    compare(
        [&](float* x) {
          return kwSsyr2k(handle, as_c, KW_LOWER, KW_OP_NONE, 12, 12, &alpha, pa, a.ld, pb, b.ld,
                          &beta, x, c.ld);
        },
        [&](auto x) {
          ssyr2k(context, Uplo::lower, alpha, a.view<const float>(a.values.data()), vb, beta, x);
        });
    compare(
        [&](float* x) {
          return kwSsymm(handle, as_c, KW_RIGHT, KW_LOWER, 12, 12, &alpha, pa, a.ld, pb, b.ld,
                         &beta, x, c.ld);
        },
        [&](auto x) { ssymm(context, Side::right, Uplo::lower, alpha, va, vb, beta, x); });
    compare(
        [&](float* x) {
          return kwStrmm(handle, as_c, KW_LEFT, KW_UPPER, KW_OP_TRANSPOSE, KW_UNIT, 12, 12, &alpha,
                         pa, a.ld, pb, b.ld, x, c.ld);
        },
        [&](auto x) { strmm(context, Side::left, Uplo::upper, Diag::unit, alpha, va, vb, x); });
    compare(
        [&](float* x) {
          return kwStrsm(handle, as_c, KW_LEFT, KW_LOWER, KW_OP_TRANSPOSE, KW_NON_UNIT, 12, 12,
                         &alpha, pa, a.ld, x, c.ld);
        },
        [&](auto x) { strsm(context, Side::left, Uplo::lower, Diag::non_unit, alpha, va, x); });
    compare(
        [&](float* x) {
          return kwStrsmStridedBatched(handle, as_c, KW_LEFT, KW_LOWER, KW_OP_NONE, KW_NON_UNIT, 6,
                                       3, &alpha, pa, a.ld, 0, x, c.ld,
                                       layout == Layout::row_major ? 3 : 3 * c.ld, 2);
        },
        [&](auto x) {
          auto small = va;
          small.rows = small.cols = 6;
          small.op = Op::none;
          x.rows = 6, x.cols = 3;
          strsm_batched(context, Side::left, Uplo::lower, Diag::non_unit, alpha, small, x, 2, 0,
                        layout == Layout::row_major ? 3 : 3 * c.ld);
        });
  }
  kwSgemmPlan plan;
  const float one = 1;
  EXPECT_EQ(kwPlanSsyrk(handle, KW_ROW_MAJOR, KW_LOWER, KW_OP_NONE, 4, 4, &one, &one, 4, &one,
                        nullptr, 4, &plan),
            KW_STATUS_INVALID_ARGUMENT);
  float there[16] = {};
  const float here[16] = {};
  EXPECT_EQ(kwPlanSsyrk(handle, KW_ROW_MAJOR, KW_LOWER, KW_OP_NONE, 4, 4, &one, here, 4, &one,
                        there, 4, &plan),
            KW_STATUS_OK);
  EXPECT_NE(plan.kernel, nullptr);
  EXPECT_EQ(kwStrsm(handle, KW_ROW_MAJOR, 3, KW_LOWER, KW_OP_NONE, KW_UNIT, 4, 4, &one, here, 4,
                    there, 4),
            KW_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(kwLastErrorMessage(handle)).find("side is 3"), std::string::npos);
  kwDestroy(handle);
}

}  // namespace
}  // namespace kw::test
