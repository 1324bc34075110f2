// Verification of complex triangular systems by their residual. What lies beside a triangle holds
// canaries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/verify.hpp"
#include "ctrsm/problem.hpp"

namespace kw::check {

// Sizes, paddings and misalignments count complex elements. Ops are none and transpose.
struct CtrsmCase {
  Triangle triangle = Triangle::lower;
  bool on_left = true, unit_diagonal = false;
  Op op_a = Op::none;
  bool conj_a = false;
  std::int64_t m = 0, n = 0;
  std::int64_t lda_pad = 0, ldc_pad = 0;
  float alpha = 1, alpha_im = 0;
  Input input = Input::uniform;
  std::uint64_t seed = 1;
  std::int64_t misalign_a = 0, misalign_c = 0;
  std::int64_t guard = 1024;
  std::int64_t batch = 1;
  bool shared_a = false;
  bool scalars_on_device = false;
  // Solved again and again in place: A is so close to the identity that C stays as large as it is.
  bool is_timed = false;
  Condition condition = Condition::good;

  std::int64_t k() const { return on_left ? m : n; }
};

// "ctrsm 129x65 lower left C unit lda+3 alpha=-1.5+0.5i ...". N, T and C as BLAS has them, J:
// conjugated as stored.
std::string describe(const CtrsmCase& c);

class CtrsmTrial {
 public:
  CtrsmTrial(Workbench& bench, const CtrsmCase& c);

  const Ctrsm& problem() const { return problem_; }
  VerifyResult verify(const Kernel<Ctrsm>& kernel);
  static double bytes(const CtrsmCase& c, const Device& device);

 private:
  void make_problem();
  void fill_c();
  void multiply(std::int64_t entry, std::int64_t depth);
  VerifyResult judge();
  void judge_residual(VerifyResult& result);
  void judge_zeros(VerifyResult& result);

  Workbench& bench_;
  CtrsmCase case_;
  GuardedMatrix a_, c_;  // of floats
  DeviceBuffer whole_;   // A's real and imaginary parts as whole matrices
  DeviceBuffer products_, magnitudes_;
  DeviceBuffer scalars_;
  Ctrsm problem_;
};

VerifyResult verify_ctrsm(Runtime& runtime, const Kernel<Ctrsm>& kernel, const CtrsmCase& c);

// Every triangle, side, operation and diagonal at edge sizes, with paddings, scalars, batches and
// kinds of data mixed.
std::vector<CtrsmCase> ctrsm_edge_cases(std::uint64_t seed = 1);
// One size over triangles, sides, operations and diagonals.
std::vector<CtrsmCase> ctrsm_cases_of_shape(std::int64_t m, std::int64_t n, Input input,
                                            std::uint64_t seed);

// A production kernel leaves calls to others of its list; a vendor's call has no conjugate without
// a transpose and no batch, and may read A and B where alpha is 0.
inline bool may_refuse(Role role, const CtrsmCase& c) {
  const bool reads_nothing = c.alpha == 0 && c.alpha_im == 0;
  return role == Role::production || (role == Role::peer && ((c.conj_a && c.op_a == Op::none) ||
                                                             c.batch != 1 || reads_nothing));
}

}  // namespace kw::check
