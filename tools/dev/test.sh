# Part of ./dev: the tests, and all that a change must pass.
# shellcheck shell=bash disable=SC2030,SC2031,SC2034,SC2154

run_tests() { # run_tests PRESET: a skipped test counts as failed
  local log=build/tests-$1.log code=0
  build "$1"
  ctest --preset "$1" -j "$jobs" --no-tests=error 2>&1 | tee "$log" || code=1
  if grep -q -e '\*\*\*Skipped' -e '\*\*\*Not Run' "$log"; then
    warn "skipped tests count as failed"
    code=1
  fi
  return "$code"
}

# count_tests PRESET: failed and all. GoogleTest's own counts in its shards, which is where most tests are, and what ctest
# says of the others, and of a shard that failed without naming a test.
count_tests() {
  local log=build/$1/Testing/Temporary/LastTest.log
  [[ -s build/tests-$1.log && -s $log ]] || return 1
  awk '
    /^\[  PASSED  \] [0-9]+ test/ { passed += $4; counted = 1 }
    /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { failed++; named = 1 }
    /^Test Passed\.$/ { if (!counted) passed++; counted = named = 0 }
    /^Test Failed\.$/ { if (!named) failed++; counted = named = 0 }
    END { print failed + 0, passed + failed }' "$log"
}

# cpu_so_far: sets `cpu` to the seconds that all cores together spent on what this shell waited for.
cpu_so_far() {
  local file=build/stages/times.$BASHPID
  times >"$file" # in this shell, of which it speaks
  cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$file")
}

# stage NAME COMMAND...: runs it, and keeps its outcome, time and CPU time for the summary, in a line of
# build/stages/. A list of tests counts as many as it has, anything else as one.
stage() {
  local name=$1 began=$SECONDS code bad=0 all=1 cpu cpu_before
  shift
  cpu_so_far
  cpu_before=$cpu
  printf '\n=== [%s] %s\n' "$(elapsed)" "$name"
  set +e # not `if`, which would switch -e off inside too
  (
    set -e
    "$@"
  )
  code=$?
  set -e
  if [[ $1 == run_tests ]]; then read -r bad all < <(count_tests "$2") || all=1; fi
  if ((code != 0 && bad == 0)); then bad=1; fi
  cpu_so_far
  printf '%d %d %-6s %4d s, %4d s of CPU  %s\n' $((all - bad)) "$bad" "$( ((code)) && echo FAILED || echo passed)" \
    $((SECONDS - began)) $((cpu - cpu_before)) "$name" >>"build/stages/$current"
}

# take_turns GROUP...: runs each function of stages that nobody else has taken; each line says whose it is.
take_turns() {
  local current code
  for current in "$@"; do
    mkdir "build/stages/taken_$current" 2>/dev/null || continue
    set +e # not `||`, which would switch -e off inside too
    (
      set -e
      "$current" 2>&1 | sed -u "s/^/${current#stage_} | /"
    )
    code=$?
    set -e
    if ((code != 0)); then printf '0 1 FAILED  %s ended early\n' "$current" >>"build/stages/$current"; fi
  done
}

