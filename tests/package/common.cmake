# What the scripts of this folder share.

# run(COMMAND...): fails the test where the command fails; its output is `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect(TEXT REGEX): fails the test where the text has no such part.
function(expect text regex)
  if(NOT "${text}" MATCHES "${regex}")
    message(FATAL_ERROR "expected \"${regex}\" in:\n${text}")
  endif()
endfunction()

# install_components(PREFIX COMPONENT...)
function(install_components prefix)
  foreach(component ${ARGN})
    run("${CMAKE_COMMAND}" --install "${BUILD}" --component ${component} --config "${CONFIG}" --prefix "${prefix}")
  endforeach()
endfunction()

# configure(FOLDER BUILD OPTION...): a project that finds the installed package.
function(configure folder build)
  run("${CMAKE_COMMAND}" -S "${folder}" -B "${build}" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DEXAMPLES=${SOURCE}/examples" ${ARGN})
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
