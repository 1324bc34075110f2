// Ends the program with one line where the processor lacks instructions that host SIMT is compiled
// with (KW_HOST_ARCHITECTURE), before anything of the program runs that may use them.
#include <unistd.h>

#include <cstring>

#include "program.hpp"

#ifdef KW_NEEDS_X86_64_V3
namespace kw {
namespace {

void end_with(const char* missing) {
  const auto print = [](const char* words) {
    return write(STDERR_FILENO, words, std::strlen(words)) >= 0;
  };
  static_cast<void>(print("kernelwright: this processor has no ") && print(missing) &&
                    print(", which this build of the program needs (x86-64-v3). The library does "
                          "not: link that, or build the program here with -DKW_NATIVE=ON.\n"));
  _exit(exit_no_device);
}

// Before all other initialisers.
__attribute__((constructor(101))) void require_processor() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) end_with("AVX2");
  if (!__builtin_cpu_supports("fma")) end_with("FMA");
  if (!__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2")) end_with("BMI2");
}

}  // namespace
}  // namespace kw
#endif
