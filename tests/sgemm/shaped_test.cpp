// Problems that are not full, of a triangle of C or with a range of k for each element, on host
// SIMT: by every kernel of the product's list that takes them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check/run_kernel.hpp"
#include "hopper_subjects.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/apart.hpp"
#include "sgemm/shape.hpp"
#include "support/kept_options.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class Shaped : public testing::TestWithParam<Kernel<Sgemm>> {
 protected:
  Shaped() { host_simt::options().multiprocessors = 5; }

  struct Form {
    std::int64_t m, n, k;
    Triangle triangle;
    KRange range;
    float beta = 0;
    Op op_a = Op::none, op_b = Op::none;
    std::int64_t batch = 1;
    int column_shift = 0;
    bool apart = false;     // the zeros are not stored (Sgemm::diagonal_apart)
    bool mirrored = false;  // the mirror image in place of zeros (sgemm/apart.hpp)
  };
  static bool is_wanted_of(const Form& f, std::int64_t i, std::int64_t j) {
    return is_wanted(f.triangle, i, j >> f.column_shift);
  }
  static bool has(const Form& f, std::int64_t i, std::int64_t j, std::int64_t l) {
    return f.mirrored || in_range(f, i, j, l);
  }
  static bool in_range(const Form& f, std::int64_t i, std::int64_t j, std::int64_t l) {
    switch (f.range) {
      case KRange::to_row: return l <= i;
      case KRange::from_row: return l >= i;
      case KRange::to_column: return l <= j;
      case KRange::from_column: return l >= j;
      case KRange::all: break;
    }
    return true;
  }
  static bool of_row(KRange range) { return range == KRange::to_row || range == KRange::from_row; }
  static bool of_column(KRange range) {
    return range == KRange::to_column || range == KRange::from_column;
  }

  // False where the kernel does not take the problem. `workspace_share`: of what it asks for.
  void compute(const Form& f, double workspace_share = 1) {
    const Op none = Op::none;
    const std::int64_t lda = (f.op_a == none ? f.k : f.m) + 1,
                       ldb = (f.op_b == none ? f.n : f.k) + 4, ldc = f.n + 3;
    const auto count = [&](std::int64_t lines, std::int64_t ld) {
      return static_cast<std::size_t>(f.batch * lines * ld);
    };
    std::vector<float> a(count(f.op_a == none ? f.m : f.k, lda)),
        b(count(f.op_b == none ? f.k : f.n, ldb)), c(count(f.m, ldc)), before;
    std::mt19937 engine(seed_of(static_cast<unsigned>(f.m + 3 * f.k)));
    std::uniform_real_distribution<float> values(-1, 1);
    for (auto* all : {&a, &b, &c})
      for (float& x : *all) x = values(engine);
    const std::int64_t stride_a = count(f.op_a == none ? f.m : f.k, lda) / f.batch,
                       stride_b = count(f.op_b == none ? f.k : f.n, ldb) / f.batch,
                       stride_c = count(f.m, ldc) / f.batch;
    const auto a_at = [&](std::int64_t e, std::int64_t i, std::int64_t l) -> float& {
      return a[static_cast<std::size_t>(e * stride_a +
                                        (f.op_a == none ? i * lda + l : l * lda + i))];
    };
    const auto b_at = [&](std::int64_t e, std::int64_t l, std::int64_t j) -> float& {
      return b[static_cast<std::size_t>(e * stride_b +
                                        (f.op_b == none ? l * ldb + j : j * ldb + l))];
    };
    for (std::int64_t e = 0; e < f.batch; ++e) {
      for (std::int64_t l = 0; l < f.k; ++l) {
        for (std::int64_t i = 0; of_row(f.range) && i < f.m; ++i)
          if (!in_range(f, i, 0, l)) a_at(e, i, l) = f.mirrored ? a_at(e, l, i) : 0;
        for (std::int64_t j = 0; of_column(f.range) && j < f.n; ++j)
          if (!in_range(f, 0, j, l)) b_at(e, l, j) = f.mirrored ? b_at(e, j, l) : 0;
      }
      for (std::int64_t i = 0; i < f.m; ++i)
        for (std::int64_t j = 0; j < f.n; ++j)
          if (!is_wanted_of(f, i, j) || f.beta == 0)
            c[static_cast<std::size_t>(e * stride_c + i * ldc + j)] = canary_;
    }
    before = c;
    std::vector<float> squares, stored_a = a, stored_b = b;
    if (f.apart)
      squares = take_apart(f, of_row(f.range) ? stored_a : stored_b, of_row(f.range) ? lda : ldb);
    Sgemm p;
    p.m = f.m, p.n = f.n, p.k = f.k, p.op_a = f.op_a, p.op_b = f.op_b;
    p.alpha = 0.5f, p.beta = f.beta;
    p.lda = lda, p.ldb = ldb, p.ldc = ldc;
    p.batch = f.batch;
    if (f.batch > 1) p.stride_a = stride_a, p.stride_b = stride_b, p.stride_c = stride_c;
    p.triangle = f.triangle, p.k_range = f.range, p.column_shift = f.column_shift;
    p.diagonal_apart = f.apart;
    const check::DeviceBuffer on_a = put(stored_a), on_b = put(stored_b), on_c = put(c),
                              on_squares = put(squares);
    p.diagonal = on_squares.as<float>();
    p.a = on_a.as<float>(), p.b = on_b.as<float>(), p.c = on_c.as<float>();
    const auto plan = plan_for(GetParam(), p, bench_.device());
    ASSERT_TRUE(plan.has_value());
    const auto bytes = std::max(
        static_cast<std::size_t>(workspace_share * static_cast<double>(plan->workspace_bytes)),
        plan->needed_workspace_bytes());
    const check::DeviceBuffer scratch(*runtime_, bytes);
    check::require(launch_planned(GetParam(), p, bench_.device(), *plan,
                                  {scratch.data(), bytes, bench_.tickets()}, bench_.stream()));
    EXPECT_EQ(bench_.find_left_ticket(), "");
    check::require(
        runtime_->copy(c.data(), on_c.data(), c.size() * sizeof(float), bench_.stream()));
    // Rows of a triangle are short, and where many are the data may take plain FP32, which is then
    // another launch's (hopper/call.hpp).
    if (f.apart && GetParam().math != Math::fp32 && bench_.read(scratch.as<unsigned>()) != 0) {
      EXPECT_EQ(std::memcmp(c.data(), before.data(), c.size() * sizeof(float)), 0);
      return;
    }
    std::size_t wrong = 0;
    for (std::int64_t e = 0; e < f.batch; ++e) {
      for (std::int64_t i = 0; i < f.m; ++i) {
        for (std::int64_t j = 0; j < ldc; ++j) {
          const auto at = static_cast<std::size_t>(e * stride_c + i * ldc + j);
          if (j >= f.n || !is_wanted_of(f, i, j)) {
            wrong += std::memcmp(&c[at], &before[at], sizeof(float)) != 0 ? 1u : 0u;
            continue;
          }
          double sum = 0, size = 0;
          for (std::int64_t l = 0; l < f.k; ++l) {
            if (!has(f, i, j, l)) continue;
            const double term = static_cast<double>(a_at(e, i, l)) * b_at(e, l, j);
            sum += term, size += std::fabs(term);
          }
          const double added = f.beta == 0 ? 0.0 : static_cast<double>(f.beta) * before[at];
          const double want = 0.5 * sum + added;
          const double tolerance =
              0x1p-24 * ((static_cast<double>(f.k) + 9) * 0.5 * size + 4 * std::fabs(added)) +
              1e-30;
          wrong += !(std::fabs(c[at] - want) <= tolerance) ? 1u : 0u;
        }
      }
    }
    EXPECT_EQ(wrong, 0u) << f.m << "x" << f.n << "x" << f.k;
  }

  // The squares on the diagonal of the operand with the range, and canaries in place of the zeros
  // of the operand itself and of what is stored in the squares.
  std::vector<float> take_apart(const Form& f, std::vector<float>& x, std::int64_t ld) const {
    std::vector<float> squares(static_cast<std::size_t>(f.k * diagonal_side), canary_);
    const bool along_k = of_row(f.range) == ((of_row(f.range) ? f.op_a : f.op_b) == Op::none);
    for (std::int64_t line = 0; line < f.k; ++line)
      for (std::int64_t l = 0; l < f.k; ++l) {
        float& stored = x[static_cast<std::size_t>(along_k ? line * ld + l : l * ld + line)];
        const std::int64_t outer = along_k ? line : l, inner = along_k ? l : line;
        const bool in_square = line / diagonal_side == l / diagonal_side;
        if (in_square)
          squares[static_cast<std::size_t>(outer * diagonal_side + inner % diagonal_side)] = stored;
        if (in_square || !in_range(f, line, line, l)) stored = canary_;
      }
    return squares;
  }

  bool takes_ranges(bool apart = false) const {
    Sgemm p;
    p.m = p.n = p.k = 64;
    p.k_range = KRange::to_row;
    p.diagonal_apart = apart;
    return supports(GetParam(), p, runtime_->device());
  }

  template <class T>
  check::DeviceBuffer put(const std::vector<T>& values) {
    check::DeviceBuffer buffer(*runtime_, values.size() * sizeof(T));
    check::require(
        runtime_->copy(buffer.data(), values.data(), values.size() * sizeof(T), bench_.stream()));
    return buffer;
  }

  const test::KeptOptions kept_;
  const float canary_ = std::numeric_limits<float>::signaling_NaN();
  std::unique_ptr<Runtime> runtime_ = open_host_simt();
  check::Workbench bench_{*runtime_};
};

