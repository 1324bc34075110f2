// cublasLtMatmul: every field of its descriptors.
#include <algorithm>
#include <array>

#include "support.hpp"

namespace kw::cublas {
namespace {

class LtMatmul : public testing::Test {
 protected:
  LtMatmul() {
    cublasLtCreate(&handle_);
    cublasLtMatmulDescCreate(&description_, compute_32f, data_r_32f);
  }
  ~LtMatmul() override {
    cublasLtMatmulDescDestroy(description_);
    for (void* layout : layouts_) {
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    }
    EXPECT_EQ(cublasLtDestroy(handle_), status_success);
  }

  template <class T>
  void set(Enum attribute, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), 0);
  }
  template <class T>
  void set_layout(int which, Enum attribute, T value) {
    ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(layouts_[which], attribute, &value, sizeof value),
              0);
  }

  // Orders of A, B, C and D; transposes; entries.
  void make(const std::array<Enum, 4>& orders, Enum op_a, Enum op_b, int batch = 1) {
    set(lt::matmul_op_a, op_a);
    set(lt::matmul_op_b, op_b);
    const std::uint64_t rows[] = {op_a == op_n ? m_ : k_, op_b == op_n ? k_ : n_, m_, m_};
    const std::uint64_t cols[] = {op_a == op_n ? k_ : m_, op_b == op_n ? n_ : k_, n_, n_};
    for (int i = 0; i < 4; ++i) {
      if (layouts_[i] != nullptr) cublasLtMatrixLayoutDestroy(layouts_[i]);
      const bool by_rows = orders[i] == lt::order_row;
      const auto ld = static_cast<std::int64_t>((by_rows ? cols[i] : rows[i])) + i + 1;
      const std::int64_t stride = ld * static_cast<std::int64_t>(by_rows ? rows[i] : cols[i]);
      cublasLtMatrixLayoutCreate(&layouts_[i], data_r_32f, rows[i], cols[i], ld);
      set_layout(i, lt::layout_order, orders[i]);
      set_layout(i, lt::layout_batch_count, batch);
      set_layout(i, lt::layout_batch_stride, stride);
      std::mt19937 random(static_cast<unsigned>(i + 1));
      std::uniform_real_distribution<float> uniform(-1, 1);
      data_[i].resize(static_cast<std::size_t>(stride * batch));
      for (float& value : data_[i]) value = uniform(random);
    }
  }
  void make_plain() {
    make({lt::order_col, lt::order_col, lt::order_col, lt::order_col}, op_n, op_n);
  }

  Status call(const float* c, float* d) {
    return cublasLtMatmul(handle_, description_, &alpha_, data_[0].data(), layouts_[0],
                          data_[1].data(), layouts_[1], &beta_, c, layouts_[2], d, layouts_[3],
                          nullptr, nullptr, 0, nullptr);
  }
  template <class T>
  T of_layout(int which, Enum attribute) const {
    T value{};
    std::size_t written = 0;
    EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(layouts_[which], attribute, &value, sizeof value,
                                               &written),
              0);
    return value;
  }
  stand_in::Steps steps(int which, const float* data, int entry, bool transposed) const {
    const bool by_rows = (of_layout<int>(which, lt::layout_order) == lt::order_row) != transposed;
    const auto ld = of_layout<std::int64_t>(which, lt::layout_ld);
    return {data + entry * of_layout<std::int64_t>(which, lt::layout_batch_stride),
            by_rows ? ld : 1, by_rows ? 1 : ld};
  }

  // Makes the call and says whether the library computed it; what comes out is D and nothing else.
  void expect(bool taken, const char* said = "") {
    std::vector<float> d = data_[3], wanted = d;
    int op_a = 0, op_b = 0;
    std::size_t written = 0;
    cublasLtMatmulDescGetAttribute(description_, lt::matmul_op_a, &op_a, sizeof op_a, &written);
    cublasLtMatmulDescGetAttribute(description_, lt::matmul_op_b, &op_b, sizeof op_b, &written);
    const float* const c = in_place_ ? d.data() : data_[2].data();
    for (int entry = 0; entry < of_layout<int>(3, lt::layout_batch_count); ++entry) {
      const stand_in::Steps out = steps(3, wanted.data(), entry, false);
      stand_in::Steps in = steps(in_place_ ? 3 : 2, c, entry, false);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(m_); ++i) {
        for (std::int64_t j = 0; j < static_cast<std::int64_t>(n_); ++j) {
          const stand_in::Steps a = steps(0, data_[0].data(), entry, op_a != op_n);
          const stand_in::Steps b = steps(1, data_[1].data(), entry, op_b != op_n);
          float value = 0;
          stand_in::multiply(1, 1, static_cast<std::int64_t>(k_), alpha_,
                             {a.data + i * a.row, a.row, a.col}, {b.data + j * b.col, b.row, b.col},
                             beta_, {in.data + i * in.row + j * in.col, 1, 1}, &value);
          const auto at = out.data - wanted.data() + i * out.row + j * out.col;
          wanted[static_cast<std::size_t>(at)] = finish(value, i);
        }
      }
    }
    const long before = stand_in_lt_calls();
    EXPECT_EQ(call(c, d.data()), status_success);
    EXPECT_EQ(stand_in_lt_calls() - before, taken ? 0 : 1);
    EXPECT_EQ(was_taken(), taken) << last_line();
    EXPECT_TRUE(contains(last_line(), said)) << last_line();
    for (std::size_t i = 0; i < d.size(); ++i) ASSERT_NEAR(d[i], wanted[i], 1e-4) << i;
  }
  // What an epilogue makes of a value of row i.
  float finish(float value, std::int64_t i) const {
    if (epilogue_ & 4u) value += bias_[static_cast<std::size_t>(i)];
    return epilogue_ & 2u ? std::max(value, 0.0f) : value;
  }

  std::uint64_t m_ = 9, n_ = 7, k_ = 12;
  float alpha_ = 1.25f, beta_ = 0;
  bool in_place_ = false;
  std::uint32_t epilogue_ = 1;
  std::vector<float> bias_ = {1, -2, 3, -4, 5, -6, 7, -8, 9};
  void* handle_ = nullptr;
  void* description_ = nullptr;
  void* layouts_[4] = {};
  std::vector<float> data_[4];
};

