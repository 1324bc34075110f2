// Verification: one kernel, one problem, every element compared with float64, no word outside of
// the output changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "check/elementwise.hpp"
#include "check/guarded_matrix.hpp"
#include "check/input.hpp"
#include "gpu/launch_record.hpp"
#include "gpu/runtime.hpp"
#include "scale_add/problem.hpp"
#include "sgemm/problem.hpp"

namespace kw::check {

enum class Outcome {
  verified,
  failed,       // wrong, or it wrote where it must not
  unsupported,  // the kernel's `supports` refused; the caller decides whether it may
  error,        // a launch or an allocation failed
};

const char* to_string(Outcome outcome);

// Error of a result, in u = 2^-24 times |alpha| |op(A)| |op(B)| + |beta| |C|, element by element.
struct ErrorSummary {
  double max = 0, rms = 0, mean_signed = 0;
  double bound = 0;  // the tolerance on `max` where beta is 0; 0 where the result must be exact
};

struct VerifyResult {
  Outcome outcome = Outcome::error;
  std::string message;  // one sentence where the outcome is not `verified`
  ErrorSummary error;
  std::int64_t failures = 0;
  std::int64_t first_row = -1, first_col = -1;  // of the first wrong element
  std::int64_t first_entry = 0;                 // and its place in a batch
  double first_got = 0, first_want = 0;
  float c_first = 0, c_last = 0;
  double first_call_us = 0;
  const char* path = nullptr;  // where the kernel chose by the data: the one that computed
  gpu::LaunchShape launch;     // `launches` is 0 where nothing was launched through gpu::launch

  bool ok() const { return outcome == Outcome::verified; }
};

struct EpilogueCase {
  enum class Bias { none, of_rows, of_columns };
  Bias bias = Bias::none;
  bool shared_bias = false;  // one vector for all entries of a batch
  Activation activation = Activation::none;
  bool source = false;  // another matrix than C is what beta multiplies

  bool any() const { return bias != Bias::none || activation != Activation::none || source; }
};

struct SgemmCase {
  std::int64_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t lda_pad = 0, ldb_pad = 0, ldc_pad = 0;  // ld beyond the smallest legal one
  float alpha = 1, beta = 0;
  Input input = Input::uniform;
  std::uint64_t seed = 1;
  std::int64_t misalign_a = 0, misalign_b = 0, misalign_c = 0;  // words past a 256-byte boundary
  std::int64_t guard = 1024;                                    // canary words on either side
  std::int64_t batch = 1;
  std::int64_t gap = 0;                     // canary words between the matrices of a batch
  bool shared_a = false, shared_b = false;  // one for the whole batch: its stride is 0
  bool by_pointers = false;                 // arrays of pointers in place of strides
  bool scalars_on_device = false;
  EpilogueCase epilogue = {};

  bool plain() const { return batch == 1 && !by_pointers && !scalars_on_device && !epilogue.any(); }
};

// "129x65x33 NT lda+3 alpha=-1.5 ..."
std::string describe(const SgemmCase& c);

// The operands of one case on one device and their float64 product, made once for all kernels.
// Pointers lead to A and C in descending order, to B in ascending order: none can be told from
// another entry's by a stride.
class SgemmTrial {
 public:
  SgemmTrial(Workbench& bench, const SgemmCase& c);

  const Sgemm& problem() const { return problem_; }
  VerifyResult verify(const Kernel<Sgemm>& kernel);

  // Memory that such a trial takes of the device, for a check before it is made: a double, which
  // no size that can be typed overflows. Where the device works in host memory, what the float64
  // product takes besides is counted too.
  static double bytes(const SgemmCase& c, const Device& device);

 private:
  void make_problem();
  void make_epilogue();
  void make_oracle_product();
  JudgeEpilogue judge_epilogue() const;
  VerifyResult judge(const Kernel<Sgemm>& kernel);
  std::string describe_failures(const JudgeSgemm& judge, VerifyResult& result);

  Workbench& bench_;
  SgemmCase case_;
  GuardedMatrix a_, b_, c_;
  std::optional<GuardedMatrix> bias_, source_;
  DeviceBuffer product_, magnitude_;  // in the order in which C lies in memory
  DeviceBuffer pointers_, scalars_;
  Sgemm problem_;
};

VerifyResult verify_sgemm(Runtime& runtime, const Kernel<Sgemm>& kernel, const SgemmCase& c);

struct ScaleAddCase {
  std::int64_t rows = 0, cols = 0;
  std::int64_t lda_pad = 0, ldb_pad = 0;
  float scale = 1.25f, shift = -0.5f;
  bool in_place = false;  // B is A; ldb_pad is lda_pad
  Input input = Input::uniform;
  std::uint64_t seed = 1;
  std::int64_t misalign_a = 0, misalign_b = 0;
  std::int64_t guard = 1024;
};

std::string describe(const ScaleAddCase& c);

class ScaleAddTrial {
 public:
  ScaleAddTrial(Workbench& bench, const ScaleAddCase& c);

  const ScaleAdd& problem() const { return problem_; }
  VerifyResult verify(const Kernel<ScaleAdd>& kernel);

  static double bytes(const ScaleAddCase& c, const Device& device);

 private:
  VerifyResult judge();

  Workbench& bench_;
  ScaleAddCase case_;
  GuardedMatrix a_, b_;  // in place, `a_` is empty
  ScaleAdd problem_;
};

// The result must be that of one fused multiply-add an element, bit for bit.
VerifyResult verify_scale_add(Runtime& runtime, const Kernel<ScaleAdd>& kernel,
                              const ScaleAddCase& c);

}  // namespace kw::check
