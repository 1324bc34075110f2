// Norms of float64 whose squares leave the format in some sequences and not in others: each is the
// one that it is alone, whoever reduces it and whatever lies beside it.
#include <gtest/gtest.h>

#include <string_view>

#include "check/reduce/case.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

using check::Sprinkle;

check::ReduceCase norm_of(ReduceShape shape, Sprinkle sprinkle) {
  check::ReduceCase c;
  c.op = ReduceOp::l2_norm;
  c.type = DataType::float64;
  c.shape = shape;
  c.sprinkle = sprinkle;
  c.input = check::Input::normal;
  c.seed = run_seed();
  return c;
}

void verify(std::string_view name, const std::vector<check::ReduceCase>& cases) {
  for (const Subject<Reduce>& subject : subjects<Reduce>()) {
    if (name != subject.kernel.name) continue;
    const std::unique_ptr<Runtime> runtime = open_device(subject.device);
    check::Workbench bench(*runtime);
    for (const check::ReduceCase& c : cases) {
      const check::VerifyResult verified = check::ReduceTrial(bench, c).verify(subject.kernel);
      EXPECT_TRUE(verified.ok()) << describe(c) << ": " << verified.message;
    }
  }
}

constexpr Sprinkle sprinkles[] = {Sprinkle::none,         Sprinkle::nan,  Sprinkle::infinities,
                                  Sprinkle::signed_zeros, Sprinkle::huge, Sprinkle::tiny};

// Rows in tiles, in stages of one round, of a chunk and of two, and by blocks; columns of whole
// chunks and of others, in narrow matrices and in several strips.
TEST(ReduceNorms, OfEveryRange) {
  struct Matrix {
    std::int64_t rows, cols;
  };
  constexpr Matrix of_rows[] = {{700, 29}, {200, 143}, {80, 300}, {60, 513}, {40, 1300}, {9, 5000}};
  constexpr Matrix of_columns[] = {{700, 3}, {640, 150}, {333, 67}};
  std::vector<check::ReduceCase> rows, columns;
  std::int64_t number = 0;
  for (const Sprinkle sprinkle : sprinkles) {
    for (const Matrix& m : of_rows) {
      check::ReduceCase c = norm_of(ReduceShape::rows, sprinkle);
      c.rows = m.rows, c.cols = m.cols, c.ld_pad = number % 3, c.misalign = number++ % 4;
      rows.push_back(c);
    }
    for (const Matrix& m : of_columns) {
      check::ReduceCase c = norm_of(ReduceShape::columns, sprinkle);
      c.rows = m.rows, c.cols = m.cols, c.ld_pad = number % 3, c.misalign = number++ % 4;
      columns.push_back(c);
    }
  }
  verify("reduce_rows", rows);
  verify("reduce_columns", columns);
}

TEST(ReduceNorms, OfSegmentsOfEveryRange) {
  std::vector<check::ReduceCase> cases;
  for (const Sprinkle sprinkle : sprinkles) {
    for (const auto& [segments, cols] : {std::pair{1500, 0}, {300, 60000}, {60, 60000}}) {
      check::ReduceCase c = norm_of(ReduceShape::segments, sprinkle);
      c.lengths = cols > 0 ? check::SegmentLengths::equal : check::SegmentLengths::one_to_32;
      c.segments = segments, c.cols = cols;
      c.misalign = segments % 7;
      cases.push_back(c);
    }
  }
  verify("reduce_segments", cases);
}

}  // namespace
}  // namespace kw
