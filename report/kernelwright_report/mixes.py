"""What a kernel's warps execute, by kind of instruction, as ncu counted opcodes; and traces beside counters in one line a
ladder: what `<!-- table: FILE opcodes -->` and `<!-- table: FILE traces -->` stand for."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable

from . import text
from .counters import kernel_of
from .results import ResultError
from .tables import Cell, Table

KINDS: list[tuple[str, str]] = [  # column, opcodes; the first that fits
    ("FFMA", r"FFMA"),
    ("tensor cores", r"[HI]GMMA|[HI]MMA"),
    ("other FP32", r"F(ADD|MUL|MNMX|SEL|SETP)|F2FP|MUFU|HADD2|VIMNMX"),
    ("shared reads", r"LDS|LDSM"),
    ("shared stores", r"STS"),
    ("global loads", r"LDG|LD"),
    ("copies to shared", r"LDGSTS|UBLKCP|UTMALDG|LDGDEPBAR"),
    ("global stores", r"STG|ST|RED|ATOM|ATOMG"),
    ("barriers", r"BAR|SYNCS|WARPSYNC|DEPBAR|WARPGROUP|ERRBAR|MEMBAR"),
    ("branches", r"BRA|BSSY|BSYNC|EXIT|BRX|NANOSLEEP|CALL|RET"),
    ("addresses, moves", r".*"),
]


METRIC = "sass__inst_executed_per_opcode"


def counts(content: str, names: Iterable[str]) -> dict[str, Counter[str]]:
    """Kernel -> kind -> how many instructions its warps executed."""
    rows: dict[str, Counter[str]] = {}
    lines = [line for line in content.splitlines() if line.startswith('"')]
    names = list(names)
    for row in csv.DictReader(lines):
        kernel = None if "amd::" in row["Kernel Name"] else kernel_of(row["Kernel Name"], names)
        if kernel is None or kernel in rows:
            continue
        kinds: Counter[str] = Counter()
        for opcode, count in re.findall(r"(\w+): ([\d,]+)", row["Metric Value"]):
            kind = next(name for name, known in KINDS if re.fullmatch(known, opcode))
            kinds[kind] += int(count.replace(",", ""))
        rows[kernel] = kinds
    if not rows:
        raise ResultError("no opcodes in it: it should hold what tools/rung_counters.sh printed.")
    return rows


def opcodes(content: str, names: Iterable[str]) -> Table:
    """A line a kernel: of what its warps executed, how much is of which kind."""
    rows = counts(content, names)
    shown = [name for name, _ in KINDS if any(kinds[name] for kinds in rows.values())]
    table = [
        [Cell(kernel, link=kernel), *(Cell(text.percent(kinds[name] / kinds.total()) if kinds[name] else text.NONE) for name in shown)]
        for kernel, kinds in sorted(rows.items())
    ]
    caption = "Of the instructions that warps executed at 1024³, the share of each kind; of rungs with several launches the product."
    return Table(caption, ["kernel", *shown], table)


TOLERANCE = 0.02


def traces(content: str) -> Table:
    """A line a ladder and problem of results/h200/trace-vs-ncu.csv: pairs, how many agree, how many have which reason."""
    groups: dict[tuple[str, str], list[dict]] = {}
    try:
        for row in csv.DictReader(content.splitlines()):
            ladder = "AMD" if row["rung"].startswith("amd_") else "sum" if "^" in row["size"] else "SGEMM"
            ladder = "attention" if "@" in row["size"] else ladder
            groups.setdefault((ladder, row["size"].partition("@")[0]), []).append({**row, "off": abs(float(row["ratio"]) - 1) > TOLERANCE})
    except (KeyError, ValueError, TypeError) as error:
        raise ResultError(f"not a table of tools/trace_vs_ncu.py ({error}).") from None
    if not groups:
        raise ResultError("not a table of tools/trace_vs_ncu.py: it is empty.")
    lines = []
    for (ladder, size), rows in [*groups.items(), (("all", ""), [row for rows in groups.values() for row in rows])]:
        off = [row for row in rows if row["off"]]
        merged = sum("nvcc" in row["reason"] for row in off)
        lines.append([Cell(ladder), Cell(size), *(Cell(str(count)) for count in (len({r["rung"] for r in rows}), len(rows), len(rows) - len(off))),
                      Cell(text.percent(1 - len(off) / len(rows))), Cell(str(merged)), Cell(str(len(off) - merged))])  # fmt: skip
    header = ["ladder", "problem", "rungs", "pairs", "within 2 %", "share", "nvcc merged the accesses", "other"]
    return Table("Pairs of a rung's kernel and a counter; each of the last two columns has its reasons in the file.", header, lines, left=2)
