#!/usr/bin/env bash
# dev_test.sh ROOT: what ./dev decides by itself: which kernels a machine gets, how far a build is, what help lists.
# shellcheck disable=SC2034,SC2317 # what the sourced part uses
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf '%s\n' "dev_test: $*" >&2; exit 1; }
say() { printf '%s\n' "$*"; }
warn() { say "$@"; }
have() { command -v "$1" >/dev/null 2>&1; }
# shellcheck source=/dev/null
source tools/dev/build.sh

# machine_with NVCC OUTPUT: the options for a machine with (yes) or without nvcc whose nvidia-smi prints OUTPUT.
machine_with() {
  local has_nvcc=$1
  printf '#!/bin/sh\ncat <<"TEXT"\n%s\nTEXT\n' "$2" >"$work/nvidia-smi"
  chmod +x "$work/nvidia-smi"
  find_nvcc() { [[ $has_nvcc == yes ]]; }
  get_cuda=get-cuda
  local machine=()
  PATH=$work:$PATH machine_options >"$work/said"
  printf '%s\n' "${machine[*]}"
}
expect() { [[ $1 == "$2" ]] || fail "expected '$2', got '$1'"; }

expect "$(machine_with yes 9.0)" "-DKW_CUDA=ON -DKW_CUDA_ARCHITECTURES=90a-real"
expect "$(machine_with yes $'8.6\n8.6\n12.0')" "-DKW_CUDA=ON -DKW_CUDA_ARCHITECTURES=86-real;120-real"
expect "$(machine_with no 9.0)" "-DKW_CUDA=OFF"
grep -q 'no nvcc.*get-cuda' "$work/said" || fail "a GPU without nvcc is not mentioned"
if [[ ! -e /dev/nvidiactl ]]; then
  expect "$(machine_with yes "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")" "-DKW_CUDA=OFF"
fi

progress=$(printf '[1/2] Building\na warning\n[2/2] Linking\n' | show_progress)
[[ $progress == *"a warning"*"2 of 2 steps"* && $progress != *Building* ]] || fail "progress: $progress"

help=$(./dev help)
while read -r command; do
  grep -Eq "^  $command( |$)" <<<"$help" || fail "help lacks $command"
done < <(sed -n '/^case /,/^esac/p' dev | sed -n 's/^  \([a-z -|]*\)).*/\1/p' | tr -s '| ' '\n' | grep -E '^[a-z]')
expect "$(./dev no-such-command 2>&1 >/dev/null | tail -n 1)" "dev: unknown command 'no-such-command'"

expect "$(./dev rung 2>&1 >/dev/null | tail -n 1)" "dev: rung: which one? ./dev rung r07"
./dev rung --help | grep -q '^Examples:' || fail "rung --help has no examples"

version=$(sed -n 's/^project(kernelwright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -Eq "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || fail "CHANGELOG.md has no dated section of version $version"
