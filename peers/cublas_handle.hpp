// Handles of cuBLAS as a program keeps them: made before any timing, told its stream and workspace
// once and not before each call.
#pragma once

#include <cublas_v2.h>

#include <cstddef>

#include "kernel.hpp"

namespace kw::peers {

// What cuBLAS itself takes on Hopper where it is not given a workspace.
constexpr std::size_t workspace_of_cublas = std::size_t{32} << 20;

Status check(cublasStatus_t status, const char* what);

// A handle, and what it was told last.
struct WarmHandle {
  cublasHandle_t handle = nullptr;  // null where it cannot be made
  bool is_told = false;
  Stream stream;
  Workspace workspace;
  bool scalars_on_device = false;

  Status tell(Stream new_stream, Workspace new_workspace, bool on_device);
};

// One a device, mode and thread, kept to the end of the process: destroying one after the driver
// has gone is an error.
WarmHandle& warm_handle(int ordinal, cublasMath_t mode);

}  // namespace kw::peers
