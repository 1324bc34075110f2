// Level 3 through the public interfaces: every routine, layout, triangle, side, transpose and
// diagonal against float64, what is not read and not written, and its errors.
#include "kernelwright/level3.hpp"

#include <cmath>
#include <vector>

#include "level3_support.hpp"

namespace kw::test {
namespace {

bool is_of(Uplo uplo, std::int64_t i, std::int64_t j) {
  return i == j || (uplo == Uplo::lower ? j < i : i < j);
}
double stored_element(const LaidOut& x, Op op, std::int64_t i, std::int64_t j) {
  return op == Op::none ? x.at(i, j) : x.at(j, i);
}
double symmetric(const LaidOut& a, Uplo uplo, std::int64_t i, std::int64_t j) {
  return is_of(uplo, i, j) ? a.at(i, j) : a.at(j, i);
}
double triangular(const LaidOut& a, Uplo uplo, Diag diag, Op op, std::int64_t i, std::int64_t j) {
  const std::int64_t row = op == Op::none ? i : j, col = op == Op::none ? j : i;
  if (row == col && diag == Diag::unit) return 1;
  return is_of(uplo, row, col) ? a.at(row, col) : 0;
}

class ApiLevel3 : public testing::TestWithParam<DeviceKind> {
 protected:
  // Calls visit with every combination.
  template <class Visit>
  static void each_form(const Visit& visit) {
    for (const Layout layout_a : {Layout::row_major, Layout::col_major})
      for (const Layout layout_c : {Layout::row_major, Layout::col_major})
        for (const Uplo uplo : {Uplo::lower, Uplo::upper})
          for (const Op op : {Op::none, Op::transpose}) visit(layout_a, layout_c, uplo, op);
  }
  // All that lies outside of what is wanted is as it was.
  template <class Want, class Wanted>
  void expect(const DeviceFloats& on_device, const LaidOut& c, const Wanted& is_wanted,
              const Want& want) {
    const std::vector<float> got = on_device.get();
    std::vector<bool> written(got.size(), false);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.cols; ++j) {
        if (!is_wanted(i, j)) continue;
        const double value = want(i, j);
        written[c.place(i, j)] = true;
        ASSERT_LE(std::fabs(got[c.place(i, j)] - value), 2e-5 * (1 + std::fabs(value)))
            << i << ", " << j;
      }
    }
    for (std::size_t at = 0; at < got.size(); ++at) {
      if (!written[at]) {
        ASSERT_EQ(std::memcmp(&got[at], &c.values[at], sizeof(float)), 0) << at;
      }
    }
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiLevel3, UpdatesOfATriangle) {
  constexpr std::int64_t n = 37, k = 21;
  each_form([&](Layout layout_a, Layout layout_c, Uplo uplo, Op op) {
    const std::int64_t rows = op == Op::none ? n : k, cols = op == Op::none ? k : n;
    const LaidOut a(rows, cols, layout_a, 1), b(rows, cols, layout_c, 2);
    LaidOut c(n, n, layout_c, 3);
    c.keep_triangle(uplo);
    const DeviceFloats on_a(context, a.values), on_b(context, b.values);
    const auto of_triangle = [&](std::int64_t i, std::int64_t j) { return is_of(uplo, i, j); };
    const auto sum = [&](const LaidOut& x, const LaidOut& y, std::int64_t i, std::int64_t j) {
      double total = 0;
      for (std::int64_t l = 0; l < k; ++l)
        total += stored_element(x, op, i, l) * stored_element(y, op, j, l);
      return total;
    };
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      const DeviceFloats first(context, c.values), second(context, c.values),
          third(context, c.values);
      ssyrk(context, uplo, 0.5f, a.view<const float>(on_a.data(), op), -2, c.view(first.data()),
            {math});
      expect(first, c, of_triangle, [&](std::int64_t i, std::int64_t j) {
        return 0.5 * sum(a, a, i, j) - 2.0 * c.at(i, j);
      });
      ssyrkx(context, uplo, 0.5f, a.view<const float>(on_a.data(), op),
             b.view<const float>(on_b.data(), op), 1, c.view(second.data()), {math});
      expect(second, c, of_triangle,
             [&](std::int64_t i, std::int64_t j) { return 0.5 * sum(a, b, i, j) + c.at(i, j); });
      ssyr2k(context, uplo, 1, a.view<const float>(on_a.data(), op),
             b.view<const float>(on_b.data(), op), 0, c.view(third.data()), {math});
      expect(third, c, of_triangle,
             [&](std::int64_t i, std::int64_t j) { return sum(a, b, i, j) + sum(b, a, i, j); });
    }
  });
}

