// The check's GPU text, run through host SIMT, agrees with its CPU text.
#ifdef KW_HAVE_HOST_SIMT
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "check/reduce/case.hpp"
#include "check/tools.hpp"

namespace kw::check {
namespace {

class GpuText : public testing::Test {
 protected:
  GpuText() : gpu_(on_host::check::tools()), cpu_(cpu_tools()) {}

  static std::vector<float> matrix(std::int64_t rows, std::int64_t cols, Operand operand) {
    std::vector<float> values(static_cast<std::size_t>(rows * cols));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = input_value({Input::normal, 2, operand}, static_cast<std::int64_t>(i));
    }
    return values;
  }

  static Partial merged(const std::vector<Partial>& partials) {
    Partial found = empty_partial();
    for (const Partial& partial : partials) merge(found, partial);
    return found;
  }

  template <class Judge>
  void expect_same_findings(Status (*Tools::*judge)(const Judge&, Partial*, Stream),
                            const Judge& subject) {
    std::vector<Partial> by_gpu(partial_count), by_cpu(partial_count);
    ASSERT_TRUE((gpu_.*judge)(subject, by_gpu.data(), {}).ok());
    ASSERT_TRUE((cpu_.*judge)(subject, by_cpu.data(), {}).ok());
    const Partial gpu = merged(by_gpu);
    const Partial cpu = merged(by_cpu);
    EXPECT_EQ(gpu.max, cpu.max);
    EXPECT_EQ(gpu.count, cpu.count);
    EXPECT_EQ(gpu.failures, cpu.failures);
    EXPECT_EQ(gpu.first_failure, cpu.first_failure);
    EXPECT_NEAR(gpu.sum, cpu.sum, 1e-9 * (1 + std::fabs(cpu.sum)));
    EXPECT_NEAR(gpu.sum_square, cpu.sum_square, 1e-9 * (1 + cpu.sum_square));
  }

  const Tools& gpu_;
  const Tools& cpu_;
};

TEST_F(GpuText, OracleAgrees) {
  for (const Op op_a : {Op::none, Op::transpose}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      for (const auto& [m, n, k] : {std::array{1, 1, 1}, {70, 65, 33}, {64, 130, 16}, {5, 3, 0}}) {
        const std::vector<float> a = matrix(m + 5, k + 5 + m, Operand::a);
        const std::vector<float> b = matrix(n + 5, k + 5 + n, Operand::b);
        Sgemm p;
        p.m = m;
        p.n = n;
        p.k = k;
        p.op_a = op_a;
        p.op_b = op_b;
        p.a = a.data();
        p.lda = (op_a == Op::none ? k : m) + 2;
        p.b = b.data();
        p.ldb = (op_b == Op::none ? n : k) + 3;
        const auto size = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
        std::vector<double> product[2], magnitude[2];
        for (int side = 0; side < 2; ++side) {
          product[side].assign(size, NAN);
          magnitude[side].assign(size, NAN);
          const Tools& tools = side == 0 ? gpu_ : cpu_;
          ASSERT_TRUE(
              tools.oracle(make_oracle(p, product[side].data(), magnitude[side].data()), {}).ok());
        }
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(product[0][i], product[1][i], 1e-13 * (1 + magnitude[1][i]));
          ASSERT_NEAR(magnitude[0][i], magnitude[1][i], 1e-13 * (1 + magnitude[1][i]));
        }
      }
    }
  }
}

TEST_F(GpuText, JudgeOfProductsAgrees) {
  constexpr std::int64_t m = 37, n = 61, ldc = 70;
  std::vector<float> c = matrix(m, ldc, Operand::c);
  std::vector<double> product(m * n), magnitude(m * n, 3.0);
  for (std::int64_t i = 0; i < m * n; ++i) {
    product[static_cast<std::size_t>(i)] = c[static_cast<std::size_t>(i / n * ldc + i % n)] *
                                           (1.0 + 1e-8 * static_cast<double>(i % 7));
  }
  JudgeSgemm judge{c.data(), m, n, ldc, product.data(), magnitude.data(), 1.0, 0.0, {}, 32};
  expect_same_findings(&Tools::judge_sgemm, judge);
  c[5 * ldc + 6] = NAN;
  c[20 * ldc] += 1;
  expect_same_findings(&Tools::judge_sgemm, judge);
  judge.beta = -1.5;
  expect_same_findings(&Tools::judge_sgemm, judge);
  judge.product_factor = 0;
  expect_same_findings(&Tools::judge_sgemm, judge);
}

