# Kernels for AMD's GPUs: the same .cu files, compiled by hipcc into objects that g++ links. Not by
# CMake's language HIP: that wants ROCm in one folder, and Debian's lies in the system's.

# What hipcc is not given: kernels that AMD's GPUs have no instructions or no shared memory for
# (has_nvidia_kernels in src/gpu/gpu.hpp keeps their rows out of the registries).
set(KW_NOT_FOR_HIP "/(attention/attention_(pair|tile|split)|attention/r0[45]_[a-z_]+|rowwise/rowwise_(plain|tile|shared|ring)|ctrsm/(block|blocks|chain|lines|warps)|sgemm/lean_tile|level3/(copies|lean|rank_update|solve_(block|chain)|cholesky[a-z_]*|triangle_[a-z]+)|stream/[a-z0-9_]+|hopper/[a-z0-9_]+|pieces|r1[4-9]_[a-z0-9_]+|r2[0-9]_[a-z0-9_]+)\\.cu$")

# kw_hip_kernels(<target> FILES...): compiles those of the files that are for HIP. <target>_objects are
# their objects, which become sources of a library of the same folder.
function(kw_hip_kernels name)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  set(flags -x hip -std=c++20 -fPIC -fvisibility=hidden -ffp-contract=off -Wall -Wextra)
  if(KW_WERROR)
    list(APPEND flags -Werror)
  endif()
  foreach(architecture IN LISTS KW_HIP_ARCHITECTURES)
    list(APPEND flags --offload-arch=${architecture})
  endforeach()
  separate_arguments(more UNIX_COMMAND "${KW_HIP_FLAGS}")
  set(objects "")
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file)
    if(file MATCHES "${KW_NOT_FOR_HIP}")
      continue()
    endif()
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    set(object "${PROJECT_BINARY_DIR}/hip/${relative}.o")
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${KW_HIPCC}" ${flags} ${more}
              "-I${PROJECT_SOURCE_DIR}/src" "-I${PROJECT_SOURCE_DIR}/include" "-I${CMAKE_CURRENT_SOURCE_DIR}"
              -MD -MF "${object}.d" -MT "${object}" -c "${file}" -o "${object}"
      DEPENDS "${file}" DEPFILE "${object}.d" VERBATIM COMMENT "Building HIP object hip/${relative}.o")
    list(APPEND objects "${object}")
  endforeach()
  add_custom_target(${name} DEPENDS ${objects})  # waits for nothing else, as a library's sources would
  set(${name}_objects "${objects}" PARENT_SCOPE)
endfunction()
