// How complex products are planned: which are real products and which are tiles, what they ask of
// the workspace, and the parts that they become with less.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cgemm/halves.hpp"
#include "cgemm/lean_plan.hpp"
#include "cgemm/real_product.hpp"
#include "cgemm/strip_plan.hpp"
#include "cgemm/thin_plan.hpp"
#include "cgemm/tile_plan.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "cgemm/kernels.hpp"
#include "select.hpp"
#include "support/h200.hpp"
#endif

namespace kw {
namespace {

Cgemm complex_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Cgemm p;
  p.m = m, p.n = n, p.k = k;
  p.lda = k, p.ldb = p.ldc = n;
  p.a = p.b = reinterpret_cast<const Complex*>(std::uintptr_t{256});
  p.c = reinterpret_cast<Complex*>(std::uintptr_t{256});
  return p;
}

TEST(ComplexPlan, TheRealProductHasTheSameOperations) {
  for (const Op op_a : {Op::none, Op::transpose}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      Cgemm p = complex_product(30, 41, 17);
      p.op_a = op_a, p.op_b = op_b;
      p.lda = op_a == Op::none ? 17 : 30;
      const Sgemm real = real_product_to_plan(p);
      EXPECT_EQ(real.flops(), p.flops());
      EXPECT_EQ(real.op_a, op_a);  // A is stored as it was, or line by line taken apart
      EXPECT_EQ(real.op_b, op_b);
      EXPECT_EQ(real.lda, op_a == Op::none ? 34 : 32);
      EXPECT_EQ(real.ldb, op_b == Op::none ? 84 : 36);
      EXPECT_EQ(real.ldc, 82);
    }
  }
}

