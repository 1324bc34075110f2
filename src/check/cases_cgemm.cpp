// The cases of complex products.
#include <algorithm>
#include <array>

#include "check/draw.hpp"
#include "check/verify_cgemm.hpp"

namespace kw::check {
namespace {

struct ComplexShape {
  std::int64_t m, n, k;
};

CgemmCase make_complex_case(const ComplexShape& shape, std::size_t number, std::uint64_t seed) {
  constexpr std::array<std::int64_t, 3> paddings = {0, 1, 4};
  constexpr std::array<std::int64_t, 3> shifts = {0, 0, 1};
  constexpr std::array<std::array<float, 2>, 5> factors = {
      {{1, 0}, {0, 0}, {-1.5f, 0}, {0, 0.75f}, {1.25f, -0.5f}}};
  constexpr std::array<Input, 4> kinds = {Input::uniform, Input::normal, Input::unit,
                                          Input::integers};
  constexpr std::array<std::int64_t, 2> fences = {1024, 0};
  constexpr std::array<bool, 2> either = {false, true};
  constexpr std::array<bool, 4> rarely = {false, false, false, true};
  constexpr std::array<std::int64_t, 4> batches = {1, 1, 1, 3};
  Draw draw(number);
  CgemmCase c;
  c.m = shape.m, c.n = shape.n, c.k = shape.k;
  const auto op = [&] { return draw.from(either) ? Op::transpose : Op::none; };
  c.op_a = op(), c.op_b = op();
  c.conj_a = draw.from(either), c.conj_b = draw.from(either);
  c.lda_pad = draw.from(paddings), c.ldb_pad = draw.from(paddings), c.ldc_pad = draw.from(paddings);
  c.misalign_a = draw.from(shifts), c.misalign_b = draw.from(shifts);
  c.misalign_c = draw.from(shifts);
  const auto alpha = draw.from(factors), beta = draw.from(factors);
  c.alpha = alpha[0], c.alpha_im = alpha[1], c.beta = beta[0], c.beta_im = beta[1];
  c.input = draw.from(kinds);
  c.guard = draw.from(fences);
  c.batch = draw.from(batches);
  if (c.batch > 1) {
    c.gap = 3;
    c.by_pointers = draw.from(either);
    c.shared_a = draw.from(rarely);
    c.shared_b = draw.from(rarely);
  }
  c.scalars_on_device = draw.from(rarely);
  c.seed = seed + number;
  return c;
}

}  // namespace

std::vector<CgemmCase> cgemm_edge_cases(std::uint64_t seed) {
  constexpr std::array<std::int64_t, 11> edges = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 65};
  std::vector<CgemmCase> cases;
  const auto add = [&](const ComplexShape& shape) {
    cases.push_back(make_complex_case(shape, cases.size(), seed));
  };
  for (std::size_t pass = 0; pass < 3; ++pass) {
    for (std::size_t i = 0; i < edges.size(); ++i)
      add({edges[i], edges[(3 * i + 2 + 4 * pass) % edges.size()],
           edges[(7 * i + 5 * pass) % edges.size()]});
  }
  for (const ComplexShape& shape : {ComplexShape{1, 1, 1},
                                    {0, 5, 3},
                                    {5, 0, 3},
                                    {4, 6, 0},
                                    {129, 66, 9},
                                    {5, 130, 40},
                                    {130, 3, 33},
                                    {8, 9, 300},
                                    {2, 3, 2100},
                                    {64, 128, 32},
                                    {70, 100, 33},
                                    {100, 70, 25}})
    add(shape);
  // Updates: every size with both operations, both triangles, csyrk and cherk by turns.
  for (const ComplexShape& shape : {ComplexShape{1, 1, 1},
                                    {7, 7, 16},
                                    {16, 16, 0},
                                    {33, 33, 65},
                                    {65, 65, 7},
                                    {66, 66, 130},
                                    {130, 130, 20},
                                    {17, 17, 2100}})
    for (const bool hermitian : {false, true})
      for (const Triangle triangle : {Triangle::lower, Triangle::upper})
        cases.push_back(
            as_update(make_complex_case(shape, cases.size(), seed), triangle, hermitian));
  // A k of one, which has kernels of its own.
  for (const ComplexShape& shape : {ComplexShape{1, 200, 1},
                                    {200, 1, 1},
                                    {3, 300, 1},
                                    {300, 3, 1},
                                    {7, 131, 1},
                                    {17, 192, 1},
                                    {31, 66, 1},
                                    {32, 64, 1},
                                    {33, 65, 1},
                                    {40, 257, 1},
                                    {64, 128, 1},
                                    {65, 129, 1},
                                    {96, 127, 1},
                                    {130, 130, 1}})
    add(shape);
  for (const bool hermitian : {false, true})
    for (const Triangle triangle : {Triangle::lower, Triangle::upper})
      cases.push_back(
          as_update(make_complex_case({66, 66, 1}, cases.size(), seed), triangle, hermitian));
  return cases;
}

bool computes_one_of(const Kernel<Cgemm>& kernel, const std::vector<CgemmCase>& cases,
                     const Device& device) {
  return std::any_of(cases.begin(), cases.end(), [&](const CgemmCase& c) {
    return kernel.make_plan(without_matrices(c), device).has_value();
  });
}

std::vector<CgemmCase> cgemm_cases_of_kernels(const KernelList<Cgemm>& kernels,
                                              const std::vector<CgemmCase>& cases,
                                              const Device& device, std::uint64_t seed) {
  constexpr std::array<std::int64_t, 8> sides = {1, 7, 20, 40, 65, 130, 200, 300};
  constexpr std::array<std::int64_t, 7> depths = {1, 9, 33, 130, 500, 1100, 4300};
  constexpr std::int64_t most_work = 20'000'000;  // m n k
  constexpr std::size_t draws = 1000, of_each = 3;
  std::vector<CgemmCase> found;
  for (const Kernel<Cgemm>& kernel : kernels) {
    if (kernel.role != Role::production || computes_one_of(kernel, cases, device)) continue;
    std::size_t left = of_each;
    for (std::size_t number = 0; number < draws && left > 0; ++number) {
      Draw draw(cases.size() + found.size() + number);
      const ComplexShape shape{draw.from(sides), draw.from(sides), draw.from(depths)};
      if (shape.m * shape.n * shape.k > most_work) continue;
      const CgemmCase c = make_complex_case(shape, cases.size() + number, seed);
      if (!computes_one_of(kernel, {c}, device)) continue;
      found.push_back(c);
      --left;
    }
  }
  return found;
}

std::vector<CgemmCase> cgemm_cases_of_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                            Input input, std::uint64_t seed) {
  std::vector<CgemmCase> cases;
  for (std::size_t number = 0; number < 6; ++number) {
    CgemmCase c = make_complex_case({m, n, k}, 100 + number, seed);
    c.input = input;
    c.batch = 1;
    c.gap = 0;
    c.by_pointers = c.shared_a = c.shared_b = false;
    if (number == 0) {
      c.op_a = c.op_b = Op::none;
      c.conj_a = c.conj_b = false;
      c.alpha = 1, c.alpha_im = c.beta = c.beta_im = 0;
    }
    cases.push_back(c);
    if (m == n)
      cases.push_back(
          as_update(c, number % 2 == 0 ? Triangle::lower : Triangle::upper, number % 4 >= 2));
  }
  return cases;
}

}  // namespace kw::check
