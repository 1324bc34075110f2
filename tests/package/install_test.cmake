# Installs a build into a fresh folder, moves that folder, and uses the library from there as an
# application would: examples/ by find_package, then each example by pkg-config. Each example checks
# its own result and fails where it is wrong.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --component kernelwright --config "${CONFIG}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/prefix")

set(flags "")
if(SANITIZE)
  set(flags -fsanitize=address,undefined)
endif()

run("${CMAKE_COMMAND}" -S "${EXAMPLES}" -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
  "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
  "-DCMAKE_C_FLAGS=${flags}" "-DCMAKE_CXX_FLAGS=${flags}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
foreach(example product_cpp product_c batched_cpp batched_c reduce_cpp reduce_c)
  run("${WORK}/build/${example}")
endforeach()

if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} "${WORK}/prefix/${LIBDIR}/pkgconfig")
  set(ENV{LD_LIBRARY_PATH} "${WORK}/prefix/${LIBDIR}")
  run("${PKG_CONFIG}" --cflags --libs kernelwright)
  separate_arguments(options UNIX_COMMAND "${output}")
  foreach(example product batched reduce)
    run("${CXX_COMPILER}" -std=c++20 ${flags} "${EXAMPLES}/${example}.cpp" -o "${WORK}/${example}_cpp" ${options})
    run("${C_COMPILER}" -std=c99 ${flags} "${EXAMPLES}/${example}.c" -o "${WORK}/${example}_c" ${options})
    run("${WORK}/${example}_cpp")
    run("${WORK}/${example}_c")
  endforeach()
else()
  message(STATUS "pkg-config is not here: its file was not tried. apt-get install pkg-config")
endif()
