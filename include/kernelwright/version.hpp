// Which library this program runs with.
#pragma once

#include "kernelwright/export.h"

namespace kw {

/// "major.minor.patch" of the library that is linked. Never null.
KW_API const char* version() noexcept;

}  // namespace kw
