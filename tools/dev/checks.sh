# Part of ./dev: format, lint, kernels for other architectures.
# shellcheck shell=bash disable=SC2034,SC2154

sources() { # sources PATTERN...: the project's own files, committed or about to be
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard -- "$@"
  else
    local names=(-false) pattern
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find . \( -path ./build -o -path ./.venv \) -prune -o -type f \( "${names[@]}" \) -print0
  fi
}

format() {
  set_up_clang clang-format || return 1
  local mode=(-i) tool files
  [[ ${1:-} == --check ]] && mode=(--dry-run --Werror)
  tool=$(clang_tool clang-format)
  mapfile -d '' -t files < <(sources '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.c' '*.h')
  ((${#files[@]})) || die "format: no source files under $PWD"
  printf '%s\0' "${files[@]}" | xargs -0 -P "$jobs" -n 20 "$tool" "${mode[@]}"
}

lint() { # lint [--quick]
  set_up_clang clang-tidy || return 1
  local tool skipped='\(\.venv\|build/lint/\(host_simt\|tests/headers\)\)/'
  if [[ ${1:-} == --quick ]]; then skipped="\($skipped\|\(build/lint/\)\?\(tests\|tools\|apps\|peers\)/\)"; fi
  tool=$(clang_tool clang-tidy)
  configure cpu -B build/lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null || return 1 # g++'s, not clang's
  # Not the generated wrappers around kernel files, whose sources are for GPU compilers, and around single headers, nor nanobind's sources.
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/lint/compile_commands.json | grep -v "^$PWD/$skipped" | sort -u |
    tr '\n' '\0' | xargs -0 -r -P "$jobs" -n 1 "$tool" -p build/lint --quiet 2>build/lint.log || return 1
  if have shellcheck; then shellcheck dev .ci/run tools/*.sh tools/dev/*.sh packaging/*.sh packaging/*.bash tests/*/*.sh; fi
}

# compile_for ARCHITECTURE FILE OPTION...: the file's device code; what nvcc says, and its exit code at the end, into
# build/architectures/.
compile_for() {
  local to=build/architectures/$1/${2//\//-} architecture=$1 file=$2 code=0
  shift 2
  nvcc -std=c++20 -Isrc -Iinclude --expt-relaxed-constexpr -Werror all-warnings -Xptxas -v "$@" \
    -cubin -arch "sm_$architecture" -o "$to.cubin" "$file" >"$to.log" 2>&1 || code=$?
  rm -f "$to.cubin"
  printf 'exit code %s\n' "$code" >>"$to.log"
}

check_archs() { # check_archs [--quick]
  local files=(src/{attention,cgemm,ctrsm,level3,reduce,rowwise,scale_add,sgemm,sgemm/stream,sgemm/hopper}/*.cu) targets=(75 80 86 89 90a 100 120) options=()
  local ends_only=() here with architecture bad=0
  [[ $# == 0 || $1 == --quick ]] || die "check-archs: unknown argument '$1'; there is --quick"
  find_nvcc || die "check-archs: no nvcc: $get_cuda"
  if (($#)); then
    targets=(75 80 86 89 90a 100 120) # and a build, the library for 90a or the GPU that is here
    files=(tests/support/one_of_each.cu src/scale_add/scale_add_stream.cu)
    ends_only=(src/sgemm/{async_tile,thin}.cu) # all of their instances, for the oldest and the newest
    options=(-Xcicc -O0 -Xptxas -O0)
    if nvcc --help | grep -q -e --Ofast-compile; then options=(--Ofast-compile=max); fi # a third of that time
  fi
  rm -rf build/architectures
  export -f compile_for
  for architecture in "${targets[@]}"; do
    mkdir -p "build/architectures/$architecture"
    here=("${files[@]}") with=("${options[@]}")
    if [[ $architecture == 75 || $architecture == 120 ]]; then here+=("${ends_only[@]}"); fi
    if (($#)) && [[ $architecture == 90a ]]; then # as they are built, without their host code
      here=(tests/support/one_of_each.cu ladder/*/*.cu) with=(-Xptxas "-warn-spills,-Werror")
    fi
    printf '%s\0' "${here[@]}" |
      xargs -0 -P "$jobs" -I '{}' bash -c 'compile_for "$@"' _ "$architecture" '{}' "${with[@]}"
    awk -v name="sm_$architecture" -v optimised="$((${#options[@]} == 0))" '
      /Compiling entry function/ { kernels++ }
      /bytes spill stores/ && !/ 0 bytes spill stores/ { spilling++ }
      / registers/ { for (i = 2; i <= NF; i++) if ($i ~ /^registers/ && $(i - 1) + 0 > most) most = $(i - 1) }
      /^exit code [^0]/ { failed++ }
      END {
        printf "%-7s %4d kernels", name, kernels
        if (optimised) printf ", at most %d registers, %d spill", most, spilling
        if (failed) printf ", %d FILES FAIL", failed
        print ""
        exit failed > 0
      }' "build/architectures/$architecture"/*.log || bad=1
  done
  ((bad == 0)) && return 0
  grep -iE 'error|fatal|fault' build/architectures/*/*.log >&2 || true
  die "check-archs: what nvcc said is in build/architectures/"
}

# assemble_for TARGET FILE: the file's device code as assembly, and what hipcc says, into build/amd-assembly/.
assemble_for() {
  local to=build/amd-assembly/$1/${2//\//-}
  hipcc -x hip -std=c++20 -Isrc -Iinclude -Iladder -ffp-contract=off -Wall -Wextra -Werror \
    -Wno-unused-command-line-argument --cuda-device-only -S -O0 --offload-arch="$1" -o "$to.s" "$2" >"$to.log" 2>&1
}

check_amd() { # check_amd [--all]
  local files=(tests/support/one_of_each.cu src/scale_add/scale_add_stream.cu ladder/sgemm/r13_fma_order.cu
    ladder/sgemm_amd/wave_tile.cu)
  local targets=(gfx906 gfx90a gfx1030) target file code=0 # amd_isa.py compiles for gfx908
  [[ $# == 0 || $1 == --all ]] || die "check-amd: unknown argument '$1'; there is --all"
  set_up_hip || die "check-amd: no hipcc: $get_hip"
  have python3 || die "check-amd: needs Python 3: sudo apt-get install python3"
  rm -rf build/amd-assembly
  for target in "${targets[@]}"; do mkdir -p "build/amd-assembly/$target"; done
  export -f assemble_for
  { # the longest first, whose text does not know which AMD GPU it is for
    printf 'gfx90a\0%s\0' src/sgemm/{thin,small_tile}.cu ladder/sgemm_amd/matrix_core.cu
    for target in "${targets[@]}"; do
      for file in "${files[@]}"; do printf '%s\0' "$target" "$file"; done
    done
  } | xargs -0 -P "$jobs" -n 2 bash -c 'assemble_for "$@"' _ ||
    { cat build/amd-assembly/*/*.log >&2 && die "check-amd: what hipcc said is in build/amd-assembly/"; }
  for target in "${targets[@]}"; do
    printf '%-7s %4d kernels\n' "$target" "$(cat "build/amd-assembly/$target"/*.s | grep -c '\.vgpr_count:')"
  done
  python3 tools/amd_isa.py --check
  if (($#)); then
    build hip kernelwright_program
    build/hip/tools/kernelwright/kernelwright verify scale_add --device hip --shape 1 || code=$?
    ((code == 0 || code == 3)) || die "check-amd: the program of preset hip ends with $code" # 3: no such device
  fi
}
