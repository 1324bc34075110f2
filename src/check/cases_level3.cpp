// The generated problems of level 3.
#include <array>

#include "check/draw.hpp"
#include "check/verify_level3.hpp"

namespace kw::check {

namespace {

constexpr std::array<Routine, 7> routines = {Routine::syrk, Routine::syrkx, Routine::syr2k,
                                             Routine::symm, Routine::trmm,  Routine::trsm,
                                             Routine::potrf};

// All that a routine has beside its sizes.
std::vector<Level3Case> forms(Routine routine) {
  constexpr std::array<Op, 2> ops = {Op::none, Op::transpose};
  const bool updates = routine <= Routine::syr2k, factors = routine == Routine::potrf;
  const bool has_a = routine == Routine::trmm || routine == Routine::trsm;
  std::vector<Level3Case> found;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (const bool on_left : {true, false}) {
      if ((updates || factors) && !on_left) continue;
      for (const Op op : ops) {
        if ((routine == Routine::symm || factors) && op == Op::transpose) continue;
        for (const bool unit : {false, true}) {
          if (unit && !has_a) continue;
          Level3Case c;
          c.routine = routine;
          c.triangle = triangle;
          c.on_left = on_left;
          c.op_a = op;
          c.op_b = updates ? op : Op::none;
          c.unit_diagonal = unit;
          found.push_back(c);
        }
      }
    }
  }
  return found;
}

Level3Case with_sizes(const Level3Case& form, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Level3Case sized = level3_case(form.routine, m, n, k, form.on_left);
  Level3Case c = form;
  c.m = sized.m;
  c.n = sized.n;
  c.k = sized.k;
  return c;
}

}  // namespace

std::vector<Level3Case> level3_edge_cases(std::uint64_t seed) {
  constexpr std::array<std::int64_t, 9> extents = {1, 2, 7, 33, 64, 65, 129, 130, 200};
  constexpr std::array<std::int64_t, 8> depths = {0, 1, 7, 31, 64, 65, 130, 257};
  constexpr std::array<std::int64_t, 3> paddings = {0, 3, 4};
  constexpr std::array<std::int64_t, 4> offsets = {0, 0, 1, 2};
  constexpr std::array<float, 5> all_alphas = {1.0f, -1.5f, 1.0f, -1.5f, 0.0f};
  constexpr std::array<float, 3> all_betas = {1.0f, -1.5f, 0.0f};
  constexpr std::array<Input, 4> all_inputs = {Input::uniform, Input::normal, Input::unit,
                                               Input::integers};
  constexpr std::array<std::int64_t, 2> all_guards = {1024, 0};
  constexpr std::array<std::int64_t, 4> batches = {1, 1, 1, 3};
  constexpr std::array<bool, 4> rarely = {false, false, false, true};
  // Systems of more than one block, and of more than two; factors likewise.
  constexpr std::array<std::int64_t, 3> many = {270, 300, 520};
  constexpr std::int64_t few = 9;
  constexpr std::array<Condition, 3> conditions = {Condition::good, Condition::graded,
                                                   Condition::ill};
  std::vector<Level3Case> cases;
  for (const Routine routine : routines) {
    const int sizes_a_form = routine == Routine::potrf ? 8 : 3;
    for (const Level3Case& form : forms(routine)) {
      for (int i = 0; i < sizes_a_form; ++i) {
        const std::size_t number = cases.size();
        Draw draw(number);
        Level3Case c = with_sizes(form, draw.from(extents), draw.from(extents), draw.from(depths));
        c.lda_pad = draw.from(paddings);
        c.ldb_pad = draw.from(paddings);
        c.ldc_pad = draw.from(paddings);
        c.misalign_a = draw.from(offsets);
        c.misalign_b = draw.from(offsets);
        c.misalign_c = draw.from(offsets);
        c.alpha = draw.from(all_alphas);
        c.beta = draw.from(all_betas);
        c.input = draw.from(all_inputs);
        c.guard = draw.from(all_guards);
        c.scalars_on_device = draw.from(rarely);
        if (routine == Routine::trsm) c.batch = draw.from(batches);
        c.shared_a = c.batch > 1 && draw.from(rarely);
        c.in_place = routine == Routine::trmm && i == 1;
        // Another operation of B than of A, where there is one.
        if (i == 2 && (routine == Routine::syrkx || routine == Routine::symm))
          c.op_b = Op::transpose;
        if (routine == Routine::potrf) {
          c.alpha = 1;
          c.beta = 0;
          c.scalars_on_device = false;
        }
        if (routine == Routine::trsm) c.condition = draw.from(conditions);
        if (routine == Routine::potrf && i % 2 == 1) c.condition = Condition::graded;
        const bool is_long = i == 0 && (routine == Routine::trsm || routine == Routine::potrf);
        if (is_long && number % 2 == 0) {
          const std::int64_t size = many[number / 2 % many.size()];
          c.m = c.on_left ? size : few;
          c.n = c.on_left && routine == Routine::trsm ? few : size;
          c.k = size;
          c.batch = 1;
        }
        c.seed = seed + number;
        cases.push_back(c);
      }
    }
    cases.push_back(level3_case(routine, 0, 5, 3));
  }
  return cases;
}

std::vector<Level3Case> level3_cases_of_shape(Routine routine, std::int64_t m, std::int64_t n,
                                              std::int64_t k, Input input, std::uint64_t seed) {
  struct Variant {
    float alpha, beta;
    std::int64_t lda_pad, ldb_pad, ldc_pad, guard;
  };
  constexpr std::array<Variant, 2> variants = {
      {{1.0f, 0.0f, 0, 0, 0, 1024}, {-1.5f, 1.0f, 3, 4, 1, 0}}};
  std::vector<Condition> conditions = {Condition::good};
  if (routine == Routine::trsm) conditions = {Condition::good, Condition::graded, Condition::ill};
  if (routine == Routine::potrf) conditions = {Condition::good, Condition::graded};
  std::vector<Level3Case> cases;
  for (const Level3Case& form : forms(routine)) {
    for (const Condition condition : conditions) {
      for (const Variant& v : variants) {
        Level3Case c = with_sizes(form, m, n, k);
        c.lda_pad = v.lda_pad;
        c.ldb_pad = v.ldb_pad;
        c.ldc_pad = v.ldc_pad;
        c.alpha = v.alpha;
        c.beta = v.beta;
        c.input = input;
        c.seed = seed;
        c.guard = v.guard;
        c.condition = condition;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

}  // namespace kw::check
