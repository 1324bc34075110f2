// Which vendors' libraries this build compares with, for result files. Empty where one is absent.
#pragma once

#include <string>

namespace kw::peers {

std::string cublas_version();
std::string cub_version();
std::string openblas_version();
std::string rocblas_version();

}  // namespace kw::peers