TEST_F(LtMatmul, EveryOrderAndTranspose) {
  for (int bits = 0; bits < 8; ++bits) {
    const std::array<Enum, 4> orders = {bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 2 & 1};
    for (const Enum op_a : {op_n, op_t}) {
      for (const Enum op_b : {op_n, op_c}) {
        SCOPED_TRACE(std::to_string(bits) + " " + std::to_string(op_a) + std::to_string(op_b));
        make(orders, op_a, op_b);
        expect(true);
      }
    }
  }
}

TEST_F(LtMatmul, Batches) {
  for (const Enum order : {lt::order_col, lt::order_row}) {
    make({order, lt::order_col, order, order}, op_t, op_n, 3);
    expect(true);
  }
}

TEST_F(LtMatmul, OneInputForAllEntries) {
  make({lt::order_col, lt::order_col, lt::order_col, lt::order_col}, op_n, op_n, 4);
  set_layout<std::int64_t>(1, lt::layout_batch_stride, 0);
  expect(true);
}

TEST_F(LtMatmul, BetaInPlace) {
  make_plain();
  in_place_ = true;
  beta_ = -0.5f;
  std::swap(layouts_[2], layouts_[3]);  // C by D's layout: one for both
  cublasLtMatrixLayoutDestroy(layouts_[3]);
  layouts_[3] = layouts_[2];
  expect(true);
  layouts_[3] = nullptr;
}

TEST_F(LtMatmul, CApartFromDIsForwardedWhereItIsRead) {
  make_plain();
  expect(true);
  beta_ = 2;
  expect(false, "C and D differ");
}

TEST_F(LtMatmul, ScalarsOnTheDevice) {
  make_plain();
  set<Enum>(lt::matmul_pointer_mode, pointer_mode_device);
  expect(false, "C and D differ");  // beta is not known to be 0
  in_place_ = true;
  cublasLtMatrixLayoutDestroy(layouts_[2]);
  layouts_[2] = layouts_[3];
  beta_ = 0.25f;
  expect(true);
  layouts_[2] = nullptr;
}

TEST_F(LtMatmul, VectorsOfScalarsAreForwarded) {
  make_plain();
  for (const Enum mode : {2, 3, 4}) {
    set<Enum>(lt::matmul_pointer_mode, mode);
    std::vector<float> d = data_[3];
    EXPECT_EQ(call(d.data(), d.data()), 15);
    EXPECT_TRUE(contains(last_line(), "vector of scalars")) << last_line();
  }
}

TEST_F(LtMatmul, EpiloguesThatTheLibraryLacksAreForwarded) {
  make_plain();
  set<const void*>(8, bias_.data());
  for (const std::uint32_t epilogue : {2u, 4u, 6u, 2u | 128u, 32u, 36u, 256u, 512u, 8u | 128u}) {
    SCOPED_TRACE(epilogue);
    epilogue_ = epilogue;
    set<std::uint32_t>(lt::matmul_epilogue, epilogue);
    expect(false, "epilogue");
  }
}

