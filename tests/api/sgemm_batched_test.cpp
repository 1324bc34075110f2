// kw::sgemm_batched by strides and by pointers, and scalars on the device: every layout and
// transpose against float64, and what is neither read nor written.
#include <array>

#include "sgemm_support.hpp"

namespace kw::test {
namespace {

// Matrices of one shape with canaries between them too; `shared`: one for all entries.
struct StoredBatch {
  std::vector<Stored> entries;
  std::int64_t stride = 0;
  std::vector<float> values;

  const Stored& entry(std::size_t i) const { return entries[stride == 0 ? 0 : i]; }
  std::size_t offset(std::size_t i) const { return i * static_cast<std::size_t>(stride); }
};

struct Form {
  Layout layout = Layout::row_major;
  Op op = Op::none;
  std::int64_t pad = 0, gap = 0;
  bool shared = false;
};

StoredBatch make_batch(std::int64_t op_rows, std::int64_t op_cols, const Form& form,
                       std::size_t count, unsigned seed) {
  StoredBatch batch;
  for (std::size_t i = 0; i < (form.shared ? 1 : count); ++i) {
    batch.entries.push_back(make_stored(op_rows, op_cols, form.layout, form.op, form.pad,
                                        seed + 100 * static_cast<unsigned>(i)));
    const std::vector<float>& values = batch.entries.back().values;
    batch.values.insert(batch.values.end(), values.begin(), values.end());
    batch.values.insert(batch.values.end(), static_cast<std::size_t>(form.gap), nan);
  }
  if (!form.shared) {
    batch.stride = static_cast<std::int64_t>(batch.entries[0].values.size()) + form.gap;
  }
  return batch;
}

enum class Call { strided, pointers };

class ApiSgemmBatched : public testing::TestWithParam<DeviceKind> {
 protected:
  // Pointers are given in descending order of addresses.
  void compute(const StoredBatch& a, const StoredBatch& b, const StoredBatch& c, Scalars s,
               Call call, bool scalars_on_device) {
    const std::size_t count = c.entries.size();
    const auto batch = static_cast<std::int64_t>(count);
    const DeviceFloats on_a(context, a.values), on_b(context, b.values), on_c(context, c.values);
    const DeviceFloats scalars(context, {s.alpha, s.beta});
    const Scalar alpha = scalars_on_device ? Scalar::at(scalars.data()) : s.alpha;
    const Scalar beta = scalars_on_device ? Scalar::at(scalars.data() + 1) : s.beta;
    if (call == Call::strided) {
      sgemm_batched(context, alpha, at(a, on_a), at(b, on_b), beta, at(c, on_c), batch, a.stride,
                    b.stride, c.stride);
    } else {
      const DeviceArray<float*> pointers_a(context, pointers(a, on_a, count));
      const DeviceArray<float*> pointers_b(context, pointers(b, on_b, count));
      const DeviceArray<float*> pointers_c(context, pointers(c, on_c, count));
      sgemm_batched(context, alpha, {pointers_a.data(), a.entries[0].view},
                    {pointers_b.data(), b.entries[0].view}, beta,
                    {pointers_c.data(), c.entries[0].view}, batch);
      context.synchronize();
    }
    expect_products(a, b, c, on_c.get(), s);
    EXPECT_TRUE(on_a.unchanged());
    EXPECT_TRUE(on_b.unchanged());
  }

  static MatrixView<float> at(const StoredBatch& batch, const DeviceFloats& there) {
    MatrixView<float> view = batch.entries[0].view;
    view.data = there.data();
    return view;
  }

  static std::vector<float*> pointers(const StoredBatch& batch, const DeviceFloats& there,
                                      std::size_t count) {
    std::vector<float*> found;
    for (std::size_t i = count; i-- > 0;) found.push_back(there.data() + batch.offset(i));
    return found;
  }

