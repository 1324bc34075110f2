# Part of ./dev: one rung of the ladder, built and run: its counters, and its time where a GPU is here.
# shellcheck shell=bash disable=SC2034,SC2154

rung_help() {
  cat <<'TEXT'
./dev rung NAME [OPTION...]

  Builds the rung's file, runs it and prints its counters: sectors, bank conflicts by line, barriers, races. They are
  counted without a GPU (host SIMT); where a GPU is here, it is timed on that, too. The first call builds the ladder,
  two or three minutes on two cores; after a change to a rung's file the next one compiles that file only.

  NAME     a rung's name, or its number: r07 of the sgemm ladder, reduce/r07 and attention/r03 of the others, amd_02_shared_tile
  OPTION   of `kernelwright trace`: --shape MxNxK, --n LENGTH, --lines N, --json FILE ...

Examples:
  ./dev rung r07
  ./dev rung r05_float4 --shape 1000x1001x999
  ./dev rung reduce/r03 --n 2^22
  ./dev rung --list
TEXT
}

# measured_line FILE NAME: what the walk beside the rung's file says was measured.
measured_line() {
  local walk
  walk=$(dirname "$1")/README.md
  awk -v mark="<!-- rung: $2 " 'index($0, mark) == 1 { getline; print; exit }' "$walk" | sed 's/\*\*//g; s/ Try it:.*//'
}

rung() { # rung NAME [OPTION...]
  local machine core_seconds folder=build/bench/tools/kernelwright name op file idea code=0
  case ${1:-} in
    "") rung_help >&2 && die "rung: which one? ./dev rung r07" ;;
    -h | --help) rung_help && return ;;
  esac
  set_up_build
  machine_options >/dev/null
  configure bench "${machine[@]}" >/dev/null
  say "building the ladder with its accesses counted: minutes the first time"
  cmake --build --preset bench -j "$jobs" --target kernelwright_trace | show_progress
  "$folder/kernelwright-trace" "$@" || code=$?
  if [[ $1 == --list ]] || ((code > 1)); then return "$code"; fi
  while IFS=$'\t' read -r name op file idea; do
    if [[ ${machine[0]} == -DKW_CUDA=ON ]]; then time_rung "$name" "$op"; fi
    say "$name: $(measured_line "$file" "$name")"
    say "  its file: $file, the walk: $(dirname "$file")/README.md"
  done < <("$folder/kernelwright-trace" "$1" --list)
  return "$code"
}

time_rung() { # time_rung NAME OP: on the GPU, verified first
  local size=4096
  if [[ $2 == reduce ]]; then size=2^25; fi
  if [[ $2 == attention ]]; then size=2x16x4096x128; fi
  say "building the program for this GPU: minutes the first time"
  cmake --build --preset bench -j "$jobs" --target kernelwright_program | show_progress
  build/bench/tools/kernelwright/kernelwright bench "$2" --device gpu --kernel "$1" --shape "$size" --quick
}
