// Which of the library's GPU kernels computes what on an H200. Plans are made on the host, so the
// kernels as compiled for host SIMT answer for the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "select.hpp"
#include "sgemm/kernels.hpp"
#include "sgemm/stream/parts_plan.hpp"
#include "support/h200.hpp"
#include "tile_support.hpp"

namespace kw {
namespace {

struct ChoiceShape {
  std::int64_t m, n, k, batch;
};

Sgemm choice_product(const ChoiceShape& shape) {
  Sgemm p;
  p.m = shape.m;
  p.n = shape.n;
  p.k = shape.k;
  p.batch = shape.batch;
  p.lda = shape.k;
  p.ldb = p.ldc = shape.n;
  p.stride_a = shape.m * shape.k;
  p.stride_b = shape.k * shape.n;
  p.stride_c = shape.m * shape.n;
  return p;
}

// A change of a cost model or of a table of tuning shows here. Where it is meant, so is the new
// row.
TEST(SgemmChoice, OfWellKnownShapes) {
  struct Row {
    ChoiceShape shape;
    const char *fp32, *fp32_split;
  };
  const Row rows[] = {
      {{16, 16, 16, 4096}, "small_16x32", "small_16x32"},
      {{64, 64, 64, 1000}, "small_64x64", "small_64x64"},
      {{100, 100, 100, 512}, "small_64x128", "small_64x128"},
      {{128, 128, 128, 1}, "small_32x32k128", "small_32x32k128"},
      {{256, 256, 256, 1}, "small_32x32k128", "small_32x32k128"},
      {{384, 384, 384, 1}, "stream_32x64b2", "stream_32x64b2"},
      {{512, 512, 512, 1}, "stream_32x64", "stream_32x64"},
      {{640, 640, 640, 1}, "parts_64x64", "hopper_bf16x6_64x64"},
      {{768, 768, 768, 1}, "parts_128x96", "hopper_fp16x3_64x128"},
      {{1024, 1024, 1024, 1}, "stream_64x128w4", "hopper_fp16x3_64x128"},
      {{1536, 1536, 1536, 1}, "stream_128x256", "hopper_fp16x3_128x144"},
      {{1537, 1537, 1537, 1}, "ragged", "hopper_fp16x3_128x128"},
      {{2048, 2048, 2048, 1}, "stream_128x256", "hopper_fp16x3_128x128"},
      {{4096, 4096, 4096, 1}, "stream_128x256", "hopper_fp16x3_128x128"},
      {{4097, 4097, 4097, 1}, "ragged", "hopper_fp16x3_128x144w96"},
      {{1, 8192, 8192, 1}, "thin", "thin"},
      {{8192, 4, 4096, 1}, "thin", "thin"},
      {{64, 8192, 8192, 1}, "stream_64x256", "hopper_bf16x6_64x128b"},
      {{8192, 32, 8192, 1}, "parts_128x32b2", "parts_128x32b2"},
      {{512, 512, 4096, 1}, "parts_64x256", "hopper_fp16x3_64x128"},
      {{512, 512, 16384, 1}, "parts_128x128", "hopper_fp16x3_64x128"},
      {{16384, 16384, 64, 1}, "stream_128x128", "hopper_bf16x6_128x128"},
      {{300, 200, 70000, 1}, "ragged", "ragged"},
  };
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  for (const Row& row : rows) {
    const Sgemm p = choice_product(row.shape);
    SCOPED_TRACE(testing::Message() << p.batch << " x " << p.m << " x " << p.n << " x " << p.k);
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      const auto choice = select_kernel(p, test::h200(), kernels, math);
      ASSERT_TRUE(choice);
      EXPECT_STREQ(choice->kernel->name, math == Math::fp32 ? row.fp32 : row.fp32_split);
    }
  }
}

// Log-uniform sizes, of which some lie a little beyond tiles.
std::vector<Sgemm> drawn_products(int count) {
  std::mt19937_64 random(19);
  const auto size = [&](double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<double>(0, std::log(most))(random)));
  };
  const auto draw = [&](std::uint64_t sides) { return random() % sides; };
  std::vector<Sgemm> products;
  for (int i = 0; i < count; ++i) {
    ChoiceShape shape{size(20000), size(20000), size(70000), draw(4) == 0 ? size(2000) : 1};
    if (draw(3) == 0) shape.m = shape.m / 64 * 64 + 1 + static_cast<std::int64_t>(draw(8));
    Sgemm p = choice_product(shape);
    if (draw(2) == 0) p.op_a = Op::transpose, p.lda = p.m;
    if (draw(2) == 0) p.op_b = Op::transpose, p.ldb = p.k;
    products.push_back(p);
  }
  return products;
}

TEST(SgemmChoice, CostsLeastOfAllPlans) {
  const Device device = test::h200();
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  for (const Sgemm& p : drawn_products(400)) {
    SCOPED_TRACE(testing::Message() << p.batch << " x " << p.m << " x " << p.n << " x " << p.k);
    const auto choice = select_kernel(p, device, kernels, Math::fp32_split);
    ASSERT_TRUE(choice);
    for (const Kernel<Sgemm>& kernel : kernels) {
      const auto plan = candidate_plan(kernel, p, device);
      if (!plan) continue;
      EXPECT_GE(plan->cost, choice->plan.cost) << kernel.name;
    }
    // The same plan as when the kernel is asked alone.
    const auto alone = plan_for(*choice->kernel, p, device);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->workspace_bytes, choice->plan.workspace_bytes);
    EXPECT_EQ(alone->time_us, choice->plan.time_us);
  }
}

