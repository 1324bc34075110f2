#!/usr/bin/env python3
"""What hipcc makes of ladder/sgemm_amd: instructions of each rung's loop over k, registers, occupancy.

    tools/amd_isa.py --csv results/gfx908/sgemm-amd-isa.csv     writes the table that the walk cites
    tools/amd_isa.py --check                                    fails where a kernel is not what it claims

Needs hipcc (apt-get install hipcc libamdhip64-dev), no GPU. --check wants of every kernel
  - no scratch memory (SCRATCH_ALLOWED lists exceptions with their reason),
  - no instruction that touches a register into which a load is still under way;
of the whole-tile kernels of the assembly rungs also
  - that their loads are there, and most FMAs of the loop run while the next tile's are under way,
  - waits for some loads while others fly on: s_waitcnt vmcnt(N), N > 0;
and of the matrix rung that it has matrix instructions.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LADDER = ROOT / "ladder" / "sgemm_amd"
FOLDERS = (LADDER, ROOT / "ladder" / "sgemm")  # two rows point at kernels of the CUDA ladder
FLAGS = ["-std=c++20", "-O3", "-ffp-contract=off", "-I", str(ROOT / "src"), "-I", str(ROOT / "include"), "-x", "hip", "-S"]

ASSEMBLY = ("amd_03_5", "amd_06_ours_gcn", "amd_07_4", "amd_07_5", "amd_07_6", "amd_07_8")  # rungs that are written in it
MATRIX = ("amd_11",)  # made of matrix instructions
FRAGMENTS = ("amd_07_6",)  # and read shared memory in it
SCRATCH_ALLOWED = {  # row -> reason
    "amd_03_4_split_copy": "64 sums and their operands in the 64 registers that hipcc leaves a thread without "
    "__launch_bounds__, as published",
    "amd_06_serial_buffers": "two sets of registers chosen by a number that is known only at run time, as published",
    "amd_09_1_cuda_float4": "r05 without __launch_bounds__, as published: 64 sums in 64 registers",
    "amd_10_cuda_double_buffer": "64 sums and two sets of operands in 64 registers, as published: the rung shows what moving a "
    "CUDA kernel over costs",
}
BLOCK_THREADS = {"amd_01_naive": 32, "amd_07_7_copying_lanes": 512}  # of the other rows 256

ROW = re.compile(r'rung\("(\w+)",\s*(?:nullptr|"\w+"),\s*([\w:]+(?:<[\w:]+>)?),')
WAVES_MOST, REGISTERS, LDS_BYTES, SIMDS, WAVE = 10, 256, 65536, 4, 64  # a SIMD of gfx906 and gfx908, a compute unit


class IsaError(Exception):
    pass


# ---------------------------------------------------------------- compile


def rows() -> dict[str, str]:
    """Row -> its launch function, as ladder/sgemm_amd/rungs.cu writes it."""
    found = dict(ROW.findall((LADDER / "rungs.cu").read_text(encoding="utf-8")))
    if not found:
        raise IsaError("ladder/sgemm_amd/rungs.cu has no rows of the form rung(\"name\", parent, launch, ...).")
    return found


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise IsaError(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def template_arguments(hipcc: str, folder: Path, launches: list[str]) -> dict[str, str]:
    """Launch function -> how its template arguments look in a symbol's name, the kernel's too."""
    text = '#include "rungs.hpp"\nnamespace KW_TARGET::amd {\n'
    text += "".join(f"KernelLaunch<Sgemm>* row_{i} = {launch};\n" for i, launch in enumerate(launches))
    (folder / "rows.hip").write_text(f"{text}}}\n", encoding="utf-8")
    run([hipcc, *FLAGS, "-I", str(LADDER), "--cuda-host-only", str(folder / "rows.hip"), "-o", str(folder / "rows.s")])
    symbols = re.findall(r"row_(\d+)E:\n\s+\.quad\s+(\w+)", (folder / "rows.s").read_text(encoding="utf-8"))
    found = {launches[int(i)]: re.search(r"\d[a-z_]+I(.+)EENS_6StatusE", symbol) for i, symbol in symbols}
    if len(found) != len(launches) or not all(found.values()):
        raise IsaError(f"of {len(launches)} launch functions the symbols of {len(found)} were found.")
    return {launch: match[1] for launch, match in found.items()}


def assembly(hipcc: str, arch: str, folder: Path, source: Path) -> str:
    target = folder / f"{source.stem}.s"
    if not target.exists():
        run([hipcc, *FLAGS, f"--offload-arch={arch}", "--cuda-device-only", str(source), "-o", str(target)])
    return target.read_text(encoding="utf-8")


# ---------------------------------------------------------------- one kernel


@dataclass
class Instruction:
    name: str
    operands: str
    by_hand: bool  # between the marks of an asm statement
    label: str = ""  # of the line, where it is one

    def branches(self) -> bool:
        return self.name.startswith(("s_cbranch", "s_branch", "s_endpgm"))

    def registers(self) -> set[int]:
        return registers(self.operands)

    def target(self) -> set[int]:
        """What a load writes."""
        return registers(self.operands.split(",")[0])


def registers(text: str) -> set[int]:
    """Vector registers: v7, v[4:7]."""
    found = {int(n) for n in re.findall(r"\bv(\d+)\b", text)}
    for first, last in re.findall(r"\bv\[(\d+):(\d+)\]", text):
        found.update(range(int(first), int(last) + 1))
    return found


@dataclass
class Kernel:
    symbol: str
    code: list[Instruction]
    numbers: dict[str, int]  # VGPRs and so on, from the compiler's comments
    threads: int  # of a block, at most: 1024 without __launch_bounds__
    body: list[Instruction] = field(default_factory=list)  # the loop over k

    def count(self, pattern: str, by_hand: bool | None = None) -> int:
        return sum(bool(re.fullmatch(pattern, i.name)) for i in self.body if by_hand in (None, i.by_hand))


FMA = r"v_(fma|fmac|mac|mad)_f32(_e32|_e64)?|v_pk_fma_f32"
MFMA = r"v_mfma_\w+"
LOAD = r"(global|flat|buffer)_load_\w+"
READ = r"ds_read\w*"


def parse(text: str) -> list[Kernel]:
    kernels = []
    sizes = re.findall(r"\.max_flat_workgroup_size: (\d+)\n\s+\.name:\s+(\w+)", text)
    threads = {name: int(size) for size, name in sizes}
    for match in re.finditer(r"^(_Z\w+):[^\n]*\n(.*?)^\.Lfunc_end(.*?); COMPUTE_PGM_RSRC2:SCRATCH_EN", text, re.M | re.S):
        numbers = {name: int(n) for name, n in re.findall(r"^; (\w+): (\d+)", match[3], re.M)}
        kernel = Kernel(match[1], instructions(match[2]), numbers, threads[match[1]])
        kernel.body = loop_over_k(kernel.code)
        kernels.append(kernel)
    return kernels


def instructions(text: str) -> list[Instruction]:
    code, by_hand = [], False
    for line in text.splitlines():
        if "#ASMSTART" in line or "#ASMEND" in line:
            by_hand = "#ASMSTART" in line
            continue
        if label := re.match(r"(\.LBB\w+):", line):
            code.append(Instruction("", "", False, label[1]))
        elif (words := line.split(";")[0].split(maxsplit=1)) and not words[0].startswith("."):
            code.append(Instruction(words[0], words[1] if len(words) > 1 else "", by_hand))
    return code


def loops(code: list[Instruction]) -> list[list[Instruction]]:
    """Of each set of blocks that lead to one another: their instructions, in the order of the text. Two nested loops are
    one such set. (From a branch back to its label would be too much: whatever the compiler has laid in between.)"""
    starts = sorted({0} | {at for at, i in enumerate(code) if i.label} | {at + 1 for at, i in enumerate(code) if i.branches()})
    blocks = [code[start:end] for start, end in zip(starts, [*starts[1:], len(code)], strict=True) if start < end]
    labels = {block[0].label: at for at, block in enumerate(blocks) if block[0].label}
    reached: list[set[int]] = []  # from each block, in one step or more
    for at, block in enumerate(blocks):
        after = {labels[block[-1].operands]} if block[-1].operands in labels else set()
        if block[-1].name not in ("s_branch", "s_endpgm") and at + 1 < len(blocks):
            after.add(at + 1)
        reached.append(after)
    for through in range(len(blocks)):
        for after in reached:
            if through in after:
                after |= reached[through]
    sets = {tuple(sorted(b for b in reached[at] if at in reached[b])) for at in range(len(blocks)) if at in reached[at]}
    return [[i for at in members for i in blocks[at]] for members in sorted(sets)]


def loop_over_k(code: list[Instruction]) -> list[Instruction]:
    """Among the loops that load the one with the most FMAs (the division of a block's number is made of FMAs too)."""

    def count(loop: list[Instruction], pattern: str) -> int:
        return sum(bool(re.fullmatch(pattern, i.name)) for i in loop)

    return max((loop for loop in loops(code) if count(loop, LOAD)), key=lambda loop: count(loop, FMA), default=[])


@dataclass
class Flight:
    """What is under way at each instruction, by the rule of the hardware: loads arrive in the order of issue, and
    s_waitcnt says how many may be left. Branches are taken as not taken."""

    global_loads: list[set[int]] = field(default_factory=list)
    shared: list[set[int]] = field(default_factory=list)  # LDS and scalar loads share a counter
    fmas_under_global: int = 0
    fmas_under_shared: int = 0
    partial_waits: int = 0  # that left global loads under way
    partial_reads: int = 0
    faults: list[str] = field(default_factory=list)

    def step(self, i: Instruction) -> None:
        if i.name in ("s_branch", "s_endpgm"):  # what follows is reached from elsewhere
            self.global_loads, self.shared = [], []
        elif i.name == "s_waitcnt":
            self.wait(i.operands)
        else:
            if touched := self.touched(i):
                self.faults.append(f"{i.name} {i.operands} touches v{min(touched)} while a load into it is under way")
            self.issue(i)
        if re.fullmatch(FMA, i.name):
            self.fmas_under_global += bool(self.global_loads)
            self.fmas_under_shared += any(self.shared)

    def touched(self, i: Instruction) -> set[int]:
        """Registers in flight that the instruction reads or writes. Two loads of one kind may share a target: the
        second arrives later."""
        on_global, on_shared = set().union(*self.global_loads), set().union(*self.shared)
        if not re.fullmatch(f"{LOAD}|{READ}", i.name):
            return i.registers() & (on_global | on_shared)
        sources = registers(i.operands.partition(",")[2])
        other_kind = on_shared if re.fullmatch(LOAD, i.name) else on_global
        return sources & (on_global | on_shared) | i.target() & other_kind

    def wait(self, operands: str) -> None:
        for counter, left in re.findall(r"(vmcnt|lgkmcnt)\((\d+)\)", operands):
            queue = self.global_loads if counter == "vmcnt" else self.shared
            del queue[: max(0, len(queue) - int(left))]
            if queue and counter == "vmcnt":
                self.partial_waits += 1
            elif any(queue):
                self.partial_reads += 1

    def issue(self, i: Instruction) -> None:
        if re.fullmatch(LOAD, i.name):
            self.global_loads.append(i.target())
        elif re.fullmatch(r"(global|flat|buffer)_store_\w+", i.name):
            self.global_loads.append(set())
        elif re.fullmatch(READ, i.name):
            self.shared.append(i.target())
        elif i.name.startswith(("ds_write", "s_load", "s_buffer_load")):
            self.shared.append(set())


def fly(code: list[Instruction], flight: Flight) -> Flight:
    for i in code:
        flight.step(i)
    return flight


def in_the_loop(kernel: Kernel) -> Flight:
    """Of one round through the loop, after another has set its start."""
    before = fly(kernel.body[:-1], Flight())  # without the branch back, where it is an s_branch
    return fly(kernel.body[:-1], Flight(before.global_loads, before.shared))


def faults(kernel: Kernel) -> list[str]:
    found = fly(kernel.code, Flight()).faults
    # Round the loop only where a load is written by hand: the compiler counts its own, on paths that this text order is not.
    return found + in_the_loop(kernel).faults if any(i.by_hand for i in kernel.code) else found


# ---------------------------------------------------------------- what is wanted of a kernel


def occupancy(kernel: Kernel, threads: int = 256) -> int:
    """Wavefronts a SIMD of gfx906 and gfx908 by vector registers and by shared memory, that of dynamic size apart. A block
    lies in one compute unit, its wavefronts spread over the SIMDs."""
    registers = max(kernel.numbers["NumVgprs"], kernel.numbers.get("NumAgprs", 0), 1)
    granules = -(-registers // 4) * 4
    waves = -(-threads // WAVE)  # of a block
    blocks = SIMDS * min(WAVES_MOST, REGISTERS // granules) // waves
    if lds := kernel.numbers["LDSByteSize"]:
        blocks = min(blocks, LDS_BYTES // lds)
    return blocks * waves // SIMDS


def assembly_complaints(row: str, kernel: Kernel) -> list[str]:
    said = []
    fmas, flight = kernel.count(FMA), in_the_loop(kernel)
    if kernel.count("global_load_dwordx4", by_hand=True) != 2:
        said.append("the loop has not two loads of global memory in assembly")
    if 2 * flight.fmas_under_global < fmas:
        said.append(f"{flight.fmas_under_global} of {fmas} FMAs run while the next tile's loads are under way")
    if flight.partial_waits == 0:
        said.append("no s_waitcnt vmcnt(N), N > 0: every wait is for all loads")
    if row.startswith(FRAGMENTS):
        if kernel.count(READ, by_hand=True) != kernel.count(READ):
            said.append("the compiler reads shared memory itself")
        if 2 * flight.fmas_under_shared < fmas:
            said.append(f"{flight.fmas_under_shared} of {fmas} FMAs run while fragments are under way")
        if any(i.name.startswith(("s_load", "s_buffer_load")) for i in kernel.body):
            said.append("scalar loads in the loop share lgkmcnt and arrive in any order")
    return said


def complaints(row: str, whole: Kernel, kernels: list[Kernel]) -> list[str]:
    said = assembly_complaints(row, whole) if row.startswith(ASSEMBLY) else []
    if row.startswith(MATRIX) and not whole.count(MFMA):
        said.append("no matrix instruction in its loop")
    for kernel in kernels:
        which = "whole tiles" if kernel is whole else "edges"
        if found := faults(kernel):
            said.append(f"{which}: {found[0]} ({len(found)} such)")
        scratch = kernel.numbers["ScratchSize"]
        if scratch and row not in SCRATCH_ALLOWED:
            said.append(f"{which}: {scratch} bytes of scratch memory a lane")
    return [f"{row}: {text}" for text in said]


def columns(row: str, kernel: Kernel) -> dict[str, object]:
    flight, n = in_the_loop(kernel), kernel.numbers
    return {
        "kernel": row,
        "instructions": len([i for i in kernel.body if i.name]),
        "fma": kernel.count(FMA),
        "mfma": kernel.count(MFMA),
        "fma_under_global_loads": flight.fmas_under_global,
        "fma_under_shared_reads": flight.fmas_under_shared,
        "global_load_dwordx4": kernel.count("global_load_dwordx4"),
        "other_global_loads": kernel.count(LOAD) - kernel.count("global_load_dwordx4"),
        "ds_read_b128": kernel.count("ds_read_b128"),
        "ds_read2": kernel.count(r"ds_read2\w*"),
        "other_ds_reads": kernel.count(READ) - kernel.count(r"ds_read_b128|ds_read2\w*"),
        "ds_writes": kernel.count(r"ds_write\w*"),
        "s_waitcnt": kernel.count("s_waitcnt"),
        "s_barrier": kernel.count("s_barrier"),
        "vgprs": n["NumVgprs"],
        "agprs": n.get("NumAgprs", 0),
        "scratch_bytes": n["ScratchSize"],
        "lds_bytes": n["LDSByteSize"],
        "waves_per_simd": occupancy(kernel, BLOCK_THREADS.get(row, 256)),
    }


# ---------------------------------------------------------------- all rows


def kernels_of(hipcc: str, arch: str, folder: Path) -> dict[str, tuple[Kernel, list[Kernel]]]:
    """Row -> its kernel for whole tiles, and that together with the one for edges."""
    launches = rows()
    arguments = template_arguments(hipcc, folder, sorted({l for l in launches.values() if "<" in l}))
    found = {}
    for row, launch in launches.items():
        function = launch.split("<")[0]
        source = next((path for f in FOLDERS if (path := f / f"{function}.cu").is_file()), None)
        if source is None:
            raise IsaError(f"{row}: no {function}.cu in ladder/sgemm_amd or ladder/sgemm.")
        kernels = parse(assembly(hipcc, arch, folder, source))
        if launch in arguments:
            kernels = [k for k in kernels if re.search(rf"I{re.escape(arguments[launch])}Lb[01]EE", k.symbol)]
        whole = [k for k in kernels if "Lb0EE" in k.symbol] or kernels
        if len(whole) != 1 or len(kernels) > 2:
            raise IsaError(f"{row}: {len(kernels)} kernels in {source.name} where one or two were expected.")
        found[row] = whole[0], kernels
    return found


def write(path: Path, table: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="gfx908", help="target (default gfx908, the MI100)")
    parser.add_argument("--hipcc", default="hipcc")
    parser.add_argument("--csv", type=Path, help="write the table of the rows' loops to this file")
    parser.add_argument("--check", action="store_true", help="fail where a kernel is not what it claims")
    parser.add_argument("--keep", type=Path, help="leave the assembly in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.s"):
            old.unlink()
        try:
            found = kernels_of(options.hipcc, options.arch, folder)
        except (IsaError, OSError) as error:
            print(f"amd_isa: {error}", file=sys.stderr)
            return 1
    if options.csv:
        write(options.csv, [columns(row, whole) for row, (whole, _) in found.items()])
    if not options.check:
        return 0
    said = [text for row, (whole, kernels) in found.items() for text in complaints(row, whole, kernels)]
    missing = [name for name in ASSEMBLY if not any(row.startswith(name) for row in found)]
    said += [f"{name}: no such row, but it is one of the assembly rungs" for name in missing]
    for text in said:
        print(f"amd_isa: {text}", file=sys.stderr)
    if not said:
        print(f"amd_isa: {options.arch}: {len(found)} rows, no scratch memory but what is listed, waits as claimed")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