// Parts of large products lie beside each other, and C is multiplied by beta once.
TEST(ComplexPlan, LargeProductsAreCut) {
  Cgemm p = complex_product(100, 16384, 65600);
  p.op_b = Op::transpose;
  p.ldb = p.k;
  p.beta = {2, 0};
  const RealCut cut(p);
  EXPECT_LE(cut.columns * cut.depth, expand_tuning.most_elements);
  std::int64_t columns = 0, depth = 0, parts = 0;
  const Status status = cut.each_part(p, [&](const Cgemm& part) {
    EXPECT_EQ(part.b - p.b, columns * p.ldb + depth);
    EXPECT_EQ(part.a - p.a, depth);
    EXPECT_EQ(part.c - p.c, columns);
    EXPECT_EQ(part.beta.re, depth == 0 ? 2 : 1);
    depth += part.k;
    if (depth == p.k) depth = 0, columns += part.n;
    ++parts;
    return Status::success();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(columns, p.n);
  EXPECT_GE(parts, 4);
  EXPECT_LT(cut.depth, p.k);
  // Columns are cut first, and k is only where they are few.
  const RealCut halves(complex_product(16384, 16384, 16384));
  EXPECT_EQ(halves.columns, 8192);
  EXPECT_EQ(halves.depth, 16384);
  const RealCut whole(complex_product(16384, 8192, 8192));
  EXPECT_EQ(whole.columns, 8192);
  EXPECT_EQ(whole.depth, 8192);
}

TEST(ComplexPlan, NothingOfTheWorkspaceOverlaps) {
  Cgemm p = complex_product(30, 41, 17);
  p.op_a = Op::transpose;
  p.lda = 30;
  p.batch = 3;
  p.stride_a = 1000, p.stride_b = 0, p.stride_c = 2000;
  p.alpha_at = p.beta_at = p.a;
  const RealLayout at(p);
  EXPECT_GE(at.a_pointers, at.factors + 8);
  EXPECT_GE(at.b, at.a + 3 * 34 * 32 * sizeof(float));
  EXPECT_GE(at.end, at.b + 34 * 84 * sizeof(float)) << "one B for all";
  const Sgemm real = real_product_to_plan(p);
  EXPECT_EQ(real.stride_a, 34 * 32);
  EXPECT_EQ(real.stride_b, 0);
  EXPECT_NE(real.alpha_at, nullptr);
  EXPECT_EQ(real.beta_at, real.alpha_at + 1);
}

// Each step is smaller, and the last is as small as the least workspace says.
TEST(ComplexPlan, PartsShrinkToTheLeastWorkspace) {
  for (const std::int64_t batch : {1, 5}) {
    for (const std::int64_t n : {1, 100, 257, 5000}) {
      Cgemm p = complex_product(64, n, 100);
      p.batch = batch;
      p.stride_a = p.stride_b = p.stride_c = 1000000;
      RealParts parts{p.batch, p.n};
      std::size_t bytes = RealLayout(parts.first_of(p)).end;
      for (int steps = 0; steps < 100; ++steps) {
        const RealParts less = smaller(p, parts);
        if (less.entries == parts.entries && less.columns == parts.columns) break;
        const std::size_t now = RealLayout(less.first_of(p)).end;
        EXPECT_LT(now, bytes);
        parts = less;
        bytes = now;
      }
      EXPECT_EQ(bytes, least_workspace_bytes(p)) << n;
      EXPECT_EQ(parts.entries, 1);
    }
  }
}

TEST(ComplexPlan, ScalarsSplitExactly) {
  for (const Complex& alpha :
       {Complex{3, -5}, {1e30f, 2e-30f}, {1e-38f, -1e-40f}, {0, 7}, {-2, 0}, {3e38f, 3e38f}}) {
    const SplitScalar s = split_scalar(alpha);
    EXPECT_EQ(s.unit.re * s.factor, alpha.re);
    EXPECT_EQ(s.unit.im * s.factor, alpha.im);
    const float larger = std::max(std::abs(s.unit.re), std::abs(s.unit.im));
    EXPECT_TRUE(larger < 4 || alpha.im == 2e-30f) << larger;
  }
}

TEST(ComplexPlan, CutsCoverAllOfKAndKeepSumsShort) {
  Device device;
  device.sm_count = 132;
  for (const ComplexTile& tile : complex_tiles) {
    for (const std::int64_t k : {1, 7, 64, 1000, 2048, 2049, 16384}) {
      const Cgemm p = complex_product(70, 33, k);
      const ComplexTileCut cut = fastest_complex_cut(tile, p, device).cut;
      const std::int64_t stages = ceil_div(k, tile.config.bk);
      EXPECT_GE(cut.parts * cut.share, stages);
      EXPECT_LT((cut.parts - 1) * cut.share, stages) << "no part is empty";
      EXPECT_LE(cut.share * tile.config.bk, complex_split_tuning.longest_sum + tile.config.bk);
    }
  }
}

#ifdef KW_HAVE_HOST_SIMT
std::string chosen(const Cgemm& p, Math math) {
  Device device = test::h200();
  device.kind = DeviceKind::host_simt;
  static const KernelList<Cgemm> kernels = on_host::cgemm_production();
  return select_kernel(p, device, kernels, math)->kernel->name;
}

TEST(ComplexPlan, LargeProductsAreRealOnesAndSmallOnesTiles) {
  for (const std::int64_t n : {2048, 4096, 8192}) {
    EXPECT_EQ(chosen(complex_product(n, n, n), Math::fp32_split), "cgemm_real_split") << n;
  }
  for (const Math math : {Math::fp32, Math::fp32_split}) {
    for (const std::int64_t n : {1, 8, 32, 64}) {
      const std::string name = chosen(complex_product(n, n, n), math);
      EXPECT_EQ(name.find("real"), std::string::npos) << n << " " << name;
    }
  }
}
TEST(ComplexPlan, VectorsAndShortKHaveKernelsOfTheirOwn) {
  for (const Math math : {Math::fp32, Math::fp32_split}) {
    for (const Op op : {Op::none, Op::transpose}) {
      for (const std::int64_t rows : {300, 10000}) {
        Cgemm p = complex_product(1, rows, 1000);
        p.op_b = op;
        p.ldb = op == Op::none ? p.n : p.k;
        EXPECT_EQ(chosen(p, math), "cgemm_thin") << rows;
      }
      Cgemm p = complex_product(400, 1000, 2);
      p.op_b = op;
      p.ldb = op == Op::none ? p.n : p.k;
      const std::string name = chosen(p, math);
      EXPECT_TRUE(name.starts_with("cgemm_outer") || name == "cgemm_strip") << name;
    }
    EXPECT_TRUE(chosen(complex_product(300, 1000, 1), math).starts_with("cgemm_rank_one"));
    for (const std::int64_t k : {1, 2, 5, 8}) {
      const std::string name = chosen(complex_product(15000, 9, k), math);
      EXPECT_TRUE(name.starts_with("cgemm_few")) << k << " " << name;
    }
    // Few outputs with a long k.
    EXPECT_EQ(chosen(complex_product(3, 4, 100000), math), "cgemm_thin");
  }
}
// Products of which every kernel was measured on an NVIDIA H200: the choice is one that takes at
// most 3 % longer than the quickest.
TEST(ComplexPlan, TheChoiceFollowsMeasuredTimes) {
  struct Measured {
    std::int64_t m, n, k;
    const char* ops;
    const char* quickest;
  };
  // Quickest, beside it what another one takes that was predicted to take less.
  constexpr Measured products[] = {
      {2076, 4818, 53, "NN", "cgemm_stream_128x64"},  // 105 us, 128x128 114
      {994, 7089, 63, "NT", "cgemm_lean_48x64"},      // 90.9 us, stream 128x64 100
      {14775, 40, 240, "TN", "cgemm_parts_192x40"},   // 35.0 us, lean 64x48 35.5
      {3339, 91, 187, "NN", "cgemm_lean_32x32k4"},    // 15.7 us, stream 64x32k2 18.9
      {705, 341, 846, "TN", "cgemm_lean_64x32k4"},    // 41.1 us, stream 64x32k2 49.4
      {176, 3293, 5069, "TN", "cgemm_ragged"},        // 445 us, 64x64 498
  };
  for (const Measured& x : products) {
    Cgemm p = complex_product(x.m, x.n, x.k);
    // Lines begin at odd elements.
    p.op_a = x.ops[0] == 'N' ? Op::none : Op::transpose;
    p.op_b = x.ops[1] == 'N' ? Op::none : Op::transpose;
    p.lda = (p.op_a == Op::none ? x.k : x.m) | 1;
    p.ldb = (p.op_b == Op::none ? x.n : x.k) | 1;
    p.ldc = x.n | 1;
    EXPECT_EQ(chosen(p, Math::fp32), x.quickest) << x.m << "x" << x.n << "x" << x.k;
  }
}
#endif

TEST(ComplexPlan, CutsOfStripsCoverAllOfCAndLeaveNoWalkerWithoutRows) {
  Device device;
  device.sm_count = 132;
  for (const std::int64_t m : {1, 7, 64, 65, 30000})
    for (const std::int64_t n : {1, 33, 1000, 100000})
      for (int i = 0; i < complex_strip_count; ++i) {
        const ComplexStripConfig& config = complex_strips[i].config;
        int cuts = 0;
        each_complex_strip_cut(
            i, complex_product(m, n, config.k), device, [&](const ComplexStripCut& cut) {
              const std::int64_t width = std::int64_t{cut.warps_n} * config.width();
              EXPECT_EQ(cut.config, i);
              EXPECT_GE(cut.blocks_n * width, n);
              EXPECT_LT((cut.blocks_n - 1) * width, n) << "no block is without columns";
              EXPECT_LE(1 << cut.rows_shift, config.most_rows);
              EXPECT_LT((std::int64_t{cut.walkers} - 1) << cut.rows_shift, m);
              ++cuts;
            });
        EXPECT_GT(cuts, 0);
      }
}

TEST(ComplexPlan, StripsOfABThatLiesAlongKFitIntoSharedMemory) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 64 << 10;
  Cgemm p = complex_product(3000, 3000, 16);
  const auto largest = [&] {
    std::size_t most = 0;
    for (int i = 0; i < complex_strip_count; ++i)
      each_complex_strip_cut(i, p, device, [&](const ComplexStripCut& cut) {
        most = std::max(most, cut.shared_bytes(p));
      });
    return most;
  };
  const std::size_t of_a = largest();
  p.op_b = Op::transpose, p.ldb = p.k;
  EXPECT_GT(largest(), of_a);
  EXPECT_LE(largest(), device.shared_bytes_per_block_optin);
  device.shared_bytes_per_block_optin = 227 << 10;
  EXPECT_GT(largest(), 64U << 10) << "cuts that the smaller device has no room for";
}

// On an NVIDIA H200 this product takes least by cuts of more blocks than one for each
// multiprocessor: 4.5 us, and 5.0 us by 76 blocks.
TEST(ComplexPlan, StripsAreCutForBlocksBesideEachOther) {
  Device device;
  device.sm_count = 132;
  device.memory_clock_khz = 3201000;
  device.memory_bus_bits = 6144;
  const auto fastest = fastest_complex_strip(complex_product(1204, 427, 6), device);
  ASSERT_TRUE(fastest.has_value());
  EXPECT_GT(fastest->cut.blocks(), device.sm_count);
}

TEST(ComplexPlan, OneTileABlockIsForShortSumsAndWholeMatrices) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 232448;
  for (const ComplexLean& lean : complex_leans) {
    Cgemm p = complex_product(100, 100, 64);
    EXPECT_TRUE(complex_lean_supports(lean.config, p, device)) << lean.name;
    EXPECT_LT(plan_complex_lean(lean, p, device).us,
              plan_complex_lean(lean, complex_product(100, 100, 640), device).us);
    p.triangle = Triangle::lower;
    EXPECT_FALSE(complex_lean_supports(lean.config, p, device)) << lean.name;
    EXPECT_FALSE(complex_lean_supports(lean.config, complex_product(100, 100, 2), device));
    EXPECT_FALSE(complex_lean_supports(lean.config, complex_product(100, 100, 4000), device));
  }
}