TEST_P(Shaped, Triangles) {
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    compute({70, 70, 40, triangle, KRange::all, 0});
    compute({129, 129, 33, triangle, KRange::all, 1, Op::transpose, Op::none});
    compute({300, 300, 64, triangle, KRange::all, -1.5f, Op::none, Op::transpose});
  }
  compute({140, 140, 40, Triangle::lower, KRange::all, 1, Op::none, Op::none, 2});
  compute({200, 70, 40, Triangle::lower, KRange::all, 1});
  compute({140, 300, 33, Triangle::upper, KRange::all, 0, Op::transpose, Op::none});
  // few tiles and a long k: blocks share them
  compute({130, 130, 700, Triangle::upper, KRange::all, 1});
}

// Two columns of floats are one of the triangle's; the columns of tiles are an odd number, too.
TEST_P(Shaped, TrianglesOfPairs) {
  const auto pairs = [&](std::int64_t m, std::int64_t k, Triangle triangle, float beta, Op op_a,
                         Op op_b, double workspace_share = 1) {
    compute({m, 2 * m, k, triangle, KRange::all, beta, op_a, op_b, 1, 1}, workspace_share);
  };
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    pairs(70, 40, triangle, 0, Op::none, Op::none);
    pairs(160, 33, triangle, 1, Op::transpose, Op::none);
    pairs(300, 34, triangle, -1.5f, Op::none, Op::transpose);
    pairs(130, 520, triangle, 1, Op::none, Op::none);
    pairs(200, 64, triangle, 1, Op::none, Op::none, 0.3);
  }
}

