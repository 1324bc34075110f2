// The parts of a check that run where the data lies, one table a kind of memory. The CPU's table
// serves every device that computes in host memory, host SIMT included.
#pragma once

#include <cstdint>

#include "check/accuracy/drawn_elements.hpp"
#include "check/attention_elements.hpp"
#include "check/elementwise.hpp"
#include "check/elementwise_complex.hpp"
#include "check/triangular.hpp"
#include "gpu/device.hpp"
#include "kernel.hpp"
#include "sgemm/problem.hpp"

namespace kw::check {

// Float64 sums of a product: product = op(A) op(B) and magnitude = |op(A)| |op(B)|, dense m x n.
struct Oracle {
  std::int64_t m, n, k;
  const float* a;
  std::int64_t a_row_step, a_col_step;  // of op(A): transposition is a matter of steps
  const float* b;
  std::int64_t b_row_step, b_col_step;
  double* product;
  double* magnitude;
};

// Sums run over the k that a kernel may read; none of A and B is read when alpha is 0.
Oracle make_oracle(const Sgemm& problem, double* product, double* magnitude);
// Host memory that the product takes on a CPU while it works: doubles of A, and of a panel of B for
// each thread.
double cpu_oracle_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

// Judges leave this many findings, to be merged in order: the same bits every time.
constexpr int partial_count = 1024;

struct Tools {
  Status (*fill_matrix)(const FillMatrix&, Stream);
  Status (*oracle)(const Oracle&, Stream);
  Status (*judge_unchanged)(const JudgeUnchanged&, Partial* partials, Stream);
  Status (*judge_sgemm)(const JudgeSgemm&, Partial* partials, Stream);
  Status (*judge_scale_add)(const JudgeScaleAdd&, Partial* partials, Stream);
  Status (*fill_drawn)(const FillDrawn&, Stream);
  Status (*one_sum)(const OneSum&, Stream);
  Status (*judge_drawn)(const JudgeDrawn&, Partial* partials, Stream);
  Status (*copy_whole)(const CopyWhole&, Stream);
  Status (*judge_solve)(const JudgeSolve&, Partial* partials, Stream);
  Status (*judge_factor)(const JudgeFactor&, Partial* partials, Stream);
  Status (*judge_cgemm)(const JudgeCgemm&, Partial* partials, Stream);
  Status (*judge_complex_solve)(const JudgeComplexSolve&, Partial* partials, Stream);
  Status (*fill_heads)(const FillHeads&, Stream);
  Status (*largest_of_heads)(const LargestOfHeads&, Partial* partials, Stream);
  Status (*attention_scores)(const AttentionScores&, Stream);
  Status (*attention_weights)(const AttentionWeights&, Stream);
  Status (*attention_sums)(const AttentionSums&, Stream);
  Status (*judge_attention)(const JudgeAttention&, Partial* partials, Stream);
};

const Tools& cpu_tools();
const Tools& tools_for(const Device& device);

}  // namespace kw::check

// The table that tools.cu makes of the same text, by each compiler that this build has.
namespace kw::on_cuda::check {
const kw::check::Tools& tools();
}
namespace kw::on_hip::check {
const kw::check::Tools& tools();
}
namespace kw::on_host::check {
const kw::check::Tools& tools();
}
