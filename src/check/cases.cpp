// The generated problems of cases.hpp.
#include "check/cases.hpp"

#include <array>
#include <cstddef>

#include "check/draw.hpp"

namespace kw::check {
namespace {

constexpr std::array<std::int64_t, 17> sizes = {1,  2,   3,   7,   31,  32,  33,  63, 64,
                                                65, 127, 128, 129, 130, 192, 255, 257};
constexpr std::array<std::int64_t, 3> pads = {0, 3, 4};
constexpr std::array<float, 3> scalars = {1.0f, -1.5f, 0.0f};
constexpr std::array<Input, 4> inputs = {Input::uniform, Input::normal, Input::unit,
                                         Input::integers};
constexpr std::array<std::int64_t, 2> guards = {1024, 0};

struct Shape {
  std::int64_t m, n, k;
};

// Each size twice in each dimension, with different partners; then what deserves a place of its
// own: empty and single dimensions, odd counts of common tiles.
std::vector<Shape> edge_shapes() {
  std::vector<Shape> shapes;
  for (std::size_t pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      shapes.push_back({sizes[i], sizes[(5 * i + 3 + 4 * pass) % sizes.size()],
                        sizes[(7 * i + 11 + 9 * pass) % sizes.size()]});
    }
  }
  const std::array<Shape, 16> special = {{{1, 1, 1},
                                          {1, 257, 129},
                                          {257, 1, 130},
                                          {129, 130, 1},
                                          {1, 1, 257},
                                          {65, 33, 0},
                                          {128, 128, 0},
                                          {0, 64, 32},
                                          {64, 0, 32},
                                          {0, 0, 0},
                                          {128, 128, 8},
                                          {128, 128, 24},
                                          {256, 128, 40},
                                          {64, 192, 96},
                                          {129, 127, 72},
                                          {3, 130, 1025}}};
  shapes.insert(shapes.end(), special.begin(), special.end());
  return shapes;
}

SgemmCase make_case(const Shape& shape, Op op_a, Op op_b, std::size_t number, std::uint64_t seed) {
  constexpr std::array<float, 5> alphas = {1.0f, -1.5f, 1.0f, -1.5f, 0.0f};
  constexpr std::array<std::int64_t, 6> misalignments = {0, 0, 0, 1, 2, 3};
  Draw draw(number);
  SgemmCase c;
  c.m = shape.m;
  c.n = shape.n;
  c.k = shape.k;
  c.op_a = op_a;
  c.op_b = op_b;
  c.lda_pad = draw.from(pads);
  c.ldb_pad = draw.from(pads);
  c.ldc_pad = draw.from(pads);
  c.alpha = draw.from(alphas);
  c.beta = draw.from(scalars);
  c.input = draw.from(inputs);
  c.guard = draw.from(guards);
  c.misalign_a = draw.from(misalignments);
  c.misalign_b = draw.from(misalignments);
  c.misalign_c = draw.from(misalignments);
  c.seed = seed + number;
  return c;
}

// What the tables of variants have in common.
template <class Variant>
SgemmCase case_of(const Variant& v) {
  SgemmCase c;
  c.m = v.shape.m;
  c.n = v.shape.n;
  c.k = v.shape.k;
  c.op_a = v.op_a;
  c.op_b = v.op_b;
  c.lda_pad = c.ldb_pad = c.ldc_pad = v.pad;
  c.alpha = v.alpha;
  c.beta = v.beta;
  c.batch = v.batch;
  c.by_pointers = v.by_pointers;
  c.scalars_on_device = v.scalars_on_device;
  return c;
}

}  // namespace

std::vector<SgemmCase> sgemm_edge_cases(std::uint64_t seed) {
  std::vector<SgemmCase> cases;
  for (const Shape& shape : edge_shapes()) {
    for (int variant = 0; variant < 2; ++variant) {
      cases.push_back(make_case(shape, Op::none, Op::none, cases.size(), seed));
    }
  }
  return cases;
}

