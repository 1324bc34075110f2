# A rank that is a process of its own, for tests that start several.
add_executable(kw_rank distributed/rank.cpp)
target_include_directories(kw_rank PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(kw_rank PRIVATE kw_common kernelwright GTest::gtest)
kw_not_hot(kw_rank)
target_compile_definitions(kw_tests PRIVATE KW_RANK="$<TARGET_FILE:kw_rank>")
add_dependencies(kw_tests kw_rank)

# Ranks over MPI, which pretend to be on different nodes: on some numbers of processes.
if(KW_HAVE_MPI AND NOT KW_SANITIZE) # which reports what MPI itself keeps
  add_executable(kw_mpi_tests distributed/mpi_test.cpp)
  target_include_directories(kw_mpi_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(kw_mpi_tests PRIVATE kw_common kernelwright GTest::gtest MPI::MPI_CXX)
  kw_not_hot(kw_mpi_tests)
  # Open MPI asks before it starts more processes than there are cores (release 4; 5), or any as root.
  set(mpi_environment OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
  foreach(ranks 2 3 4 6 8)
    add_test(NAME kw_mpi_tests_${ranks} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
      $<TARGET_FILE:kw_mpi_tests> --gtest_brief=1)
    set_tests_properties(kw_mpi_tests_${ranks} PROPERTIES TIMEOUT 120 ENVIRONMENT "${mpi_environment}")
  endforeach()
endif()
