#!/usr/bin/env bash
# Hardware counters of every rung beside which traces are compared (tools/trace_vs_ncu.py), in one go on an NVIDIA GPU:
#
#   tools/rung_counters.sh PROGRAM FOLDER
#
# PROGRAM is kernelwright with the rungs for this GPU (./dev build cuda, for example). FOLDER gets
#   rung-counters[-amd]-1024.csv, ...-1000x1001x999.csv, reduce-counters-22.csv, attention-counters-256.csv, as ncu
#   printed them; rung-opcodes-1024.csv, ..., instructions by opcode; sgemm-counters.csv and rung-stalls-4096.csv, what r01
#   to r13, the library's portable kernel and cuBLAS, and r13 to r21 wait for.
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
smsp__sass_inst_executed_op_shared_ld.sum
smsp__sass_inst_executed_op_shared_st.sum
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum
smsp__sass_data_bytes_mem_shared_op_ld.sum
smsp__sass_data_bytes_mem_shared_op_st.sum
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

# A rung launches once, r17 to r20 twice, r21 three times.
for shape in 1024 1000x1001x999; do
  count "rung-counters-$shape" 28 verify sgemm --device gpu --kernel 'r*,s5*' --shape "$shape" --alpha 1 --beta 0
  count "rung-counters-amd-$shape" 36 verify sgemm --device gpu --kernel 'amd_*' --shape "$shape" --alpha 1 --beta 0
done
count reduce-counters-22 30 verify reduce --device gpu --kernel 'r*' --op sum --dtype float32 --shape '2^22'
count attention-counters-256 16 bench attention --device gpu --kernel 'r0*' --shape 1x1x256x128 --no-ceilings --no-peer --quick

stalls=$(
  printf 'smsp__average_warps_issue_stalled_%s_per_issue_active.ratio,' \
    long_scoreboard short_scoreboard mio_throttle lg_throttle barrier dispatch_stall math_pipe_throttle wait not_selected \
    selected no_instruction branch_resolving gmma
  paste -sd ',' <<'LIST'
smsp__issue_active.avg.pct_of_peak_sustained_active
smsp__inst_executed.sum
smsp__inst_executed_pipe_fma.sum
smsp__warps_active.avg.per_cycle_active
smsp__average_warp_latency_per_inst_issued.ratio
launch__registers_per_thread
smsp__inst_executed_op_shared_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active
dram__throughput.avg.pct_of_peak_sustained_elapsed
dram__bytes_read.sum
lts__t_sectors_op_read.sum
gpu__time_duration.sum
LIST
)
# wait_for NAME LAUNCHES FUNCTIONS ARGUMENT...: the same of what warps wait for; behind what is there already.
wait_for() {
  local name=$1 launches=$2 wanted=$3 printed
  shift 3
  printed=$(ncu --clock-control none --cache-control none --csv --kernel-name "regex:$wanted" --launch-count "$launches" --kill yes \
    --metrics "$stalls" "$program" "$@" | grep '^"' || true)
  if [[ -s $folder/$name.csv ]]; then printed=$(tail -n +2 <<<"$printed"); fi
  printf '%s\n' "$printed" >>"$folder/$name.csv"
}
rm -f "$folder/sgemm-counters.csv" "$folder/rung-stalls-4096.csv"
wait_for sgemm-counters 14 "^($functions)\$" verify sgemm --device gpu --kernel 'r0*,r10*,r11*,r12*,r13*,s5*' --shape 4096 \
  --alpha 1 --beta 0
wait_for sgemm-counters 60 'async_tile|Kernel2|gemm' bench sgemm --device gpu --kernel async_tile --shape 4096 --quick --no-ceilings
wait_for rung-stalls-4096 15 "^($functions)\$" verify sgemm --device gpu --kernel 'r13*,r14*,r15*,r16*,r17*,r18*,r19*,r2*' \
  --shape 4096 --alpha 1 --beta 0
