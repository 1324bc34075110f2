// cusolverDnSpotrf and cusolverDnXpotrf: both triangles, pivots that are not positive, what goes to
// cuSOLVER and with which status it comes back.
#include <limits>

#include "support.hpp"

namespace kw::cublas {
namespace {

constexpr Status invalid_value = 3, not_supported = 9;

// A symmetric positive definite matrix, of which one triangle is kept and the other holds canaries.
struct Positive {
  Positive(Enum which, std::int64_t size) : fill(which), n(size), lda(size + 3) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    a.assign(static_cast<std::size_t>(lda * n), canary);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j; i < n; ++i)
        at(i, j) = i == j ? static_cast<float>(n) : uniform(random);
    }
    before = a;
    workspace.resize(static_cast<std::size_t>(4 * n));
  }
  std::size_t place(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(fill == fill_lower ? row + col * lda : col + row * lda);
  }
  float& at(std::int64_t row, std::int64_t col) { return a[place(row, col)]; }
  // Every element of the allocation: L L^T is A, and all else is as it was.
  bool is_right() {
    std::vector<float> rest = a;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k <= j; ++k)
          sum += static_cast<double>(at(i, k)) * static_cast<double>(at(j, k));
        const double want = static_cast<double>(before[place(i, j)]);
        if (!(std::abs(sum - want) <= 1e-6 * static_cast<double>(n))) return false;
        rest[place(i, j)] = before[place(i, j)];
      }
    }
    return rest == before;
  }
  static constexpr float canary = 12345;
  Enum fill;
  std::int64_t n, lda;
  int info = -7;
  std::vector<float> a, before, workspace;
};

class Cusolver : public testing::Test {
 protected:
  Cusolver() {
    EXPECT_EQ(cusolverDnCreate(&solver_), status_success);
    stand_in_reset();
    forwarded("cusolverDnSpotrf");
    forwarded("cusolverDnXpotrf");
  }
  ~Cusolver() override { EXPECT_EQ(cusolverDnDestroy(solver_), status_success); }
  static long forwarded(const char* symbol) { return stand_in_solver_calls(symbol); }
  Status spotrf(Positive& p) { return spotrf(p, solver_); }
  static Status spotrf(Positive& p, void* solver) {
    return cusolverDnSpotrf(solver, p.fill, static_cast<int>(p.n), p.a.data(),
                            static_cast<int>(p.lda), p.workspace.data(),
                            static_cast<int>(p.workspace.size()), &p.info);
  }
  Status xpotrf(Positive& p, Enum type = data_r_32f, Enum compute = data_r_32f) {
    return cusolverDnXpotrf(solver_, nullptr, p.fill, p.n, type, p.a.data(), p.lda, compute,
                            p.workspace.data(), sizeof(float) * p.workspace.size(), nullptr, 0,
                            &p.info);
  }
  void* solver_ = nullptr;
};

TEST_F(Cusolver, BothTrianglesAreTakenAndRight) {
  for (const Enum fill : {fill_lower, fill_upper}) {
    for (const std::int64_t n : {1, 33, 150}) {
      SCOPED_TRACE(std::to_string(fill) + " " + std::to_string(n));
      Positive p(fill, n), x(fill, n);
      EXPECT_EQ(spotrf(p), status_success);
      EXPECT_TRUE(was_taken() && contains(last_line(), "cusolverDnSpotrf ")) << last_line();
      EXPECT_EQ(xpotrf(x), status_success);
      EXPECT_TRUE(was_taken() && contains(last_line(), "cusolverDnXpotrf ")) << last_line();
      EXPECT_TRUE(p.is_right() && x.is_right());
      EXPECT_EQ(p.info, 0);
      EXPECT_EQ(x.info, 0);
      EXPECT_EQ(p.a, x.a);
    }
  }
  EXPECT_EQ(forwarded("cusolverDnSpotrf") + forwarded("cusolverDnXpotrf"), 0);
  EXPECT_EQ(stand_in_calls(nullptr), 0);
}

