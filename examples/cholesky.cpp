// A Cholesky factorisation out of level 3, and how exact its products must be.
//
// Symmetric matrices of condition 10 to 10^9 are factored twice by blocks of 64: once as they are,
// once with the operands of each update rounded to TF32, 10 bits of mantissa, as tensor cores take
// FP32 operands. kw::spotrf beside them is the whole factorisation in one call. What is printed is
// |A - L L^T| / |A| in float64, or the pivot that was not positive.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "kernelwright/context.hpp"
#include "kernelwright/level3.hpp"

namespace {

using Matrix = std::vector<float>;
constexpr std::int64_t n = 256, block = 64;

std::size_t place(std::int64_t row, std::int64_t col) {
  return static_cast<std::size_t>(row * n + col);
}

// H D H with a Householder reflection H and eigenvalues D from 1 down to 1 / condition.
Matrix with_condition(double condition) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> v(n), d(n);
  double length = 0, weighted = 0;
  for (double& x : v) x = normal(random), length += x * x;
  for (std::size_t i = 0; i < n; ++i) {
    v[i] /= std::sqrt(length);
    d[i] = std::pow(condition, -static_cast<double>(i) / (n - 1));
    weighted += v[i] * v[i] * d[i];
  }
  Matrix a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
      const double product = -2 * v[r] * v[c] * (d[r] + d[c] - 2 * weighted);
      a[place(i, j)] = static_cast<float>(product + (i == j ? d[r] : 0));
    }
  }
  return a;
}

// To the nearest float of 10 bits of mantissa; of two, the even one.
float tf32(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

template <class T>
kw::MatrixView<T> part(T* a, std::int64_t row, std::int64_t col, std::int64_t rows,
                       std::int64_t cols) {
  return {a + place(row, col), rows, cols, n, kw::Layout::row_major};
}

// The lower triangle by blocks: a block, what is below it, what is right of that. Returns info.
int factor(kw::Context& context, Matrix& a, bool rounds) {
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t next = first + block, left = n - next;
    int info = 0;
    const auto diagonal = part(a.data(), first, first, block, block);
    kw::spotrf(context, kw::Uplo::lower, diagonal, &info);
    if (info != 0) return static_cast<int>(first) + info;
    if (left == 0) break;
    const auto below = part(a.data(), next, first, left, block);
    kw::strsm(context, kw::Side::right, kw::Uplo::lower, kw::Diag::non_unit, 1,
              kw::transposed(part<const float>(a.data(), first, first, block, block)), below);
    Matrix operand = a;
    if (rounds) std::transform(operand.begin(), operand.end(), operand.begin(), tf32);
    kw::ssyrk(context, kw::Uplo::lower, -1,
              part<const float>(operand.data(), next, first, left, block), 1,
              part(a.data(), next, next, left, left));
  }
  return 0;
}

void print_residual(const Matrix& a, const Matrix& l, int info) {
  if (info != 0) {
    std::printf("   pivot %3d fails", info);
    return;
  }
  double squares = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = a[place(i, j)];
      size += sum * sum;
      for (std::int64_t q = 0; q <= j; ++q)
        sum -= static_cast<double>(l[place(i, q)]) * static_cast<double>(l[place(j, q)]);
      squares += sum * sum;
    }
  }
  std::printf("   %15.2e", std::sqrt(squares / size));
}

}  // namespace

int main() {
  kw::Context context = kw::Context::cpu();
  std::printf("condition         FP32, blocks      TF32 updates            spotrf\n");
  for (int power = 1; power <= 9; ++power) {
    const Matrix a = with_condition(std::pow(10.0, power));
    std::printf("10^%d        ", power);
    for (const bool rounds : {false, true}) {
      Matrix l = a;
      const int info = factor(context, l, rounds);
      print_residual(a, l, info);
    }
    Matrix l = a;
    int info = 0;
    kw::spotrf(context, kw::Uplo::lower, part(l.data(), 0, 0, n, n), &info);
    print_residual(a, l, info);
    std::printf("\n");
  }
}
