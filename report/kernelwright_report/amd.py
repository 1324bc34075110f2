"""Tables of the AMD ladder: its times beside those that S2 published for an MI100, and what hipcc made of its loops."""

from __future__ import annotations

import csv
from collections.abc import Callable

from . import tables, text
from .results import ResultError, ResultFile, Shape
from .tables import Cell, Table


def published(result: ResultFile, shape: Shape, content: str) -> Table:
    """S2's columns as it published them, of an MI100, and the same of this device."""
    header = ["kernel", "MI100: ms", "over the step before", "of rocBLAS", "TFLOP/s", "of peak"]
    header += [f"{result.device['name'].removeprefix('NVIDIA ')}: ms", "over the step before", "of cuBLAS", "TFLOP/s", "of peak"]
    rows = []
    for step in csv.DictReader(content.splitlines()):
        there = [step[name] for name in ("ms", "speedup", "rocblas_ratio", "tflops", "tflops_ratio")]
        shown = [text.number(float(x)) if x else text.NONE for x in there]
        for column, write in ((1, text.times), (2, text.percent), (4, text.percent)):
            shown[column] = write(float(there[column])) if there[column] else text.NONE
        row = result.at(step["kernel"], shape)
        here = [text.NONE] * 5
        if row is not None and row.median_us is not None and row.gflops is not None:
            here = [text.number(row.median_us / 1e3), text.times(row.vs_previous), text.percent(row.vs_peer)]
            here += [text.number(row.gflops / 1e3), text.percent(row.of_peak)]
        rows.append([Cell(step["kernel"], link=step["kernel"]), *map(Cell, shown + here)])
    caption = f"{shape.label}: on the left as S2's author published them, with a peak of 23.1 TFLOP/s; what is over the step "
    return Table(caption + "before follows S2's order there, the parents of the rungs here.", header, rows)


def published_ms(content: str) -> dict[str, float]:
    """Kernel -> milliseconds at 4096, from ladder/sgemm_amd/published.csv."""
    return {row["kernel"]: float(row["ms"]) for row in csv.DictReader(content.splitlines())}


def ladder(result: ResultFile, shape: Shape, ideas: dict[str, str], published: dict[str, float]) -> Table:
    """The walk as S2 prints it: time, gain over the step before, ratio to the vendor, TFLOP/s, share of peak; with the
    published time in front."""
    measured = tables.ladder(result, shape, ideas)
    header = [*measured.header[:2], "MI100, published", *measured.header[2:]]
    rows = []
    for row in measured.rows:
        time = published.get(row[0].text)
        rows.append([*row[:2], Cell(text.NONE if time is None else text.microseconds(time * 1e3)), *row[2:]])
    return Table(f"{measured.caption} MI100: the milliseconds of S2's author at 4096.", header, rows, left=2)


def _share(part: str) -> Callable[[dict[str, str]], str]:
    return lambda row: text.percent(int(row[part]) / int(row["fma"])) if int(row["fma"]) else text.NONE


def _registers(row: dict[str, str]) -> str:
    return row["vgprs"] if row["agprs"] == "0" else f"{row['vgprs']} + {row['agprs']}"


COLUMNS: dict[str, Callable[[dict[str, str]], str]] = {
    "instructions": lambda row: row["instructions"],
    "FMAs": lambda row: row["fma"],
    "MFMAs": lambda row: row["mfma"],
    "of them under global loads": _share("fma_under_global_loads"),
    "under LDS reads": _share("fma_under_shared_reads"),
    "16-byte global loads": lambda row: row["global_load_dwordx4"],
    "other": lambda row: row["other_global_loads"],
    "ds_read_b128": lambda row: row["ds_read_b128"],
    "ds_read2": lambda row: row["ds_read2"],
    "other reads": lambda row: row["other_ds_reads"],
    "waits": lambda row: row["s_waitcnt"],
    "VGPRs + AGPRs": _registers,
    "LDS, bytes": lambda row: row["lds_bytes"],
    "scratch, bytes": lambda row: row["scratch_bytes"],
    "waves a SIMD": lambda row: row["waves_per_simd"],
}


def isa(content: str) -> Table:
    """A file of tools/amd_isa.py."""
    try:
        rows = [
            [Cell(row["kernel"], link=row["kernel"]), *(Cell(show(row)) for show in COLUMNS.values())]
            for row in csv.DictReader(content.splitlines())
        ]
    except (KeyError, ValueError) as error:
        raise ResultError(f"not a table of tools/amd_isa.py ({error}).") from None
    if not rows:
        raise ResultError("no kernels: tools/amd_isa.py --csv writes such a file.")
    return Table("The loop over k of each rung's kernel for whole tiles.", ["kernel", *COLUMNS], rows)
