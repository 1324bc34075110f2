# Tests of the adapters without a GPU: a program that is linked with stand-ins for cuBLAS, cuBLASLt, cuSOLVER and the CUDA driver,
# and runs with the adapter loaded before them, the library computing on the CPU.
set(adapter_sources "${PROJECT_SOURCE_DIR}/adapters/cublas")
# Its rules are plain functions, which kw_tests calls.
target_sources(kw_tests PRIVATE ${adapter_sources}/policy.cpp ${adapter_sources}/judge.cpp ${adapter_sources}/vendor_time.cpp)
target_include_directories(kw_tests PRIVATE ${adapter_sources})
target_compile_definitions(kw_tests PRIVATE KW_DROP_IN_DOCUMENT="${PROJECT_SOURCE_DIR}/docs/drop-in.md")
if(KW_HAVE_CUDA)  # NVIDIA's headers
  target_link_libraries(kw_tests PRIVATE CUDA::cudart_static)
  target_compile_definitions(kw_tests PRIVATE KW_HAVE_CUBLAS_HEADERS)
endif()
# NVIDIA's headers rename functions by macros.
set_source_files_properties(adapters/abi_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
if(NOT KW_CUBLAS_ADAPTER)
  return()
endif()

set(stand_ins "${CMAKE_CURRENT_BINARY_DIR}/stand_ins")

# kw_stand_in(NAME SONAME VERSION SOURCE): a shared library of that name, in a folder of its own where asked.
function(kw_stand_in name soname folder version source)
  add_library(${name} SHARED adapters/${source})
  target_include_directories(${name} PRIVATE adapters "${adapter_sources}")
  target_link_libraries(${name} PRIVATE kw_common)
  target_compile_definitions(${name} PRIVATE STAND_IN_VERSION="${version}")
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME "${soname}" SUFFIX "" NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY "${folder}")
  target_link_options(${name} PRIVATE "LINKER:-soname,${soname}")
  kw_not_hot(${name})
endfunction()
kw_stand_in(kw_stand_in_cublas libcublas.so.13 "${stand_ins}" 13 stand_in_cublas.cpp)
kw_stand_in(kw_stand_in_cublas_lt libcublasLt.so.13 "${stand_ins}" 13 stand_in_cublas_lt.cpp)
kw_stand_in(kw_stand_in_cusolver libcusolver.so.12 "${stand_ins}" 12 stand_in_cusolver.cpp)
target_link_libraries(kw_stand_in_cusolver PRIVATE kw_stand_in_cublas)
kw_stand_in(kw_stand_in_driver libcuda.so.1 "${stand_ins}" 1 stand_in_driver.cpp)
# An older cuBLAS, and a library of a program that is linked with it.
kw_stand_in(kw_stand_in_cublas_12 libcublas.so.12 "${stand_ins}" 12 stand_in_cublas.cpp)

# A plugin that is linked with cuBLAS, for programs that load it late.
foreach(version 12 13)
  set(vendor kw_stand_in_cublas)
  if(version EQUAL 12)
    set(vendor kw_stand_in_cublas_12)
  endif()
  add_library(kw_plugin_${version} MODULE adapters/plugin.cpp)
  target_include_directories(kw_plugin_${version} PRIVATE "${adapter_sources}")
  target_link_libraries(kw_plugin_${version} PRIVATE kw_common ${vendor} kw_stand_in_driver)
  set_target_properties(kw_plugin_${version} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${stand_ins}")
  target_link_options(kw_plugin_${version} PRIVATE LINKER:--disable-new-dtags LINKER:--no-as-needed)
endforeach()
# A library in the place of libkernelwright that says another version.
add_library(kw_other_library MODULE adapters/other_library.cpp)
set_target_properties(kw_other_library PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${stand_ins}")
# One that refuses products, the library otherwise.
add_library(kw_refusing_library MODULE adapters/refusing_library.cpp)
target_link_libraries(kw_refusing_library PRIVATE kernelwright_shared ${CMAKE_DL_LIBS})
target_link_options(kw_refusing_library PRIVATE LINKER:--no-as-needed)
set_target_properties(kw_refusing_library PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${stand_ins}")

add_executable(kw_cublas_client adapters/client.cpp)
target_link_libraries(kw_cublas_client PRIVATE kw_common ${CMAKE_DL_LIBS})
target_compile_definitions(kw_cublas_client PRIVATE KW_STAND_INS="${stand_ins}")
add_dependencies(kw_cublas_client kw_plugin_12 kw_plugin_13)

file(GLOB preloaded CONFIGURE_DEPENDS adapters/preloaded/*.cpp)
add_executable(kw_adapter_tests ${preloaded})
target_include_directories(kw_adapter_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} adapters "${adapter_sources}")
target_link_libraries(kw_adapter_tests PRIVATE kw_common kw_stand_in_cublas kw_stand_in_cublas_lt kw_stand_in_cusolver
  kw_stand_in_driver
  GTest::gtest nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
# So that no cuBLAS that LD_LIBRARY_PATH knows comes before the stand-in.
target_link_options(kw_adapter_tests PRIVATE LINKER:--disable-new-dtags LINKER:--no-as-needed LINKER:--export-dynamic)
target_compile_definitions(kw_adapter_tests PRIVATE KW_ADAPTER="$<TARGET_FILE:kernelwright_cublas>"
  KW_CLIENT="$<TARGET_FILE:kw_cublas_client>" KW_PROGRAM="$<TARGET_FILE:kernelwright_program>"
  KW_STAND_INS="${stand_ins}" KW_OTHER_LIBRARY="$<TARGET_FILE:kw_other_library>"
  KW_REFUSING_LIBRARY="$<TARGET_FILE:kw_refusing_library>")
kw_not_hot(kw_adapter_tests)
kw_in_batches(kw_adapter_tests)
set_source_files_properties(adapters/preloaded/cusolver_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # another library's values
add_dependencies(kw_adapter_tests kernelwright_cublas kernelwright_program kw_cublas_client kw_other_library
  kw_refusing_library)
add_test(NAME adapter_cublas COMMAND kw_adapter_tests --gtest_brief=1)
set_tests_properties(adapter_cublas PROPERTIES ENVIRONMENT "OPENBLAS_NUM_THREADS=1")

# What a decision costs on this machine: a program, as a test only for that it runs.
add_executable(kw_decision_cost adapters/decision_cost.cpp)
target_include_directories(kw_decision_cost PRIVATE adapters "${adapter_sources}")
target_link_libraries(kw_decision_cost PRIVATE kw_common kw_stand_in_cublas kw_stand_in_cublas_lt kw_stand_in_driver)
target_link_options(kw_decision_cost PRIVATE LINKER:--disable-new-dtags LINKER:--no-as-needed)
add_test(NAME adapter_cublas_cost COMMAND kw_decision_cost 2000)
set_tests_properties(adapter_cublas_cost PROPERTIES
  ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:kernelwright_cublas>;KERNELWRIGHT_DEVICE=cpu;OPENBLAS_NUM_THREADS=1")
