// A production kernel of FP32 products in host SIMT, by its name.
#pragma once

#include <string_view>

#include "sgemm/kernels.hpp"
#include "support/kernel_named.hpp"

namespace kw::test {

inline const Kernel<Sgemm>& production_row(std::string_view name) {
  static const KernelList<Sgemm> kernels = on_host::sgemm_production();
  return kernel_named(kernels, name);
}

}  // namespace kw::test
