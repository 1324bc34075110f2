// cublasSsyrk, whose other triangle nobody touches, and the other routines of level 3.
#include <algorithm>
#include <limits>
#include <thread>

#include "support.hpp"

namespace kw::cublas {
namespace {

constexpr int sizes[] = {1, 7, 300, 601};

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
        EXPECT_EQ(stand_in_calls(nullptr), 0);
      }
    }
  }
}

TEST_F(Syrk, TheNameOf32Bits) {
  for (const Enum fill : {fill_lower, fill_upper}) {
    stand_in_reset();
    Triangular p(fill, op_t, 170, 4);
    EXPECT_EQ(short_syrk(p), status_success);
    EXPECT_TRUE(p.is_right());
    EXPECT_TRUE(was_taken() && contains(last_line(), "cublasSsyrk_v2 ")) << last_line();
    EXPECT_EQ(stand_in_calls(nullptr), 0);
  }
}

TEST_F(Syrk, BetaOfZeroReadsNothingOfC) {
  for (const Enum fill : {fill_lower, fill_upper}) {
    Triangular p(fill, op_n, 190, 3);
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
      Triangular p(fill, op_n, 160, 2);
      p.beta = beta;
      EXPECT_EQ(syrk(p), status_success);
      EXPECT_TRUE(was_taken() && p.is_right()) << last_line();
    }
  }
}

TEST_F(Syrk, WrongArgumentsGetTheVendorsStatus) {
  const struct {
    const char* what;
    void (*spoil)(Triangular&);
  } cases[] = {{"fill", [](Triangular& p) { p.fill = 2; }},
               {"fill below", [](Triangular& p) { p.fill = -1; }},
               {"op", [](Triangular& p) { p.op_a = 3; }},
               {"n", [](Triangular& p) { p.n = -200; }},
               {"k", [](Triangular& p) { p.k = -1; }},
               {"lda", [](Triangular& p) { p.lda = 159; }},
               {"ldc", [](Triangular& p) { p.ldc = 159; }}};
  for (const auto& wrong : cases) {
    SCOPED_TRACE(wrong.what);
    Triangular p(fill_lower, op_n, 160, 2);
    wrong.spoil(p);
    expect_forwarded(p, "to cuBLAS: ", invalid_value);
    EXPECT_EQ(p.c, p.before);
  }
  Triangular p(fill_lower, op_t, 160, 5);
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
  Triangular no_depth(fill_lower, op_n, 160, 0), no_alpha(fill_upper, op_n, 160, 2),
      no_size(fill_upper, op_n, 0, 2);
  no_alpha.alpha = 0;
  for (Triangular* const p : {&no_depth, &no_alpha, &no_size}) {
    expect_forwarded(*p, "nothing to multiply");
    EXPECT_TRUE(p->is_right());
  }
}

TEST_F(Syrk, ScalarsOnTheDeviceStayThere) {
  cublasSetPointerMode_v2(handle_, pointer_mode_device);
  Triangular p(fill_lower, op_n, 260, 3);
  EXPECT_EQ(syrk(p), status_success);
  EXPECT_TRUE(was_taken() && p.is_right()) << last_line();
  EXPECT_EQ(stand_in_calls(nullptr), 0);
}

TEST_F(Syrk, MathModesAreAskedOfTheHandle) {
  const struct {
    Enum mode;
    const char* said;
  } cases[] = {{0, "taken, fp32_split"}, {2, "taken, fp32 by"}, {3, "math mode"}};
  for (const auto& mode : cases) {
    cublasSetMathMode(handle_, mode.mode);
    Triangular p(fill_lower, op_n, 160, 3);
    EXPECT_EQ(syrk(p), status_success);
    EXPECT_TRUE(contains(last_line(), mode.said)) << last_line();
    EXPECT_TRUE(p.is_right());
  }
}

TEST_F(Syrk, WhatTheVendorCallsItselfIsItsOwn) {
  stand_in_recurse(true);
  Triangular taken(fill_lower, op_n, 160, 2), forwarded(fill_upper, op_t, 90, 0);
  EXPECT_EQ(short_syrk(taken), status_success);
  EXPECT_TRUE(was_taken() && contains(last_line(), "cublasSsyrk_v2 ")) << last_line();
  EXPECT_EQ(stand_in_calls("cublasGemmEx"), 0);
  EXPECT_EQ(short_syrk(forwarded), status_success);
  EXPECT_TRUE(contains(last_line(), "cublasSsyrk_v2 ")) << last_line();
  stand_in_recurse(false);
  EXPECT_EQ(stand_in_calls("cublasGemmEx"), 90);
  EXPECT_TRUE(taken.is_right() && forwarded.is_right());
}