TEST_P(Shaped, RangesOfK) {
  if (!takes_ranges()) return;
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column}) {
    const bool by_row = range == KRange::to_row || range == KRange::from_row;
    compute({by_row ? 290 : 70, by_row ? 70 : 290, 290, Triangle::none, range});
  }
  compute({140, 130, 140, Triangle::none, KRange::to_row, 0, Op::transpose, Op::transpose});
}

// Nothing beside the triangle is read, and of what is on its diagonal the squares.
TEST_P(Shaped, TrianglesWhoseZerosAreNotStored) {
  if (!takes_ranges(true)) return;
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column}) {
    Form f = {290, 290, 290, Triangle::none, range};
    (is_by_row(range) ? f.n : f.m) = 70;
    f.apart = true;
    compute(f);
    f.op_a = f.op_b = Op::transpose;
    compute(f);
  }
}

class ApartZeros : public Shaped {};
class ApartMirrored : public Shaped {
 protected:
  // False where the tile's side is longer than a square's.
  bool takes(const Form& f) const {
    Sgemm p;
    p.m = f.m, p.n = f.n, p.k = f.k;
    p.k_range = f.range, p.diagonal_apart = true;
    return supports(GetParam(), p, runtime_->device());
  }
};

TEST_P(ApartZeros, OfEachTriangle) {
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column}) {
    Form f = {290, 290, 290, Triangle::none, range};
    (is_by_row(range) ? f.n : f.m) = 70;
    f.apart = true;
    for (const double workspace : {1.0, 0.0}) compute(f, workspace);
    f.op_a = f.op_b = Op::transpose;
    f.beta = 0.5f;
    compute(f);
  }
}

