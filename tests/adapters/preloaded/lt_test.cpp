// cublasLtMatmul: every field of its descriptors.
#include <array>

#include "lt_support.hpp"

namespace kw::cublas {
namespace {

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

TEST_F(LtMatmul, ScalarsOnTheDevice) {
  make_plain();
  set<Enum>(lt::matmul_pointer_mode, pointer_mode_device);
  expect(true, "with source");  // beta is not known to be 0
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
  // Those with a matrix beside D, those of gradients, and one that nobody knows.
  for (const std::uint32_t epilogue :
       {130u, 134u, 160u, 164u, 136u, 152u, 192u, 208u, 256u, 512u, 0u}) {
    SCOPED_TRACE(epilogue);
    set_epilogue(epilogue);
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
