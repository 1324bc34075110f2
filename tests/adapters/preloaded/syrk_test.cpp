// cublasSsyrk: the library computes rectangles, cuBLAS what is on the diagonal, and nobody touches
// the other triangle.
#include <algorithm>
#include <limits>
#include <thread>

#include "support.hpp"

namespace kw::cublas {
namespace {

constexpr Status invalid_value = 7;

// The least size that is cut, one off the alignment of 16 bytes, and the least of three panels.
constexpr int sizes[] = {1536, 1601, 2560};
long panels_of(int n) { return n < 2560 ? 2 : 3; }

struct Triangular {
  Triangular(Enum which, Enum op, int size, int depth, unsigned seed = 1)
      : fill(which), op_a(op), n(size), k(depth) {
    lda = (op_a == op_n ? n : k) + 1;
    ldc = n + 3;
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    a.resize(static_cast<std::size_t>(lda * (op_a == op_n ? k : n)));
    for (float& value : a) value = uniform(random);
    c.resize(static_cast<std::size_t>(ldc * n), canary);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (is_wanted(i, j)) at(i, j) = uniform(random);
      }
    }
    before = c;
  }
  static constexpr float canary = 12345;
  bool is_wanted(std::int64_t i, std::int64_t j) const {
    return fill == fill_lower ? i >= j : i <= j;
  }
  float& at(std::int64_t i, std::int64_t j) { return c[static_cast<std::size_t>(i + j * ldc)]; }
  // Every element of the allocation; what is not of the triangle is as it was.
  bool is_right() const {
    const stand_in::Steps rows{a.data(), op_a == op_n ? 1 : lda, op_a == op_n ? lda : 1};
    const stand_in::Steps cols{a.data(), rows.col, rows.row};
    double largest = 0;
    std::vector<float> expected(1);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < ldc; ++i) {
        const auto index = static_cast<std::size_t>(i + j * ldc);
        if (i >= n || !is_wanted(i, j)) {
          if (c[index] != before[index]) return false;
          continue;
        }
        float value = 0;
        stand_in::multiply(1, 1, k, alpha, {rows.data + i * rows.row, 0, rows.col},
                           {cols.data + j * cols.col, cols.row, 0}, beta, {&before[index], 0, 0},
                           &value);
        const double error = std::abs(static_cast<double>(c[index]) - static_cast<double>(value));
        largest = std::isnan(error) ? 1e30 : std::max(largest, error);
      }
    }
    return largest < 1e-5 * static_cast<double>(k + 4);
  }

  Enum fill, op_a;
  std::int64_t n, k, lda, ldc;
  float alpha = 0.75f, beta = -0.5f;
  std::vector<float> a, c, before;
};

class Syrk : public Adapter {
 protected:
  Status syrk(Triangular& p) { return syrk(p, handle_); }
  static Status syrk(Triangular& p, void* handle) {
    return cublasSsyrk_v2_64(handle, p.fill, p.op_a, p.n, p.k, &p.alpha, p.a.data(), p.lda, &p.beta,
                             p.c.data(), p.ldc);
  }
  // By the name of 32 bits.
  Status short_syrk(Triangular& p) {
    return cublasSsyrk_v2(handle_, p.fill, p.op_a, static_cast<int>(p.n), static_cast<int>(p.k),
                          &p.alpha, p.a.data(), static_cast<int>(p.lda), &p.beta, p.c.data(),
                          static_cast<int>(p.ldc));
  }
  void expect_forwarded(Triangular& p, const char* said, Status wanted = status_success) {
    stand_in_reset();
    EXPECT_EQ(syrk(p), wanted);
    EXPECT_TRUE(contains(last_line(), said)) << last_line();
    EXPECT_EQ(stand_in_calls("cublasSsyrk_v2_64"), 1);
    EXPECT_EQ(stand_in_calls(nullptr), 1);
  }
};

