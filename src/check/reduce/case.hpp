// Verification of reductions: what a case is, and the operands of one case on one device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check/guarded_array.hpp"
#include "check/reduce/data.hpp"
#include "check/verify.hpp"
#include "reduce/problem.hpp"

namespace kw::check {

// Every operation and every type, in the order in which programs name them.
inline constexpr std::array all_reduce_ops = {ReduceOp::sum,
                                              ReduceOp::mean,
                                              ReduceOp::min,
                                              ReduceOp::max,
                                              ReduceOp::argmin,
                                              ReduceOp::argmax,
                                              ReduceOp::sum_of_squares,
                                              ReduceOp::l1_norm,
                                              ReduceOp::l2_norm,
                                              ReduceOp::max_norm,
                                              ReduceOp::variance,
                                              ReduceOp::min_max};
inline constexpr std::array all_data_types = {
    DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16,
    DataType::int8,    DataType::int32,   DataType::int64};

// Lengths of segments, derived from the case's seed. All but the last cover the array without gaps.
enum class SegmentLengths {
  equal,         // cols / segments each; 64 where cols is 0
  one_to_32,     // uniform 1 .. 32
  log_uniform,   // log-uniform 1 .. 100 000
  uneven,        // empty ones, ones of one element, one that is longer than all others together
  out_of_range,  // uneven, but beginning before the array and ending after it
};
const char* to_string(SegmentLengths lengths);
// False, and `*lengths` untouched, where the name is unknown.
bool parse_segment_lengths(std::string_view name, SegmentLengths* lengths);

// How far `out_of_range` goes on either side.
constexpr std::int64_t out_of_range_by = 1000;

// The offsets, segments + 1 of them. `cols` is for equal lengths.
std::vector<std::int64_t> segment_offsets(SegmentLengths lengths, std::int64_t segments,
                                          std::uint64_t seed, std::int64_t cols = 0);

struct ReduceCase {
  ReduceOp op = ReduceOp::sum;
  DataType type = DataType::float32;
  ReduceShape shape = ReduceShape::whole;
  std::int64_t rows = 1, cols = 0;  // whole: cols elements; segments: of equal length only
  std::int64_t ld_pad = 0;          // ld beyond the smallest legal one
  SegmentLengths lengths = SegmentLengths::one_to_32;
  std::int64_t segments = 0;
  std::int64_t correction = 0;
  Input input = Input::uniform;
  Sprinkle sprinkle = Sprinkle::none;
  std::uint64_t seed = 1;
  std::int64_t misalign = 0;  // elements past a 256-byte boundary; results then lie one past theirs
  std::int64_t guard = 1024;  // canary elements on either side of data and results
};

// "whole 4097 sum float32 at+1 input=uniform ..."
std::string describe(const ReduceCase& c);

// Element i of a case of `elements` elements is element<T>(stream_of(c, elements), i).
ElementStream stream_of(const ReduceCase& c, std::int64_t elements);

// How far a result may lie from the exact one (docs/accuracy.md), as a share of the result plus a
// share of what errors are measured against: the sum (of a mean: the mean) of |x|, else the result.
// `longest` is the length of the longest sequence. Both are 0 where results must be exact.
struct ReduceTolerance {
  double of_result = 0, of_magnitude = 0;
};
ReduceTolerance reduce_tolerance(const ReduceCase& c, Role role, std::int64_t longest);

// Data and references are made once for all kernels.
class ReduceTrial {
 public:
  ReduceTrial(Workbench& bench, const ReduceCase& c);

  const Reduce& problem() const { return problem_; }
  VerifyResult verify(const Kernel<Reduce>& kernel);

  // Memory that such a trial takes of the device, for a check before it is made: a double, which
  // no size that can be typed overflows. Of segments it is the least that it can be where their
  // offsets alone are more than the device has.
  static double bytes(const ReduceCase& c, const Device& device);

 private:
  void make_references();
  VerifyResult judge(Role role);
  void tell_first_failure(const JudgeReduce& judge, VerifyResult& result);
  std::string find_changes();

  Workbench& bench_;
  ReduceCase case_;
  std::vector<std::int64_t> offsets_;  // empty where the shape has none
  GuardedArray data_, out_;
  DeviceBuffer device_offsets_, references_;
  Reduce problem_;
};

VerifyResult verify_reduce(Runtime& runtime, const Kernel<Reduce>& kernel, const ReduceCase& c);

// The cases that every kernel must get right (cases_reduce.cpp): all operations, types and shapes,
// lengths around every boundary, misaligned bases, NaN, infinities and ties among them.
std::vector<ReduceCase> reduce_edge_cases(std::uint64_t seed = 1);
// The given case with several alignments, paddings and guards.
std::vector<ReduceCase> reduce_cases_of_shape(const ReduceCase& shape);

// A teaching rung sums floats of a whole array; a peer has what its library has; production kernels
// share the work, and a test sees to it that each case has one.
inline bool may_refuse(Role role, const ReduceCase& c) {
  if (role == Role::peer || role == Role::production) return true;
  return role == Role::rung &&
         (c.op != ReduceOp::sum || c.type != DataType::float32 || c.shape != ReduceShape::whole);
}

// A peer has its own rules for NaN, for the sign of a zero, for arrays of nothing but the type's
// extreme and for offsets out of range: a trial does not ask it.
inline bool has_rules_of_its_own(Role role, const ReduceCase& c) {
  return role == Role::peer &&
         (c.sprinkle == Sprinkle::nan || c.sprinkle == Sprinkle::signed_zeros ||
          c.sprinkle == Sprinkle::extremes ||
          (c.shape == ReduceShape::segments && c.lengths == SegmentLengths::out_of_range));
}

}  // namespace kw::check