TEST_P(ApiLevel3, ProductsAndSystems) {
  constexpr std::int64_t m = 29, n = 18;
  const auto all = [](std::int64_t, std::int64_t) { return true; };
  each_form([&](Layout layout_a, Layout layout_c, Uplo uplo, Op op) {
    for (const Side side : {Side::left, Side::right}) {
      const std::int64_t size = side == Side::left ? m : n;
      for (const Diag diag : {Diag::non_unit, Diag::unit}) {
        LaidOut a(size, size, layout_a, 4, 0.1f);
        for (std::int64_t i = 0; i < size; ++i) a.at(i, i) += 1.5f;
        const LaidOut b(m, n, layout_c, 5), c(m, n, layout_c, 6);
        LaidOut whole = a;
        whole.keep_triangle(uplo);
        a.keep_triangle(uplo, diag == Diag::non_unit);
        const DeviceFloats on_a(context, a.values), on_b(context, b.values),
            on_c(context, c.values), solved(context, b.values), on_whole(context, whole.values);
        const auto product = [&](const auto& of_a, std::int64_t i, std::int64_t j, const auto& x) {
          double sum = 0;
          for (std::int64_t l = 0; l < size; ++l)
            sum += side == Side::left ? of_a(i, l) * x(l, j) : x(i, l) * of_a(l, j);
          return sum;
        };
        const auto of_triangle = [&](std::int64_t i, std::int64_t j) {
          return triangular(a, uplo, diag, op, i, j);
        };
        const auto of_b = [&](std::int64_t i, std::int64_t j) -> double { return b.at(i, j); };
        strmm(context, side, uplo, diag, 2, a.view<const float>(on_a.data(), op),
              b.view<const float>(on_b.data()), c.view(on_c.data()));
        const auto twice = [&](std::int64_t i, std::int64_t j) {
          return 2 * product(of_triangle, i, j, of_b);
        };
        expect(on_c, c, all, twice);
        strsm(context, side, uplo, diag, 0.5f, a.view<const float>(on_a.data(), op),
              b.view(solved.data()));
        const std::vector<float> x = solved.get();
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            ASSERT_NEAR(
                product(of_triangle, i, j,
                        [&](std::int64_t r, std::int64_t s) -> double { return x[b.place(r, s)]; }),
                0.5 * b.at(i, j), 1e-5);
        strmm(context, side, uplo, diag, 2, a.view<const float>(on_a.data(), op),
              b.view<const float>(on_b.data()), b.view(on_b.data()));
        expect(on_b, b, all, twice);
        if (op != Op::none || diag == Diag::unit) continue;
        const DeviceFloats again(context, b.values), added(context, c.values);
        ssymm(context, side, uplo, 1, a.view<const float>(on_whole.data()),
              b.view<const float>(again.data()), -1, c.view(added.data()));
        expect(added, c, all, [&](std::int64_t i, std::int64_t j) {
          return product(
                     [&](std::int64_t r, std::int64_t s) { return symmetric(whole, uplo, r, s); },
                     i, j, of_b) -
                 c.at(i, j);
        });
      }
    }
  });
}

TEST_P(ApiLevel3, SystemsInOneCall) {
  constexpr std::int64_t m = 9, n = 5, batch = 3;
  LaidOut a(m, m, Layout::row_major, 7, 0.1f), b(m, n, Layout::row_major, 8);
  for (std::int64_t i = 0; i < m; ++i) a.at(i, i) = 2;
  std::vector<float> many;
  for (int i = 0; i < batch; ++i) many.insert(many.end(), b.values.begin(), b.values.end());
  const DeviceFloats on_a(context, a.values), on_b(context, many), one(context, b.values);
  strsm(context, Side::left, Uplo::upper, Diag::non_unit, 1, a.view<const float>(on_a.data()),
        b.view(one.data()));
  strsm_batched(context, Side::left, Uplo::upper, Diag::non_unit, 1,
                a.view<const float>(on_a.data()), b.view(on_b.data()), batch, 0,
                static_cast<std::int64_t>(b.values.size()));
  const std::vector<float> want = one.get(), got = on_b.get();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float expected = want[i % want.size()];
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(got[i]) : std::fabs(got[i] - expected) <= 1e-6f)
        << i;
  }
}

