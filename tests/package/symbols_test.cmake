# The shared library exports the public names alone, each with the version of this release, under a SONAME that says
# which programs it fits.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")

install_components("${WORK}/prefix" library)
set(library "${WORK}/prefix/${LIBDIR}/libkernelwright.so.${SOVERSION}")
run("${READELF}" -d "${library}")
expect("${output}" "soname: .libkernelwright.so.${SOVERSION}.")

run("${NM}" -D -C --with-symbol-versions --defined-only "${library}")
string(REGEX REPLACE "\n$" "" lines "${output}")
string(REPLACE ";" "," lines "${lines}")
string(REPLACE "[" "(" lines "${lines}") # or a list would end there
string(REPLACE "]" ")" lines "${lines}")
string(REPLACE "\n" ";" lines "${lines}")
set(count 0)
foreach(line IN LISTS lines)
  if(line MATCHES " A KERNELWRIGHT_${SOVERSION}")
    continue() # the version itself
  endif()
  if(NOT line MATCHES "^[0-9a-f]+ [A-Z] (kw[A-Z][A-Za-z0-9]*|(vtable for |typeinfo for |typeinfo name for )?kw::.*)@@KERNELWRIGHT_${SOVERSION}$")
    message(FATAL_ERROR "not a public name of this version: ${line}")
  endif()
  math(EXPR count "${count} + 1")
endforeach()

# And all that the C header declares is there.
file(STRINGS "${SOURCE}/include/kernelwright/kernelwright.h" declared REGEX "^KW_API")
foreach(line IN LISTS declared)
  string(REGEX MATCH "kw[A-Z][A-Za-z0-9]*\\(" name "${line}")
  string(REPLACE "(" "" name "${name}")
  if(NOT name OR NOT output MATCHES " ${name}@@")
    message(FATAL_ERROR "declared and not exported: ${line}")
  endif()
endforeach()
message(STATUS "${count} names")