# side_by_side GROUP...: functions of stages, two at a time, since one alone leaves cores idle at its end and while one
# long file compiles; each with half of the cores and one more, for the time when the other is so or has ended. What they
# have to say is in build/stages/, a file each.
side_by_side() {
  local workers=$((jobs < 2 ? 1 : 2)) running=() group process
  for group in "$@"; do : >"build/stages/$group"; done
  if ((workers > 1)); then jobs=$((jobs / workers + 1)); fi
  while ((${#running[@]} < workers)); do
    take_turns "$@" &
    running+=($!)
  done
  for process in "${running[@]}"; do
    wait "$process" || printf '0 1 FAILED  stages ended early\n' >>"build/stages/$1"
  done
}

# trace_rungs PRESET: every rung at whole tiles and at edges; none may be wrong or have a race.
trace_rungs() {
  cmake --build --preset "$1" -j "$jobs" --target kernelwright_trace
  "build/$1/tools/kernelwright/kernelwright-trace" '*' --shape 256x384x192 --n 2^20 --lines 0
  "build/$1/tools/kernelwright/kernelwright-trace" '*' --shape 300x301x299 --n 1000003 --lines 0
}

choose_seed() { # of what tests draw (tests/support/main.cpp)
  export KW_TEST_SEED=${KW_TEST_SEED:-$((RANDOM * 30000 + RANDOM))}
  say "seed $KW_TEST_SEED (the same tests again: KW_TEST_SEED=$KW_TEST_SEED ./dev test)"
}

repeat() { # repeat N [PRESET]
  local preset=${2:-cpu}
  [[ ${1:-} =~ ^[0-9]+$ ]] || die "repeat: how many times? ./dev repeat 30 asan"
  build "$preset" kw_tests
  python3 tools/repeat.py "$1" "build/$preset/tests/kw_tests"
}

mutate() { # mutate [ID...]
  set_up_build
  python3 tools/mutate.py "$@"
}

# The stages of `./dev test`. What they read is set by run_all_tests.
stage_style() {
  stage "format" format --check
  stage "documents" docs --check
}
stage_tests() {
  stage "tests, preset $main" run_tests "$main"
  if [[ -n $all && $main != hip ]]; then stage "every rung traced" trace_rungs "$main"; fi
}
stage_sanitized() {
  if [[ -n $all ]]; then stage "tests under AddressSanitizer and UBSan, preset asan" run_tests asan; fi
}
stage_lint() { stage "lint" lint "${quick[@]}"; }
stage_archs() { if find_nvcc; then stage "kernels for other architectures" check_archs "${quick[@]}"; fi; }
stage_amd() { if [[ ${CI:-} == true ]] || have hipcc; then stage "kernels for AMD GPUs" check_amd "${amd[@]}"; fi; }

# run_all_tests [--all]: what CI runs; with --all also what takes long, every test under sanitizers and every kernel for
# every architecture.
run_all_tests() {
  local main=cuda all='' quick=(--quick) amd=()
  case ${1:-} in
    "")
      local architectures
      architectures=$(gpu_architectures) # the others are compiled by check_archs
      if [[ -z $architectures ]]; then # no GPU that could run them: check_archs compiles the ladder, and one instance of each
        configure_options+=(-DKW_LADDER_CUDA=OFF -DKW_OPTIMISE_INSTANCES=OFF)
      fi
      configure_options+=("-DKW_CUDA_ARCHITECTURES=${architectures:-90a-real}")
      configure_options+=("-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG") # of host code alone
      ;;
    --all)
      all=yes quick=() amd=(--all)
      export KW_TEST_EVERY_CASE=1
      configure_options+=(-DKW_LADDER_CUDA_ARCHITECTURES=) # the ladder for all that the library is for
      ;;
    *) die "test: unknown argument '$1'; there is --all" ;;
  esac
  choose_seed
  set_up_for_tests
  rm -rf build/tests-*.log build/stages
  mkdir -p build/stages
  # What says no soonest, then the longest first.
  local groups=(stage_style stage_tests stage_sanitized stage_archs stage_lint stage_amd)
  side_by_side "${groups[@]}"
  printf '\n=== summary, %s in all\n' "$(elapsed)"
  awk '{ passed += $1; failed += $2; sub(/^[0-9]+ [0-9]+ /, ""); print }
    END { printf "%d passed, %d failed\n", passed, failed; exit failed > 0 || NR == 0 }' "${groups[@]/#/build/stages/}"
}

# set_up_for_tests: what the stages need is installed before they run side by side; without nvcc `main` is another preset.
set_up_for_tests() {
  set_up_build
  if ! find_nvcc; then
    if [[ ${CI:-} == true ]]; then die "no nvcc, and CI needs it: $get_cuda"; fi
    say "no nvcc: GPU code is tested through host SIMT only. To compile it too: $get_cuda"
    main=cpu
    if have hipcc && [[ -e /dev/kfd ]]; then main=hip; fi # AMD's driver is here
  fi
  find_python || true
  set_up_clang clang-format || true
  set_up_clang clang-tidy || true
  if [[ ${CI:-} == true ]]; then set_up_hip || true; fi
  find_python_package || true
  packages "BLAS's test program" libblas-test || warn "BLAS's test program: off, sgemm is not run through it"
  packages "tests of what is installed" pkg-config qemu-user man-db || warn "tests of what is installed: in part"
}