TEST_F(Syrk, EveryTriangleTransposeAndSize) {
  for (const Enum fill : {fill_lower, fill_upper}) {
    for (const Enum op : {op_n, op_t, op_c}) {
      for (const int n : sizes) {
        SCOPED_TRACE(std::to_string(fill) + " " + std::to_string(op) + " " + std::to_string(n));
        stand_in_reset();
        Triangular p(fill, op, n, 3);
        EXPECT_EQ(syrk(p), status_success);
        EXPECT_TRUE(p.is_right());
        EXPECT_TRUE(was_taken() && contains(last_line(), "cublasSsyrk_v2_64 ")) << last_line();
        EXPECT_EQ(stand_in_calls("cublasSsyrk_v2_64"), panels_of(n));
        EXPECT_EQ(stand_in_calls(nullptr), panels_of(n));
      }
    }
  }
}

TEST_F(Syrk, TheNameOf32Bits) {
  for (const Enum fill : {fill_lower, fill_upper}) {
    stand_in_reset();
    Triangular p(fill, op_t, 1700, 4);
    EXPECT_EQ(short_syrk(p), status_success);
    EXPECT_TRUE(p.is_right());
    EXPECT_TRUE(was_taken() && contains(last_line(), "cublasSsyrk_v2 ")) << last_line();
    EXPECT_EQ(stand_in_calls("cublasSsyrk_v2"), 2);
    EXPECT_EQ(stand_in_calls(nullptr), 2);
  }
}

TEST_F(Syrk, BetaOfZeroReadsNothingOfC) {
  for (const Enum fill : {fill_lower, fill_upper}) {
    Triangular p(fill, op_n, 1900, 3);
    p.beta = 0;
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t i = 0; i < p.n; ++i) {
        if (p.is_wanted(i, j)) p.at(i, j) = std::numeric_limits<float>::quiet_NaN();
      }
    }
    EXPECT_EQ(syrk(p), status_success);
    EXPECT_TRUE(was_taken() && p.is_right()) << last_line();
  }
}

TEST_F(Syrk, TheSameShapeWithOtherScalarsAndTheOtherTriangle) {
  for (const float beta : {-0.5f, 0.0f, 1.0f}) {
    for (const Enum fill : {fill_lower, fill_upper}) {
      Triangular p(fill, op_n, 1600, 2);
      p.beta = beta;
      EXPECT_EQ(syrk(p), status_success);
      EXPECT_TRUE(was_taken() && p.is_right()) << last_line();
    }
  }
}

TEST_F(Syrk, FewColumnsAreForwarded) {
  for (const int n : {1, 7, 1024, 1535}) {
    Triangular p(fill_upper, op_n, n, 3);
    expect_forwarded(p, "too few columns");
    EXPECT_TRUE(p.is_right());
  }
}

TEST_F(Syrk, WrongArgumentsGetTheVendorsStatus) {
  const struct {
    const char* what;
    void (*spoil)(Triangular&);
  } cases[] = {{"fill", [](Triangular& p) { p.fill = 2; }},
               {"fill below", [](Triangular& p) { p.fill = -1; }},
               {"op", [](Triangular& p) { p.op_a = 3; }},
               {"n", [](Triangular& p) { p.n = -2000; }},
               {"k", [](Triangular& p) { p.k = -1; }},
               {"lda", [](Triangular& p) { p.lda = 1599; }},
               {"ldc", [](Triangular& p) { p.ldc = 1599; }}};
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.what);
    Triangular p(fill_lower, op_n, 1600, 2);
    wrong.spoil(p);
    expect_forwarded(p, "to cuBLAS: ", invalid_value);
    EXPECT_EQ(p.c, p.before);
  }
  Triangular p(fill_lower, op_t, 1600, 5);
  p.lda = 4;
  expect_forwarded(p, "arguments for cuBLAS to judge", invalid_value);
  EXPECT_EQ(syrk(p, nullptr), status_not_initialized);
  p.lda = 6;
  const float* const none = nullptr;
  EXPECT_EQ(cublasSsyrk_v2_64(handle_, p.fill, p.op_a, p.n, p.k, none, p.a.data(), p.lda, &p.beta,
                              p.c.data(), p.ldc),
            invalid_value);
  EXPECT_EQ(cublasSsyrk_v2_64(handle_, p.fill, p.op_a, p.n, p.k, &p.alpha, p.a.data(), p.lda, none,
                              p.c.data(), p.ldc),
            invalid_value);
  EXPECT_EQ(p.c, p.before);
}

