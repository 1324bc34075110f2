# Tests of what is installed and packaged: each installs this build into a fresh folder and uses it from there, as
# someone would who has no sources. `ctest -L package`, or ./dev package in a build of its own.

# Not with sanitizers, which add names and files of their own to what is installed.
find_program(KW_BASH NAMES bash)
if(KW_SANITIZE)
  return()
endif()
find_program(KW_PKG_CONFIG NAMES pkg-config)
find_program(KW_DPKG_DEB NAMES dpkg-deb)
find_program(KW_QEMU NAMES qemu-x86_64-static qemu-x86_64)
find_program(KW_SECOND_COMPILER NAMES clang++-14 clang++)

function(kw_package_test name)
  add_test(NAME package_${name} COMMAND "${CMAKE_COMMAND}"
    "-DBUILD=${PROJECT_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/package/${name}"
    "-DCONFIG=$<CONFIG>" "-DGENERATOR=${CMAKE_GENERATOR}" "-DVERSION=${PROJECT_VERSION}"
    "-DSOVERSION=${KW_SOVERSION}" "-DLIBDIR=${CMAKE_INSTALL_LIBDIR}" "-DCUDA=${KW_HAVE_CUDA}"
    "-DC_COMPILER=${CMAKE_C_COMPILER}" "-DCXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DSECOND_COMPILER=${KW_SECOND_COMPILER}"
    "-DCUDA_FOLDER=${CUDAToolkit_LIBRARY_DIR}" "-DNM=${CMAKE_NM}" "-DREADELF=${CMAKE_READELF}"
    "-DCPACK=${CMAKE_CPACK_COMMAND}" "-DPKG_CONFIG=${KW_PKG_CONFIG}" "-DBASH=${KW_BASH}" "-DQEMU=${KW_QEMU}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/package/${name}_test.cmake")
  set_tests_properties(package_${name} PROPERTIES LABELS package ENVIRONMENT "OPENBLAS_NUM_THREADS=1"
    TIMEOUT 900 COST 100)  # the longest come first
endfunction()

kw_package_test(program)
if(KW_SHARED)
  kw_package_test(install)
  kw_package_test(symbols)
  if(TARGET kernelwright_cublas)
    kw_package_test(adapter)
  endif()
  if(KW_DPKG_DEB)
    kw_package_test(deb)
  else()
    message(STATUS "off: tests of the Debian packages, no dpkg-deb found")
  endif()
  if(KW_QEMU AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT KW_NATIVE)
    kw_package_test(baseline)
  else()
    message(STATUS "off: the test that runs what is installed on an old processor, no qemu-x86_64 found. apt-get install qemu-user")
  endif()
endif()