std::vector<SgemmCase> sgemm_transpose_cases(std::uint64_t seed) {
  std::vector<SgemmCase> cases;
  for (const Shape& shape : edge_shapes()) {
    const std::size_t number = 1000 + cases.size();
    const std::size_t pair = number % 3 + 1;
    cases.push_back(make_case(shape, pair & 1 ? Op::transpose : Op::none,
                              pair & 2 ? Op::transpose : Op::none, number, seed));
  }
  return cases;
}

std::vector<SgemmCase> sgemm_thin_cases(std::uint64_t seed) {
  constexpr std::array<std::int64_t, 4> others = {1, 257, 36, 9};
  constexpr std::array<std::int64_t, 5> depths = {1000, 4100, 1, 0, 64};
  std::vector<SgemmCase> cases;
  for (const std::int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17}) {
    for (std::size_t op = 0; op < 4; ++op) {
      const std::size_t number = 2000 + cases.size();
      const std::int64_t other = others[(op + cases.size() / 4) % others.size()];
      const std::int64_t k = depths[cases.size() % depths.size()];
      const bool rows = (static_cast<std::size_t>(width) + op / 2) % 2 == 0;
      const Shape shape = rows ? Shape{width, other, k} : Shape{other, width, k};
      cases.push_back(make_case(shape, op & 1 ? Op::transpose : Op::none,
                                op & 2 ? Op::transpose : Op::none, number, seed));
    }
  }
  return cases;
}

std::vector<SgemmCase> sgemm_batch_cases(std::uint64_t seed) {
  struct Variant {
    Shape shape;
    Op op_a, op_b;
    float alpha, beta;
    std::int64_t batch, gap, pad;
    bool shared_a, shared_b, by_pointers, scalars_on_device;
  };
  constexpr Op N = Op::none, T = Op::transpose;
  constexpr std::array<Variant, 19> variants = {{
      // by strides: dense, aligned, misaligned from the second entry on, shared inputs, nothing
      {{33, 17, 9}, N, N, 1, 0, 3, 0, 0, false, false, false, false},
      {{64, 64, 32}, N, T, -1.5f, -1.5f, 5, 8, 4, false, false, false, false},
      {{68, 64, 40}, T, N, 1, 1, 2, 1, 0, false, false, false, false},
      {{70, 66, 65}, T, T, 1, 0, 4, 3, 3, true, false, false, false},
      {{65, 33, 16}, N, N, -1.5f, 1, 3, 0, 0, false, true, false, false},
      {{32, 32, 32}, N, N, 1, 0, 0, 0, 0, false, false, false, false},
      {{64, 60, 0}, N, N, 1, -1.5f, 3, 4, 4, false, false, false, false},
      {{128, 128, 16}, N, N, 1, 0, 2, 0, 0, false, false, false, false},
      // by pointers
      {{33, 64, 31}, N, N, 1, 0, 3, 5, 3, false, false, true, false},
      {{64, 48, 32}, T, N, -1.5f, 1, 4, 0, 0, false, true, true, false},
      // scalars on the device: no look at A and B where alpha is 0, none at C where beta is
      {{65, 64, 33}, N, T, -1.5f, 1, 1, 0, 0, false, false, false, true},
      {{64, 64, 16}, N, N, 1, 0, 1, 0, 0, false, false, false, true},
      {{33, 70, 40}, N, N, 0, -1.5f, 1, 0, 0, false, false, false, true},
      {{64, 36, 24}, T, T, 0, 0, 3, 4, 0, false, false, false, true},
      {{31, 65, 40}, N, N, 1, -1.5f, 5, 1, 0, false, false, true, true},
      // a vector or a few times a matrix, k long enough to be shared among blocks
      {{1, 70, 1030}, N, N, 1, 0, 3, 0, 0, false, false, false, false},
      {{66, 5, 1030}, N, N, -1.5f, 1, 2, 4, 4, false, true, false, false},
      {{3, 65, 1030}, N, T, 1, -1.5f, 3, 0, 4, true, false, true, true},
      {{65, 8, 600}, T, T, 0, 0, 2, 1, 3, false, false, false, true},
  }};
  constexpr std::array<Input, 2> kinds = {Input::uniform, Input::integers};
  std::vector<SgemmCase> cases;
  for (const Variant& v : variants) {
    SgemmCase c = case_of(v);
    c.input = kinds[cases.size() % kinds.size()];
    c.seed = seed + cases.size();
    c.guard = guards[cases.size() / 2 % guards.size()];
    c.gap = v.gap;
    c.shared_a = v.shared_a;
    c.shared_b = v.shared_b;
    cases.push_back(c);
  }
  return cases;
}

