// The CPU's kernels; src/cpu/registry.cpp puts them in their lists.
#pragma once

#include "attention/problem.hpp"
#include "cgemm/problem.hpp"
#include "ctrsm/problem.hpp"
#include "level3/problem.hpp"
#include "reduce/problem.hpp"
#include "rowwise/problem.hpp"
#include "scale_add/problem.hpp"
#include "sgemm/problem.hpp"

namespace kw::cpu {

KernelLaunch<Sgemm> cpu_loop;
KernelLaunch<ScaleAdd> cpu_scale_add;
KernelLaunch<Level3> cpu_level3_loop;
bool cpu_level3_loop_supports(const Level3& problem, const Device& device);
KernelLaunch<Level3> cpu_cholesky;
bool cpu_cholesky_supports(const Level3& problem, const Device& device);
KernelLaunch<Reduce> cpu_reduce;
std::size_t cpu_reduce_workspace_bytes(const Reduce& problem, const Device& device);

KernelLaunch<Rowwise> cpu_rowwise;

KernelLaunch<Cgemm> cpu_cgemm_loop;
KernelLaunch<Ctrsm> cpu_ctrsm_loop;

KernelLaunch<Attention> cpu_attention;

// Where this build has a CBLAS.
KernelLaunch<Sgemm> cpu_cblas;
bool cpu_cblas_supports(const Sgemm& problem, const Device& device);
KernelLaunch<Level3> cpu_level3_cblas;
bool cpu_level3_cblas_supports(const Level3& problem, const Device& device);

KernelLaunch<Cgemm> cpu_cgemm_cblas;
bool cpu_cgemm_cblas_supports(const Cgemm& problem, const Device& device);
KernelLaunch<Ctrsm> cpu_ctrsm_cblas;
bool cpu_ctrsm_cblas_supports(const Ctrsm& problem, const Device& device);

// A plain product with the largest size that one call of the CBLAS is given; larger ones are
// sliced.
void cblas_in_slices(const Sgemm& problem, std::int64_t largest);
void cblas_in_slices(const Cgemm& problem, std::int64_t largest);

// C = beta * C; beta == 0 writes zeros without reading.
void scale_matrix(float beta, float* c, std::int64_t rows, std::int64_t cols, std::int64_t ldc);

}  // namespace kw::cpu
