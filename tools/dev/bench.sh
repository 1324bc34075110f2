# Part of ./dev: measure, draw the report, fill the documents.
# shellcheck shell=bash disable=SC2034,SC2154

report() {
  local files=("$@")
  if ((${#files[@]} == 0)); then
    shopt -s nullglob
    files=("$out"/*.json)
    ((${#files[@]})) || die "report: no result files in $out. ./dev bench writes some; or: ./dev report FILE..."
  fi
  find_python || [[ -n $python ]] || die "report: needs Python 3: sudo apt-get install python3"
  local page # without matplotlib it has tables only
  page=$(PYTHONPATH=report "$python" -m kernelwright_report "${files[@]}" -o "$out") || return 1
  say "report: $PWD/$page"
}

# bench [--full]: from whatever is here to a report. The first table comes before the long measurements.
bench() {
  local full=no machine core_seconds program=build/bench/tools/kernelwright/kernelwright files=() code=0
  case ${1:-} in
    "") ;;
    --full) full=yes ;;
    *) die "bench: unknown argument '$1'; there is --full" ;;
  esac
  set_up_build
  machine_options
  find_python 2>/dev/null & # while the compiler works; afterwards it is found at once
  announce "building the program: about $((core_seconds / jobs + 10)) s on $jobs cores"
  configure bench "${machine[@]}"
  cmake --build --preset bench -j "$jobs" --target kernelwright_program | show_progress
  rm -rf "$out" && mkdir -p "$out"
  "$program" verify scale_add --device gpu --shape 1 >/dev/null 2>&1 || code=$?
  if [[ $code == 3 ]]; then bench_cpu; else bench_gpu; fi # 3: no such device
  announce "the report"
  wait
  find_python || true
  if [[ -n $python ]]; then
    report "${files[@]}"
    say "plots, rows as CSV and JSON: $out/"
  else
    say "results: ${files[*]}"
  fi
  say "done after $(elapsed)"
}

announce() { printf '\n%s\n' "dev: [$(elapsed)] $*"; }

measure() { # measure NAME ARGUMENT...: runs the program, keeps its rows as NAME.json
  local name=$1
  shift
  files+=("$out/$name.json")
  "$program" "$@" --json "$out/$name.json"
}

bench_gpu() {
  if [[ $full == yes ]]; then
    announce "every size of the ladder, random products and those of programs, every result verified first: over an hour"
    measure scale-add bench scale_add --device gpu --l2 cold
    measure reduce bench reduce --device gpu --sweep classic --l2 cold
    measure sgemm bench sgemm --device gpu --sweep classic
    measure host-time bench sgemm --device gpu --timing enqueue
    measure sgemm-random bench sgemm --device gpu --sweep random --quick
    measure sgemm-fp32-split-random bench sgemm --device gpu --sweep random --kernel 'kernelwright*' --quick
    measure sgemm-programs bench sgemm --device gpu --sweep programs --kernel 'kernelwright*' --quick
    return
  fi
  announce "a first table, every result verified"
  "$program" bench sgemm --device gpu --shape 2048 --quick
  announce "1 of 3: scale_add"
  measure scale-add bench scale_add --device gpu --shape 1024,8192 --l2 cold --quick
  announce "2 of 3: reductions, about half a minute"
  measure reduce bench reduce --device gpu --shape 2^10,2^14,2^18,2^22,2^26,2^28 --l2 cold --quick
  announce "3 of 3: products beside the vendor's, about one minute (every size: ./dev bench --full)"
  measure sgemm bench sgemm --device gpu --shape 256,512,1024,2048,4096,8192 --max-call-ms 400 --quick
}

bench_cpu() {
  local quick=(--quick)
  if [[ $full == yes ]]; then quick=(); fi
  announce "no GPU: the CPU kernels are timed, the rungs run through host SIMT and are verified. A first table:"
  "$program" bench sgemm --device cpu --shape 512 --quick
  announce "1 of 5: the rungs of sgemm through host SIMT, a few seconds"
  measure rungs verify sgemm --device host-simt --kernel 'r*' --shape 1,33x65x31,64x1x192,129x127x130,192,255x257x64
  announce "2 of 5: the rungs of reduce through host SIMT"
  measure reduce-rungs verify reduce --device host-simt --kernel 'r*' --op sum --dtype float32 --shape 1,1000,4097,2^16,100003
  announce "3 of 5: scale_add on the CPU"
  measure scale-add bench scale_add --device cpu --shape 256,1024,4096 "${quick[@]}"
  announce "4 of 5: reductions on the CPU"
  measure reduce bench reduce --device cpu --shape 2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24 "${quick[@]}"
  announce "5 of 5: products on the CPU, the longest: a quarter of a minute"
  measure sgemm bench sgemm --device cpu --shape 128,256,512,768,1024,1536 --max-call-ms 1000 "${quick[@]}"
}

docs() {
  have python3 || die "docs: needs Python 3: sudo apt-get install python3"
  python=python3
  [[ ${1:-} == --check ]] || find_python || die "docs: needs Python with matplotlib"
  PYTHONPATH=report "$python" -m kernelwright_report docs "$@"
}