TEST_P(ApiLevel3, NothingIsReadWhereScalarsSaySo) {
  const LaidOut c(6, 6, Layout::row_major, 9);
  const auto none = [](std::int64_t rows, std::int64_t cols) {
    return row_major(static_cast<const float*>(nullptr), rows, cols);
  };
  const DeviceFloats scaled(context, c.values), cleared(context, c.values);
  ssyrk(context, Uplo::upper, 0, none(6, 4), 3, c.view(scaled.data()));
  expect(
      scaled, c, [](std::int64_t i, std::int64_t j) { return i <= j; },
      [&](std::int64_t i, std::int64_t j) { return 3.0 * c.at(i, j); });
  strsm(context, Side::right, Uplo::lower, Diag::unit, 0, none(6, 6), c.view(cleared.data()));
  expect(
      cleared, c, [](std::int64_t, std::int64_t) { return true; },
      [](std::int64_t, std::int64_t) { return 0.0; });
  const DeviceFloats kept(context, c.values);
  ssymm(context, Side::left, Uplo::lower, 0, none(6, 6), none(6, 6), 1, c.view(kept.data()));
  EXPECT_TRUE(kept.unchanged());
  strmm(context, Side::left, Uplo::lower, Diag::unit, 1, none(0, 0), none(0, 4),
        row_major(static_cast<float*>(nullptr), 0, 4));
}

TEST_P(ApiLevel3, ScalarsOnTheDevice) {
  const LaidOut a(20, 20, Layout::col_major, 10, 0.1f);
  LaidOut b(20, 7, Layout::col_major, 11);
  const DeviceFloats on_a(context, a.values), zero(context, {0.0f}), x(context, b.values),
      y(context, b.values), two(context, {2.0f}), z(context, b.values);
  strsm(context, Side::left, Uplo::lower, Diag::unit, Scalar::at(zero.data()),
        a.view<const float>(on_a.data()), b.view(x.data()));
  expect(
      x, b, [](std::int64_t, std::int64_t) { return true; },
      [](std::int64_t, std::int64_t) { return 0.0; });
  strsm(context, Side::left, Uplo::lower, Diag::unit, Scalar::at(two.data()),
        a.view<const float>(on_a.data()), b.view(y.data()));
  strsm(context, Side::left, Uplo::lower, Diag::unit, 2, a.view<const float>(on_a.data()),
        b.view(z.data()));
  const std::vector<float> got = y.get(), want = z.get();
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0);
}

TEST_P(ApiLevel3, SameBits) {
  const LaidOut a(150, 70, Layout::row_major, 12), c(150, 150, Layout::row_major, 13);
  const DeviceFloats on_a(context, a.values), first(context, c.values), second(context, c.values);
  for (const DeviceFloats* to : {&first, &second})
    ssyrk(context, Uplo::lower, 1, a.view<const float>(on_a.data()), 1, c.view(to->data()),
          {Math::fp32_split});
  const std::vector<float> got = first.get(), again = second.get();
  EXPECT_EQ(std::memcmp(got.data(), again.data(), got.size() * sizeof(float)), 0);
}

