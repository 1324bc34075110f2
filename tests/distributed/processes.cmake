# A rank that is a process of its own, for tests that start several.
add_executable(kw_rank distributed/rank.cpp)
target_include_directories(kw_rank PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(kw_rank PRIVATE kw_common kernelwright GTest::gtest)
kw_not_hot(kw_rank)
target_compile_definitions(kw_tests PRIVATE KW_RANK="$<TARGET_FILE:kw_rank>")
add_dependencies(kw_tests kw_rank)