TEST(ComplexPlan, TilesThatAreHalvesComeLastAndTakeLess) {
  const TilesToHalves columns(complex_product(640, 195, 64), 64, 64);
  EXPECT_TRUE(columns.by_columns()) << "three tiles of 64 columns, and three columns more";
  EXPECT_EQ(columns.count(10, 4), 10);
  const TilesToHalves both(complex_product(70, 195, 64), 64, 64);
  EXPECT_FALSE(both.by_columns());
  EXPECT_EQ(both.count(2, 4), 4);
  const TilesToHalves none(complex_product(104, 128, 64), 64, 64);
  EXPECT_FALSE(none.by_columns());
  EXPECT_EQ(none.count(2, 2), 0) << "more than half of the last row's tiles lies in C";
  Device device;
  device.sm_count = 132;
  for (const ComplexLean& lean : complex_leans) {
    const std::int64_t n = lean.config.bn();
    const auto tiles = [&](std::int64_t width) {
      return complex_lean_tiles_of_sm(lean.config, complex_product(12800, width, 400), device);
    };
    const std::int64_t side_by_side = 66 * lean.config.bm();  // a tile for each multiprocessor
    EXPECT_EQ(
        complex_lean_tiles_of_sm(lean.config, complex_product(side_by_side, n + 1, 400), device), 1)
        << lean.name;
    if (lean.config.halves)
      EXPECT_LT(tiles(n + 1), tiles(2 * n)) << lean.name;
    else
      EXPECT_EQ(tiles(n + 1), tiles(2 * n)) << lean.name;
  }
}

