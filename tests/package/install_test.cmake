# Installs a build into a fresh folder, moves that folder, and uses the library from there as applications would: from
# C, C++17 and C++20, shared and static, by find_package and by pkg-config. Each example checks its own result and
# fails where it is wrong.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

install_components("${WORK}/first" library development)
file(RENAME "${WORK}/first" "${WORK}/moved")
set(prefix "${WORK}/moved")

# Nothing in it names a folder of the machine that built it.
file(GLOB_RECURSE texts "${prefix}/*.cmake" "${prefix}/*.pc" "${prefix}/*.h" "${prefix}/*.hpp")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  foreach(folder IN ITEMS "${BUILD}" "${SOURCE}" "${CUDA_FOLDER}" "${WORK}/first")
    if(folder AND content MATCHES "${folder}")
      message(FATAL_ERROR "${text} names ${folder}")
    endif()
  endforeach()
endforeach()

# The headers by another compiler, in the oldest and in the newest standard that they are for.
if(SECOND_COMPILER)
  file(GLOB headers RELATIVE "${prefix}/include" "${prefix}/include/kernelwright/*")
  list(FILTER headers EXCLUDE REGEX "/mpi\\.hpp$") # it takes a program's own MPI
  list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
  list(JOIN headers "" headers)
  file(WRITE "${WORK}/headers.cpp" "${headers}")
  foreach(standard 17 20)
    run("${SECOND_COMPILER}" -std=c++${standard} -Wall -Wextra -Werror "-I${prefix}/include" -fsyntax-only "${WORK}/headers.cpp")
  endforeach()
endif()

# ---------------------------------------------------------------- find_package

configure("${SOURCE}/examples" "${WORK}/examples")
run("${CMAKE_COMMAND}" --build "${WORK}/examples")
set(examples product batched reduce)
if(CUDA)
  list(APPEND examples gpu_stream)
endif()
run("${WORK}/examples/cholesky_cpp")
foreach(example IN LISTS examples)
  run("${WORK}/examples/${example}_cpp")
  run("${WORK}/examples/${example}_c")
endforeach()

foreach(project cxx c_only)
  configure("${CMAKE_CURRENT_LIST_DIR}/consumers/${project}" "${WORK}/${project}")
  run("${CMAKE_COMMAND}" --build "${WORK}/${project}")
  file(GLOB programs "${WORK}/${project}/product_*")
  list(LENGTH programs count)
  if(count EQUAL 0)
    message(FATAL_ERROR "no program in ${WORK}/${project}")
  endif()
  foreach(program IN LISTS programs)
    run("${program}")
  endforeach()
endforeach()

configure("${CMAKE_CURRENT_LIST_DIR}/consumers/component" "${WORK}/component")
expect("${output}" "gpu: found 0, there is no component \"gpu\"")
expect("${output}" "shared static: found 1")

# ---------------------------------------------------------------- pkg-config

if(NOT PKG_CONFIG)
  message(STATUS "pkg-config is not here: its file was not tried. apt-get install pkg-config")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
set(ENV{LIBRARY_PATH} "${CUDA_FOLDER}")

# compile(NAME COMPILER SOURCE OPTION...): with the options of pkg-config, then runs it.
function(compile name compiler source)
  run("${compiler}" ${ARGN} "${SOURCE}/examples/${source}" -o "${WORK}/${name}" ${options})
  run("${WORK}/${name}")
endfunction()

run("${PKG_CONFIG}" --cflags --libs kernelwright)
separate_arguments(options UNIX_COMMAND "${output}")
compile(pc_c "${C_COMPILER}" product.c -std=c99)
compile(pc_cpp "${CXX_COMPILER}" reduce.cpp -std=c++17)
if(SECOND_COMPILER)
  compile(pc_second "${SECOND_COMPILER}" batched.cpp -std=c++17)
endif()
run("${PKG_CONFIG}" --cflags --libs --static kernelwright)
string(REPLACE "-lkernelwright" "-l:libkernelwright.a" output "${output}") # the shared one lies beside it
separate_arguments(options UNIX_COMMAND "${output}")
compile(pc_static_c "${C_COMPILER}" product.c -std=c99)
compile(pc_static_cpp "${CXX_COMPILER}" product.cpp -std=c++20)
run("${READELF}" -d "${WORK}/pc_static_c")
if(output MATCHES "libkernelwright")
  message(FATAL_ERROR "the static program needs the shared library:\n${output}")
endif()
