# Part of ./dev: a whole program in C++ on the library, built and run.
# shellcheck shell=bash disable=SC2034,SC2154

app_help() {
  cat <<'TEXT'
./dev app gpt2 [OPTION...]

  Builds GPT-2's forward pass on the library and runs it: time of each part and of the whole, on a GPU where one is
  here, else on the CPU. Weights are random, or those of a safetensors file.

  OPTION   --size 124M|355M|774M|1.5B|tiny, --weights FILE, --batch N, --length N, --generate N, --prompt IDS,
           --math fp32|fp32_split, --verify, --device NAME, --json FILE ... (--help lists all)

Examples:
  ./dev app gpt2 --size tiny --verify
  ./dev app gpt2 --size 124M --batch 8 --length 1024 --math fp32_split
  ./dev app gpt2 --weights model.safetensors --prompt 464,3290 --generate 40
TEXT
}

app() { # app gpt2 [OPTION...]
  local machine
  case ${1:-} in
    gpt2) shift ;;
    -h | --help) app_help && return ;;
    *) app_help >&2 && die "app: there is gpt2" ;;
  esac
  set_up_build
  machine_options >/dev/null
  configure bench "${machine[@]}" >/dev/null
  say "building the program: minutes the first time"
  cmake --build --preset bench -j "$jobs" --target kernelwright_gpt2 | show_progress
  build/bench/apps/gpt2/kernelwright_gpt2 "$@"
}
