# What the Python package takes: the headers of an interpreter and nanobind there; for _torch and _jax the headers of
# PyTorch and jaxlib, where that interpreter has them or a folder is named.
set(KW_PYTHON_PACKAGE AUTO CACHE STRING "The Python package: AUTO, ON or OFF")
set(KW_TORCH_INCLUDE AUTO CACHE STRING "PyTorch's include folder for the package's operators: AUTO, a folder or OFF")
set(KW_JAX_INCLUDE AUTO CACHE STRING "jaxlib's include folder for the package's calls from XLA: AUTO, a folder or OFF")

if(KW_PYTHON_PACKAGE STREQUAL "OFF" OR NOT KW_SHARED OR KW_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  if(KW_PYTHON_PACKAGE STREQUAL "ON")
    message(FATAL_ERROR "KW_PYTHON_PACKAGE=ON takes a shared library on Linux, without sanitizers: "
                        "leave out BUILD_SHARED_LIBS=OFF and KW_SANITIZE=ON.")
  endif()
  return()
endif()

if(NOT SKBUILD)
  find_program(KW_PYTHON NAMES python python3 PATHS "${PROJECT_SOURCE_DIR}/.venv/bin" NO_DEFAULT_PATH)
  find_program(KW_PYTHON NAMES python3)
  if(KW_PYTHON)
    set(Python_EXECUTABLE "${KW_PYTHON}")
  endif()
endif()
set(python_parts Interpreter Development.Module)
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.26)
  list(APPEND python_parts OPTIONAL_COMPONENTS Development.SABIModule)
endif()
find_package(Python 3.10 COMPONENTS ${python_parts} QUIET)

set(python_needs "Python 3.10 or later with its headers (python3-dev) and nanobind, numpy and pytest: ./dev setup, or python3 -m pip install nanobind numpy pytest")
set(nanobind_fails 1)
if(Python_FOUND)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE nanobind_fails)
endif()
if(nanobind_fails EQUAL 0)
  find_package(nanobind CONFIG REQUIRED PATHS "${nanobind_dir}" NO_DEFAULT_PATH)
  set(KW_HAVE_PYTHON_PACKAGE ON)
elseif(KW_PYTHON_PACKAGE STREQUAL "ON")
  message(FATAL_ERROR "KW_PYTHON_PACKAGE=ON takes ${python_needs}.")
else()
  kw_missing("the Python package. It takes ${python_needs}")
  return()
endif()

# kw_python_headers(<variable> <package> <folder in it> <header>): where AUTO, the folder or OFF.
function(kw_python_headers variable package folder header)
  set(found "${${variable}}")
  if(found STREQUAL "AUTO")
    execute_process(COMMAND "${Python_EXECUTABLE}" -c
      "import importlib.util as u; print(u.find_spec('${package}').submodule_search_locations[0])"
      OUTPUT_VARIABLE place OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(found "${place}/${folder}")
  endif()
  if(NOT EXISTS "${found}/${header}")
    if(NOT ${variable} STREQUAL "AUTO" AND ${variable})
      message(FATAL_ERROR "${variable} is ${found}, which has no ${header}")
    endif()
    set(found OFF)
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

kw_python_headers(KW_TORCH_INCLUDE torch include torch/csrc/stable/library.h)
kw_python_headers(KW_JAX_INCLUDE jaxlib include xla/ffi/api/ffi.h)