TEST_P(ApartMirrored, OfEachTriangle) {
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column}) {
    Form f = {290, 290, 290, Triangle::none, range};
    (is_by_row(range) ? f.n : f.m) = 70;
    f.apart = f.mirrored = true;
    if (!takes(f)) continue;
    for (const double workspace : {1.0, 0.0}) compute(f, workspace);
    f.op_a = f.op_b = Op::transpose;
    f.beta = 0.5f;
    compute(f);
  }
}

// In sub-problems, where they have some.
TEST_P(Shaped, InLessWorkspace) {
  compute({200, 200, 64, Triangle::lower, KRange::all, 1}, 0.5);
  compute({200, 200, 64, Triangle::upper, KRange::all, 0}, 0.2);
  compute({200, 130, 64, Triangle::lower, KRange::all, 1}, 0.5);
  compute({70, 200, 64, Triangle::upper, KRange::all, 1}, 0.5);
  // few tiles and a long k: the shares of blocks, or of a split product's fallback, have no room
  for (const double share : {0.99, 0.0})
    compute({130, 130, 700, Triangle::lower, KRange::all, 1}, share);
  if (!takes_ranges()) return;
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column})
    compute({200, 200, 200, Triangle::none, range}, 0.4);
}

KernelList<Sgemm> shaped_kernels(Triangle triangle, KRange range) {
  const std::unique_ptr<Runtime> runtime = open_host_simt();
  Sgemm small;
  small.m = small.n = small.k = 64;
  small.triangle = triangle;
  small.k_range = range;
  KernelList<Sgemm> found = find_backend(DeviceKind::host_simt)->sgemm();
  std::erase_if(found, [&](const Kernel<Sgemm>& kernel) {
    return !supports(kernel, small, runtime->device());
  });
  return found;
}

TEST(ShapedKernels, AreThoseOfBothFamilies) {
  EXPECT_GE(shaped_kernels(Triangle::lower, KRange::all).size(), 6u);
  EXPECT_GE(shaped_kernels(Triangle::none, KRange::to_row).size(), 4u);
}

KernelList<Sgemm> apart_kernels(on_host::BesideDiagonal beside, KRange range) {
  const std::unique_ptr<Runtime> runtime = open_host_simt();
  Sgemm small;
  small.m = small.n = small.k = 64;
  small.k_range = range;
  small.diagonal_apart = true;
  KernelList<Sgemm> found = on_host::apart_rows(beside);
  std::erase_if(found, [&](const Kernel<Sgemm>& kernel) {
    return !supports(kernel, small, runtime->device());
  });
  return found;
}
INSTANTIATE_TEST_SUITE_P(Kernels, ApartZeros,
                         testing::ValuesIn(apart_kernels(on_host::BesideDiagonal::zeros,
                                                         KRange::to_row)),
                         kernel_name);
INSTANTIATE_TEST_SUITE_P(Rows, ApartMirrored,
                         testing::ValuesIn(apart_kernels(on_host::BesideDiagonal::mirrored,
                                                         KRange::to_row)),
                         kernel_name);
INSTANTIATE_TEST_SUITE_P(Columns, ApartMirrored,
                         testing::ValuesIn(apart_kernels(on_host::BesideDiagonal::mirrored,
                                                         KRange::to_column)),
                         kernel_name);

INSTANTIATE_TEST_SUITE_P(Kernels, Shaped,
                         testing::ValuesIn(shaped_kernels(Triangle::lower, KRange::all)),
                         kernel_name);

}  // namespace
}  // namespace kw
