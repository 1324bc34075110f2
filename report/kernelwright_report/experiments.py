"""Tables and heat maps of the programs in tools/experiments: first launches, blocks and grids of a reduction, tile sizes."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable

from . import text, theme
from .results import ResultError
from .scene import Scene
from .tables import Cell, Table


def _rows(content: str, *columns: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(content.splitlines()))
    if not rows or any(column not in rows[0] for column in columns):
        raise ResultError(f"not a table with the columns {', '.join(columns)}: tools/experiments writes one.")
    return rows


def first_launch(*contents: str) -> Table:
    """One line a loading, memory and size: the first launch of all, those after an allocation, and the others."""
    rows = []
    for content in contents:
        cells: dict[tuple[str, str, int], dict[tuple[int, int], float]] = {}
        for row in _rows(content, "loading", "memory", "n", "outer", "inner", "us"):
            key = (row["loading"], row["memory"], int(row["n"]))
            cells.setdefault(key, {})[int(row["outer"]), int(row["inner"])] = float(row["us"])
        for (loading, memory, n), times in cells.items():
            after = [us for (outer, inner), us in times.items() if inner == 0 and outer > 0]
            later = [us for (_, inner), us in times.items() if inner > 0]
            shown = [times[0, 0], statistics.median(after), min(later), statistics.median(later), max(later)]
            ratio = max(times.values()) / min(later)
            rows.append([Cell(loading), Cell(memory), Cell(str(n)), *(Cell(text.microseconds(us)) for us in shown),
                         Cell(text.times(ratio))])  # fmt: skip
    header = ["modules loaded", "memory", "n", "the kernel's first launch", "first after an allocation, median"]
    header += ["other launches, min", "median", "max", "max of all over min"]
    return Table("Times between two events around one launch, ten allocations with ten launches each.", header, rows, left=2)


def double_buffer(content: str) -> Table:
    """r09's time over r10's, by size: by mean and by minimum, of all launches and of all but the first after an allocation."""
    times: dict[tuple[str, int, str], list[tuple[int, float]]] = {}
    for row in _rows(content, "rung", "memory", "n", "outer", "inner", "us"):
        times.setdefault((row["memory"], int(row["n"]), row["rung"]), []).append((int(row["inner"]), float(row["us"])))
    lines = []
    for n in sorted({n for _, n, _ in times}):
        cells = []
        for memory in ("managed", "device"):
            fake, real = (times[memory, n, rung] for rung in ("r09", "r10"))
            for of, first in ((statistics.mean, 0), (min, 0), (statistics.mean, 1), (min, 1)):
                ratio = of([us for inner, us in fake if inner >= first]) / of([us for inner, us in real if inner >= first])
                cells.append(Cell(f"{ratio:.2f}", "best" if ratio < 1 else ""))
        lines.append([Cell(str(n)), Cell(str(len(times["managed", n, "r09"]))), *cells])
    header = ["n", "launches"]
    for memory in ("managed", "device"):
        header += [f"{memory}: mean of all", "minimum of all", "mean without first launches", "minimum without"]
    caption = "r09's time over r10's, each statistic of its own launches; marked where the fake double buffer is faster."
    return Table(caption, header, lines)


def tile_sizes(content: str) -> Table:
    rows = _rows(content, "bm", "bn", "bk", "tm", "tn", "threads", "registers", "shared", "blocks", "us", "tflops")
    best = max(float(row["tflops"]) for row in rows)
    lines = []
    for row in sorted(rows, key=lambda row: -float(row["tflops"])):
        lines.append([
            Cell(f"{row['bm']} × {row['bn']} × {row['bk']}"), Cell(f"{row['tm']} × {row['tn']}"),
            *(Cell(row[name]) for name in ("threads", "registers", "shared", "blocks")),
            Cell(text.number(float(row["tflops"])), "best" if float(row["tflops"]) == best else ""),
        ])  # fmt: skip
    header = ["BM × BN × BK", "TM × TN", "threads a block", "registers a thread", "shared bytes", "blocks an SM", "TFLOP/s"]
    return Table("Median times at 4096.", header, lines, left=2)


def openblas(content: str) -> Table:
    """One line: what OpenBLAS reached at each size (tools/experiments/openblas_sizes.cpp)."""
    rows = _rows("\n".join(line for line in content.splitlines() if not line.startswith("#")), "n", "ms", "tflops")
    head = next((line.lstrip("# ") for line in content.splitlines() if line.startswith("#")), "")
    cells = [Cell("OpenBLAS"), *(Cell(text.number(float(row["tflops"]))) for row in rows)]
    return Table(f"TFLOP/s from the median time; {head}.", ["", *(row["n"] for row in rows)], [cells])


# ---------------------------------------------------------------- heat maps


def _heat(title: str, across: str, down: str, columns: list[str], lines: list[str],
          value: Callable[[int, int], float | None], note: str) -> str:  # fmt: skip
    """A square a pair, the further along the ramp the larger, with its number in it; the largest is outlined."""
    left, top, width, height = 150, 74, 58, 34
    scene = Scene(max(left + width * len(columns) + 30, 420))
    scene.heading(14, title)
    scene.text(24, 44, note, muted=True)
    known = {(i, j): x for i in range(len(lines)) for j in range(len(columns)) if (x := value(i, j)) is not None}
    low, high = min(known.values()), max(known.values())
    for j, column in enumerate(columns):
        scene.text(left + j * width + width / 2, top - 8, column, middle=True, muted=True, size=11)
    for i, line in enumerate(lines):
        scene.text(24, top + i * height + 21, line, muted=True, size=11)
        for j in range(len(columns)):
            x, y = left + j * width, top + i * height
            if (i, j) not in known:
                continue
            step = round((theme.STEPS - 1) * (known[i, j] - low) / max(high - low, 1e-9))
            if known[i, j] == high:
                scene.box(x, y, width - 2, height - 2, stroke="fail")
            scene.box(x + 1, y + 1, width - 4, height - 4, colour=theme.ramp(step, theme.STEPS))
            on = 31 if step > 12 else 0
            scene.text(x + width / 2 - 1, y + 21, text.number(known[i, j]), middle=True, size=11, on=on)
    bottom = top + len(lines) * height
    scene.text(left, bottom + 18, across, muted=True)
    scene.text(24, bottom + 18, down, muted=True)
    return scene.svg(bottom + 32)


def draw_block_grid(content: str) -> str:
    rows = _rows(content, "block", "grid", "us", "gbs")
    found = {(int(row["block"]), int(row["grid"])): float(row["gbs"]) for row in rows}
    blocks, grids = (sorted({key[i] for key in found}) for i in (0, 1))
    return _heat("GB/s of a sum of 2²⁵ floats", "blocks of the grid", "threads a block", [str(g) for g in grids],
                 [str(b) for b in blocks], lambda i, j: found.get((blocks[i], grids[j])),
                 "r07's kernel: four loads, then their additions; red: the best")  # fmt: skip


def draw_tile_sizes(content: str) -> str:
    rows = _rows(content, "bm", "bn", "bk", "tm", "tn", "tflops")
    found = {(f"{r['bm']} × {r['bn']}, {r['tm']} × {r['tn']}", int(r["bk"])): float(r["tflops"]) for r in rows}
    tiles = list(dict.fromkeys(tile for tile, _ in found))
    tiles.sort(key=lambda tile: -max(x for (t, _), x in found.items() if t == tile))
    depths = sorted({depth for _, depth in found})
    return _heat("TFLOP/s at 4096 of r10's kernel over its tile", "BK, steps along k a tile", "BM × BN, TM × TN",
                 [str(depth) for depth in depths], tiles, lambda i, j: found.get((tiles[i], depths[j])),
                 "red: the best")  # fmt: skip


DRAWINGS = {"block-grid": draw_block_grid, "tile-sizes": draw_tile_sizes}
