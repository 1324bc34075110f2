// Kinds of data that a product may meet, each with what is asked of its result: the rows of the
// accuracy suite. Any value is a pure function of seed, operand and place.
#pragma once

#include <cstdint>
#include <vector>

#include "check/input.hpp"
#include "check/verify.hpp"
#include "kernelwright/matrix.hpp"

namespace kw::check {

// One element of op(A), op(B) or C. Both operands are counted alike: `outer` is the row of op(A)
// or the column of op(B), `p` the place along k. Of C they are row and column.
struct AccuracyElement {
  std::uint64_t seed;
  Operand operand;
  std::int64_t outer, p;
  std::int64_t outers, k;  // how many there are of each; of C, `k` is the product's
};

enum class Demand {
  no_worse,  // errors at most those of a plain FP32 product
  exact,     // no error at all
  pattern,   // NaN and infinities where float64 has them, after rounding to float
};

struct AccuracyClass {
  const char* name;
  const char* about;  // a few words
  Demand demand;
  float (*value)(const AccuracyElement&);
  float alpha = 1, beta = 0;
  Op op_a = Op::none, op_b = Op::none;
  bool odd = false;      // sizes that no tile divides, k one less, each ld padded
  bool empty_k = false;  // k is 0
};

const std::vector<AccuracyClass>& accuracy_classes();

// The problem of a class at a size m = n and a depth k. Where its beta is 0, C begins as NaN.
SgemmCase accuracy_case(const AccuracyClass& of, std::int64_t size, std::int64_t k,
                        std::uint64_t seed);

}  // namespace kw::check
