// Every symbol of the table: right calls are taken and right, wrong ones get cuBLAS's own answer.
#include <cstring>
#include <functional>

#include "support.hpp"

namespace kw::cublas {
namespace {

// What a test changes in a call before it is made.
struct Spoiled {
  void* handle;
  Enum op_a, op_b;
  std::int64_t m, n, k, lda, ldb, ldc, batch;
  const float *alpha, *beta;
  Enum type = data_r_32f, compute = compute_32f;
};
using Spoil = std::function<void(Spoiled&)>;

const void* const* plain(const std::vector<const float*>& pointers) {
  return reinterpret_cast<const void* const*>(pointers.data());
}
void* const* plain(const std::vector<float*>& pointers) {
  return reinterpret_cast<void* const*>(pointers.data());
}

// A call of each form, with arguments of type Int.
#define KW_HEAD s.handle, s.op_a, s.op_b, Int(s.m), Int(s.n), Int(s.k), s.alpha
template <class Int, class Function>
Status call_sgemm(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, p.a.data(), Int(s.lda), p.b.data(), Int(s.ldb), s.beta, p.c.data(), Int(s.ldc));
}
template <class Int, class Function>
Status call_sgemm_ex(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, p.a.data(), s.type, Int(s.lda), p.b.data(), s.type, Int(s.ldb), s.beta,
           p.c.data(), s.type, Int(s.ldc));
}
template <class Int, class Function>
Status call_gemm_ex(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, p.a.data(), s.type, Int(s.lda), p.b.data(), s.type, Int(s.ldb), s.beta,
           p.c.data(), s.type, Int(s.ldc), s.compute, -1);
}
template <class Int, class Function>
Status call_batched(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, p.a_array.data(), Int(s.lda), p.b_array.data(), Int(s.ldb), s.beta,
           p.c_array.data(), Int(s.ldc), Int(s.batch));
}
template <class Int, class Function>
Status call_batched_ex(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, plain(p.a_array), s.type, Int(s.lda), plain(p.b_array), s.type, Int(s.ldb),
           s.beta, plain(p.c_array), s.type, Int(s.ldc), Int(s.batch), s.compute, -1);
}
template <class Int, class Function>
Status call_strided(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, p.a.data(), Int(s.lda), p.stride_a, p.b.data(), Int(s.ldb), p.stride_b, s.beta,
           p.c.data(), Int(s.ldc), p.stride_c, Int(s.batch));
}
template <class Int, class Function>
Status call_strided_ex(Function* f, Problem& p, const Spoiled& s) {
  return f(KW_HEAD, p.a.data(), s.type, Int(s.lda), p.stride_a, p.b.data(), s.type, Int(s.ldb),
           p.stride_b, s.beta, p.c.data(), s.type, Int(s.ldc), p.stride_c, Int(s.batch), s.compute,
           -1);
}
// One group.
#define KW_GROUP                                                                          \
  const Int m = Int(s.m), n = Int(s.n), k = Int(s.k), lda = Int(s.lda), ldb = Int(s.ldb), \
            ldc = Int(s.ldc), size = Int(s.batch)
template <class Int, class Function>
Status call_grouped(Function* f, Problem& p, const Spoiled& s) {
  KW_GROUP;
  return f(s.handle, &s.op_a, &s.op_b, &m, &n, &k, s.alpha, p.a_array.data(), &lda,
           p.b_array.data(), &ldb, s.beta, p.c_array.data(), &ldc, 1, &size);
}
template <class Int, class Function>
Status call_grouped_ex(Function* f, Problem& p, const Spoiled& s) {
  KW_GROUP;
  return f(s.handle, &s.op_a, &s.op_b, &m, &n, &k, s.alpha, plain(p.a_array), s.type, &lda,
           plain(p.b_array), s.type, &ldb, s.beta, plain(p.c_array), s.type, &ldc, 1, &size,
           s.compute);
}

enum Traits : unsigned { none = 0, has_batch = 1, has_type = 2, has_compute = 4, is_grouped = 8 };
constexpr unsigned traits_sgemm = none, traits_sgemm_ex = has_type,
                   traits_gemm_ex = has_type | has_compute, traits_batched = has_batch,
                   traits_batched_ex = has_batch | has_type | has_compute,
                   traits_strided = has_batch, traits_strided_ex = traits_batched_ex,
                   traits_grouped = has_batch | is_grouped,
                   traits_grouped_ex = traits_batched_ex | is_grouped;

