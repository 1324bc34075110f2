// One class of data at one size: operands on the device, float64's result, kernels run over them.
#pragma once

#include <vector>

#include "check/accuracy/error.hpp"
#include "check/accuracy/inputs.hpp"
#include "check/guarded_matrix.hpp"
#include "check/verify.hpp"

namespace kw::check {

class AccuracyTrial {
 public:
  AccuracyTrial(Workbench& bench, const AccuracyClass& of, const SgemmCase& c);

  const Sgemm& problem() const { return problem_; }
  // The kernel called twice over the same data, the first result compared with float64.
  AccuracyRun run(const Kernel<Sgemm>& kernel);

  // A float's bits each. What lies between the first and the last element of a matrix as it is
  // stored, NaN in the padding.
  using Words = std::vector<std::uint32_t>;
  Words stored(Operand operand) const;
  // Float64's op(A) op(B) and |op(A)| |op(B)|, m x n.
  const std::vector<double>& product() const { return product_; }
  const std::vector<double>& magnitude() const { return magnitude_; }

 private:
  AccuracyElement element(Operand operand, std::int64_t row, std::int64_t col) const;
  void upload(GuardedMatrix& to, const Words& words);
  void fetch_oracle();
  void judge(const Words& words, AccuracyRun& run) const;

  Workbench& bench_;
  AccuracyClass class_;
  SgemmCase case_;
  GuardedMatrix a_, b_, c_;
  Words c_before_;
  Sgemm problem_;
  std::vector<double> product_, magnitude_;
  std::vector<AccuracyWant> want_;
};

}  // namespace kw::check