TEST_F(Syrk, ThreadsWithOneHandle) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([this, &wrong, number] {
      for (int turn = 0; turn < 2; ++turn) {
        Triangular p(turn == 0 ? fill_lower : fill_upper, op_n, 154 + static_cast<int>(number), 2,
                     number);
        if (syrk(p) != status_success || !p.is_right()) ++wrong;
        Problem q(op_n, op_t, 9, 8, 7, 1, number);
        if (sgemm(q) != status_success || !q.is_right()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stand_in_calls(nullptr), 0);
}

TEST_F(Syrk, Captures) {
  void* const stream = reinterpret_cast<void*>(std::uintptr_t{0x7100});
  Triangular before(fill_lower, op_n, 160, 2);
  EXPECT_EQ(syrk(before), status_success);  // whoever captures has warmed up
  cublasSetStream_v2(handle_, stream);
  stand_in_begin_capture(stream, 7100);
  Triangular p(fill_upper, op_n, 160, 2);
  EXPECT_EQ(syrk(p), status_success);
  EXPECT_TRUE(was_taken() && contains(last_line(), "captured")) << last_line();
  EXPECT_TRUE(p.is_right());
  stand_in_end_capture(stream);
  EXPECT_EQ(stand_in_destroy_graph(7100), 1);
  stand_in_break_capture(stream);
  Triangular broken(fill_upper, op_n, 160, 2);
  expect_forwarded(broken, "to cuBLAS: capture");
  stand_in_end_capture(stream);
}

// C over A: nothing is written before the vendor has the whole call.
TEST_F(Syrk, WhatTheLibraryRefusesAtOnceTheVendorComputes) {
  Triangular p(fill_lower, op_n, 160, 1);
  stand_in_reset();
  EXPECT_EQ(cublasSsyrk_v2_64(handle_, p.fill, p.op_a, p.n, p.k, &p.alpha, p.c.data() + 24, p.ldc,
                              &p.beta, p.c.data(), p.ldc),
            status_success);
  EXPECT_EQ(stand_in_calls("cublasSsyrk_v2_64"), 1);
  EXPECT_EQ(stand_in_calls(nullptr), 1);
  EXPECT_TRUE(contains(last_line(), "refused")) << last_line();
}

// Column-major matrices of one size, A with a diagonal that dominates it.
class OtherRoutines : public Adapter {
 protected:
  OtherRoutines() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto* const all : {&a, &b, &c})
      for (float& value : *all) value = uniform(random);
    for (int i = 0; i < n; ++i) a[place(i, i)] = 40;
  }
  static std::size_t place(int i, int j) {
    return static_cast<std::size_t>(i) + static_cast<std::size_t>(n) * static_cast<std::size_t>(j);
  }
  double at(const std::vector<float>& x, int i, int j) const {
    return static_cast<double>(x[place(i, j)]);
  }
  template <class Left, class Right>
  double sum(const Left& left, const Right& right, int i, int j) const {
    double total = 0;
    for (int l = 0; l < n; ++l) total += left(i, l) * right(l, j);
    return total;
  }
  void expect(Status status, const char* name) {
    EXPECT_EQ(status, status_success);
    EXPECT_TRUE(was_taken() && contains(last_line(), name)) << last_line();
    EXPECT_EQ(stand_in_calls(name), 0);
  }
  void expect_near(int i, int j, double want) { ASSERT_NEAR(at(c, i, j), want, 1e-4) << i << j; }

  static constexpr int n = 30;
  static constexpr std::size_t count = std::size_t{n} * n;
  const float alpha = 0.5f, beta = 2;
  std::vector<float> a = std::vector<float>(count), b = a, c = a;
};

