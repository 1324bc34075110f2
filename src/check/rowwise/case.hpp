// One row-wise operation to check: shape, options, data; its verification (judge.hpp has the
// rules).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/guarded_array.hpp"
#include "check/rowwise/tools.hpp"
#include "check/verify.hpp"

namespace kw::check {

// Which rows are added: none, one for each row of y, the same few over and over, by an index.
enum class RowResidual { none, all, periodic, indexed };

struct RowwiseCase {
  RowwiseOp op = RowwiseOp::softmax;
  DataType type = DataType::float32;
  RowActivation activation = RowActivation::none;
  std::int64_t rows = 1, cols = 0;
  std::int64_t ldx_pad = 0, ldy_pad = 0;  // beyond the smallest legal one
  std::int64_t step_x = 1, step_y = 1;
  bool in_place = false;                 // y is x
  bool gathers = false, strays = false;  // by an index; of which some lie outside
  bool bias = false, affine = false;     // affine: gamma and beta
  bool gamma_alone = false;              // of these
  RowResidual residual = RowResidual::none;
  bool sum = false, sum_in_residual = false;
  float epsilon = 1e-5f;
  Input input = Input::uniform;
  Sprinkle sprinkle = Sprinkle::none;
  std::uint64_t seed = 1;
  std::int64_t misalign = 0;  // elements past a 256-byte boundary, of x and y
  std::int64_t guard = 1024;
};

std::string describe(const RowwiseCase& c);

// Data and the float64 statistics of its rows, made once for all kernels.
class RowwiseTrial {
 public:
  RowwiseTrial(Workbench& bench, const RowwiseCase& c);

  const Rowwise& problem() const { return problem_; }
  VerifyResult verify(const Kernel<Rowwise>& kernel);

  static double bytes(const RowwiseCase& c, const Device& device);

 private:
  void make_problem();
  void make_statistics();
  void fill();
  VerifyResult judge(bool is_copy);
  std::string find_changes();

  Workbench& bench_;
  RowwiseCase case_;
  GuardedArray x_, y_, vectors_[3], residual_, sum_;  // bias, gamma, beta
  DeviceBuffer index_, residual_index_, statistics_;
  Rowwise problem_;
  RowwiseData data_;
};

VerifyResult verify_rowwise(Runtime& runtime, const Kernel<Rowwise>& kernel, const RowwiseCase& c);

// The cases that every kernel must get right (cases.cpp).
std::vector<RowwiseCase> rowwise_edge_cases(std::uint64_t seed = 1);
// The given case aligned and not, in place and not.
std::vector<RowwiseCase> rowwise_cases_of_shape(const RowwiseCase& shape);

// Production kernels share the work, and a test sees to it that each case has one; a copy is of
// plain rows.
inline bool may_refuse(Role role, const RowwiseCase&) {
  return role == Role::production || role == Role::peer;
}

}  // namespace kw::check