struct Subject {
  const char* name;
  unsigned traits;
  std::function<Status(Problem&, const Spoiled&)> call;
};

// Level 3, complex products, cublasLt and handles have tests of their own.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
// NOLINTBEGIN(bugprone-macro-parentheses): names of functions and types
#define KW_SUBJECT(symbol, form, integer, library) KW_SUBJECT_##form(symbol, integer)
#define KW_PLAIN(symbol, form, integer)                                     \
  all.push_back({#symbol, traits_##form, [](Problem& p, const Spoiled& s) { \
                   return call_##form<integer>(&symbol, p, s);              \
                 }});
#define KW_SUBJECT_sgemm(symbol, integer) KW_PLAIN(symbol, sgemm, integer)
#define KW_SUBJECT_sgemm_ex(symbol, integer) KW_PLAIN(symbol, sgemm_ex, integer)
#define KW_SUBJECT_gemm_ex(symbol, integer) KW_PLAIN(symbol, gemm_ex, integer)
#define KW_SUBJECT_batched(symbol, integer) KW_PLAIN(symbol, batched, integer)
#define KW_SUBJECT_batched_ex(symbol, integer) KW_PLAIN(symbol, batched_ex, integer)
#define KW_SUBJECT_strided(symbol, integer) KW_PLAIN(symbol, strided, integer)
#define KW_SUBJECT_strided_ex(symbol, integer) KW_PLAIN(symbol, strided_ex, integer)
#define KW_SUBJECT_grouped(symbol, integer) KW_PLAIN(symbol, grouped, integer)
#define KW_SUBJECT_grouped_ex(symbol, integer) KW_PLAIN(symbol, grouped_ex, integer)
#define KW_SUBJECT_syrk(symbol, integer)
#define KW_SUBJECT_syrkx(symbol, integer)
#define KW_SUBJECT_syr2k(symbol, integer)
#define KW_SUBJECT_symm(symbol, integer)
#define KW_SUBJECT_trmm(symbol, integer)
#define KW_SUBJECT_trsm(symbol, integer)
#define KW_SUBJECT_cgemm(symbol, integer)
#define KW_SUBJECT_cgemm_batched(symbol, integer)
#define KW_SUBJECT_cgemm_strided(symbol, integer)
#define KW_SUBJECT_csyrk(symbol, integer)
#define KW_SUBJECT_cherk(symbol, integer)
#define KW_SUBJECT_ctrsm(symbol, integer)
#define KW_SUBJECT_lt_matmul(symbol, integer)
#define KW_SUBJECT_destroy(symbol, integer)
  KW_CUBLAS_SYMBOLS(KW_SUBJECT)
  // NOLINTEND(bugprone-macro-parentheses)
  return all;
}

class EverySymbol : public Adapter {
 protected:
  static Spoiled arguments(const Problem& p, void* handle) {
    return {handle, p.op_a, p.op_b, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch, &p.alpha, &p.beta};
  }
  Status call(const Subject& subject, Problem& p, const Spoil& spoil = {}) {
    Spoiled spoiled = arguments(p, handle_);
    if (spoil) spoil(spoiled);
    return subject.call(p, spoiled);
  }
  static int entries(const Subject& subject) { return subject.traits & has_batch ? 3 : 1; }
};

TEST_F(EverySymbol, RightCallsAreTakenAndRight) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    stand_in_reset();
    for (const Enum op_a : {op_n, op_t, op_c}) {
      for (const Enum op_b : {op_n, op_t, op_c}) {
        Problem p(op_a, op_b, 19, 11, 23, entries(subject), 7);
        EXPECT_EQ(call(subject, p), status_success);
        EXPECT_TRUE(p.is_right()) << p.largest_error();
        EXPECT_TRUE(contains(last_line(), subject.name)) << last_line();
        EXPECT_TRUE(was_taken()) << last_line();
      }
    }
    EXPECT_EQ(stand_in_calls(subject.name), 0);
  }
}