std::vector<SgemmCase> sgemm_epilogue_cases(std::uint64_t seed) {
  struct Variant {
    Shape shape;
    Op op_a, op_b;
    float alpha, beta;
    std::int64_t pad, misalign, batch;
    bool by_pointers, scalars_on_device;
    EpilogueCase epilogue;
  };
  using Bias = EpilogueCase::Bias;
  constexpr Op N = Op::none, T = Op::transpose;
  constexpr Bias rows = Bias::of_rows, columns = Bias::of_columns, no = Bias::none;
  constexpr Activation none = Activation::none, relu = Activation::relu;
  constexpr Activation tanh = Activation::gelu_tanh, erf = Activation::gelu_erf;
  constexpr std::array<Variant, 15> variants = {{
      // whole tiles, edges, addresses that are not aligned
      {{128, 128, 64}, N, N, 1, 0, 0, 0, 1, false, false, {columns, false, none, false}},
      {{128, 64, 40}, N, T, -1.5f, 1, 4, 0, 1, false, false, {rows, false, relu, false}},
      {{70, 66, 33}, T, N, 1, 1, 0, 1, 1, false, false, {columns, false, tanh, true}},
      {{65, 130, 31}, T, T, -1.5f, -1.5f, 3, 2, 1, false, false, {rows, false, erf, true}},
      {{129, 36, 24}, N, N, 1, -1.5f, 0, 0, 1, false, false, {no, false, none, true}},
      {{33, 68, 72}, N, N, 1, 0, 0, 0, 1, false, false, {no, false, erf, false}},
      // a source that is not read, no products at all, nothing
      {{64, 66, 16}, N, N, 1, 0, 4, 0, 1, false, false, {columns, false, relu, true}},
      {{66, 32, 0}, N, N, 1, -1.5f, 0, 0, 1, false, false, {rows, false, tanh, true}},
      {{40, 72, 24}, N, N, 0, 1, 0, 0, 1, false, false, {columns, false, none, false}},
      // thin, with k in parts
      {{1, 130, 1030}, N, T, 1, 1, 0, 0, 1, false, false, {columns, false, tanh, true}},
      {{66, 5, 600}, N, N, -1.5f, 1, 1, 0, 2, false, false, {rows, false, relu, false}},
      // tiles with k in parts
      {{66, 70, 1030}, N, N, 1, -1.5f, 0, 0, 1, false, false, {rows, false, relu, true}},
      // batches, scalars on the device
      {{65, 33, 16}, N, N, 1, 1, 0, 0, 3, false, false, {columns, false, none, true}},
      {{32, 64, 24}, N, T, 1, 0, 0, 0, 3, false, true, {rows, true, relu, false}},
      {{33, 36, 20}, T, N, -1.5f, 1, 0, 0, 3, true, false, {columns, false, tanh, false}},
  }};
  constexpr std::array<Input, 3> kinds = {Input::normal, Input::integers, Input::uniform};
  std::vector<SgemmCase> cases;
  for (const Variant& v : variants) {
    SgemmCase c = case_of(v);
    c.misalign_a = c.misalign_b = c.misalign_c = v.misalign;
    c.gap = v.batch > 1 ? 3 : 0;
    c.epilogue = v.epilogue;
    c.input = kinds[cases.size() % kinds.size()];
    c.seed = seed + cases.size();
    c.guard = guards[cases.size() % guards.size()];
    cases.push_back(c);
  }
  return cases;
}

