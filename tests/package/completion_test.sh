#!/usr/bin/env bash
# completion_test.sh FOLDER SCRIPT: asks bash's completion of kernelwright, which lies in FOLDER, what it offers.
set -euo pipefail
PATH=$1:$PATH
# shellcheck source=/dev/null
source "$2"
[[ $(complete -p kernelwright) == *_kernelwright* ]]

expect() { # expect WORDS TYPED...: with what was typed, the last word half, WORDS are offered
  local wanted=$1 got
  shift
  COMP_WORDS=(kernelwright "$@")
  COMP_CWORD=$#
  _kernelwright
  got=" ${COMPREPLY[*]} "
  for word in $wanted; do
    if [[ $got != *" $word "* ]]; then
      printf 'kernelwright %s: expected %s, offered:%s\n' "$*" "$word" "$got" >&2
      exit 1
    fi
  done
}

offers_nothing_else() { # offers_nothing_else COUNT TYPED...
  local count=$1
  shift
  expect "" "$@"
  if ((${#COMPREPLY[@]} != count)); then
    printf 'kernelwright %s: expected %d words, offered: %s\n' "$*" "$count" "${COMPREPLY[*]}" >&2
    exit 1
  fi
}

expect "devices list verify accuracy bench tune report" ""
expect "devices" d
offers_nothing_else 1 dev
expect "bench verify" help ""
expect "sgemm level3 reduce scale_add" bench ""
expect "sgemm level3 reduce scale_add" verify ""
expect "--shape --sweep --json --kernel" bench sgemm --
offers_nothing_else 1 bench sgemm --js
expect "--out" report --
expect "hot cold" bench sgemm --l2 ""
offers_nothing_else 1 bench sgemm --l2 c
offers_nothing_else 0 bench sgemm --json ""