TEST_F(EverySymbol, WrongArgumentsGetTheVendorsStatus) {
  const struct {
    const char* what;
    Spoil spoil;
    Status wanted;
    unsigned needs;
  } cases[] = {
      {"handle", [](Spoiled& s) { s.handle = nullptr; }, status_not_initialized, none},
      {"op", [](Spoiled& s) { s.op_a = 7; }, invalid_value, none},
      {"conjugate", [](Spoiled& s) { s.op_b = 3; }, invalid_value, none},
      {"m", [](Spoiled& s) { s.m = -1; }, invalid_value, none},
      {"n", [](Spoiled& s) { s.n = -3; }, invalid_value, none},
      {"k", [](Spoiled& s) { s.k = -2; }, invalid_value, none},
      {"lda", [](Spoiled& s) { s.lda = 1; }, invalid_value, none},
      {"ldb", [](Spoiled& s) { s.ldb = 0; }, invalid_value, none},
      {"ldc", [](Spoiled& s) { s.ldc = 2; }, invalid_value, none},
      {"type", [](Spoiled& s) { s.type = 2; }, not_supported, has_type},
      {"compute", [](Spoiled& s) { s.compute = 64; }, not_supported, has_compute},
      {"batch", [](Spoiled& s) { s.batch = -1; }, invalid_value, has_batch},
  };
  for (const Subject& subject : subjects()) {
    for (const auto& wrong : cases) {
      if ((subject.traits & wrong.needs) != wrong.needs) continue;
      SCOPED_TRACE(std::string(subject.name) + ", " + wrong.what);
      stand_in_reset();
      Problem p(op_n, op_t, 5, 6, 7, entries(subject));
      const std::vector<float> before = p.c;
      EXPECT_EQ(call(subject, p, wrong.spoil), wrong.wanted);
      EXPECT_EQ(stand_in_calls(subject.name), 1);
      EXPECT_FALSE(was_taken()) << last_line();
      EXPECT_EQ(p.c, before);
    }
  }
}

TEST_F(EverySymbol, NullScalarsAreForTheVendorToJudge) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    Problem p(op_n, op_n, 5, 6, 7, entries(subject));
    EXPECT_EQ(call(subject, p, [](Spoiled& s) { s.alpha = nullptr; }), invalid_value);
    EXPECT_EQ(call(subject, p, [](Spoiled& s) { s.beta = nullptr; }), invalid_value);
  }
}

TEST_F(EverySymbol, NothingToMultiplyGoesToTheVendor) {
  const Spoil empty[] = {[](Spoiled& s) { s.m = 0; }, [](Spoiled& s) { s.n = 0; },
                         [](Spoiled& s) { s.k = 0; }};
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    for (const Spoil& spoil : empty) {
      Problem p(op_n, op_n, 5, 6, 7, entries(subject));
      EXPECT_EQ(call(subject, p, spoil), status_success);
      EXPECT_TRUE(contains(last_line(), "nothing to multiply")) << last_line();
    }
  }
}

TEST_F(EverySymbol, AlphaOfZeroScalesC) {
  Problem p(op_n, op_n, 5, 6, 7);
  p.alpha = 0;
  for (std::size_t i = 0; i < p.c.size(); ++i) p.expected[i] = p.c[i];
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      p.expected[static_cast<std::size_t>(i + j * p.ldc)] *= p.beta;
    }
  }
  EXPECT_EQ(sgemm(p), status_success);
  EXPECT_TRUE(p.is_right());
}

TEST_F(EverySymbol, ComputeTypesAreTold) {
  const struct {
    Enum compute;
    const char* said;
  } cases[] = {{compute_32f, "taken, fp32_split"},
               {compute_32f_pedantic, "taken, fp32 by"},
               {compute_as_data_r_32f, "taken, fp32_split"},
               {77, "compute type other than FP32"}};  // FAST_TF32
  for (const Subject& subject : subjects()) {
    if (!(subject.traits & has_compute)) continue;
    for (const auto& said : cases) {
      SCOPED_TRACE(std::string(subject.name) + " " + std::to_string(said.compute));
      Problem p(op_n, op_n, 9, 8, 7, entries(subject));
      EXPECT_EQ(call(subject, p, [&](Spoiled& s) { s.compute = said.compute; }), status_success);
      EXPECT_TRUE(contains(last_line(), said.said)) << last_line();
      EXPECT_TRUE(p.is_right());
    }
  }
}

TEST_F(EverySymbol, MathModesAreAskedOfTheHandle) {
  const struct {
    Enum mode;
    const char* said;
  } cases[] = {{0, "taken, fp32_split"},
               {16, "taken, fp32_split"},  // a flag for narrower types
               {2, "taken, fp32 by"},      // PEDANTIC
               {2 | 16, "taken, fp32 by"},
               {1, "math mode"},   // TENSOR_OP
               {3, "math mode"},   // TF32
               {4, "math mode"}};  // emulation
  for (const Subject& subject : subjects()) {
    for (const auto& mode : cases) {
      SCOPED_TRACE(std::string(subject.name) + " " + std::to_string(mode.mode));
      cublasSetMathMode(handle_, mode.mode);
      Problem p(op_t, op_n, 9, 8, 7, entries(subject));
      EXPECT_EQ(call(subject, p), status_success);
      EXPECT_TRUE(contains(last_line(), mode.said)) << last_line();
      EXPECT_TRUE(p.is_right());
    }
  }
}