TEST_F(Cusolver, InfoIsTheNumberOfThePivot) {
  for (const std::int64_t pivot : {0, 70, 99}) {
    for (const float value : {0.0f, -2.0f, std::numeric_limits<float>::quiet_NaN()}) {
      Positive p(fill_lower, 100);
      p.at(pivot, pivot) = value;
      EXPECT_EQ(spotrf(p), status_success);
      EXPECT_TRUE(was_taken()) << last_line();
      EXPECT_EQ(p.info, pivot + 1) << value;
    }
  }
}

TEST_F(Cusolver, WrongArgumentsGetItsStatus) {
  const struct {
    const char* what;
    void (*spoil)(Positive&);
  } cases[] = {{"fill", [](Positive& p) { p.fill = 2; }},
               {"n", [](Positive& p) { p.n = -1; }},
               {"lda", [](Positive& p) { p.lda = p.n - 1; }},
               {"workspace", [](Positive& p) { p.workspace.resize(5); }}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    Positive p(fill_lower, 20), x(fill_lower, 20);
    one.spoil(p);
    one.spoil(x);
    EXPECT_EQ(spotrf(p), invalid_value);
    EXPECT_EQ(forwarded("cusolverDnSpotrf"), 1);
    EXPECT_TRUE(contains(last_line(), "to cuSOLVER: arguments")) << last_line();
    EXPECT_EQ(xpotrf(x), invalid_value);
    EXPECT_EQ(forwarded("cusolverDnXpotrf"), 1);
    EXPECT_EQ(p.info, -7);
  }
  Positive p(fill_lower, 20);
  EXPECT_EQ(spotrf(p, nullptr), status_not_initialized);
}

TEST_F(Cusolver, OtherTypesAndNoRowsAreItsOwn) {
  Positive p(fill_lower, 20);
  EXPECT_EQ(xpotrf(p, 1), not_supported);
  EXPECT_TRUE(contains(last_line(), "to cuSOLVER: types other than FP32")) << last_line();
  EXPECT_EQ(xpotrf(p, data_r_32f, 1), not_supported);
  EXPECT_EQ(p.a, p.before);
  p.n = 0;
  EXPECT_EQ(spotrf(p), status_success);
  EXPECT_EQ(forwarded("cusolverDnSpotrf"), 1);
  EXPECT_EQ(p.info, 0);
}

// Of a call that goes to cuSOLVER, what that asks of cuBLAS may be taken.
TEST_F(Cusolver, WhatItAsksOfCublasIsServed) {
  Positive p(fill_lower, 0);
  p.workspace.resize(1);
  EXPECT_EQ(spotrf(p), status_success);
  EXPECT_EQ(forwarded("cusolverDnSpotrf"), 1);
  EXPECT_EQ(stand_in_calls("cublasSgemm_v2"), 0);  // taken
}

TEST_F(Cusolver, StreamsAndCaptures) {
  void* const stream = reinterpret_cast<void*>(std::uintptr_t{0x7200});
  cusolverDnSetStream(solver_, stream);
  stand_in_begin_capture(stream, 7200);
  Positive p(fill_upper, 40);
  EXPECT_EQ(xpotrf(p), status_success);
  EXPECT_TRUE(was_taken() && contains(last_line(), "captured")) << last_line();
  EXPECT_TRUE(p.is_right());
  stand_in_end_capture(stream);
  EXPECT_EQ(stand_in_destroy_graph(7200), 1);
  stand_in_break_capture(stream);
  Positive broken(fill_upper, 40);
  EXPECT_EQ(spotrf(broken), status_success);
  EXPECT_TRUE(contains(last_line(), "to cuSOLVER: capture")) << last_line();
  EXPECT_EQ(forwarded("cusolverDnSpotrf"), 1);
  stand_in_end_capture(stream);
}

}  // namespace
}  // namespace kw::cublas