  static void expect_products(const StoredBatch& a, const StoredBatch& b, const StoredBatch& c,
                              const std::vector<float>& after, Scalars s) {
    for (std::size_t i = 0; i < c.entries.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "entry " << i);
      const std::size_t words = c.entries[i].values.size();
      const float* first = after.data() + c.offset(i);
      expect_product(a.entry(i), b.entry(i), c.entries[i], {first, first + words}, s);
      if (HasFatalFailure()) return;
      const auto gap = (static_cast<std::size_t>(c.stride) - words) * sizeof(float);
      ASSERT_EQ(std::memcmp(first + words, c.values.data() + c.offset(i) + words, gap), 0)
          << "the gap behind it was written";
    }
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiSgemmBatched, EveryLayoutAndTranspose) {
  constexpr Shape shape{17, 9, 21};
  constexpr std::array<Scalars, 3> scalars = {{{1, 0}, {-1.5f, 1}, {1, -1.5f}}};
  for (unsigned combination = 0; combination < 32; ++combination) {
    SCOPED_TRACE(testing::Message() << "combination " << combination);
    const auto layout = [&](unsigned bit) {
      return (combination >> bit & 1) != 0 ? Layout::col_major : Layout::row_major;
    };
    const auto op = [&](unsigned bit) {
      return (combination >> bit & 1) != 0 ? Op::transpose : Op::none;
    };
    const std::int64_t pad = combination % 4;
    const Form form_a{layout(0), op(3), pad, 3 - pad, combination % 5 == 1};
    const Form form_b{layout(1), op(4), 3 - pad, 0, combination % 5 == 2};
    const Form form_c{layout(2), Op::none, pad, pad, false};
    const StoredBatch a = make_batch(shape.m, shape.k, form_a, 3, 3 * combination);
    const StoredBatch b = make_batch(shape.k, shape.n, form_b, 3, 3 * combination + 1);
    const StoredBatch c = make_batch(shape.m, shape.n, form_c, 3, 3 * combination + 2);
    const Scalars& s = scalars[combination % scalars.size()];
    for (const Call call : {Call::strided, Call::pointers}) {
      compute(a, b, c, s, call, combination % 2 == 1);
      if (HasFatalFailure()) return;
    }
  }
}

// Large enough that the CPU's threads share a product instead of the entries.
TEST_P(ApiSgemmBatched, LargerEntries) {
  const StoredBatch a = make_batch(70, 66, {}, 2, 1);
  const StoredBatch b = make_batch(66, 72, {}, 2, 2);
  const StoredBatch c = make_batch(70, 72, {}, 2, 3);
  compute(a, b, c, {1, 0.5f}, Call::strided, false);
}

// C's entries side by side in the rows of one array, and A's between them.
TEST_P(ApiSgemmBatched, InterleavedEntries) {
  constexpr std::size_t rows = 6, width = 4, batch = 3, ld = 2 * width * batch;
  const DeviceFloats array(context, random_floats(rows * ld, 5));
  const DeviceFloats b(context, random_floats(width * width, 6));
  sgemm_batched(context, 1, row_major<const float>(array.data(), rows, width, ld),
                row_major<const float>(b.data(), width, width), 0,
                row_major(array.data() + width, rows, width, ld), batch, 2 * width, 0, 2 * width);
  const std::vector<float> after = array.get();
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < ld; ++j) {
      const std::size_t panel = j / width;
      if (panel % 2 == 0) {
        ASSERT_EQ(after[i * ld + j], array.put()[i * ld + j]);
        continue;
      }
      double want = 0;
      for (std::size_t l = 0; l < width; ++l) {
        want += static_cast<double>(array.put()[i * ld + (panel - 1) * width + l]) *
                b.put()[l * width + j % width];
      }
      ASSERT_NEAR(after[i * ld + j], want, 1e-6) << i << ' ' << j;
    }
  }
}

