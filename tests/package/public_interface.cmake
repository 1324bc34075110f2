# What the tests of the public interface need beyond a *_test.cpp: a client in C99, every public header
# compiled by itself, and a program built against an installed tree.
enable_language(C)
set(clients api/c_abi_client.c api/c_abi_batched_client.c api/c_abi_reduce_client.c)
target_sources(kw_tests PRIVATE ${clients})
set_source_files_properties(${clients} PROPERTIES COMPILE_OPTIONS
  "-std=c99;-pedantic-errors;-Wall;-Wextra;-Werror")
target_compile_definitions(kw_tests PRIVATE KW_EXPECTED_VERSION="${PROJECT_VERSION}")
if(KW_HAVE_CBLAS)
  target_compile_definitions(kw_tests PRIVATE KW_HAVE_CBLAS)
endif()
if(KW_HAVE_OPENMP)
  target_link_libraries(kw_tests PRIVATE OpenMP::OpenMP_CXX)  # to set the number of threads
endif()

# Twice, so that a missing guard shows; with no include path but the public one.
file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/kernelwright/*")
set(alone "")
foreach(header ${headers})
  set(includes "#include <${header}>\n#include <${header}>\n")
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/headers/${header}")
  file(CONFIGURE OUTPUT "${stem}.cpp" CONTENT "${includes}int kw_header_alone;\n" @ONLY)
  list(APPEND alone "${stem}.cpp")
  if(header MATCHES "\\.h$")
    file(CONFIGURE OUTPUT "${stem}.c" CONTENT "${includes}int kw_header_alone;\n" @ONLY)
    set_source_files_properties("${stem}.c" PROPERTIES COMPILE_OPTIONS "-std=c99;-pedantic-errors")
    list(APPEND alone "${stem}.c")
  endif()
endforeach()
add_library(kw_headers_alone OBJECT ${alone})
target_include_directories(kw_headers_alone PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_compile_options(kw_headers_alone PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)

# Installs this build, then builds and runs examples/ against it by find_package and by pkg-config.
find_program(KW_PKG_CONFIG NAMES pkg-config)
add_test(NAME install COMMAND "${CMAKE_COMMAND}"
  "-DBUILD=${PROJECT_BINARY_DIR}" "-DEXAMPLES=${PROJECT_SOURCE_DIR}/examples"
  "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/install" "-DLIBDIR=${CMAKE_INSTALL_LIBDIR}"
  "-DCONFIG=$<CONFIG>" "-DGENERATOR=${CMAKE_GENERATOR}" "-DPKG_CONFIG=${KW_PKG_CONFIG}"
  "-DC_COMPILER=${CMAKE_C_COMPILER}" "-DCXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DSANITIZE=${KW_SANITIZE}"
  -P "${CMAKE_CURRENT_SOURCE_DIR}/package/install_test.cmake")
