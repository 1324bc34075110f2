// What the library computes a problem with, as a row beside the kernels that it chooses from.
#pragma once

#include <string>

#include "kernel.hpp"
#include "reduce/problem.hpp"
#include "scale_add/problem.hpp"
#include "sgemm/problem.hpp"

namespace kw {

// The row "kernelwright": each call goes to the kernel that the library's rule chooses.
Kernel<Sgemm> sgemm_choice();

// The kernel that really computes: the row's own name, or the chosen one's.
std::string path_of(const Kernel<Sgemm>& kernel, const Sgemm& problem, const Device& device);
inline std::string path_of(const Kernel<ScaleAdd>& kernel, const ScaleAdd&, const Device&) {
  return kernel.name;
}
inline std::string path_of(const Kernel<Reduce>& kernel, const Reduce&, const Device&) {
  return kernel.name;
}

}  // namespace kw