TEST_F(GpuText, JudgeOfScaleAddAgrees) {
  std::vector<float> b = matrix(30, 50, Operand::b);
  const JudgeScaleAdd judge{b.data(), 30, 45, 50, 0.5f, 0.25f, {Input::uniform, 1, Operand::a}};
  for (std::int64_t i = 0; i < judge.size(); ++i) {
    b[static_cast<std::size_t>(i / 45 * 50 + i % 45)] = judge.want(i);
  }
  expect_same_findings(&Tools::judge_scale_add, judge);
  b[7] = NAN;
  b[150] = std::nextafter(b[150], 9.0f);
  expect_same_findings(&Tools::judge_scale_add, judge);
}

TEST_F(GpuText, JudgeOfCanariesAgrees) {
  std::vector<float> base(2000);
  const FillMatrix fill{base.data(), {2000, 100, 20, 31, 40}, {Input::unit, 4, Operand::a}, false};
  ASSERT_TRUE(cpu_.fill_matrix(fill, {}).ok());
  expect_same_findings(&Tools::judge_unchanged, JudgeUnchanged{fill, false});
  base[3] = 0;
  base[101] = 0;
  base[100 + 35] = 0;
  expect_same_findings(&Tools::judge_unchanged, JudgeUnchanged{fill, false});
  expect_same_findings(&Tools::judge_unchanged, JudgeUnchanged{fill, true});
}

class ReduceGpuText : public testing::Test {
 protected:
  ReduceGpuText() : gpu_(on_host::check::reduce_tools()), cpu_(cpu_reduce_tools()) {}

  static ReduceOracle oracle_of(const ReduceCase& c, const std::vector<std::int64_t>& offsets) {
    ReduceOracle o;
    o.op = c.op;
    o.shape = c.shape;
    o.rows = c.shape == ReduceShape::rows || c.shape == ReduceShape::columns ? c.rows : 1;
    o.cols = c.shape == ReduceShape::segments ? offsets.back() : c.cols;
    o.offsets = offsets.data();
    o.sequences = c.shape == ReduceShape::rows      ? c.rows
                  : c.shape == ReduceShape::columns ? c.cols
                  : c.shape == ReduceShape::whole   ? 1
                                                    : c.segments;
    o.correction = c.correction;
    o.values = stream_of(c, o.rows * o.cols);
    return o;
  }

  static std::vector<Reference> references_by(const ReduceTools& tools, ReduceOracle o) {
    std::vector<Reference> references(static_cast<std::size_t>(o.sequences));
    std::vector<unsigned char> scratch(oracle_scratch_bytes(o.sequences, o.pieces));
    o.references = references.data();
    o.scratch = scratch.data();
    EXPECT_TRUE(tools.oracle(o, {}).ok());
    return references;
  }

  static void expect_near(double a, double b) {
    if (std::isfinite(b)) {
      EXPECT_NEAR(a, b, 1e-15 * std::fabs(b));
    } else {
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " " << b;
    }
  }

  template <class Judge>
  void expect_same_findings(Status (*ReduceTools::*judge)(const Judge&, Partial*, Stream),
                            const Judge& subject, std::int64_t failures) {
    Partial found[2] = {empty_partial(), empty_partial()};
    for (int side = 0; side < 2; ++side) {
      std::vector<Partial> partials(partial_count);
      ASSERT_TRUE(((side == 0 ? gpu_ : cpu_).*judge)(subject, partials.data(), {}).ok());
      for (const Partial& partial : partials) merge(found[side], partial);
    }
    EXPECT_EQ(found[0].max, found[1].max);
    EXPECT_EQ(found[0].count, found[1].count);
    EXPECT_EQ(found[0].failures, failures);
    EXPECT_EQ(found[1].failures, failures);
    EXPECT_EQ(found[0].first_failure, found[1].first_failure);
  }

