# Part of ./dev: configure and build a preset; what this machine can run.
# shellcheck shell=bash disable=SC2034,SC2154

configure_options=() # of every configure

configure() { # configure PRESET [OPTION...]
  local options=("${configure_options[@]}")
  if have ccache; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  if [[ -n $python ]]; then options+=("-DKW_PYTHON=$(realpath -s "$(command -v "$python")")"); fi
  mkdir -p build
  if ! cmake --preset "$@" "${options[@]}" >"build/configure-$1.log" 2>&1; then
    cat "build/configure-$1.log" >&2
    return 1
  fi
  grep -E '^-- (kernelwright|off:)' "build/configure-$1.log" || true
}

build() { # build [PRESET [TARGET]]
  local preset=${1:-auto}
  set_up_build
  find_nvcc || true
  if [[ $preset == hip ]]; then set_up_hip || die "preset $preset: no hipcc: $get_hip"; fi
  say "building preset $preset"
  configure "$preset"
  cmake --build --preset "$preset" -j "$jobs" ${2:+--target "$2"}
}

# gpu_architectures: CMake's name for each kind of NVIDIA GPU that is here, by its compute capability; else nothing.
gpu_architectures() {
  have nvidia-smi || return 0
  { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true; } |
    sed -n 's/^\([0-9]\{1,\}\)\.\([0-9]\)$/\1\2/p' | sort -nu | sed 's/^90$/90a/; s/$/-real/' | paste -sd ';' -
}

# machine_options: sets `machine` to CMake's options for what this machine can run, `core_seconds` to about how long one
# core compiles the program for it, and says what that is.
machine_options() {
  local architectures
  architectures=$(gpu_architectures)
  machine=(-DKW_CUDA=OFF) core_seconds=210
  if [[ -z $architectures && ! -e /dev/nvidiactl ]]; then
    say "no NVIDIA GPU here: no CUDA kernels are built"
  elif ! find_nvcc; then
    warn "an NVIDIA GPU is here and no nvcc: no CUDA kernels are built. For them, $get_cuda"
  elif [[ -n $architectures ]]; then
    say "NVIDIA GPU: CUDA kernels are built for it alone ($architectures)"
    core_seconds=700
    machine=(-DKW_CUDA=ON "-DKW_CUDA_ARCHITECTURES=$architectures")
  else
    say "an NVIDIA driver without nvidia-smi: CUDA kernels are built for every architecture of the library"
    core_seconds=1100
    machine=(-DKW_CUDA=ON)
  fi
}

# show_progress: reads what ninja says; a line every ten seconds of how far it is and, once a fifth of the steps is done
# (the longest come first), of how long the rest may take. What is not progress, a warning say, goes through.
show_progress() {
  local began=$SECONDS shown=$SECONDS line finished all spent
  while IFS= read -r line; do
    if [[ ! $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      printf '%s\n' "$line"
      continue
    fi
    finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} spent=$((SECONDS - began))
    if ((finished == all)); then
      say "  $all of $all steps, $spent s"
    elif ((SECONDS - shown >= 10)); then
      shown=$SECONDS line="  $finished of $all steps, $spent s"
      if ((finished * 5 >= all)); then line+="; about $((spent * (all - finished) / finished)) s to go"; fi
      say "$line"
    fi
  done
}