TEST_P(ApiSgemmBatched, NothingToDo) {
  const auto none = static_cast<const float*>(nullptr);
  const DeviceFloats c(context, {7, nan, 3, 4});
  // No entries, no rows, no columns, and nothing that would change.
  sgemm_batched(context, 1, row_major(none, 2, 5), row_major(none, 5, 2), 0,
                row_major(static_cast<float*>(nullptr), 2, 2), 0, 10, 10, 4);
  sgemm_batched(context, 1, row_major(none, 0, 5), row_major(none, 5, 2), 0,
                row_major(c.data(), 0, 2), 3, 0, 0, 0);
  sgemm_batched(context, 0, row_major(none, 2, 5), row_major(none, 5, 1), 1,
                row_major(c.data(), 2, 1), 2, 0, 0, 2);
  sgemm_batched(context, 1, {nullptr, row_major(none, 2, 5)}, {nullptr, row_major(none, 5, 2)}, 0,
                {nullptr, row_major(static_cast<float*>(nullptr), 2, 2)}, 0);
  EXPECT_TRUE(c.unchanged());
}

TEST_P(ApiSgemmBatched, NullInputsWhereNothingReadsThem) {
  const auto none = static_cast<const float*>(nullptr);
  const DeviceFloats c(context, {1, 2, 3, 4, 5, 6});
  sgemm_batched(context, 0, row_major(none, 1, 5), row_major(none, 5, 3), -2,
                row_major(c.data(), 1, 3), 2, 5, 0, 3);
  EXPECT_EQ(c.get(), (std::vector<float>{-2, -4, -6, -8, -10, -12}));
  const DeviceArray<float*> pointers(context, {c.data() + 3, c.data()});
  sgemm_batched(context, 1, {nullptr, row_major(none, 1, 0)}, {nullptr, row_major(none, 0, 3)},
                0.5f, {pointers.data(), row_major(static_cast<float*>(nullptr), 1, 3)}, 2);
  EXPECT_EQ(c.get(), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
}

TEST_P(ApiSgemmBatched, ScalarsOnTheDeviceThatAreZero) {
  StoredBatch a = make_batch(20, 30, {}, 2, 1);
  StoredBatch b = make_batch(30, 10, {}, 2, 2);
  const StoredBatch c = make_batch(20, 10, {}, 2, 3);
  StoredBatch unset = c;
  for (Stored& entry : unset.entries) entry.values.assign(entry.values.size(), nan);
  unset.values.assign(unset.values.size(), nan);
  for (const Call call : {Call::strided, Call::pointers}) {
    compute(a, b, unset, {1, 0}, call, true);
    compute(a, b, unset, {0, 0}, call, true);
  }
  a.values.assign(a.values.size(), nan);
  b.values.assign(b.values.size(), std::numeric_limits<float>::infinity());
  for (const Call call : {Call::strided, Call::pointers}) compute(a, b, c, {0, -1.5f}, call, true);
}

// One product, one scalar on either side; the other is found by its value.
TEST_P(ApiSgemmBatched, OneScalarOnTheDevice) {
  const Stored a = make_stored(20, 30, Layout::row_major, Op::none, 0, 1);
  const Stored b = make_stored(30, 10, Layout::row_major, Op::none, 0, 2);
  const Stored c = make_stored(20, 10, Layout::row_major, Op::none, 1, 3);
  const DeviceFloats on_a(context, a.values), on_b(context, b.values);
  const DeviceFloats number(context, {-1.5f});
  for (const bool alpha_is_there : {true, false}) {
    const DeviceFloats on_c(context, c.values);
    const Scalar alpha = alpha_is_there ? Scalar::at(number.data()) : 0.5f;
    const Scalar beta = alpha_is_there ? 0.5f : Scalar::at(number.data());
    sgemm(context, alpha, row_major<const float>(on_a.data(), 20, 30),
          row_major<const float>(on_b.data(), 30, 10), beta, row_major(on_c.data(), 20, 10, 11));
    expect_product(a, b, c, on_c.get(),
                   alpha_is_there ? Scalars{-1.5f, 0.5f} : Scalars{0.5f, -1.5f});
  }
}

TEST_P(ApiSgemmBatched, SameCallSameBits) {
  const DeviceFloats a(context, random_floats(4 * 33 * 70, 1));
  const DeviceFloats b(context, random_floats(4 * 70 * 35, 2));
  const auto run = [&] {
    const DeviceFloats c(context, std::vector<float>(4 * 33 * 35));
    sgemm_batched(context, 1, row_major<const float>(a.data(), 33, 70),
                  row_major<const float>(b.data(), 70, 35), 0, row_major(c.data(), 33, 35), 4,
                  33 * 70, 70 * 35, 33 * 35);
    return c.get();
  };
  const std::vector<float> first = run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), first);
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiSgemmBatched, testing::ValuesIn(present_devices()),
                         device_test_name);