  const ReduceTools& gpu_;
  const ReduceTools& cpu_;
};

TEST_F(ReduceGpuText, OracleAgrees) {
  const std::vector<ReduceCase> cases = reduce_edge_cases(9);
  for (std::size_t i = 0; i < cases.size(); i += 53) {
    const ReduceCase& c = cases[i];
    std::vector<std::int64_t> offsets = {0};
    if (c.shape == ReduceShape::segments) {
      if (c.lengths == SegmentLengths::out_of_range) continue;
      offsets = segment_offsets(c.lengths, c.segments, c.seed, c.cols);
    }
    SCOPED_TRACE(describe(c));
    ReduceOracle o = oracle_of(c, offsets);
    const std::vector<Reference> cpu = references_by(cpu_, o);
    for (const std::int64_t pieces : {1, 3}) {
      o.pieces = pieces;
      const std::vector<Reference> gpu = references_by(gpu_, o);
      for (std::size_t s = 0; s < cpu.size(); ++s) {
        for (const int half : {0, 1}) {
          expect_near(gpu[s].value[half], cpu[s].value[half]);
          EXPECT_EQ(gpu[s].whole[half], cpu[s].whole[half]);
        }
        expect_near(gpu[s].magnitude, cpu[s].magnitude);
      }
    }
  }
}

TEST_F(ReduceGpuText, DataAndTheirJudgeAgree) {
  for (const DataType type :
       {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16, DataType::int8,
        DataType::int32, DataType::int64}) {
    for (const Sprinkle sprinkle : {Sprinkle::none, Sprinkle::nan}) {
      if (sprinkle == Sprinkle::nan && !is_floating(type)) continue;
      const ElementStream values{type, Input::normal, 3, sprinkle, 50};
      const Placement place{1000, 50, 20, 31, 40};
      const std::size_t bytes = 1000 * size_of(type);
      std::vector<unsigned char> arrays[2] = {std::vector<unsigned char>(bytes, 0xC3),
                                              std::vector<unsigned char>(bytes, 0xC3)};
      for (int side = 0; side < 2; ++side) {
        void* data = arrays[side].data() + 50 * size_of(type);
        ASSERT_TRUE((side == 0 ? gpu_ : cpu_).fill({data, 20, 31, 40, values}, {}).ok());
      }
      EXPECT_EQ(std::memcmp(arrays[0].data(), arrays[1].data(), bytes), 0) << to_string(type);
      const JudgeElements judge{arrays[0].data(), place, values, 0xC3, false};
      arrays[0][0] ^= 1;                          // before the first element
      arrays[0][85 * size_of(type)] ^= 1;         // in row 0's padding
      arrays[0][(50 + 41) * size_of(type)] ^= 1;  // row 1, column 1
      expect_same_findings(&ReduceTools::judge_elements, judge, 3);
    }
  }
}

TEST_F(ReduceGpuText, JudgeOfResultsAgrees) {
  std::vector<Reference> references;
  std::vector<float> out;
  for (int i = 0; i < 700; ++i) {
    const double value = std::ldexp(1.0 + i * 1e-3, i % 40 - 20);
    references.push_back({{value, value}, {0, 0}, 2 * value});
    out.push_back(static_cast<float>(value));
  }
  JudgeReduce judge;
  judge.out = out.data();
  judge.results = 700;
  judge.references = references.data();
  judge.of_result = 1.01 * unit_roundoff;
  expect_same_findings(&ReduceTools::judge_results, judge, 0);
  out[30] = std::nextafter(out[30], 1e9f);
  out[31] = std::nextafter(out[31], -1e9f);
  out[600] = NAN;
  expect_same_findings(&ReduceTools::judge_results, judge, 3);
  judge.of_magnitude = unit_roundoff;
  expect_same_findings(&ReduceTools::judge_results, judge, 1);
}

}  // namespace
}  // namespace kw::check
#endif
