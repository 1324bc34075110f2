// Epilogues of kw::sgemm and of the C interface: every form against float64, activations at every
// size of a number, and every argument error.
#include <array>

#include "kernelwright/kernelwright.h"
#include "sgemm_support.hpp"

namespace kw::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Activation activations[] = {Activation::none, Activation::relu, Activation::gelu_tanh,
                                      Activation::gelu_erf};

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::gelu_tanh: {
      const double y = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      return x < -20 ? -0.0 : x / 2 * (1 + std::tanh(y));
    }
    case Activation::gelu_erf: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  }
  return x;
}

class ApiEpilogue : public testing::TestWithParam<DeviceKind> {
 protected:
  struct Form {
    Layout layout;
    BiasOf bias_of;
    Activation activation;
    bool has_bias, has_source;
    Math math;
  };

  void expect_right(const Form& form, const Shape& shape, Scalars s, unsigned seed) {
    const Stored a = make_stored(shape.m, shape.k, form.layout, Op::none, 1, seed);
    const Stored b = make_stored(shape.k, shape.n, form.layout, Op::transpose, 0, seed + 1);
    const Stored source = make_stored(shape.m, shape.n, form.layout, Op::none, 3, seed + 2);
    Stored c = make_stored(shape.m, shape.n, form.layout, Op::none, 2, seed + 3);
    if (form.has_source) c.values.assign(c.values.size(), nan);  // then C is not read
    const std::int64_t count = form.bias_of == BiasOf::rows ? shape.m : shape.n;
    const DeviceFloats bias(context, random_floats(count, seed + 4));
    const DeviceFloats on_a(context, a.values), on_b(context, b.values), on_c(context, c.values);
    const DeviceFloats on_source(context, source.values);
    SgemmOptions options;
    options.math = form.math;
    options.epilogue.activation = form.activation;
    options.epilogue.bias_of = form.bias_of;
    if (form.has_bias) options.epilogue.bias = bias.data();
    if (form.has_source) {
      options.epilogue.source = source.view;
      options.epilogue.source.data = on_source.data();
    }
    MatrixView<float> va = a.view, vb = b.view, vc = c.view;
    va.data = on_a.data(), vb.data = on_b.data(), vc.data = on_c.data();
    sgemm(context, s.alpha, va, vb, s.beta, vc, options);
    const std::vector<float> after = on_c.get(), biases = bias.get();
    const Stored& added = form.has_source ? source : c;
    const double u = std::ldexp(1.0, -24);
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t l = 0; l < shape.k; ++l) {
          sum += a.op_at(i, l) * b.op_at(l, j);
          magnitude += std::abs(a.op_at(i, l) * b.op_at(l, j));
        }
        const double old = s.beta == 0 ? 0 : s.beta * added.op_at(i, j);
        const double more =
            form.has_bias ? biases[static_cast<std::size_t>(form.bias_of == BiasOf::rows ? i : j)]
                          : 0.0;
        const double x = s.alpha * sum + old + more;
        const double tolerance =
            static_cast<double>(shape.k + 4) * u * std::abs(s.alpha) * magnitude +
            5 * u * (std::abs(old) + std::abs(more)) + 8 * u * std::abs(x) +
            std::numeric_limits<float>::denorm_min();
        ASSERT_LE(std::abs(after[c.index(i, j)] - activated(form.activation, x)), 1.2 * tolerance)
            << "at (" << i << ", " << j << ")";
      }
    }
    EXPECT_TRUE(bias.unchanged());
    EXPECT_TRUE(on_source.unchanged());
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiEpilogue, EveryForm) {
  constexpr Shape shapes[] = {{5, 7, 3}, {66, 36, 40}, {1, 70, 130}};
  unsigned number = 0;
  for (const Layout layout : {Layout::row_major, Layout::col_major})
    for (const BiasOf bias_of : {BiasOf::rows, BiasOf::columns})
      for (const Activation activation : activations)
        for (const bool has_bias : {true, false})
          for (const bool has_source : {false, true}) {
            SCOPED_TRACE(testing::Message() << "form " << number);
            const Math math = number % 2 == 0 ? Math::fp32 : Math::fp32_split;
            const Scalars s = number % 3 == 0 ? Scalars{1, 0} : Scalars{-1.5f, 0.75f};
            expect_right({layout, bias_of, activation, has_bias, has_source, math},
                         shapes[number % std::size(shapes)], s, 10 * number);
            if (HasFatalFailure()) return;
            ++number;
          }
}

