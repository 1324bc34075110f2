// Verification of level 3: products of and into triangles against float64, solutions by their
// residual. What lies beside a triangle holds canaries.
#pragma once

#include <string>
#include <vector>

#include "check/verify.hpp"
#include "level3/problem.hpp"

namespace kw::check {

struct Level3Case {
  Routine routine = Routine::syrk;
  Triangle triangle = Triangle::lower;
  bool on_left = true, unit_diagonal = false;
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t m = 0, n = 0, k = 0;  // as Level3 has them: some follow from others
  std::int64_t lda_pad = 0, ldb_pad = 0, ldc_pad = 0;
  float alpha = 1, beta = 0;
  Input input = Input::uniform;
  std::uint64_t seed = 1;
  std::int64_t misalign_a = 0, misalign_b = 0, misalign_c = 0;
  std::int64_t guard = 1024;
  std::int64_t batch = 1;  // of trsm
  bool shared_a = false;
  bool in_place = false;  // of trmm
  bool scalars_on_device = false;
  // Solved again and again in place: A is so close to the identity that C stays as large as it is.
  bool is_timed = false;
  Condition condition = Condition::good;  // of trsm's A and of potrf's matrix
};

// A case of a routine and its free sizes: m and k of updates, else m and n.
Level3Case level3_case(Routine routine, std::int64_t m, std::int64_t n, std::int64_t k,
                       bool on_left = true);

std::string describe(const Level3Case& c);

class Level3Trial {
 public:
  Level3Trial(Workbench& bench, const Level3Case& c);

  const Level3& problem() const { return problem_; }
  VerifyResult verify(const Kernel<Level3>& kernel);

  static double bytes(const Level3Case& c, const Device& device);

 private:
  void make_problem();
  void make_factors();
  void fill_c();
  void multiply(const float* left, std::int64_t left_row_step, std::int64_t left_col_step,
                const float* right, std::int64_t right_row_step, std::int64_t right_col_step,
                std::int64_t depth);
  void multiply_factors();
  void multiply_solution(std::int64_t entry);
  VerifyResult judge();
  void judge_product(VerifyResult& result);
  void judge_solution(VerifyResult& result);
  void judge_factor(VerifyResult& result);
  void judge_zeros(VerifyResult& result);
  bool solves() const { return case_.routine == Routine::trsm; }

  Workbench& bench_;
  Level3Case case_;
  GuardedMatrix a_, b_, c_;
  DeviceBuffer left_, right_;  // whole factors
  DeviceBuffer product_, magnitude_, scalars_, info_;
  Level3 problem_;
};

VerifyResult verify_level3(Runtime& runtime, const Kernel<Level3>& kernel, const Level3Case& c);

// Every routine, triangle, side, transpose and diagonal at edge sizes, with paddings, scalars and
// kinds of data mixed.
std::vector<Level3Case> level3_edge_cases(std::uint64_t seed = 1);
// One size of a routine, over what it has of triangles, sides, transposes and diagonals.
std::vector<Level3Case> level3_cases_of_shape(Routine routine, std::int64_t m, std::int64_t n,
                                              std::int64_t k, Input input, std::uint64_t seed);

// A production kernel leaves routines to others of its list; a peer has what its vendor's call has.
inline bool may_refuse(Role role, const Level3Case&) {
  return role == Role::production || role == Role::peer;
}

}  // namespace kw::check
