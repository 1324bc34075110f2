// libkernelwright, opened when the first call could be taken. A process that never calls cuBLAS,
// a shell say, loads nothing, and what the library itself needs (a CBLAS, OpenMP) never comes
// between the program and its own libraries: it is opened with RTLD_LOCAL.
#pragma once

#include <string>

#include "kernelwright/kernelwright.h"

namespace kw::cublas {

// The functions that the adapter calls.
// clang-format off
#define KW_LIBRARY_FUNCTIONS(row) \
  row(kwCreateCpu) row(kwCreateGpu) row(kwDestroy) row(kwSetStream) row(kwReserveWorkspace) \
  row(kwSetWorkspaceLimit) row(kwSetPointerMode) row(kwSetMath) row(kwSetEpilogue) row(kwSgemm) \
  row(kwSgemmStridedBatched) row(kwSgemmBatched) row(kwPlanSgemm) \
  row(kwPlanSgemmStridedBatched) row(kwPlanSgemmBatched) row(kwSsyrk) row(kwSsyrkx) row(kwSsyr2k) \
  row(kwSsymm) row(kwStrmm) row(kwStrsm) row(kwPlanSsyrk) row(kwPlanSsyrkx) row(kwPlanSsyr2k) \
  row(kwPlanSsymm) row(kwPlanStrmm) row(kwPlanStrsm) row(kwSpotrf) row(kwPlanSpotrf) row(kwCgemm) \
  row(kwCgemmStridedBatched) row(kwCgemmBatched) row(kwPlanCgemm) row(kwPlanCgemmStridedBatched) \
  row(kwPlanCgemmBatched) row(kwCsyrk) row(kwCherk) row(kwPlanCsyrk) row(kwPlanCherk) \
  row(kwCtrsm) row(kwPlanCtrsm) \
  row(kwDeviceName) row(kwStatusString) \
  row(kwLastErrorMessage) row(kwVersion)
// clang-format on

struct KernelwrightLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define KW_MEMBER(name) decltype(&::name) name = nullptr;
  KW_LIBRARY_FUNCTIONS(KW_MEMBER)
#undef KW_MEMBER
  std::string why_not;  // a sentence where it cannot be used
};

const KernelwrightLibrary& library();

}  // namespace kw::cublas