TEST_F(Syrk, NothingToMultiplyGoesToTheVendor) {
  Triangular no_depth(fill_lower, op_n, 1600, 0), no_alpha(fill_upper, op_n, 1600, 2),
      no_size(fill_upper, op_n, 0, 2);
  no_alpha.alpha = 0;
  for (Triangular* const p : {&no_depth, &no_alpha, &no_size}) {
    expect_forwarded(*p, "nothing to multiply");
    EXPECT_TRUE(p->is_right());
  }
}

TEST_F(Syrk, ScalarsOnTheDeviceStayThere) {
  cublasSetPointerMode_v2(handle_, pointer_mode_device);
  Triangular p(fill_lower, op_n, 2600, 3);
  EXPECT_EQ(syrk(p), status_success);
  EXPECT_TRUE(was_taken() && p.is_right()) << last_line();
  EXPECT_EQ(stand_in_calls(nullptr), 3);
}

TEST_F(Syrk, MathModesAreAskedOfTheHandle) {
  const struct {
    Enum mode;
    const char* said;
  } cases[] = {{0, "taken, fp32_split"}, {2, "taken, fp32 by"}, {3, "math mode"}};
  for (const auto& mode : cases) {
    cublasSetMathMode(handle_, mode.mode);
    Triangular p(fill_lower, op_n, 1600, 3);
    EXPECT_EQ(syrk(p), status_success);
    EXPECT_TRUE(contains(last_line(), mode.said)) << last_line();
    EXPECT_TRUE(p.is_right());
  }
}

TEST_F(Syrk, WhatTheVendorCallsItselfIsItsOwn) {
  stand_in_recurse(true);
  Triangular taken(fill_lower, op_n, 1600, 2), forwarded(fill_upper, op_t, 900, 2);
  EXPECT_EQ(short_syrk(taken), status_success);
  EXPECT_TRUE(was_taken() && contains(last_line(), "cublasSsyrk_v2 ")) << last_line();
  EXPECT_EQ(stand_in_calls("cublasGemmEx"), 1600);
  EXPECT_EQ(short_syrk(forwarded), status_success);
  EXPECT_TRUE(contains(last_line(), "cublasSsyrk_v2 ")) << last_line();
  stand_in_recurse(false);
  EXPECT_EQ(stand_in_calls("cublasGemmEx"), 2500);
  EXPECT_TRUE(taken.is_right() && forwarded.is_right());
}

