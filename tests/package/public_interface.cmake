# What the tests of the public interface need beyond a *_test.cpp: a client in C99, and every public header compiled by
# itself.
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
# By this project's standard and by the oldest that the headers are for. No program comes of it, so no sanitizer sees it.
if(NOT KW_SANITIZE)
  foreach(standard 17 20)
    add_library(kw_headers_alone_${standard} OBJECT ${alone})
    set_target_properties(kw_headers_alone_${standard} PROPERTIES CXX_STANDARD ${standard})
    target_include_directories(kw_headers_alone_${standard} PRIVATE "${PROJECT_SOURCE_DIR}/include")
    target_compile_options(kw_headers_alone_${standard} PRIVATE
      -pedantic-errors -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)
  endforeach()
endif()
