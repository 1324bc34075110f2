// A kernel of a list by its name.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "kernel.hpp"

namespace kw::test {

template <class Problem>
const Kernel<Problem>& kernel_named(const KernelList<Problem>& kernels, std::string_view name) {
  for (const Kernel<Problem>& kernel : kernels)
    if (kernel.name == name) return kernel;
  throw std::invalid_argument("no kernel " + std::string(name));
}

}  // namespace kw::test
