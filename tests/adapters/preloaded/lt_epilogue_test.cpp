// cublasLtMatmul: epilogues, and C apart from D.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lt_support.hpp"

namespace kw::cublas {
namespace {

struct LtEpilogue : LtMatmul {
  void make_ordered(Enum order, int batch = 1) {
    make({lt::order_col, order, order, order}, op_n, op_n, batch);
  }
};

constexpr struct {
  std::uint32_t value;
  const char* said;
} kinds[] = {{4, "bias"}, {2, "relu"}, {6, "bias+relu"}, {32, "gelu"}, {36, "bias+gelu"}};

// As the log has a taken call of the kind.
std::string in_line(const std::string& said) { return " with " + said + ", taken, "; }

// cuBLASLt has no bias for them.
bool is_row_major_with_bias(Enum order, const std::string& said) {
  return order == lt::order_row && said.starts_with("bias");
}

TEST_F(LtEpilogue, EveryKindWithScalarsOrdersAndBatches) {
  for (const Enum mode : {pointer_mode_host, pointer_mode_device}) {
    for (const Enum order : {lt::order_col, lt::order_row}) {
      for (const int batch : {1, 3}) {
        for (const std::int64_t stride : {0, 9, 10}) {
          for (const auto& kind : kinds) {
            SCOPED_TRACE(std::string(kind.said) + " " + std::to_string(mode) +
                         std::to_string(order) + " " + std::to_string(batch) + " " +
                         std::to_string(stride));
            make_ordered(order, batch);
            set<Enum>(lt::matmul_pointer_mode, mode);
            set_epilogue(kind.value, stride);
            if (is_row_major_with_bias(order, kind.said)) {
              expect(false, "epilogue that the library does not have");
              continue;
            }
            const bool reads_c = mode == pointer_mode_device;
            expect(true, in_line((reads_c ? "source+" : "") + std::string(kind.said)).c_str());
          }
        }
      }
    }
  }
}

TEST_F(LtEpilogue, EveryKindInPlaceAndWithCApart) {
  beta_ = -0.75f;
  for (const Enum order : {lt::order_col, lt::order_row}) {
    for (const int batch : {1, 3}) {
      for (const auto& kind : kinds) {
        SCOPED_TRACE(std::string(kind.said) + " " + std::to_string(order) + std::to_string(batch));
        make_ordered(order, batch);
        if (is_row_major_with_bias(order, kind.said)) continue;
        set_epilogue(kind.value, 9);
        in_place_ = false;
        expect(true, in_line("source+" + std::string(kind.said)).c_str());
        in_place_ = true;
        cublasLtMatrixLayoutDestroy(layouts_[2]);
        layouts_[2] = layouts_[3];
        expect(true, in_line(kind.said).c_str());
        layouts_[2] = nullptr;
      }
    }
  }
}

TEST_F(LtEpilogue, CApartAlone) {
  for (const Enum order : {lt::order_col, lt::order_row}) {
    for (const int batch : {1, 3}) {
      make_ordered(order, batch);
      beta_ = 0;  // C is not read
      expect(true, "9x7x12");
      EXPECT_FALSE(contains(last_line(), "with source")) << last_line();
      beta_ = 2;
      expect(true, in_line("source").c_str());
      set_layout<std::int64_t>(2, lt::layout_batch_stride, 0);  // one for all
      expect(true, in_line("source").c_str());
    }
  }
}

TEST_F(LtEpilogue, COfTheOtherOrderIsForwardedWhereItIsRead) {
  make({lt::order_col, lt::order_col, lt::order_row, lt::order_col}, op_n, op_n);
  expect(true);
  beta_ = 2;
  expect(false, "C and D differ");
}

// A vector that is added to every column.
TEST_F(LtEpilogue, LinesOfCInOnePlaceAreForwarded) {
  make_plain();
  beta_ = 2;
  set_layout<std::int64_t>(2, lt::layout_ld, 0);
  expect(false, "arguments for cuBLAS to judge");
}

TEST_F(LtEpilogue, ThatNoCIsGivenTheVendorJudges) {
  make_plain();
  set<Enum>(lt::matmul_pointer_mode, pointer_mode_device);
  std::vector<float> d = data_[3];
  EXPECT_EQ(call(nullptr, d.data()), status_success);
  EXPECT_TRUE(contains(last_line(), "arguments for cuBLAS to judge")) << last_line();
}

TEST_F(LtEpilogue, ABiasThatIsNullOrOfAnotherType) {
  for (const std::uint32_t epilogue : {4u, 6u, 36u}) {
    make_plain();
    set_epilogue(epilogue);
    std::vector<float> d = data_[3];
    set<const void*>(lt::matmul_bias, nullptr);
    EXPECT_EQ(call(d.data(), d.data()), 7);
    EXPECT_TRUE(contains(last_line(), "arguments for cuBLAS to judge")) << last_line();
    set<const void*>(lt::matmul_bias, bias_.data());
    for (const Enum type : {1, 2, 14}) {  // R_64F, R_16F, R_16BF
      set<Enum>(lt::matmul_bias_type, type);
      EXPECT_EQ(call(d.data(), d.data()), 15);
      EXPECT_TRUE(contains(last_line(), "types other than FP32")) << last_line();
    }
    for (const Enum type : {data_r_32f, lt::bias_type_of_d}) {
      set<Enum>(lt::matmul_bias_type, type);
      expect(true, "bias");
    }
  }
}

TEST_F(LtEpilogue, ABiasWithoutItsEpilogueIsNotRead) {
  make_plain();
  set<const void*>(lt::matmul_bias, bias_.data());
  set<Enum>(lt::matmul_bias_type, 2);
  expect(true, "9x7x12, taken, ");
  set<std::uint32_t>(lt::matmul_epilogue, epilogue_ = 2);
  expect(true, in_line("relu").c_str());
}

TEST_F(LtEpilogue, ANegativeBiasStrideIsForwarded) {
  make_ordered(lt::order_col, 2);
  set_epilogue(4, -9);
  std::vector<float> d = data_[3];
  set<const void*>(lt::matmul_bias, bias_.data() + 9);
  call(d.data(), d.data());
  EXPECT_TRUE(contains(last_line(), "arguments for cuBLAS to judge")) << last_line();
}

// C over D by another layout is what only the product itself refuses: told with the library's
// sentence, and its epilogue is not the next one's.
TEST_F(LtEpilogue, IsTakenBackAfterARefusal) {
  make_plain();
  for (const auto& kind : kinds) {
    set_epilogue(kind.value);
    beta_ = 2;
    std::vector<float> d = data_[3];
    EXPECT_EQ(call(d.data(), d.data()), status_success);
    EXPECT_TRUE(contains(last_line(), " with source+" + std::string(kind.said) +
                                          ", to cuBLAS: refused by libkernelwright"))
        << last_line();
    expect(true, in_line("source+" + std::string(kind.said)).c_str());  // apart it is taken
    beta_ = 0;
    set_epilogue(1);
    expect(true, "9x7x12, taken, ");
  }
  const std::string log = read_file(std::getenv("KERNELWRIGHT_LOG_FILE"));
  const std::string told = "cublasLtMatmul goes to cuBLAS, the library says invalid_argument: ";
  const std::size_t at = log.find(told + "options.epilogue.source");
  EXPECT_NE(at, log.npos);
}

TEST_F(LtEpilogue, Captures) {
  make_plain();
  expect(true);  // whoever captures has warmed up
  stream_ = reinterpret_cast<void*>(std::uintptr_t{0x7200});
  stand_in_begin_capture(stream_, 7200);
  for (const std::uint32_t epilogue : {36u, 1u, 6u}) {
    for (const float beta : {0.0f, 2.0f}) {
      beta_ = beta;
      set_epilogue(epilogue);
      expect(true, "captured");
    }
  }
  stand_in_end_capture(stream_);
  EXPECT_EQ(stand_in_destroy_graph(7200), 1);
}

// These tests themselves, each call of which is then computed twice and compared with float64.
TEST(LtEpilogueOfAProgram, IsVerifiedAndInTheReport) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const std::string path = temporary("epilogues.json"), log = temporary("epilogues_log");
  const Outcome run = run_shell("KERNELWRIGHT_LOG_FILE='" + log +
                                "' '" KW_PROGRAM "' run --shapes 100 --verify 1 --report '" + path +
                                "' -- '" + self + "' --gtest_filter='LtEpilogue.EveryKind*'");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(contains(run.out, "nn 9x7x12 times 3 with source+bias+gelu")) << run.out;
  const auto report = nlohmann::json::parse(read_file(path), nullptr, false);
  unlink(path.c_str());
  unlink(log.c_str());
  // By shape and epilogue; those of the same kind but for strides count together.
  std::size_t taken = 0;
  for (const nlohmann::json& call : report["calls"]) {
    if (!call["taken"]) continue;  // biases of row-major D
    ++taken;
    EXPECT_NE(call["epilogue"], "");
    EXPECT_EQ(call["verified"], call["calls"]) << call;
    EXPECT_LT(call["error"], 10) << call;
    EXPECT_LT(call["vendor_error"], 10) << call;
  }
  EXPECT_GE(taken, 2 * std::size(kinds)) << report;
}

}  // namespace
}  // namespace kw::cublas
