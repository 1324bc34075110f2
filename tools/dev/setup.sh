# Part of ./dev: what a command needs is found or installed (Debian packages, .venv).
# shellcheck shell=bash disable=SC2034,SC2154
readonly needed=(cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev)
readonly optional=(libopenblas-dev libboost-context-dev libopenmpi-dev openmpi-bin)
readonly clang_version=14 # another clang-format formats otherwise, another clang-tidy finds otherwise
have_apt_lists=           # set once they are fetched
python=                   # set by find_python where there is one

as_root() { # runs a command as root, or fails without asking for a password
  if [[ $EUID == 0 ]]; then "$@"; elif have sudo && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

missing_packages() {
  local name
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${Status}' "$name" 2>/dev/null) == "install ok installed" ]] || printf '%s\n' "$name"
  done
}

apt_lists() { # the lists of packages, fetched once a run
  [[ -n $have_apt_lists ]] || as_root apt-get update -qq || return 1
  have_apt_lists=yes
}

# packages PURPOSE NAME...: installs those that are missing. Fails, with the command to type, where it cannot.
packages() {
  local purpose=$1 missing command
  shift
  have dpkg-query || return 0 # not Debian: what is missing shows when it is used
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  command=(apt-get install -y --no-install-recommends "${missing[@]}")
  if [[ $install == no ]]; then
    warn "$purpose: not installed (--no-install): ${missing[*]}"
    return 1
  fi
  if ! as_root true; then
    warn "$purpose: neither root nor sudo without a password, so these are not installed: ${missing[*]}"
    warn "  type: sudo ${command[*]}"
    return 1
  fi
  say "$purpose: installing ${missing[*]} (apt-get)"
  mkdir -p build
  if ! { apt_lists && as_root env DEBIAN_FRONTEND=noninteractive "${command[@]}"; } \
    >build/apt.log 2>&1; then
    tail -n 5 build/apt.log >&2
    warn "$purpose: apt-get failed (all of it: build/apt.log). Type: sudo ${command[*]}"
    return 1
  fi
}

venv() { # venv PURPOSE PACKAGE...: Python packages into .venv
  local purpose=$1
  shift
  [[ $install == yes ]] || return 1
  packages "$purpose" python3-venv || return 1
  have python3 || return 1
  say "$purpose: installing $* into .venv (pip)"
  mkdir -p build
  if ! { { [[ -x .venv/bin/pip ]] || python3 -m venv .venv; } && .venv/bin/pip install -q "$@"; } >build/pip.log 2>&1; then
    tail -n 3 build/pip.log >&2
    warn "$purpose: pip failed (all of it: build/pip.log)"
    return 1
  fi
}

find_python() { # a Python for the report; with matplotlib where that can be had
  local candidate
  for candidate in .venv/bin/python python3; do
    if have "$candidate" && "$candidate" -c 'import matplotlib' 2>/dev/null; then python=$candidate && return 0; fi
  done
  if venv "plots" matplotlib; then python=.venv/bin/python && return 0; fi
  if have python3; then python=python3; fi
  warn "plots: off, no Python with matplotlib. ./dev setup installs it, or: python3 -m pip install matplotlib"
  return 1
}

# What builds and tests the Python package, beside what the report takes.
find_python_package() {
  local has='import nanobind, numpy, pytest, sysconfig; open(sysconfig.get_paths()["include"] + "/Python.h").close()'
  if [[ -n $python ]] && "$python" -c "$has" 2>/dev/null; then return 0; fi
  if venv "Python package" matplotlib nanobind numpy pytest; then python=.venv/bin/python; fi
  if [[ -n $python ]] && ! "$python" -c "$has" 2>/dev/null; then packages "Python package" python3-dev || true; fi
  [[ -n $python ]] && "$python" -c "$has" 2>/dev/null && return 0
  warn "Python package: off. It takes Python's headers and, from PyPI, nanobind, numpy and pytest: ./dev setup"
  return 1
}

have_compiler() { have c++ || have g++ || have clang++; }

set_up_build() {
  local compiler=()
  have_compiler || compiler=(g++)
  # All at once where that works, else one after the other, because the program does without some.
  if [[ $install == no ]] || ! as_root true || ! packages "build" "${compiler[@]}" "${needed[@]}" "${optional[@]}"; then
    have_compiler || { packages "compiler" g++ && have_compiler; } || die "no C++ compiler. Type: sudo apt-get install g++"
    packages "build" "${needed[@]}" || [[ $install == no ]] || die "these are needed to build. Then run this again"
    packages "CBLAS" libopenblas-dev || warn "CBLAS: off, the CPU backend is the plain loop"
    packages "host SIMT" libboost-context-dev || warn "host SIMT: off, no kernel can run without a GPU"
    packages "MPI" libopenmpi-dev openmpi-bin || warn "MPI: off, no tests over MPI and no kernelwright-mpi"
  fi
  have ninja || die "ninja is missing. Install ninja-build (Debian) or ninja"
  if ! cmake_is_new; then
    venv "build" "cmake>=3.25" || die "CMake 3.25 or newer is needed, here is: $(cmake --version 2>/dev/null | head -n 1)"
  fi
}

cmake_is_new() {
  if [[ -x .venv/bin/cmake ]]; then PATH=$PWD/.venv/bin:$PATH; fi
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/.*version //p')
  [[ -n $version && $(printf '%s\n' 3.25 "$version" | sort -V | head -n 1) == 3.25 ]]
}

find_nvcc() {
  if ! have nvcc && [[ -x /usr/local/cuda/bin/nvcc ]]; then PATH=$PATH:/usr/local/cuda/bin; fi
  have nvcc || [[ -n ${CUDACXX:-} ]]
}

readonly get_cuda="install the CUDA toolkit, 12.8 or newer (developer.nvidia.com/cuda-downloads), and put nvcc on PATH"

set_up_hip() { # on request and in CI: a large download that only AMD's GPUs have a use for
  packages "HIP" hipcc libamdhip64-dev || return 1
  if ! have hipcc && [[ -x /opt/rocm/bin/hipcc ]]; then PATH=$PATH:/opt/rocm/bin; fi
  have hipcc
}

readonly get_hip="install hipcc and libamdhip64-dev (Debian), or ROCm (rocm.docs.amd.com)"

# clang_tool NAME: prints the command of the pinned version, from the system or from .venv.
clang_tool() {
  local name=$1 candidate
  for candidate in "$name-$clang_version" "$name" ".venv/bin/$name"; do
    if have "$candidate" && [[ $("$candidate" --version) == *"version $clang_version."* ]]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

set_up_clang() { # set_up_clang NAME: makes sure that clang_tool finds it
  local name=$1
  clang_tool "$name" >/dev/null && return 0
  packages "$name" "$name-$clang_version" || true
  # PyPI's clang-format is whole; its clang-tidy lacks the compiler's own headers.
  if [[ $name == clang-format ]] && ! clang_tool "$name" >/dev/null; then venv "$name" "$name==$clang_version.*" || true; fi
  clang_tool "$name" >/dev/null && return 0
  warn "$name $clang_version is not here. Type: sudo apt-get install $name-$clang_version"
  return 1
}