TEST(ComplexPlan, CutsOfThinProductsCoverAllOfKAndKeepSumsShort) {
  Device device;
  device.sm_count = 132;
  for (const std::int64_t k : {1, 7, 64, 1000, 5000, 1000000}) {
    for (const std::int64_t rows : {16, 100, 30000}) {
      for (const bool along_k : {true, false}) {
        Cgemm p = complex_product(3, rows, k);
        p.op_b = along_k ? Op::transpose : Op::none;
        int cuts = 0;
        each_complex_thin_cut(p, device, [&](const ComplexThinPlan& plan) {
          const ComplexThinConfig& config = complex_thin_configs[plan.config];
          const std::int64_t step = config.step(plan.k_warps);
          EXPECT_EQ(config.along_k, along_k);
          EXPECT_EQ(plan.k_per_part % step, 0);
          EXPECT_GE(plan.parts * plan.k_per_part, k);
          EXPECT_LT((plan.parts - 1) * plan.k_per_part, k) << "no part is empty";
          EXPECT_LE(plan.k_per_part / (step / config.depth),
                    complex_thin_tuning.longest_sum + config.depth);
          EXPECT_GE(plan.row_blocks * plan.block_rows, rows);
          ++cuts;
        });
        EXPECT_GT(cuts, 3);
      }
    }
  }
}

}  // namespace
}  // namespace kw