// Errors are found before any device is asked, so the CPU stands for all.
class ApiSgemmBatchedErrors : public testing::Test {
 protected:
  static constexpr std::int64_t m = 4, n = 6, k = 5;
  // Three legal products; a test spoils them.
  Context context = Context::cpu();
  DeviceFloats a_data{context, random_floats(3 * m * k, 1)};
  DeviceFloats b_data{context, random_floats(3 * k * n, 2)};
  DeviceFloats c_data{context, random_floats(4 * m * n, 3)};
  DeviceFloats scalars{context, {1, 0}};
  Scalar alpha = 1, beta = 0;
  MatrixView<const float> a = row_major<const float>(a_data.data(), m, k);
  MatrixView<const float> b = row_major<const float>(b_data.data(), k, n);
  MatrixView<float> c = row_major(c_data.data(), m, n);
  std::int64_t batch = 3, stride_a = m * k, stride_b = k * n, stride_c = m * n;

  void call() { sgemm_batched(context, alpha, a, b, beta, c, batch, stride_a, stride_b, stride_c); }
  void expect_invalid(const std::string& argument, const std::vector<std::string>& fragments) {
    expect_error([&] { call(); }, StatusCode::invalid_argument, argument, fragments);
    EXPECT_TRUE(c_data.unchanged());
    expect_error(
        [&] {
          (void)sgemm_batched_workspace_bytes(context, alpha, a, b, beta, c, batch, stride_a,
                                              stride_b, stride_c);
        },
        StatusCode::invalid_argument, argument, fragments);
  }
};

