// kw::attention: views and options, what is empty, errors, and the C interface.
#include "kernelwright/attention.hpp"

#include <cmath>

#include "kernelwright/kernelwright.h"
#include "support.hpp"

namespace kw::test {
namespace {

class ApiAttention : public testing::TestWithParam<DeviceKind> {
 protected:
  static constexpr std::int64_t heads = 2, queries = 5, keys = 9, dim = 4;

  // Of one entry whose views are dense; `from_end` the causal rule.
  static std::vector<float> expected(const std::vector<float>& q, const std::vector<float>& k,
                                     const std::vector<float>& v, float scale, bool from_end) {
    std::vector<float> o(static_cast<std::size_t>(heads * queries * dim));
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < queries; ++t) {
        double sum = 0, out[dim] = {};
        for (std::int64_t s = 0; s < (from_end ? t + keys - queries + 1 : keys); ++s) {
          double dot = 0;
          for (std::int64_t d = 0; d < dim; ++d)
            dot += static_cast<double>(q[static_cast<std::size_t>((h * queries + t) * dim + d)]) *
                   static_cast<double>(k[static_cast<std::size_t>((h * keys + s) * dim + d)]);
          const double weight = std::exp(static_cast<double>(scale) * dot);
          sum += weight;
          for (std::int64_t d = 0; d < dim; ++d)
            out[d] +=
                weight * static_cast<double>(v[static_cast<std::size_t>((h * keys + s) * dim + d)]);
        }
        for (std::int64_t d = 0; d < dim; ++d)
          o[static_cast<std::size_t>((h * queries + t) * dim + d)] =
              static_cast<float>(out[d] / sum);
      }
    }
    return o;
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(std::fabs(got[i] - want[i]) <= 1e-5f) << i << ": " << got[i] << ", " << want[i];
    }
  }

  Context context = detail::open_context(GetParam());
  DeviceFloats q{context, random_floats(heads* queries* dim, 1)};
  DeviceFloats k{context, random_floats(heads* keys* dim, 2)};
  DeviceFloats v{context, random_floats(heads* keys* dim, 3)};
  DeviceFloats o{context, std::vector<float>(heads* queries* dim, nan)};
};

TEST_P(ApiAttention, DefaultScaleAndCausalRules) {
  const auto views = [&](const AttentionOptions& options) {
    attention(context, heads_view<const float>(q.data(), 1, heads, queries, dim),
              heads_view<const float>(k.data(), 1, heads, keys, dim),
              heads_view<const float>(v.data(), 1, heads, keys, dim),
              heads_view(o.data(), 1, heads, queries, dim), options);
  };
  views({});
  expect_near(o.get(), expected(q.put(), k.put(), v.put(), 0.5f, false));
  AttentionOptions options;
  options.scale = -1.25f;
  options.causal = Causal::from_end;
  views(options);
  expect_near(o.get(), expected(q.put(), k.put(), v.put(), -1.25f, true));
  options.math = Math::fp32_split;
  views(options);
  expect_near(o.get(), expected(q.put(), k.put(), v.put(), -1.25f, true));
  EXPECT_TRUE(q.unchanged() && k.unchanged() && v.unchanged());
}

TEST_P(ApiAttention, TokensAreTheSameHeads) {
  // The same numbers, token by token.
  const auto turned = [](const std::vector<float>& x, std::int64_t rows) {
    std::vector<float> y(x.size());
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t t = 0; t < rows; ++t)
        for (std::int64_t d = 0; d < dim; ++d)
          y[static_cast<std::size_t>((t * heads + h) * dim + d)] =
              x[static_cast<std::size_t>((h * rows + t) * dim + d)];
    return y;
  };
  const DeviceFloats q2(context, turned(q.put(), queries)), k2(context, turned(k.put(), keys)),
      v2(context, turned(v.put(), keys));
  attention(context, token_heads<const float>(q2.data(), 1, queries, heads, dim, heads * dim),
            token_heads<const float>(k2.data(), 1, keys, heads, dim, heads * dim),
            token_heads<const float>(v2.data(), 1, keys, heads, dim, heads * dim),
            token_heads(o.data(), 1, queries, heads, dim, heads * dim));
  expect_near(o.get(), turned(expected(q.put(), k.put(), v.put(), 0.5f, false), queries));
}

// With no workspace at all both arithmetics still compute.
TEST_P(ApiAttention, AnyWorkspace) {
  constexpr std::int64_t many = 700;
  const DeviceFloats query(context, random_floats(64, 4)),
      key(context, random_floats(64 * many, 5)), value(context, random_floats(64 * many, 6));
  const DeviceFloats out(context, std::vector<float>(64, nan));
  const DeviceArray<double> scratch(context, std::vector<double>(32, 0.0));
  std::vector<float> wanted;
  for (const bool limited : {false, true}) {
    if (limited) context.set_workspace(scratch.data(), 256);
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      AttentionOptions options;
      options.math = math;
      attention(context, heads_view<const float>(query.data(), 1, 1, 1, 64),
                heads_view<const float>(key.data(), 1, 1, many, 64),
                heads_view<const float>(value.data(), 1, 1, many, 64),
                heads_view(out.data(), 1, 1, 1, 64), options);
      if (wanted.empty()) wanted = out.get();
      expect_near(out.get(), wanted);
    }
  }
}

