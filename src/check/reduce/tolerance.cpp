// How far a reduction's result may lie from the exact one. docs/accuracy.md explains it.
#include <algorithm>

#include "check/reduce/case.hpp"
#include "check/tolerance.hpp"
#include "reduce/walk/order.hpp"

namespace kw::check {
namespace {

constexpr double double_roundoff = 0x1p-53;

bool is_variance_or_square(ReduceOp op) {
  return op == ReduceOp::variance || op == ReduceOp::sum_of_squares || op == ReduceOp::l2_norm;
}

// How many additions come one after the other in a lane, as order.hpp has it.
double lane_additions(const ReduceCase& c, std::int64_t longest) {
  if (c.shape == ReduceShape::columns) return column_chunk_lane_rows;
  return with_type(c.type, [&]<class T>() {
    const std::int64_t additions = chunk_elements<T>(longest) / order_lanes<T>;
    return static_cast<double>(additions);
  });
}

// Rungs and peers may add floats in any order: the bound of a float32 product of that length.
double float_sum_tolerance(const ReduceCase& c, std::int64_t longest) {
  const Input input = c.sprinkle == Sprinkle::none ? c.input : Input::constant;
  return product_tolerance(input, longest);
}

}  // namespace

ReduceTolerance reduce_tolerance(const ReduceCase& c, Role role, std::int64_t longest) {
  const DataType result = result_type(c.op, c.type);
  const bool selects = c.op == ReduceOp::min || c.op == ReduceOp::max ||
                       c.op == ReduceOp::min_max || c.op == ReduceOp::max_norm;
  if (selects || !is_floating(result)) return {};

  const double roundoff = result == DataType::float64 ? double_roundoff : unit_roundoff;
  const bool is_half = c.type == DataType::float16 || c.type == DataType::bfloat16;
  if (is_floating(c.type) && (role == Role::rung || role == Role::peer)) {
    return {2 * roundoff, float_sum_tolerance(c, longest) * roundoff};
  }

  ReduceTolerance tolerance;
  // A float result is a double, rounded once; a double result may have been divided or had its
  // root taken.
  tolerance.of_result = (result == DataType::float64 ? 2.0 : 1.01) * roundoff;
  // Double additions that come one after the other: in a lane, in trees, of chunks.
  const double in_lane = lane_additions(c, longest);
  const double additions = 64.0 + in_lane;
  // Variance loses digits where a chunk's first element lies some deviations off the mean.
  const double loss = c.op == ReduceOp::variance ? 64.0 : 1.0;
  tolerance.of_magnitude = loss * additions * double_roundoff;
  // 16-bit formats add floats within a lane. Beyond 32 of them, errors have been averaged over so
  // many lanes that their share of the sum does not grow any more.
  if (is_half && !is_variance_or_square(c.op)) {
    tolerance.of_magnitude += std::min(in_lane, 32.0) * unit_roundoff;
  }
  return tolerance;
}

}  // namespace kw::check
