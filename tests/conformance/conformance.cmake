# BLAS's own test program for level 3, run over this library. A sanitizer's runtime would have to come
# before the program's, which was built without: other tests run under sanitizers.
find_program(KW_XBLAT3S NAMES xblat3s PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas)
if(KW_XBLAT3S AND NOT KW_SANITIZE)
  add_library(kw_sgemm_adapter MODULE conformance/sgemm_adapter.cpp conformance/level3_adapter.cpp)
  target_include_directories(kw_sgemm_adapter PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(kw_sgemm_adapter PRIVATE kw_common kernelwright)
  add_test(NAME blas_conformance COMMAND "${CMAKE_COMMAND}"
    "-DPROGRAM=${KW_XBLAT3S}" "-DADAPTER=$<TARGET_FILE:kw_sgemm_adapter>"
    "-DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/conformance/sgemm.in" "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/conformance"
    "-DROUTINES=SGEMM,SSYMM,STRMM,STRSM,SSYRK,SSYR2K" -DSUMMARY=sgemm.out
    -P "${CMAKE_CURRENT_SOURCE_DIR}/conformance/sgemm_test.cmake")
elseif(NOT KW_XBLAT3S)
  message(STATUS "off: BLAS's test program for SGEMM, no xblat3s found. apt-get install libblas-test")
endif()
# The same of complex matrices.
find_program(KW_XBLAT3C NAMES xblat3c PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas)
if(KW_XBLAT3C AND NOT KW_SANITIZE)
  add_library(kw_cgemm_adapter MODULE conformance/complex_adapter.cpp)
  target_include_directories(kw_cgemm_adapter PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(kw_cgemm_adapter PRIVATE kw_common kernelwright)
  add_test(NAME blas_conformance_complex COMMAND "${CMAKE_COMMAND}"
    "-DPROGRAM=${KW_XBLAT3C}" "-DADAPTER=$<TARGET_FILE:kw_cgemm_adapter>"
    "-DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/conformance/cgemm.in" "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/conformance-complex"
    "-DROUTINES=CGEMM,CTRSM,CHERK,CSYRK" -DSUMMARY=cgemm.out
    -P "${CMAKE_CURRENT_SOURCE_DIR}/conformance/sgemm_test.cmake")
endif()