TEST_F(LtMatmul, ComputeTypes) {
  const struct {
    Enum compute;
    bool taken;
    const char* said;
  } cases[] = {{compute_32f, true, "fp32_split"}, {compute_32f_pedantic, true, "fp32 by"},
               {77, false, "compute type"},   // FAST_TF32
               {74, false, "compute type"},   // FAST_16F
               {75, false, "compute type"},   // FAST_16BF
               {70, false, "compute type"}};  // 64F
  for (const auto& one : cases) {
    make_plain();
    set<Enum>(lt::matmul_compute_type, one.compute);
    expect(one.taken, one.said);
  }
}

TEST_F(LtMatmul, ScaleTypeAndScales) {
  make_plain();
  set<Enum>(lt::matmul_scale_type, 1);
  expect(false, "types");
  set<Enum>(lt::matmul_scale_type, data_r_32f);
  for (const Enum scale : {lt::matmul_a_scale, lt::matmul_b_scale, lt::matmul_c_scale,
                           lt::matmul_d_scale, lt::matmul_amax_d}) {
    set<const void*>(scale, &alpha_);
    expect(false, "scaled");
    set<const void*>(scale, nullptr);
  }
  expect(true);
}

TEST_F(LtMatmul, FillModeAndTransposedC) {
  make_plain();
  set<Enum>(lt::matmul_fill_mode, 0);
  expect(false, "C and D differ");
  set<Enum>(lt::matmul_fill_mode, lt::fill_mode_full);
  set<Enum>(lt::matmul_op_c, op_t);
  expect(false, "C and D differ");
}

TEST_F(LtMatmul, OrdersOfTiles) {
  for (int which = 0; which < 4; ++which) {
    make_plain();
    set_layout<Enum>(which, lt::layout_order, 2);  // COL32
    std::vector<float> d = data_[3];
    call(data_[2].data(), d.data());
    EXPECT_TRUE(contains(last_line(), "order of a matrix")) << last_line();
  }
}

TEST_F(LtMatmul, TypesOfEachMatrix) {
  for (int which = 0; which < 4; ++which) {
    make_plain();
    set_layout<Enum>(which, lt::layout_type, 2);  // R_16F
    std::vector<float> d = data_[3];
    call(data_[2].data(), d.data());
    EXPECT_TRUE(contains(last_line(), "types other than FP32")) << last_line();
  }
}

TEST_F(LtMatmul, PlanesAreForwarded) {
  make_plain();
  set_layout<std::int64_t>(0, lt::layout_plane_offset, 64);
  expect(false, "order of a matrix");
}

TEST_F(LtMatmul, ShapesThatDoNotFit) {
  for (int which = 0; which < 4; ++which) {
    make_plain();
    const auto rows = of_layout<std::uint64_t>(which, lt::layout_rows);
    set_layout<std::uint64_t>(which, lt::layout_rows, rows - 1);
    std::vector<float> d = data_[3];
    const Status status = call(data_[2].data(), d.data());
    EXPECT_FALSE(was_taken()) << last_line();
    EXPECT_EQ(status, which == 2 ? status_success : 7);
  }
}

TEST_F(LtMatmul, BatchCountsThatDiffer) {
  make({lt::order_col, lt::order_col, lt::order_col, lt::order_col}, op_n, op_n, 2);
  set_layout<Enum>(0, lt::layout_batch_count, 1);
  std::vector<float> d = data_[3];
  call(data_[2].data(), d.data());
  EXPECT_TRUE(contains(last_line(), "shapes or batches")) << last_line();
}

TEST_F(LtMatmul, NullsGetTheVendorsStatus) {
  make_plain();
  std::vector<float> d = data_[3];
  EXPECT_EQ(cublasLtMatmul(nullptr, description_, &alpha_, data_[0].data(), layouts_[0],
                           data_[1].data(), layouts_[1], &beta_, d.data(), layouts_[2], d.data(),
                           layouts_[3], nullptr, nullptr, 0, nullptr),
            7);
  EXPECT_EQ(cublasLtMatmul(handle_, nullptr, &alpha_, data_[0].data(), layouts_[0], data_[1].data(),
                           layouts_[1], &beta_, d.data(), layouts_[2], d.data(), layouts_[3],
                           nullptr, nullptr, 0, nullptr),
            7);
  EXPECT_EQ(cublasLtMatmul(handle_, description_, &alpha_, data_[0].data(), nullptr,
                           data_[1].data(), layouts_[1], &beta_, d.data(), layouts_[2], d.data(),
                           layouts_[3], nullptr, nullptr, 0, nullptr),
            7);
}

TEST_F(LtMatmul, AHandleOfCublasServes) {
  void* handle = nullptr;
  cublasCreate_v2(&handle);
  make_plain();
  std::swap(handle, handle_);
  expect(true);
  std::swap(handle, handle_);
  EXPECT_EQ(cublasDestroy_v2(handle), status_success);
}

}  // namespace
}  // namespace kw::cublas
