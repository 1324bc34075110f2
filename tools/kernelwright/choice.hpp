// What the library computes a problem with, as rows beside the kernels that it chooses from.
#pragma once

#include <string_view>

#include "attention/problem.hpp"
#include "cgemm/problem.hpp"
#include "ctrsm/problem.hpp"
#include "kernel.hpp"
#include "level3/problem.hpp"
#include "rowwise/problem.hpp"
#include "sgemm/problem.hpp"

namespace kw {

// A row an arithmetic, "kernelwright" and "kernelwright_split": each call goes to the kernel that
// the library's rule chooses.
KernelList<Sgemm> sgemm_choices();
KernelList<Level3> level3_choices();
KernelList<Cgemm> cgemm_choices();
KernelList<Ctrsm> ctrsm_choices();
KernelList<Attention> attention_choices();
KernelList<Rowwise> rowwise_choices();  // one arithmetic

// Whether a row of that name is one of them.
bool is_choice(std::string_view name);

}  // namespace kw
