// The rungs that are ordinary C++ and run on the CPU. cpu_rungs.cpp makes the table of them.
#pragma once

#include "reduce/problem.hpp"

namespace kw::cpu {

KernelLaunch<Reduce> r00_cpu_loop;

}  // namespace kw::cpu