TEST_F(EverySymbol, ScalarsOnTheDeviceStayThere) {
  cublasSetPointerMode_v2(handle_, pointer_mode_device);
  for (const Subject& subject : subjects()) {
    if (subject.traits & is_grouped) continue;
    SCOPED_TRACE(subject.name);
    stand_in_reset();
    Problem p(op_n, op_t, 12, 13, 14, entries(subject));
    EXPECT_EQ(call(subject, p), status_success);
    EXPECT_TRUE(was_taken()) << last_line();
    EXPECT_TRUE(p.is_right());
    EXPECT_EQ(stand_in_calls(nullptr), 0);
  }
}

// cuBLAS has groups with scalars on the host alone.
TEST_F(EverySymbol, GroupsWithScalarsOnTheDeviceAreTheVendors) {
  cublasSetPointerMode_v2(handle_, pointer_mode_device);
  for (const Subject& subject : subjects()) {
    if (!(subject.traits & is_grouped)) continue;
    SCOPED_TRACE(subject.name);
    Problem p(op_n, op_t, 12, 13, 14, 3);
    call(subject, p);
    EXPECT_TRUE(contains(last_line(), "arguments for cuBLAS")) << last_line();
  }
}

// The third of four is refused last: an empty one is nobody's. What is left is then one call.
TEST(GroupsOfAProgram, AreTakenOrForwarded) {
  const std::string refusing = "KERNELWRIGHT_LIBRARY='" KW_REFUSING_LIBRARY "' KW_REFUSED=";
  const struct {
    std::string environment;
    int forwarded;
    const char* said;
  } cases[] = {{"", 0, "taken, fp32_split"},
               {"KERNELWRIGHT_MATH=fp32", 0, "taken, fp32 by"},
               {"KERNELWRIGHT_MATH=off", 1, ""},
               {"KERNELWRIGHT_SMALLEST=200", 0, "taken, "},
               {"KERNELWRIGHT_SMALLEST=1000", 1, "smaller than"},
               {refusing + "0", 1, "refused"},
               {refusing + "1", 1, "refused"},
               {refusing + "2", 1, "refused"},
               {refusing + "3", 0, "taken, "}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.environment);
    const Outcome run = run_client("groups", one.environment);
    EXPECT_EQ(run.out, "status 0 wrong 0 forwarded " + std::to_string(one.forwarded) + "\n");
    EXPECT_TRUE(contains(run.log, one.said)) << run.log;
  }
}

TEST_F(Adapter, WhatTheLibraryRefusesTheVendorComputes) {
  Problem p(op_n, op_n, 8, 8, 8);
  // C over A, which the library proves and refuses.
  std::vector<float>& both = p.a;
  both.resize(1000, 1.0f);
  stand_in_reset();
  EXPECT_EQ(cublasSgemm_v2(handle_, op_n, op_n, 8, 8, 8, &p.alpha, both.data(), 8, p.b.data(),
                           static_cast<int>(p.ldb), &p.beta, both.data(), 8),
            status_success);
  EXPECT_EQ(stand_in_calls("cublasSgemm_v2"), 1);
  EXPECT_TRUE(contains(last_line(), "refused")) << last_line();
}

TEST_F(Adapter, ManyShapesTakeBoundedMemory) {
  const auto resident = [] {
    long pages = 0, skipped = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%ld %ld", &skipped, &pages), 2);
    std::fclose(file);
    return pages * 4096;
  };
  std::vector<float> a(1 << 16, 1.0f), b(1 << 16, 1.0f), c(1 << 16);
  const float one = 1, zero = 0;
  const auto multiply = [&](int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      const int m = 1 + turn % 97, n = 1 + turn / 97 % 89, k = 1 + turn % 7;
      ASSERT_EQ(cublasSgemm_v2(handle_, op_n, op_n, m, n, k, &one, a.data(), m, b.data(), k, &zero,
                               c.data(), m),
                status_success);
    }
  };
  multiply(8000);
  const long before = resident();
  multiply(8000);
  EXPECT_LT(resident() - before, 8 << 20);
}

}  // namespace
}  // namespace kw::cublas