// Handles are of the CPU or of a GPU.
class CpuAttention : public ApiAttention {};

TEST_P(CpuAttention, FromC) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  kwAttentionProblem problem = {};
  problem.batch = 1, problem.heads = heads, problem.kv_heads = heads;
  problem.queries = queries, problem.keys = keys, problem.dim = dim;
  problem.q = q.data(), problem.q_strides = {0, queries * dim, dim};
  problem.k = k.data(), problem.k_strides = {0, keys * dim, dim};
  problem.v = v.data(), problem.v_strides = {0, keys * dim, dim};
  problem.o = o.data(), problem.o_strides = {0, queries * dim, dim};
  problem.scale = 0.5f;
  problem.causal = KW_CAUSAL_FROM_END;
  size_t bytes = 1;
  EXPECT_EQ(kwAttentionWorkspaceBytes(handle, &problem, &bytes), KW_STATUS_OK);
  EXPECT_EQ(kwAttention(handle, &problem), KW_STATUS_OK) << kwLastErrorMessage(handle);
  expect_near(o.get(), expected(q.put(), k.put(), v.put(), 0.5f, true));
  EXPECT_EQ(kwAttention(handle, nullptr), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(kwAttentionWorkspaceBytes(handle, &problem, nullptr), KW_STATUS_INVALID_ARGUMENT);
  problem.dim = 0;
  EXPECT_EQ(kwAttention(handle, &problem), KW_STATUS_INVALID_ARGUMENT);
  kwDestroy(handle);
}

TEST_P(ApiAttention, WithoutKeysZeros) {
  const auto none = static_cast<const float*>(nullptr);
  attention(context, heads_view<const float>(q.data(), 1, heads, queries, dim),
            heads_view(none, 1, heads, 0, dim), heads_view(none, 1, heads, 0, dim),
            heads_view(o.data(), 1, heads, queries, dim));
  expect_near(o.get(), std::vector<float>(o.put().size(), 0.0f));
  EXPECT_NO_THROW(attention(context, heads_view(none, 1, heads, 0, dim),
                            heads_view(none, 1, heads, 3, dim), heads_view(none, 1, heads, 3, dim),
                            heads_view<float>(nullptr, 1, heads, 0, dim)));
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiAttention, testing::ValuesIn(present_devices()),
                         device_test_name);
INSTANTIATE_TEST_SUITE_P(Devices, CpuAttention, testing::Values(DeviceKind::cpu), device_test_name);

class ApiAttentionErrors : public testing::Test {
 protected:
  Context context = Context::cpu();
  DeviceFloats memory{context, random_floats(1000, 1)};
  DeviceFloats result{context, random_floats(200, 2)};
  HeadsView<const float> q = heads_view<const float>(memory.data(), 1, 4, 5, 8);
  HeadsView<const float> k = heads_view<const float>(memory.data() + 200, 1, 2, 9, 8);
  HeadsView<const float> v = heads_view<const float>(memory.data() + 400, 1, 2, 9, 8);
  HeadsView<float> o = heads_view(result.data(), 1, 4, 5, 8);
  AttentionOptions options;

  void expect(const std::string& argument, const std::vector<std::string>& fragments) {
    expect_error([&] { attention(context, q, k, v, o, options); }, StatusCode::invalid_argument,
                 argument, fragments);
    EXPECT_TRUE(result.unchanged());
  }
};

TEST_F(ApiAttentionErrors, Sizes) {
  q.rows = -1;
  expect("q.rows", {"q.rows is -1"});
  q.rows = 5;
  k.dim = 300;
  expect("k.dim", {"k.dim is 300", "1 to 256"});
  k.dim = 4;
  expect("k.dim", {"k.dim is 4", "q.dim is 8"});
  k.dim = 8;
  v.rows = 8;
  expect("v.rows", {"v.rows is 8", "k.rows is 9"});
  v.rows = 9;
  k.heads = v.heads = 3;
  expect("q.heads", {"q.heads is 4", "k.heads, 3"});
}
TEST_F(ApiAttentionErrors, Strides) {
  k.row_stride = 7;
  expect("k.row_stride", {"k.row_stride is 7", "8 elements"});
  k.row_stride = 8;
  q.head_stride = std::int64_t{1} << 62;
  expect("q", {"[1, 4, 5, 8]", "smaller strides"});
  q.head_stride = 40;
  o.head_stride = 20;
  expect("o.head_stride", {"o.head_stride is 20", "40 elements", "written twice"});
}
TEST_F(ApiAttentionErrors, Addresses) {
  q.data = nullptr;
  expect("q", {"q is null"});
  q.data = reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(memory.data()) + 2);
  expect("q", {"2 bytes past"});
  q.data = result.data() + 100;
  expect("o", {"shares an element with q"});
}
TEST_F(ApiAttentionErrors, Options) {
  options.causal = static_cast<Causal>(3);
  expect("causal", {"causal is 3"});
  options.causal = Causal::none;
  options.math = static_cast<Math>(7);
  expect("math", {"math is 7"});
  options.math = Math::fp32;
  options.mask = {memory.data(), 0, 0, -1};
  expect("mask", {"mask is -1"});
}

}  // namespace
}  // namespace kw::test
