#!/usr/bin/env bash
# Hardware counters of every rung beside which traces are compared (tools/trace_vs_ncu.py), in one go on an NVIDIA GPU:
#
#   tools/rung_counters.sh PROGRAM FOLDER
#
# PROGRAM is kernelwright with the rungs for this GPU (./dev build cuda, for example). FOLDER gets
#   rung-counters-1024.csv, rung-counters-1000x1001x999.csv, reduce-counters-22.csv     as ncu printed them
#   rung-opcodes-1024.csv, ...                                                            instructions by opcode
# `kernelwright verify` runs each kernel on its first case before the second one: its launches are the first of the
# process, and ncu ends it when it has had so many. Counters are sums, so neither clocks nor caches are touched.
set -euo pipefail
program=$1 folder=$2
mkdir -p "$folder"
cd "$(dirname "$0")/.."

# The rungs' __global__ functions; those of the check are left alone.
functions=$(cat ladder/*/*.cu ladder/*/*.hpp | sed 's,//.*,,' | tr '\n' ' ' | grep -oE '__global__ void[^{;]*' |
  sed -E 's/__launch_bounds__\((\([^()]*\)|[^()]*)*\)//' | grep -oE '[a-z_0-9]+ *\(' | tr -d ' (' | sort -u | paste -sd '|')

metrics=$(
  paste -sd ',' <<'LIST'
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_shared_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
smsp__inst_executed.sum
smsp__inst_executed_pipe_fma.sum
LIST
)

# count NAME LAUNCHES ARGUMENT...: both tables of what `kernelwright ARGUMENT...` launches first.
count() {
  local name=$1 launches=$2
  shift 2
  ncu --clock-control none --cache-control none --csv --kernel-name "regex:^($functions)\$" --launch-count "$launches" \
    --kill yes --metrics "$metrics" "$program" "$@" | grep '^"' >"$folder/$name.csv" || true
  ncu --clock-control none --cache-control none --csv --kernel-name "regex:^($functions)\$" --launch-count "$launches" \
    --kill yes --metrics sass__inst_executed_per_opcode --print-metric-instances details "$program" "$@" |
    grep '^"' >"$folder/${name/counters/opcodes}.csv" || true
  printf '%s: %s lines of counters, %s of opcodes\n' "$name" "$(wc -l <"$folder/$name.csv")" \
    "$(wc -l <"$folder/${name/counters/opcodes}.csv")"
}

# A rung launches once, r17 to r20 twice, r21 three times: 27, and the AMD ladder's once each. Somewhat more do no harm.
for shape in 1024 1000x1001x999; do
  count "rung-counters-$shape" 60 verify sgemm --device gpu --kernel 'r*,amd_*' --shape "$shape" --alpha 1 --beta 0
done
count "reduce-counters-22" 30 verify reduce --device gpu --kernel 'r*' --op sum --dtype float32 --shape '2^22'
