# One kernel source, several compilers: nvcc compiles a .cu file as it is, g++ compiles a generated
# two-line wrapper around the same file for host SIMT (CMake gives a source one language).

set(KW_HOST_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(KW_WERROR)
  list(APPEND KW_HOST_WARNINGS -Werror)
  set(KW_CUDA_WERROR -Werror all-warnings)
endif()

add_library(kw_common INTERFACE)
target_include_directories(kw_common INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_options(kw_common INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${KW_HOST_WARNINGS}>
  $<$<COMPILE_LANGUAGE:CUDA>:${KW_CUDA_WERROR}>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${KW_LINEINFO}>>:-lineinfo>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${KW_COMPRESS}>>:--compress-mode=size>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
# One rounding where the source has one: fused operations are written as fmaf, nowhere assumed.
target_compile_options(kw_common INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(KW_SANITIZE)
  # Without what AddressSanitizer sees as well, which takes a third of the time to compile unrolled kernels.
  target_compile_options(kw_common INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=object-size,null,pointer-overflow$<$<BOOL:$<TARGET_PROPERTY:KW_CHECKS_NO_ALIGNMENT>>:,alignment>>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  target_link_options(kw_common INTERFACE -fsanitize=address,undefined)
endif()

# kw_not_hot(<target>): host code that is compiled more often than it runs. It has no vectors of four that could lie
# askew, and the check for that is a quarter of the time to compile it.
function(kw_not_hot target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:$<IF:$<BOOL:${KW_SANITIZE}>,-O0,-O1>>)
  set_target_properties(${target} PROPERTIES KW_CHECKS_NO_ALIGNMENT ON)
endfunction()

# kw_in_batches(<target>): sixteen host sources are compiled as one, since most of a source's time is that of its headers.
# Names in unnamed namespaces are then the target's. Sources with options of their own stay alone.
function(kw_in_batches target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# kw_precompiled(<target> HEADERS...): the headers, compiled once for all of its sources. ccache finds what it has by the
# text without comments; a precompiled header that differs from its source in a comment does not count as included, and
# is included again. So for these targets ccache compares the files themselves, and in a namespace of its own: what it
# noted of these headers when it still went by their text is not asked.
function(kw_precompiled target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_DEPEND=1;CCACHE_NAMESPACE=files;CCACHE_SLOPPINESS=pch_defines,time_macros;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# kw_cuda_kernels(<object library> FILES...): the files, compiled by nvcc. In a build for Hopper alone, whose GPUs the
# tables were measured on, a kernel that spills registers fails the build; SPILLS_ON_PURPOSE names the files that may (say
# why beside the call). For other GPUs ptxas may spill what fits there.
# MANY_INSTANCES names those that take minutes, which KW_OPTIMISE_INSTANCES=OFF leaves as they come.
function(kw_cuda_kernels name)
  cmake_parse_arguments(arg "" "" "FILES;SPILLS_ON_PURPOSE;MANY_INSTANCES" ${ARGN})
  add_library(${name} OBJECT ${arg_FILES})
  target_link_libraries(${name} PRIVATE kw_common)
  set(others ${KW_CUDA_ARCHITECTURES})
  list(FILTER others EXCLUDE REGEX "^90")
  foreach(file ${arg_FILES})
    if(file IN_LIST arg_MANY_INSTANCES AND NOT KW_OPTIMISE_INSTANCES AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "--Ofast-compile=max")
    elseif(KW_WERROR AND NOT others AND file MATCHES "\\.cu$" AND NOT file IN_LIST arg_SPILLS_ON_PURPOSE)
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-Xptxas;-warn-spills,-Werror")
    endif()
  endforeach()
endfunction()

# What the compiler may use in kernels through host SIMT, where fmaf has to be an instruction. The library itself asks
# the processor at run time; the kernelwright program says so and ends where the processor lacks these
# (tools/kernelwright/processor.cpp).
if(KW_NATIVE)
  set(KW_HOST_ARCHITECTURE -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(KW_HOST_ARCHITECTURE -march=x86-64-v3)
endif()

# kw_host_wrappers(<variable> FILE...): sources for g++ that include the files.
function(kw_host_wrappers variable)
  set(wrappers "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    set(wrapper "${PROJECT_BINARY_DIR}/host_simt/${relative}.cpp")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "// Generated: ${relative} through host SIMT.\n#include \"${file}\"\n" @ONLY)
    list(APPEND wrappers "${wrapper}")
  endforeach()
  set(${variable} "${wrappers}" PARENT_SCOPE)
endfunction()

# kw_host_kernels(<object library> FILES...): the same files through host SIMT. What all of many files include is compiled
# once, but for files that are not optimised, whose macros are others.
function(kw_host_kernels name)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  kw_host_wrappers(wrappers ${arg_FILES})
  foreach(wrapper ${wrappers})
    # Hundreds of short instances, or loops that are unrolled whole: a better optimiser takes longer than it saves, and
    # so do AddressSanitizer's checks in place of calls.
    if(wrapper MATCHES "/host_simt/src/(reduce/|rowwise/rowwise_plain)|/double_buffer")
      set_source_files_properties("${wrapper}" PROPERTIES SKIP_PRECOMPILE_HEADERS "${KW_SANITIZE}" COMPILE_OPTIONS
        "$<IF:$<BOOL:${KW_SANITIZE}>,-O0;--param=asan-instrumentation-with-call-threshold=0,$<$<CONFIG:Release>:-Og>>")
    endif()
  endforeach()
  add_library(${name} OBJECT ${wrappers})
  target_link_libraries(${name} PRIVATE kw_common kw_host_simt)
  # Kernels view float arrays as float4; and "#pragma unroll" is nvcc's.
  target_compile_options(${name} PRIVATE -fno-strict-aliasing -Wno-unknown-pragmas)
  # fmaf must be an instruction, or it is a call; and g++ 12 vectorises a register tile at -O2 only.
  target_compile_options(${name} PRIVATE ${KW_HOST_ARCHITECTURE} $<$<CONFIG:Release>:-O2>)
  # Instances by the hundred: -Og takes a third of the time that -O1 takes to compile them, for kernels a tenth slower.
  # Of undefined behaviour AddressSanitizer tells the line (handle_sigill); what UBSan has to say of each load takes a
  # fifth of the rest.
  target_compile_options(${name} PRIVATE $<$<BOOL:${KW_SANITIZE}>:-Og$<SEMICOLON>-fsanitize-undefined-trap-on-error>)
  list(LENGTH wrappers count)
  if(count GREATER 8)
    kw_precompiled(${name} "${PROJECT_SOURCE_DIR}/src/gpu/gpu.hpp" <algorithm>)
  endif()
endfunction()

# kw_traced_kernels(<object library> FILES...): the same, with each load and store a call that src/trace/hooks.cpp
# defines. Not linked with the sanitizer's runtime, and not into a program that has the files as kw_host_kernels, too:
# the names are the same.
function(kw_traced_kernels name)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  kw_host_wrappers(wrappers ${arg_FILES})
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${wrappers})
  target_link_libraries(${name} PRIVATE kw_common kw_host_simt)
  target_compile_definitions(${name} PRIVATE KW_TRACED)
  # -g1: addresses become lines (which addr2line of binutils 2.40 reads right in DWARF 4). Accesses stay as the source has them: no loop of them becomes vectors.
  target_compile_options(${name} PRIVATE -fno-strict-aliasing -Wno-unknown-pragmas ${KW_HOST_ARCHITECTURE}
    -O2 -fno-tree-vectorize -g1 -gdwarf-4 -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -Wno-tsan)
endfunction()
