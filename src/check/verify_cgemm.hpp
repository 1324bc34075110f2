// Verification of a complex product, as verify.hpp has it of real ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cgemm/problem.hpp"
#include "check/elementwise_complex.hpp"
#include "check/verify.hpp"

namespace kw::check {

// Sizes, paddings, gaps and misalignments count complex elements. Ops are none and transpose; the
// scalars' real parts are `alpha` and `beta`.
struct CgemmCase : SgemmCase {
  bool conj_a = false, conj_b = false;
  float alpha_im = 0, beta_im = 0;
  // Of csyrk, and of cherk where `hermitian`: B is A, transposed as A is not, and n is m.
  Triangle triangle = Triangle::none;
  bool hermitian = false;
};

// One of them with the operands that it has: op_b, its conjugates and its scalars follow from
// op_a.
CgemmCase as_update(CgemmCase c, Triangle triangle, bool hermitian);

// What a case asks for, but for where its matrices lie.
Cgemm without_matrices(const CgemmCase& c);

// "129x65x33 NC lda+3 alpha=-1.5+0.5i ...". N, T and C as BLAS has them, J: conjugated as stored.
std::string describe(const CgemmCase& c);
char op_letter(Op op, bool conj);

class CgemmTrial {
 public:
  CgemmTrial(Workbench& bench, const CgemmCase& c);

  const Cgemm& problem() const { return problem_; }
  bool is_update() const { return case_.triangle != Triangle::none; }
  VerifyResult verify(const Kernel<Cgemm>& kernel);
  static double bytes(const CgemmCase& c, const Device& device);

 private:
  void make_problem();
  void make_oracle_products();
  VerifyResult judge();

  Workbench& bench_;
  CgemmCase case_;
  GuardedMatrix a_, b_, c_;  // of floats
  DeviceBuffer products_, magnitudes_;
  DeviceBuffer pointers_, scalars_;
  Cgemm problem_;
};

VerifyResult verify_cgemm(Runtime& runtime, const Kernel<Cgemm>& kernel, const CgemmCase& c);

// Edge shapes with op pairs, conjugates, paddings, scalars, batches by strides and by pointers, and
// scalars on the device, mixed; and updates of either triangle, csyrk and cherk.
std::vector<CgemmCase> cgemm_edge_cases(std::uint64_t seed = 1);
// Whether a kernel's plan takes one of them on a device.
bool computes_one_of(const Kernel<Cgemm>& kernel, const std::vector<CgemmCase>& cases,
                     const Device& device);
// More of them, for those production kernels that compute none of `cases` on a device: drawn until
// a kernel's plan takes some.
std::vector<CgemmCase> cgemm_cases_of_kernels(const KernelList<Cgemm>& kernels,
                                              const std::vector<CgemmCase>& cases,
                                              const Device& device, std::uint64_t seed);
// One shape with several paddings, op pairs and scalars; of a square one updates of a triangle too.
std::vector<CgemmCase> cgemm_cases_of_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                            Input input, std::uint64_t seed);

inline bool may_refuse(Role role, const CgemmCase& c) {
  // A vendor's call has no conjugate without a transpose, and may read A and B where an alpha on
  // the device is 0.
  const bool conjugates = (c.conj_a && c.op_a == Op::none) || (c.conj_b && c.op_b == Op::none);
  const bool reads_nothing = c.scalars_on_device && c.alpha == 0 && c.alpha_im == 0;
  return role == Role::production || (role == Role::peer && (conjugates || reads_nothing));
}

}  // namespace kw::check