TEST_F(Syrk, ThreadsWithOneHandle) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([this, &wrong, number] {
      for (int turn = 0; turn < 2; ++turn) {
        Triangular p(turn == 0 ? fill_lower : fill_upper, op_n, 1540 + static_cast<int>(number), 2,
                     number);
        if (syrk(p) != status_success || !p.is_right()) ++wrong;
        Problem q(op_n, op_t, 9, 8, 7, 1, number);
        if (sgemm(q) != status_success || !q.is_right()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stand_in_calls(nullptr), 4 * 2 * 2);
}

TEST_F(Syrk, Captures) {
  void* const stream = reinterpret_cast<void*>(std::uintptr_t{0x7100});
  Triangular before(fill_lower, op_n, 1600, 2);
  EXPECT_EQ(syrk(before), status_success);  // whoever captures has warmed up
  cublasSetStream_v2(handle_, stream);
  stand_in_begin_capture(stream, 7100);
  Triangular p(fill_upper, op_n, 1600, 2);
  EXPECT_EQ(syrk(p), status_success);
  EXPECT_TRUE(was_taken() && contains(last_line(), "captured")) << last_line();
  EXPECT_TRUE(p.is_right());
  stand_in_end_capture(stream);
  EXPECT_EQ(stand_in_destroy_graph(7100), 1);
  stand_in_break_capture(stream);
  Triangular broken(fill_upper, op_n, 1600, 2);
  expect_forwarded(broken, "to cuBLAS: capture");
  stand_in_end_capture(stream);
}

TEST_F(Syrk, WhereTheVendorFailsTheProgramHearsIt) {
  for (const long calls : {0, 1}) {
    Triangular p(fill_lower, op_n, 1600, 2);
    stand_in_fail_syrk_after(calls);
    EXPECT_EQ(syrk(p), status_execution_failed);
    EXPECT_EQ(stand_in_calls("cublasSsyrk_v2_64"), calls + 1);
    stand_in_fail_syrk_after(-1);
    stand_in_reset();
  }
}

// C over A: nothing is written before the vendor has the whole call.
TEST_F(Syrk, WhatTheLibraryRefusesAtOnceTheVendorComputes) {
  Triangular p(fill_lower, op_n, 1600, 1);
  stand_in_reset();
  EXPECT_EQ(cublasSsyrk_v2_64(handle_, p.fill, p.op_a, p.n, p.k, &p.alpha, p.c.data() + 1024, p.ldc,
                              &p.beta, p.c.data(), p.ldc),
            status_success);
  EXPECT_EQ(stand_in_calls("cublasSsyrk_v2_64"), 1);
  EXPECT_EQ(stand_in_calls(nullptr), 1);
  EXPECT_TRUE(contains(last_line(), "refused")) << last_line();
}

TEST(SyrkOfAProgram, IsTakenForwardedOrBoth) {
  const std::string refusing = "KERNELWRIGHT_LIBRARY='" KW_REFUSING_LIBRARY "' KW_REFUSED=";
  const struct {
    std::string environment;
    const char* out;
    const char* said;
  } cases[] = {
      {"", "status 0 wrong 0 forwarded 4 and 0\n", "taken, fp32_split"},
      {"KERNELWRIGHT_MATH=off", "status 0 wrong 0 forwarded 1 and 0\n", ""},
      // n * n * k operations, and not twice as many.
      {"KERNELWRIGHT_SMALLEST=2.7e7", "status 0 wrong 0 forwarded 4 and 0\n", "taken, "},
      {"KERNELWRIGHT_SMALLEST=2.8e7", "status 0 wrong 0 forwarded 1 and 0\n", "smaller than"},
      {"KERNELWRIGHT_VERIFY=1", "status 0 wrong 0 forwarded 5 and 0\n", "taken, "},
      // The first of three rectangles, when nothing is written, and one on the way.
      {refusing + "0", "status 0 wrong 0 forwarded 1 and 0\n", "refused"},
      {refusing + "1", "status 0 wrong 0 forwarded 4 and 1\n", "taken, "},
      {refusing + "2", "status 0 wrong 0 forwarded 4 and 1\n", "taken, "},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.environment);
    const Outcome run = run_client("triangle", one.environment);
    EXPECT_EQ(run.out, one.out);
    EXPECT_TRUE(contains(run.log, one.said)) << run.log;
    EXPECT_EQ(contains(run.log, "goes to cuBLAS, the library says unsupported"),
              contains(one.environment, "REFUSED"))
        << run.log;
  }
}

TEST(SyrkOfAProgram, IsInTheReport) {
  const Outcome run = run_shell("'" KW_PROGRAM "' run --verify 1 -- '" KW_CLIENT "' triangle");
  EXPECT_TRUE(contains(run.out, "wrong 0")) << run.out;
  EXPECT_TRUE(contains(run.out, "1 calls of cuBLAS taken, 0 left to it")) << run.out;
  EXPECT_TRUE(contains(run.out, "1 calls verified")) << run.out;
  EXPECT_TRUE(contains(run.out, "cublasSsyrk_v2")) << run.out;
  EXPECT_TRUE(contains(run.out, "nt 3700x3700x2")) << run.out;
}

}  // namespace
}  // namespace kw::cublas
