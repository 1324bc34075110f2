# What is installed where, as three components:
#   library      the shared library, and the drop-in for cuBLAS beside it
#   development  headers, the static library, the CMake package, the pkg-config file
#   program      kernelwright with its report, man page and bash completion
# Nothing that is installed names a folder of this machine, so an installed tree may be moved.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kernelwright")
set(generated "${PROJECT_BINARY_DIR}/package")

# ---------------------------------------------------------------- library, development

set(KW_COMPONENTS static)
if(KW_SHARED)
  list(PREPEND KW_COMPONENTS shared)
  install(TARGETS kernelwright_shared EXPORT kernelwright_shared_targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development)
  install(EXPORT kernelwright_shared_targets NAMESPACE kernelwright:: DESTINATION "${package_dir}"
    FILE kernelwright-shared-targets.cmake COMPONENT development)
endif()
if(TARGET kernelwright_cublas)  # for a program to be loaded with, not for one to be linked with
  install(TARGETS kernelwright_cublas LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
endif()
install(TARGETS kernelwright EXPORT kernelwright_static_targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(EXPORT kernelwright_static_targets NAMESPACE kernelwright:: DESTINATION "${package_dir}"
  FILE kernelwright-static-targets.cmake COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/kernelwright" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development)

set(KW_DEVICES cpu)
foreach(kind CUDA HIP)
  if(KW_HAVE_${kind})
    string(TOLOWER ${kind} device)
    list(APPEND KW_DEVICES ${device})
  endif()
endforeach()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/kernelwright-config.cmake.in"
  "${generated}/kernelwright-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${generated}/kernelwright-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${generated}/kernelwright-config.cmake" "${generated}/kernelwright-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

# pkg-config: paths relative to the file itself; what the static library needs is private. Folders of libraries are
# those of the machine that links, so none is named.
cmake_path(SET pkgconfig_dir NORMALIZE "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH KW_PC_PREFIX "${pkgconfig_dir}" "/")
cmake_path(SET KW_PC_PREFIX NORMALIZE "${KW_PC_PREFIX}")
string(REGEX REPLACE "/$" "" KW_PC_PREFIX "${KW_PC_PREFIX}")
set(pc_packages "")
set(pc_libraries "")
if(KW_HAVE_CBLAS)
  find_program(KW_PKG_CONFIG NAMES pkg-config pkgconf)
  set(has_pc_file 1)
  if(KW_PKG_CONFIG)
    execute_process(COMMAND "${KW_PKG_CONFIG}" --exists openblas RESULT_VARIABLE has_pc_file)
  endif()
  if(has_pc_file EQUAL 0)
    list(APPEND pc_packages openblas)
  else()
    list(APPEND pc_libraries -lopenblas)
  endif()
endif()
if(KW_HAVE_CUDA)
  list(APPEND pc_libraries -lcudart_static -ldl -lrt)
endif()
if(KW_HAVE_HIP)
  list(APPEND pc_libraries -lamdhip64)
endif()
if(KW_HAVE_OPENMP)
  list(TRANSFORM OpenMP_CXX_LIB_NAMES PREPEND -l OUTPUT_VARIABLE openmp)
  list(APPEND pc_libraries ${openmp})
endif()
list(APPEND pc_libraries -lstdc++ -lm -pthread)
list(JOIN pc_packages " " pc_packages)
list(JOIN pc_libraries " " pc_libraries)
if(KW_SHARED)
  set(KW_PC_NEEDS "Libs: -L\${libdir} -lkernelwright
Requires.private: ${pc_packages}
Libs.private: ${pc_libraries}")
else()
  set(KW_PC_NEEDS "Requires: ${pc_packages}
Libs: -L\${libdir} -lkernelwright ${pc_libraries}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/kernelwright.pc.in" "${generated}/kernelwright.pc" @ONLY)
install(FILES "${generated}/kernelwright.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

# ---------------------------------------------------------------- program

if(TARGET kernelwright_program)
  install(TARGETS kernelwright_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/report/kernelwright_report"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/kernelwright/report" COMPONENT program PATTERN "__pycache__" EXCLUDE)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/kernelwright.bash" RENAME kernelwright
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT program)
  if(NOT CMAKE_CROSSCOMPILING)  # the page is what the program says of itself
    add_custom_command(OUTPUT "${generated}/kernelwright.1"
      COMMAND sh "${PROJECT_SOURCE_DIR}/packaging/man_page.sh" $<TARGET_FILE:kernelwright_program> "${generated}/kernelwright.1"
      DEPENDS kernelwright_program "${PROJECT_SOURCE_DIR}/packaging/man_page.sh" VERBATIM COMMENT "Writing kernelwright.1")
    add_custom_target(kw_man_page ALL DEPENDS "${generated}/kernelwright.1")
    install(FILES "${generated}/kernelwright.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program)
  endif()
endif()
