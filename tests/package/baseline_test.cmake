# What is installed on a processor without AVX, which qemu is: the library computes there; the program, whose kernels
# through host SIMT need more, says what is missing.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

install_components("${WORK}/prefix" library development program)
set(prefix "${WORK}/prefix")
configure("${CMAKE_CURRENT_LIST_DIR}/consumers/c_only" "${WORK}/c_only")
run("${CMAKE_COMMAND}" --build "${WORK}/c_only")
unset(ENV{OPENBLAS_CORETYPE}) # which would have OpenBLAS take another processor's kernels
run("${QEMU}" -cpu Nehalem "${WORK}/c_only/product_kernelwright")

execute_process(COMMAND "${QEMU}" -cpu Nehalem "${prefix}/bin/kernelwright" --version
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 3)
  message(FATAL_ERROR "expected exit code 3, got ${result}:\n${output}")
endif()
expect("${output}" "^kernelwright: this processor has no AVX2, .*KW_NATIVE=ON")