// With k = 0 the result is the activation of the bias. Its error is bounded at every size.
TEST_P(ApiEpilogue, ActivationsOfEverySize) {
  std::vector<float> x = {0, -0.0f, infinity, -infinity, nan, 3.0e38f, -3.0e38f, 1e-45f, -1e-45f};
  for (float size = 1e-30f; size < 1e30f; size *= 1.37f) x.insert(x.end(), {size, -size});
  for (float value = -12; value < 12; value += 0.0173f) x.push_back(value);
  const auto count = static_cast<std::int64_t>(x.size());
  const DeviceFloats bias(context, x);
  const DeviceFloats c(context, std::vector<float>(x.size(), nan));
  const float* const none = nullptr;
  for (const Activation activation : activations) {
    SgemmOptions options;
    options.epilogue.bias = bias.data();
    options.epilogue.activation = activation;
    sgemm(context, 1, row_major(none, 1, 0, 1), row_major(none, 0, count), 0,
          row_major(c.data(), 1, count), options);
    const std::vector<float> got = c.get();
    for (std::size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(testing::Message()
                   << "activation " << static_cast<int>(activation) << " of " << x[i]);
      if (std::isnan(x[i]) || (x[i] == -infinity && activation >= Activation::gelu_tanh)) {
        EXPECT_TRUE(std::isnan(got[i])) << got[i];
      } else if (x[i] == infinity || (x[i] == -infinity && activation == Activation::none)) {
        EXPECT_EQ(got[i], x[i]);
      } else if (x[i] == -infinity) {
        EXPECT_EQ(got[i], 0);
      } else {
        const double want = activated(activation, static_cast<double>(x[i]));
        const double bound = std::ldexp(std::abs(static_cast<double>(x[i])), -21) + 0x1p-149;
        EXPECT_LE(std::abs(got[i] - want), activation < Activation::gelu_tanh ? 0.0 : bound)
            << got[i] << ", want " << want;
      }
    }
  }
}

// A call that multiplies nothing and keeps C is one with an epilogue all the same.
TEST_P(ApiEpilogue, AppliesWhereNothingIsMultiplied) {
  const DeviceFloats c(context, {-1, 2, -3, 4}), source(context, {5, -6, 7, -8});
  const float* const none = nullptr;
  SgemmOptions options;
  options.epilogue.activation = Activation::relu;
  const auto of = [&](DeviceFloats const& matrix) { return row_major(matrix.data(), 2, 2); };
  sgemm(context, 0, row_major(none, 2, 9), row_major(none, 9, 2), 1, of(c), options);
  EXPECT_EQ(c.get(), (std::vector<float>{0, 2, 0, 4}));
  options.epilogue = {};
  options.epilogue.source = of(source);
  sgemm(context, 0, row_major(none, 2, 9), row_major(none, 9, 2), 1, of(c), options);
  EXPECT_EQ(c.get(), (std::vector<float>{5, -6, 7, -8}));
  // C itself as the source is C.
  options.epilogue.source = of(c);
  sgemm(context, 0, row_major(none, 2, 9), row_major(none, 9, 2), 2, of(c), options);
  EXPECT_EQ(c.get(), (std::vector<float>{10, -12, 14, -16}));
}

TEST_P(ApiEpilogue, ArgumentErrors) {
  const DeviceFloats memory(context, std::vector<float>(64, 1));
  float* const x = memory.data();
  MatrixView<float> c = row_major(x, 3, 4);
  const MatrixView<float> a = row_major(x + 16, 3, 2), b = row_major(x + 24, 2, 4);
  SgemmOptions options;
  Epilogue& epilogue = options.epilogue;
  const auto expect = [&](const std::string& argument, const std::vector<std::string>& words) {
    expect_error([&] { sgemm(context, 1, a, b, 1, c, options); }, StatusCode::invalid_argument,
                 "options.epilogue." + argument, words);
    EXPECT_TRUE(memory.unchanged());
    options = {};
  };
  epilogue.activation = static_cast<Activation>(4);
  expect("activation", {"is 4", "3 (gelu_erf)"});
  epilogue.bias_of = static_cast<BiasOf>(-1);
  epilogue.bias = x + 40;
  expect("bias_of", {"is -1", "0 (rows) or 1 (columns)"});
  epilogue.bias = x + 40;
  epilogue.stride_bias = -3;
  expect("stride_bias", {"is -3", "0 or more"});
  epilogue.bias = reinterpret_cast<const float*>(reinterpret_cast<const char*>(x) + 2);
  expect("bias", {"2 bytes past a multiple of 4"});
  epilogue.bias = x + 11;
  expect("bias", {"shares an element with C", "keep it elsewhere"});
  epilogue.source = row_major(x + 40, 3, 5);
  expect("source", {"3 x 5", "3 x 4", "make the two equal"});
  epilogue.source = col_major(x + 40, 3, 4);
  expect("source", {"the other layout than C"});
  epilogue.source = transposed(row_major(x + 40, 4, 3));
  expect("source", {"transposed"});
  epilogue.source = row_major(x + 40, 3, 4, 3);
  expect("source.ld", {"lds is 3", "smaller than the 4"});
  epilogue.source = row_major(x + 40, 3, 4);
  epilogue.stride_source = -1;
  expect("stride_source", {"is -1"});
  epilogue.source = row_major(x + 4, 3, 4);
  expect("source", {"shares an element", "or pass C itself"});
  // Where beta is 0 nobody looks at the source.
  epilogue.source = row_major(x + 4, 3, 5);
  EXPECT_EQ(error_of([&] { sgemm(context, 1, a, b, 0, c, options); }), std::nullopt);
}

