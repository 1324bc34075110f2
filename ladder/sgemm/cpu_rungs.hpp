// The rungs that are ordinary C++ and run on the CPU. cpu_rungs.cpp makes the table of them.
#pragma once

#include "sgemm/problem.hpp"

namespace kw::cpu {

KernelLaunch<Sgemm> r00_cpu_loop, s5_cpu_double;

}  // namespace kw::cpu