TEST_P(ApiLevel3, ErrorsNameTheArgument) {
  const DeviceFloats some(context, random_floats(400, 14)), other(context, random_floats(400, 15));
  const auto a = [&](std::int64_t rows, std::int64_t cols) {
    return row_major(static_cast<const float*>(some.data()), rows, cols);
  };
  const auto c = [&](std::int64_t rows, std::int64_t cols) {
    return row_major(other.data(), rows, cols);
  };
  struct Wrong {
    const char* argument;
    std::function<void()> call;
  };
  const Wrong wrong[] = {
      {"uplo", [&] { ssyrk(context, static_cast<Uplo>(2), 1, a(4, 3), 0, c(4, 4)); }},
      {"side",
       [&] {
         ssymm(context, static_cast<Side>(-1), Uplo::lower, 1, a(4, 4), a(4, 3), 0, c(4, 3));
       }},
      {"diag",
       [&] { strsm(context, Side::left, Uplo::lower, static_cast<Diag>(7), 1, a(4, 4), c(4, 3)); }},
      {"c", [&] { ssyrk(context, Uplo::lower, 1, a(4, 3), 0, c(4, 5)); }},
      {"a", [&] { ssyrk(context, Uplo::lower, 1, a(5, 3), 0, c(4, 4)); }},
      {"b", [&] { ssyrkx(context, Uplo::lower, 1, a(4, 3), a(4, 2), 0, c(4, 4)); }},
      {"a", [&] { strsm(context, Side::right, Uplo::lower, Diag::unit, 1, a(4, 4), c(4, 3)); }},
      {"a",
       [&] { strmm(context, Side::left, Uplo::lower, Diag::unit, 1, a(4, 3), a(4, 3), c(4, 3)); }},
      {"b",
       [&] { strmm(context, Side::left, Uplo::lower, Diag::unit, 1, a(4, 4), a(3, 4), c(4, 3)); }},
      {"c", [&] { ssyrk(context, Uplo::lower, 1, a(4, 3), 0, row_major(some.data() + 3, 4, 4)); }},
      {"b",
       [&] {
         strsm(context, Side::left, Uplo::lower, Diag::unit, 1, a(4, 4),
               row_major(some.data() + 8, 4, 3));
       }},
      {"lda", [&] { ssyrk(context, Uplo::lower, 1, row_major(some.data(), 4, 3, 2), 0, c(4, 4)); }},
      {"batch",
       [&] {
         strsm_batched(context, Side::left, Uplo::lower, Diag::unit, 1, a(4, 4), c(4, 3), -1, 0,
                       12);
       }},
      {"stride_b",
       [&] {
         strsm_batched(context, Side::left, Uplo::lower, Diag::unit, 1, a(4, 4), c(4, 3), 2, 0, 5);
       }},
      {"a",
       [&] {
         ssyrk(context, Uplo::lower, 1, row_major(static_cast<const float*>(nullptr), 4, 3), 0,
               c(4, 4));
       }},
      {"info", [&] { spotrf(context, Uplo::lower, c(4, 4), nullptr); }},
      {"a", [&] { spotrf(context, Uplo::lower, c(4, 5), reinterpret_cast<int*>(other.data())); }},
      {"a",
       [&] {
         spotrf(context, Uplo::lower, row_major(static_cast<float*>(nullptr), 4, 4),
                reinterpret_cast<int*>(other.data()));
       }},
      {"uplo",
       [&] {
         spotrf(context, static_cast<Uplo>(3), c(4, 4), reinterpret_cast<int*>(other.data()));
       }},
      {"options.math",
       [&] { ssyrk(context, Uplo::lower, 1, a(4, 3), 0, c(4, 4), {static_cast<Math>(5)}); }}};
  for (const Wrong& one : wrong) {
    try {
      one.call();
      ADD_FAILURE() << "no error about " << one.argument;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_EQ(error.argument(), one.argument) << error.what();
    }
  }
  EXPECT_TRUE(other.unchanged());
}

// A caller's workspace that is smaller than what a call has use for, down to none.
TEST_P(ApiLevel3, MakesDoWithAnyWorkspace) {
  const LaidOut a(140, 140, Layout::row_major, 16, 0.05f), b(140, 66, Layout::row_major, 17);
  const DeviceFloats on_a(context, a.values);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{256}, std::size_t{1} << 16}) {
    const DeviceFloats scratch(context,
                               std::vector<float>(workspace_with_rest(bytes) / sizeof(float), nan));
    const DeviceFloats x(context, b.values), y(context, b.values);
    context.set_workspace(bytes == 0 ? nullptr : scratch.data(), bytes);
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      ssymm(context, Side::left, Uplo::lower, 1, a.view<const float>(on_a.data()),
            b.view<const float>(x.data()), 0, b.view(y.data()), {math});
      expect(
          y, b, [](std::int64_t, std::int64_t) { return true; },
          [&](std::int64_t i, std::int64_t j) {
            double sum = 0;
            for (std::int64_t l = 0; l < 140; ++l)
              sum += symmetric(a, Uplo::lower, i, l) * b.at(l, j);
            return sum;
          });
    }
    context.set_workspace(nullptr, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiLevel3, testing::ValuesIn(present_devices()),
                         device_test_name);

}  // namespace
}  // namespace kw::test
