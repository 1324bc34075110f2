// Calls of cublasLtMatmul, with descriptors and matrices as tests say them, and their results by
// plain loops.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>

#include "support.hpp"

namespace kw::cublas {

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
                          nullptr, nullptr, 0, stream_);
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

  // Makes the call, and it is the library that computes it, or not; what comes out is D and nothing
  // else.
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
          wanted[static_cast<std::size_t>(at)] = finish(value, entry, i);
        }
      }
    }
    const long before = stand_in_lt_calls();
    EXPECT_EQ(call(c, d.data()), status_success);
    EXPECT_EQ(stand_in_lt_calls() - before, taken && !is_verifying() ? 0 : 1);
    EXPECT_EQ(was_taken(), taken) << last_line();
    EXPECT_TRUE(contains(last_line(), said)) << last_line();
    for (std::size_t i = 0; i < d.size(); ++i) ASSERT_NEAR(d[i], wanted[i], 1e-4) << i;
  }
  static bool is_verifying() { return std::getenv("KERNELWRIGHT_VERIFY") != nullptr; }
  // What an epilogue makes of a value of row i.
  float finish(float value, int entry, std::int64_t i) const {
    if (epilogue_ & 4u) value += bias_[static_cast<std::size_t>(entry * bias_stride_ + i)];
    if (epilogue_ & 2u) value = std::max(value, 0.0f);
    return epilogue_ & 32u ? stand_in::gelu(value) : value;
  }
  void set_epilogue(std::uint32_t epilogue, std::int64_t bias_stride = 0) {
    epilogue_ = epilogue;
    bias_stride_ = bias_stride;
    set<std::uint32_t>(lt::matmul_epilogue, epilogue);
    set<std::int64_t>(lt::matmul_bias_stride, bias_stride);
    set<const void*>(lt::matmul_bias, bias_.data());
  }

  std::uint64_t m_ = 9, n_ = 7, k_ = 12;
  float alpha_ = 1.25f, beta_ = 0;
  bool in_place_ = false;
  void* stream_ = nullptr;
  std::uint32_t epilogue_ = 1;
  std::int64_t bias_stride_ = 0;
  std::vector<float> bias_ = {
      1,   -2,  3,   -4, 5, -6, 7, -8, 9, .1f, .2f, .3f, .4f, .5f, .6f,
      .7f, .8f, .9f, 1,  2, 3,  4, 5,  6, 7,   8,   9,   0,   0,   0};  // of 3 entries
  void* handle_ = nullptr;
  void* description_ = nullptr;
  void* layouts_[4] = {};
  std::vector<float> data_[4];
};

}  // namespace kw::cublas