TEST_P(ApiEpilogue, PointersTakeNoSource) {
  const DeviceFloats memory(context, std::vector<float>(64, 1));
  const DeviceArray<float*> pointers(context, {memory.data(), memory.data() + 16});
  const DeviceArray<float*> outputs(context, {memory.data() + 32, memory.data() + 48});
  const MatrixPointers<const float> input = {pointers.data(),
                                             row_major<const float>(nullptr, 3, 3)};
  const MatrixPointers<float> c = {outputs.data(), row_major<float>(nullptr, 3, 3)};
  SgemmOptions options;
  options.epilogue.source = row_major<const float>(memory.data(), 3, 3);
  expect_error([&] { sgemm_batched(context, 1, input, input, 1, c, 2, options); },
               StatusCode::invalid_argument, "options.epilogue.source", {"arrays of pointers"});
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiEpilogue, testing::ValuesIn(present_devices()),
                         device_test_name);

// The handle keeps the epilogue for later products, until it is given another or none.
TEST(CAbiEpilogue, HoldsUntilItIsTakenBack) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  const float one = 1, zero = 0;
  const std::array<float, 2> a = {1, -1}, bias = {0.5f, 4};  // a column times a row
  const std::array<float, 2> b = {2, -3};
  std::array<float, 4> c = {};
  const auto multiply = [&](const float* beta) {
    return kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 1, &one, a.data(), 1,
                   b.data(), 2, beta, c.data(), 2);
  };
  kwEpilogue epilogue = {};
  epilogue.bias = bias.data();
  epilogue.bias_of = KW_BIAS_OF_ROWS;
  epilogue.activation = KW_ACTIVATION_RELU;
  EXPECT_EQ(kwSetEpilogue(handle, &epilogue), KW_STATUS_OK);
  epilogue = {};  // the handle has its copy
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(multiply(&zero), KW_STATUS_OK);
    EXPECT_EQ(c, (std::array<float, 4>{2.5f, 0, 2, 7}));
  }
  kwSgemmPlan plan = {};
  EXPECT_EQ(kwPlanSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 1, &one, a.data(), 1,
                        b.data(), 2, &zero, c.data(), 2, &plan),
            KW_STATUS_OK);
  EXPECT_NE(plan.kernel, nullptr);
  const std::array<float, 4> source = {10, 20, 10, 20};
  epilogue.source = source.data();
  epilogue.ld_source = 2;
  EXPECT_EQ(kwSetEpilogue(handle, &epilogue), KW_STATUS_OK);
  EXPECT_EQ(multiply(&one), KW_STATUS_OK);
  EXPECT_EQ(c, (std::array<float, 4>{12, 17, 8, 23}));
  epilogue.activation = 9;
  EXPECT_EQ(kwSetEpilogue(handle, &epilogue), KW_STATUS_OK);
  EXPECT_EQ(multiply(&one), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(kwLastErrorMessage(handle)).find("activation is 9"), std::string::npos);
  EXPECT_EQ(kwSetEpilogue(handle, nullptr), KW_STATUS_OK);
  EXPECT_EQ(multiply(&zero), KW_STATUS_OK);
  EXPECT_EQ(c, (std::array<float, 4>{2, -3, -2, 3}));
  EXPECT_EQ(kwSetEpilogue(nullptr, nullptr), KW_STATUS_INVALID_ARGUMENT);
  kwDestroy(handle);
}

}  // namespace
}  // namespace kw::test
