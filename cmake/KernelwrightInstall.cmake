# Install and export rules: headers, the library, a CMake package and a pkg-config file. They form one
# component, `cmake --install <build> --component kernelwright`.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kernelwright")
set(generated "${PROJECT_BINARY_DIR}/package")

install(TARGETS ${KW_INSTALLED_LIBRARY} EXPORT kernelwright_targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT kernelwright
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT kernelwright)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/kernelwright" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT kernelwright)
install(EXPORT kernelwright_targets NAMESPACE kernelwright:: DESTINATION "${package_dir}"
  FILE kernelwright-targets.cmake COMPONENT kernelwright)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/kernelwright-config.cmake.in"
  "${generated}/kernelwright-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${generated}/kernelwright-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${generated}/kernelwright-config.cmake" "${generated}/kernelwright-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT kernelwright)

# pkg-config: paths relative to the file itself, so that an installed tree may be moved. A static
# library brings along what it needs.
cmake_path(SET pkgconfig_dir NORMALIZE "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH KW_PC_PREFIX "${pkgconfig_dir}" "/")
set(KW_PC_NEEDS "")
if(NOT BUILD_SHARED_LIBS)
  if(KW_HAVE_CBLAS)
    string(APPEND KW_PC_NEEDS " -lopenblas")
  endif()
  if(KW_HAVE_OPENMP)
    list(TRANSFORM OpenMP_CXX_LIB_NAMES PREPEND " -l" OUTPUT_VARIABLE openmp)
    string(APPEND KW_PC_NEEDS ${openmp})
  endif()
  if(KW_HAVE_CUDA)
    string(APPEND KW_PC_NEEDS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
  endif()
  if(KW_HAVE_HIP)
    cmake_path(GET KW_HIP_LIBRARY PARENT_PATH hip_folder)
    string(APPEND KW_PC_NEEDS " -L${hip_folder} -lamdhip64")
  endif()
  string(APPEND KW_PC_NEEDS " -lstdc++ -lm -pthread")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/kernelwright.pc.in" "${generated}/kernelwright.pc" @ONLY)
install(FILES "${generated}/kernelwright.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT kernelwright)
