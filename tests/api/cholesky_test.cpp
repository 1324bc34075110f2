// Cholesky factorisations through the public interface: both triangles and layouts against float64,
// what is not read and not written, and pivots that are not positive.
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "level3_support.hpp"

namespace kw::test {
namespace {

class ApiCholesky : public testing::TestWithParam<DeviceKind> {
 protected:
  Context context = detail::open_context(GetParam());
};

// A symmetric matrix with 4 on its diagonal, of which one triangle is kept.
LaidOut positive(std::int64_t n, Layout layout, Uplo uplo) {
  LaidOut a(n, n, layout, 21, 1.0f / static_cast<float>(n));
  for (std::int64_t i = 0; i < n; ++i) a.at(i, i) = 4;
  a.keep_triangle(uplo);
  return a;
}
int value_of(const DeviceFloats& info) { return std::bit_cast<int>(info.get()[0]); }
int* address_of(const DeviceFloats& info) { return reinterpret_cast<int*>(info.data()); }

TEST_P(ApiCholesky, FactorsOfATriangle) {
  for (const std::int64_t n : {1, 33, 150}) {
    for (const Layout layout : {Layout::row_major, Layout::col_major}) {
      for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
        const LaidOut a = positive(n, layout, uplo);
        for (const Math math : {Math::fp32, Math::fp32_split}) {
          const DeviceFloats on_a(context, a.values), info(context, {nan});
          spotrf(context, uplo, a.view(on_a.data()), address_of(info), {math});
          EXPECT_EQ(value_of(info), 0);
          const std::vector<float> got = on_a.get();
          const auto l = [&](std::int64_t i, std::int64_t j) -> double {
            return got[uplo == Uplo::lower ? a.place(i, j) : a.place(j, i)];
          };
          for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) {
              double sum = 0;
              for (std::int64_t q = 0; q <= j; ++q) sum += l(i, q) * l(j, q);
              ASSERT_NEAR(sum, uplo == Uplo::lower ? a.at(i, j) : a.at(j, i), 4e-6)
                  << i << ", " << j;
            }
          }
          for (std::size_t at = 0; at < got.size(); ++at) {
            if (std::isnan(a.values[at])) {
              ASSERT_EQ(std::memcmp(&got[at], &a.values[at], sizeof(float)), 0) << at;
            }
          }
        }
      }
    }
  }
}

TEST_P(ApiCholesky, PivotsThatAreNotPositive) {
  constexpr std::int64_t n = 300;
  for (const std::int64_t pivot : {0, 17, 131, 299}) {
    for (const float value : {0.0f, -1.0f, nan}) {
      for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
        LaidOut a = positive(n, Layout::row_major, uplo);
        a.at(pivot, pivot) = value;
        if (pivot > 0) a.at(pivot - 1, pivot - 1) = 1;
        const DeviceFloats on_a(context, a.values), info(context, {0.0f});
        spotrf(context, uplo, a.view(on_a.data()), address_of(info));
        EXPECT_EQ(value_of(info), pivot + 1) << value;
      }
    }
  }
  // An element beside the diagonal that is NaN makes a later pivot one.
  LaidOut a = positive(n, Layout::row_major, Uplo::lower);
  a.at(200, 100) = nan;
  const DeviceFloats on_a(context, a.values), info(context, {0.0f}), none(context, {nan});
  spotrf(context, Uplo::lower, a.view(on_a.data()), address_of(info));
  EXPECT_EQ(value_of(info), 201);
  spotrf(context, Uplo::lower, row_major(static_cast<float*>(nullptr), 0, 0), address_of(none));
  EXPECT_EQ(value_of(none), 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiCholesky, testing::ValuesIn(present_devices()),
                         device_test_name);

}  // namespace
}  // namespace kw::test
