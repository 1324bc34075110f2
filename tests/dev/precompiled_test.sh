#!/usr/bin/env bash
# precompiled_test.sh ROOT CMAKE COMPILER: with ccache, a comment that changes in a precompiled header changes what is
# built from it. (Found by its text without comments, the header of before would be taken, and then included again.) Nor
# does it hurt what builds without kw_precompiled, which makes that mistake, have left in the cache.
set -euo pipefail
root=$1 cmake=$2 compiler=$3
command -v ccache >/dev/null || { echo "precompiled_test: skipped, no ccache here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A cache of its own, whatever the caller's is told to do.
for name in "${!CCACHE_@}"; do unset "$name"; done
export CCACHE_DIR=$work/cache CCACHE_CONFIGPATH=$work/none

project_of() { # project_of COMMAND...: the header of a program is precompiled by this command of CMake
  cat >"$work/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.24)
project(precompiled LANGUAGES CXX)
include("$root/cmake/KernelwrightTargets.cmake")
add_executable(program program.cpp)
$* "\${PROJECT_SOURCE_DIR}/header.hpp")
TEXT
}
build_with() { # build_with COMMENT NUMBER: the same header but for its comment, another source
  printf '#pragma once\n// %s\nstruct Value { int of; };\n' "$1" >"$work/header.hpp"
  printf '#include "header.hpp"\nint main() { return Value{%s}.of; }\n' "$2" >"$work/program.cpp"
  touch -d '1 minute ago' "$work/header.hpp" "$work/program.cpp" # ccache does not trust what is as young as the call
  rm -rf "$work/build"
  "$cmake" -G Ninja -S "$work" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >"$work/log"
  "$cmake" --build "$work/build" >>"$work/log" 2>&1
}
must_build_with() {
  build_with "$@" && return
  cat "$work/log" >&2
  echo "precompiled_test: the header with the comment '$1' does not build" >&2
  exit 1
}
export CCACHE_SLOPPINESS=pch_defines,time_macros # without which ccache leaves precompiled headers alone
project_of 'target_precompile_headers(program PRIVATE'
must_build_with "One." 0
if build_with "Another." 00; then echo "precompiled_test: this ccache does not make the mistake" >&2; fi
unset CCACHE_SLOPPINESS
project_of 'kw_precompiled(program'
must_build_with "Another." 00
must_build_with "One." 0
must_build_with "Another." 00
hits=$(ccache --print-stats | sed -n 's/^direct_cache_hit\t//p')
[[ $hits -ge 2 ]] || { echo "precompiled_test: $hits direct hits for what was built before, at least 2 expected" >&2; exit 1; }