TEST_F(ApiSgemmBatchedErrors, TheUnspoiltCallIsLegal) {
  call();
  EXPECT_FALSE(c_data.unchanged());
}
TEST_F(ApiSgemmBatchedErrors, NegativeNumbers) {
  batch = -2;
  expect_invalid("batch", {"batch is -2", "0 or more"});
  batch = 3;
  stride_a = -1;
  expect_invalid("stride_a", {"stride_a is -1", "0 or more"});
  stride_a = 0;
  stride_b = -30;
  expect_invalid("stride_b", {"stride_b is -30"});
  stride_b = 0;
  stride_c = -24;
  expect_invalid("stride_c", {"stride_c is -24"});
}
TEST_F(ApiSgemmBatchedErrors, WhatASingleProductRefuses) {
  a.ld = 4;
  expect_invalid("lda", {"lda is 4"});
  a.ld = 5;
  b.rows = 7;
  expect_invalid("b", {"op(B) (7 x 6) has 7 rows"});
  b.rows = k;
  c.data = nullptr;
  expect_invalid("c", {"c is null"});
}
TEST_F(ApiSgemmBatchedErrors, EntriesOfCShareAnElement) {
  stride_c = 23;
  expect_invalid("stride_c", {"stride_c is 23", "of the 3 entries of C (row-major, 4 x 6)", "ldc 6",
                              "pass stride_c >= 24"});
  stride_c = 0;
  expect_invalid("stride_c", {"stride_c is 0", "pass stride_c >= 24"});
  batch = 1;
  EXPECT_NO_THROW(call());
}
TEST_F(ApiSgemmBatchedErrors, EntriesOfCBetweenEachOthersRows) {
  c.ld = 18;
  stride_c = 5;
  expect_invalid("stride_c", {"stride_c is 5", "ldc 18", "pass stride_c >= 60"});
  // Neighbours are apart: the third entry begins with the second row of the first.
  stride_c = 9;
  expect_invalid("stride_c", {"stride_c is 9", "of the 3 entries", "pass stride_c >= 60"});
  stride_c = 6;
  EXPECT_NO_THROW(call());
}
TEST_F(ApiSgemmBatchedErrors, CSharesAnElementOfAnotherEntry) {
  // The first C begins with the last element of the last A.
  c = row_major(const_cast<float*>(a_data.data()) + 59, m, n);
  expect_error(
      [&] { call(); }, StatusCode::invalid_argument, "c",
      {"C (row-major, 4 x 6)", "ldc 6 and stride_c 24 (3 entries)",
       "shares an element with A (row-major, 4 x 5)", "lda 5 and stride_a 20 (3 entries)"});
  EXPECT_TRUE(a_data.unchanged());
}
TEST_F(ApiSgemmBatchedErrors, SizesBeyondSixtyFourBits) {
  stride_b = std::int64_t{1} << 62;
  expect_invalid("b", {"B (row-major, 5 x 6)", "stride_b 4611686018427387904 (3 entries)"});
  stride_b = std::int64_t{1} << 60;
  expect_invalid("b", {"stride_b 1152921504606846976"});
}
TEST_F(ApiSgemmBatchedErrors, ScalarsOnTheDevice) {
  alpha = Scalar::at(nullptr);
  expect_invalid("alpha", {"alpha is null", "a float in the device's memory"});
  alpha =
      Scalar::at(reinterpret_cast<const float*>(reinterpret_cast<const char*>(scalars.data()) + 2));
  expect_invalid("alpha", {"alpha is no multiple of 4"});
  alpha = Scalar::at(scalars.data());
  beta = Scalar::at(nullptr);
  expect_invalid("beta", {"beta is null"});
  beta = Scalar::at(c_data.data() + 71);
  expect_invalid("beta", {"is an element of C (row-major, 4 x 6)", "keep it elsewhere"});
  beta = Scalar::at(c_data.data() + 72);
  EXPECT_NO_THROW(call());
  // That alpha is 0 is not known here: A has to be one.
  a.data = nullptr;
  expect_error([&] { call(); }, StatusCode::invalid_argument, "a", {"a is null"});
}
TEST_F(ApiSgemmBatchedErrors, ArraysOfPointers) {
  const DeviceArray<float*> three(context, {c_data.data(), c_data.data() + 24, c_data.data() + 48});
  const DeviceArray<const float*> of_a(context, std::vector<const float*>(3, a_data.data()));
  const DeviceArray<const float*> of_b(context, std::vector<const float*>(3, b_data.data()));
  const auto product = [&](const float* const* pointers_a, const float* const* pointers_b,
                           float* const* pointers_c) {
    sgemm_batched(context, alpha, {pointers_a, a}, {pointers_b, b}, beta, {pointers_c, c}, batch);
  };
  const auto expect = [&](const auto& call, const char* argument, const char* fragment) {
    expect_error(call, StatusCode::invalid_argument, argument,
                 {fragment, "an array of 3 pointers in the device's memory"});
    EXPECT_TRUE(c_data.unchanged());
  };
  expect([&] { product(nullptr, of_b.data(), three.data()); }, "a", "a is null");
  expect([&] { product(of_a.data(), nullptr, three.data()); }, "b", "b is null");
  expect([&] { product(of_a.data(), of_b.data(), nullptr); }, "c", "c is null");
  const auto* odd = reinterpret_cast<const char*>(of_a.data()) + 4;
  expect([&] { product(reinterpret_cast<const float* const*>(odd), of_b.data(), three.data()); },
         "a", "a is no multiple of 8");
  a.ld = 3;
  expect_error([&] { product(of_a.data(), of_b.data(), three.data()); },
               StatusCode::invalid_argument, "lda", {"lda is 3"});
  a.ld = k;
  alpha = 0;
  EXPECT_NO_THROW(product(nullptr, nullptr, three.data()));
}

}  // namespace
}  // namespace kw::test