// Where fp32_split takes no split kernel it runs what plain FP32 runs, so it is no slower.
TEST(SgemmChoice, InSplitIsThatOfFp32WhereNoSplitKernelIsTaken) {
  const Device device = test::h200();
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  int split = 0, same = 0;
  for (const Sgemm& p : drawn_products(400)) {
    SCOPED_TRACE(testing::Message() << p.batch << " x " << p.m << " x " << p.n << " x " << p.k);
    const auto chosen = select_kernel(p, device, kernels, Math::fp32_split);
    const auto plain = select_kernel(p, device, kernels, Math::fp32);
    ASSERT_TRUE(chosen && plain);
    if (chosen->kernel->math != Math::fp32) {
      EXPECT_LT(chosen->plan.cost, plain->plan.cost);
      ++split;
      continue;
    }
    EXPECT_EQ(chosen->kernel, plain->kernel);
    EXPECT_EQ(chosen->plan.time_us, plain->plan.time_us);
    EXPECT_EQ(chosen->plan.workspace_bytes, plain->plan.workspace_bytes);
    EXPECT_EQ(chosen->plan.parts.size(), plain->plan.parts.size());
    ++same;
  }
  EXPECT_GT(split, 20);
  EXPECT_GT(same, 20);
}

TEST(SgemmChoice, KeepsToAWorkspaceLimit) {
  const Device device = test::h200();
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  int others = 0;
  for (const Sgemm& p : drawn_products(200)) {
    SCOPED_TRACE(testing::Message() << p.batch << " x " << p.m << " x " << p.n << " x " << p.k);
    const auto free = select_kernel(p, device, kernels, Math::fp32_split);
    ASSERT_TRUE(free);
    const std::size_t needed = free->plan.needed_workspace_bytes();
    const auto enough = select_kernel(p, device, kernels, Math::fp32_split, needed);
    ASSERT_TRUE(enough);
    EXPECT_STREQ(enough->kernel->name, free->kernel->name);
    if (needed == 0) continue;
    const auto less = select_kernel(p, device, kernels, Math::fp32_split, needed - 1);
    ASSERT_TRUE(less);
    EXPECT_STRNE(less->kernel->name, free->kernel->name);
    EXPECT_LT(less->plan.needed_workspace_bytes(), needed);
    ++others;
  }
  EXPECT_GT(others, 20) << "the shapes were to need a workspace more often";
}

TEST(SgemmChoice, TheCostIsTheTime) {
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  for (const Sgemm& p : drawn_products(100)) {
    const auto choice = select_kernel(p, test::h200(), kernels);
    EXPECT_EQ(choice->plan.cost, choice->plan.time_us) << choice->kernel->name;
  }
}

// Into how many pieces the vendor cuts k on an H200, by its errors (explored-sum-lengths.txt),
// or by those of products drawn at random, where that is known to be the whole reason for an error.
// The chosen plan's sums are hardly longer.
struct VendorSums {
  std::int64_t m, n, k;
  double pieces;
};

// The most elements along k that one accumulator adds up, beyond what a stage may be longer.
double longest_sum_of(const Choice<Sgemm>& choice) {
  const std::string name = choice.kernel->name;
  if (name == "side_by_side")
    return std::max(longest_sum_of(choice.plan.parts[0]), longest_sum_of(choice.plan.parts[1]));
  const bool in_parts = name.starts_with("parts_");
  const auto config = in_parts ? test::tile_named(parts_tiles, name).config
                               : test::tile_named(stream_tiles, name).config;
  const auto schedule = in_parts ? choice.plan.data.get<PartsSchedule>().stream
                                 : choice.plan.data.get<StreamSchedule>();
  const int share = schedule.share + (schedule.longer > 0 ? 1 : 0);
  const int work = schedule.whole_tiles > 0 ? schedule.iterations : share;
  return static_cast<double>(std::min(work, schedule.piece) * config.bk / config.warps_k -
                             config.bk);
}

TEST(SgemmChoice, SumsAreAboutAsShortAsTheVendors) {
  const VendorSums measured[] = {
      {512, 512, 4096, 15},     {512, 512, 16384, 16},    {512, 512, 65536, 16},
      {1408, 1408, 4096, 2},    {1408, 1408, 16384, 6.1}, {2048, 2048, 4096, 1},
      {2048, 2048, 16384, 1},   {768, 768, 4096, 7},      {1000, 1000, 8192, 4.1},
      {1700, 1700, 4096, 4.1},  {2304, 2304, 5000, 4},    {3072, 3072, 16384, 5.1},
      {6144, 6144, 16384, 4},   {300, 2731, 3000, 4},     {1818, 522, 3975, 1},
      {1838, 5450, 8614, 4.1},  {3661, 1481, 18940, 6.1}, {5599, 127, 11462, 6.1},
      {16384, 16384, 16384, 1}, {207, 5336, 9001, 3},     {1370, 14536, 8430, 4.1},
      {491, 6269, 3378, 8},     {874, 1280, 6469, 11},    {529, 9981, 6007, 9},
      {10249, 4560, 4579, 3},   {111, 9016, 16171, 11},   {2892, 7838, 4522, 3}};
  const KernelList<Sgemm> kernels = on_host::sgemm_production();
  for (const VendorSums& row : measured) {
    SCOPED_TRACE(testing::Message() << row.m << " x " << row.n << " x " << row.k);
    const auto choice =
        select_kernel(choice_product({row.m, row.n, row.k, 1}), test::h200(), kernels);
    ASSERT_TRUE(choice);
    EXPECT_LE(longest_sum_of(*choice), 1.25 * static_cast<double>(row.k) / row.pieces)
        << choice->kernel->name;
  }
}

}  // namespace
}  // namespace kw