TEST_F(OtherRoutines, AreTakenAndRight) {
  const std::vector<float> before = c;
  const auto lower_a = [&](int i, int j) { return j <= i ? at(a, i, j) : 0.0; };
  const auto symmetric_a = [&](int i, int j) { return j <= i ? at(a, i, j) : at(a, j, i); };
  const auto all_a = [&](int i, int j) { return at(a, i, j); };
  const auto all_b = [&](int i, int j) { return at(b, i, j); };
  const auto turned_b = [&](int i, int j) { return at(b, j, i); };
  const auto turned_a = [&](int i, int j) { return at(a, j, i); };
  expect(cublasSsyrkx(handle_, fill_lower, op_n, n, n, &alpha, a.data(), n, b.data(), n, &beta,
                      c.data(), n),
         "cublasSsyrkx");
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      expect_near(
          i, j,
          i >= j ? 0.5 * sum(all_a, turned_b, i, j) + 2 * at(before, i, j) : at(before, i, j));
  c = before;
  expect(cublasSsyr2k_v2_64(handle_, fill_upper, op_n, n, n, &alpha, a.data(), n, b.data(), n,
                            &beta, c.data(), n),
         "cublasSsyr2k_v2_64");
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      expect_near(i, j,
                  i <= j ? 0.5 * (sum(all_a, turned_b, i, j) + sum(all_b, turned_a, i, j)) +
                               2 * at(before, i, j)
                         : at(before, i, j));
  c = before;
  expect(cublasSsymm_v2(handle_, side_right, fill_lower, n, n, &alpha, a.data(), n, b.data(), n,
                        &beta, c.data(), n),
         "cublasSsymm_v2");
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      expect_near(i, j, 0.5 * sum(all_b, symmetric_a, i, j) + 2 * at(before, i, j));
  expect(cublasStrmm_v2(handle_, side_left, fill_lower, op_n, diagonal_of_any, n, n, &alpha,
                        a.data(), n, b.data(), n, c.data(), n),
         "cublasStrmm_v2");
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) expect_near(i, j, 0.5 * sum(lower_a, all_b, i, j));
  c = before;
  expect(cublasStrsm_v2(handle_, side_left, fill_lower, op_n, diagonal_of_any, n, n, &alpha,
                        a.data(), n, c.data(), n),
         "cublasStrsm_v2");
  const std::vector<float> solved = c;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      ASSERT_NEAR(sum(
                      lower_a, [&](int l, int m) { return at(solved, l, m); }, i, j),
                  0.5 * at(before, i, j), 1e-3);
}

TEST_F(OtherRoutines, WrongArgumentsAreTheVendors) {
  EXPECT_EQ(cublasStrsm_v2_64(handle_, side_left, 5, op_n, diagonal_of_any, n, n, &alpha, a.data(),
                              n, c.data(), n),
            invalid_value);
  EXPECT_EQ(stand_in_calls("cublasStrsm_v2_64"), 1);
  EXPECT_EQ(cublasStrmm_v2_64(handle_, 4, fill_lower, op_n, diagonal_of_any, n, n, &alpha, a.data(),
                              n, b.data(), n, c.data(), n),
            status_success);
  EXPECT_EQ(stand_in_calls("cublasStrmm_v2_64"), 1);
  EXPECT_EQ(cublasSsymm_v2_64(handle_, side_left, fill_lower, n, n, &alpha, a.data(), n - 1,
                              b.data(), n, &beta, c.data(), n),
            status_success);
  EXPECT_EQ(stand_in_calls("cublasSsymm_v2_64"), 1);
}

TEST(SyrkOfAProgram, IsTakenOrForwarded) {
  const std::string refusing = "KERNELWRIGHT_LIBRARY='" KW_REFUSING_LIBRARY "' KW_REFUSED=";
  const struct {
    std::string environment;
    const char* out;
    const char* said;
  } cases[] = {
      {"", "status 0 wrong 0 forwarded 0 and 0\n", "taken, fp32_split"},
      {"KERNELWRIGHT_MATH=off", "status 0 wrong 0 forwarded 1 and 0\n", ""},
      // n * n * k operations, and not twice as many.
      {"KERNELWRIGHT_SMALLEST=2.7e7", "status 0 wrong 0 forwarded 0 and 0\n", "taken, "},
      {"KERNELWRIGHT_SMALLEST=2.8e7", "status 0 wrong 0 forwarded 1 and 0\n", "smaller than"},
      {"KERNELWRIGHT_VERIFY=1", "status 0 wrong 0 forwarded 1 and 0\n", "taken, "},
      {refusing + "0", "status 0 wrong 0 forwarded 1 and 0\n", "refused"},
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
