// Products through tiles: the tiling within its memory, every tile where it belongs, results
// against one call.
#include "kernelwright/out_of_core.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "distributed/tiles.hpp"
#include "kernelwright/sgemm.hpp"

namespace kw {
namespace {

using distributed::choose_tiling;
using distributed::TileStep;
using distributed::Tiling;

// Goes through the steps: what each product finds in its slots, and that no slot is written before
// the product that used it last.
void check_steps(const Tiling& t) {
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::map<int, Key> in_a, in_b;
  std::map<int, int> user_a, user_b;
  std::map<std::tuple<std::int64_t, std::int64_t>, std::int64_t> k_done;
  const auto use = [](const distributed::Placed& placed, Key key, int step, int slots,
                      std::map<int, Key>& in, std::map<int, int>& user) {
    ASSERT_GE(placed.slot, 0);
    ASSERT_LT(placed.slot, slots);
    if (placed.is_load) {
      const auto last = user.find(placed.slot);
      EXPECT_EQ(placed.after, last == user.end() ? -1 : last->second);
      in[placed.slot] = key;
    }
    EXPECT_EQ(in[placed.slot], key);
    user[placed.slot] = step;
  };
  int number = 0, tile = -1;
  std::int64_t loaded = 0;
  for (const TileStep& s : make_steps(t)) {
    use(s.a, {s.i, s.p}, number, t.slots_a, in_a, user_a);
    use(s.b, {s.p, s.j}, number, t.slots_b, in_b, user_b);
    loaded += (s.a.is_load ? s.m * s.k : 0) + (s.b.is_load ? s.n * s.k : 0);
    EXPECT_EQ(s.is_first, s.p == 0);
    tile += s.is_first ? 1 : 0;
    EXPECT_EQ(s.tile, tile);
    EXPECT_LE(s.m, t.tile_m);
    EXPECT_LE(s.n, t.tile_n);
    EXPECT_LE(s.k, t.tile_k);
    auto& done = k_done[{s.i, s.j}];
    EXPECT_EQ(done, s.p);
    done += s.k;
    EXPECT_EQ(s.is_last, done == t.k);
    ++number;
  }
  std::int64_t covered = 0;
  for (const auto& [place, done] : k_done) {
    EXPECT_EQ(done, t.k);
    covered +=
        std::min(t.tile_m, t.m - std::get<0>(place)) * std::min(t.tile_n, t.n - std::get<1>(place));
  }
  EXPECT_EQ(covered, t.m * t.n);
  EXPECT_LE(4.0 * static_cast<double>(loaded), t.bytes_in() * (1 + 1e-12));
}

TEST(OutOfCore, TilingsStayWithinTheirMemory) {
  for (double bytes : {7e3, 1e5, 1e7}) {
    for (const auto& [m, n, k] :
         {std::tuple<int, int, int>{100, 90, 700}, {1, 1000, 3}, {513, 300, 40}, {40, 30, 5000}}) {
      const auto tiling = choose_tiling(m, n, k, Math::fp32, bytes);
      ASSERT_TRUE(tiling.has_value());
      EXPECT_LE(tiling->bytes(), bytes);
      check_steps(*tiling);
    }
  }
  EXPECT_FALSE(choose_tiling(100, 100, 100, Math::fp32, 1000).has_value());
}

TEST(OutOfCore, LargeProductsReadLittleMoreThanTheyMust) {
  constexpr double gib = 1 << 30;
  const auto tiling = choose_tiling(131072, 65536, 32768, Math::fp32_split, 24 * gib);
  ASSERT_TRUE(tiling.has_value());
  EXPECT_LE(tiling->bytes(), 24 * gib);
  EXPECT_LE(tiling->bytes_in(), 60 * gib);  // A and B are 24
  EXPECT_GE(tiling->tile_k, 4096);
  check_steps(*tiling);
}

struct Host {
  std::vector<float> a, b, c;
  std::int64_t m, n, k;
  Op op_a, op_b;
  Layout layout;

  Host(std::int64_t rows, std::int64_t cols, std::int64_t inner, Op oa, Op ob, Layout l)
      : a(static_cast<std::size_t>((rows + 3) * (inner + 3))),
        b(static_cast<std::size_t>((cols + 3) * (inner + 3))),
        c(static_cast<std::size_t>((rows + 3) * (cols + 3))),
        m(rows),
        n(cols),
        k(inner),
        op_a(oa),
        op_b(ob),
        layout(l) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> values(-1, 1);
    for (std::vector<float>* x : {&a, &b, &c}) {
      for (float& value : *x) value = values(random);
    }
  }
  template <class T>
  MatrixView<T> view(T* data, std::int64_t rows, std::int64_t cols, Op op) const {
    const std::int64_t r = op == Op::none ? rows : cols, c2 = op == Op::none ? cols : rows;
    return {data, r, c2, (layout == Layout::row_major ? c2 : r) + 3, layout, op};
  }
  MatrixView<const float> view_a() const { return view<const float>(a.data(), m, k, op_a); }
  MatrixView<const float> view_b() const { return view<const float>(b.data(), k, n, op_b); }
  MatrixView<float> view_c() { return view(c.data(), m, n, Op::none); }
};

TEST(OutOfCore, IsTheProductInAllLayoutsAndOps) {
  Context context = Context::cpu();
  for (Layout layout : {Layout::row_major, Layout::col_major}) {
    for (Op op : {Op::none, Op::transpose}) {
      for (float beta : {0.0f, -0.5f}) {
        Host tiled(75, 61, 130, op, op, layout), whole = tiled;
        sgemm(context, 1.5f, whole.view_a(), whole.view_b(), beta, whole.view_c());
        sgemm_out_of_core(context, 1.5f, tiled.view_a(), tiled.view_b(), beta, tiled.view_c(),
                          {Math::fp32, 20000});
        for (std::size_t i = 0; i < whole.c.size(); ++i) {
          ASSERT_NEAR(tiled.c[i], whole.c[i], 130 * 0x1p-20f) << i;
        }
      }
    }
  }
}

TEST(OutOfCore, NothingToAddUpScalesC) {
  Context context = Context::cpu();
  Host host(5, 7, 4, Op::none, Op::none, Layout::row_major);
  const std::vector<float> before = host.c;
  sgemm_out_of_core(context, 0.0f, host.view_a(), host.view_b(), 2.0f, host.view_c());
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 10; ++j) {
      const auto at = static_cast<std::size_t>(i * 10 + j);
      EXPECT_EQ(host.c[at], j < 7 ? 2 * before[at] : before[at]);
    }
  }
}

TEST(OutOfCore, WrongCallsAreErrors) {
  Context context = Context::cpu();
  Host host(50, 70, 40, Op::none, Op::none, Layout::row_major);
  const auto expect = [](const std::function<void()>& call, const char* argument,
                         const std::string& words) {
    try {
      call();
      ADD_FAILURE() << "no error, but " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_EQ(error.argument(), argument);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect(
      [&] {
        sgemm_out_of_core(context, 1, host.view_a(), host.view_b(), 0, host.view_c(),
                          {Math::fp32, 100});
      },
      "options.device_bytes", "is 100");
  expect([&] { sgemm_out_of_core(context, 1, host.view_b(), host.view_b(), 0, host.view_c()); },
         "b", "make the two equal");
}

}  // namespace
}  // namespace kw