std::vector<SgemmCase> sgemm_cases_of_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                            Input input, std::uint64_t seed) {
  struct Variant {
    float alpha, beta;
    std::int64_t lda_pad, ldb_pad, ldc_pad, guard;
    EpilogueCase epilogue = {};
  };
  using Bias = EpilogueCase::Bias;
  constexpr EpilogueCase dense = {Bias::of_columns, false, Activation::gelu_tanh, false};
  constexpr EpilogueCase all = {Bias::of_rows, false, Activation::gelu_erf, true};
  constexpr std::array<Variant, 6> variants = {{{1.0f, 0.0f, 0, 0, 0, 1024},
                                                {-1.5f, 1.0f, 3, 4, 0, 0},
                                                {1.0f, -1.5f, 4, 0, 3, 1024},
                                                {0.0f, -1.5f, 0, 3, 4, 0},
                                                {1.0f, 0.0f, 0, 0, 0, 0, dense},
                                                {-1.5f, 1.0f, 0, 3, 1, 1024, all}}};
  std::vector<SgemmCase> cases;
  for (const Variant& v : variants) {
    SgemmCase c;
    c.m = m;
    c.n = n;
    c.k = k;
    c.lda_pad = v.lda_pad;
    c.ldb_pad = v.ldb_pad;
    c.ldc_pad = v.ldc_pad;
    c.alpha = v.alpha;
    c.beta = v.beta;
    c.input = input;
    c.seed = seed;
    c.guard = v.guard;
    c.epilogue = v.epilogue;
    cases.push_back(c);
  }
  return cases;
}

namespace {

// The same matrix six ways.
void append_scale_add_cases(std::int64_t rows, std::int64_t cols, Input input, std::uint64_t seed,
                            std::vector<ScaleAddCase>& cases) {
  struct Variant {
    float scale, shift;
    std::int64_t lda_pad, ldb_pad, misalign_a, misalign_b, guard;
    bool in_place;
  };
  constexpr std::array<Variant, 6> variants = {{{1.25f, -0.5f, 0, 0, 0, 0, 1024, false},
                                                {-1.5f, 1.0f, 3, 4, 0, 0, 0, false},
                                                {0.1f, 0.3f, 4, 4, 0, 0, 0, true},
                                                {0.0f, 2.5f, 0, 3, 0, 0, 1024, false},
                                                {0.3f, -0.7f, 0, 0, 1, 2, 0, false},
                                                {1.0f, 0.0f, 4, 0, 0, 3, 1024, false}}};
  for (const Variant& v : variants) {
    ScaleAddCase c;
    c.rows = rows;
    c.cols = cols;
    c.lda_pad = v.lda_pad;
    c.ldb_pad = v.ldb_pad;
    c.scale = v.scale;
    c.shift = v.shift;
    c.in_place = v.in_place;
    c.input = input;
    c.seed = seed;
    c.misalign_a = v.misalign_a;
    c.misalign_b = v.misalign_b;
    c.guard = v.guard;
    cases.push_back(c);
  }
}

}  // namespace

std::vector<ScaleAddCase> scale_add_edge_cases(std::uint64_t seed) {
  std::vector<ScaleAddCase> cases;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    append_scale_add_cases(sizes[i], sizes[(5 * i + 3) % sizes.size()],
                           i % 2 == 0 ? Input::uniform : Input::normal, seed + i, cases);
  }
  for (const auto& [rows, cols] :
       {std::pair<int, int>{0, 5}, {5, 0}, {1, 4099}, {4099, 1}, {257, 1025}}) {
    append_scale_add_cases(rows, cols, Input::uniform, seed, cases);
  }
  return cases;
}

std::vector<ScaleAddCase> scale_add_cases_of_shape(std::int64_t rows, std::int64_t cols,
                                                   Input input, std::uint64_t seed) {
  std::vector<ScaleAddCase> cases;
  append_scale_add_cases(rows, cols, input, seed, cases);
  return cases;
}

}  // namespace kw::check
