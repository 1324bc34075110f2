"""One line of figures of a kernel and the command that runs it: what `<!-- rung: [FILE] KERNEL [N] -->` stands for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from . import text
from .pictures import DEFAULT_SIZE
from .reductions import length_near, over_first
from .results import ResultError, ResultFile
from .rows import Row

if TYPE_CHECKING:
    from .project import Project


def line(project: Project, document: Path, words: list[str]) -> str:
    """The rung's figures, and the command that runs it."""
    kernel = words[1] if words[0].endswith(".json") else words[0]
    ladder = f"{document.parent.name}/" if document.parent.name in ("reduce", "attention") else ""
    return f"{_figures(project, document, words)} Try it: `./dev rung {ladder}{kernel.split('_')[0]}`."


def _figures(project: Project, document: Path, words: list[str]) -> str:
    """Speed at three sizes, then what the step gained at the usual one."""
    if not words[0].endswith(".json"):
        source = re.search(r"^<!-- machine: (\S+) -->$", document.read_text(encoding="utf-8"), re.MULTILINE)
        if not source:
            raise ResultError("a rung's figures come from the file that it names or of the document's machine mark; it has neither.")
        words = [source[1], *words]
    result, kernel = project.load(words[0]), words[1]
    if kernel not in result.timed_kernels:
        raise ResultError(f"{words[0]} has no time of '{kernel}'; it has {', '.join(result.timed_kernels)}.")
    if result.op == "reduce":
        return _of_reduction(result, kernel, int(words[2]) if len(words) > 2 else None)
    unit, scale = text.rate_unit(result.rows)
    if result.op == "attention":
        return _of_attention(next(row for row in result.rows if row.kernel == kernel and row.median_us), unit, scale)
    shapes = list(dict.fromkeys(result.shape_near(size) for size in (1024, DEFAULT_SIZE, 16384)))
    timed = [(shape.label, row) for shape in shapes if (row := result.at(kernel, shape))]
    sizes, speeds = " / ".join(s for s, _ in timed), " / ".join(text.number(row.gflops / scale) for _, row in timed)
    parts = [f"**{speeds} {unit}** at {sizes}"]
    row = result.at(kernel, result.shape_near(DEFAULT_SIZE))
    if row:
        gains = [f"{text.times(row.vs_previous)} its parent"] if row.vs_previous else []
        gains += [f"{text.percent(row.of_peak)} of peak"] if row.of_peak else []
        gains += [f"{text.percent(row.vs_peer)} of {text.kernel(row.peer)}"] if row.vs_peer else []
        parts += [f"at {row.shape.label} {', '.join(gains)}"] if gains else []
    return "; ".join(parts) + "."


def _of_attention(row: Row, unit: str, scale: float) -> str:
    gains = [f"{text.times(row.vs_previous)} its parent"] if row.vs_previous else []
    gains += [f"{text.percent(row.of_peak)} of peak"] if row.of_peak else []
    return f"**{text.number(row.gflops / scale)} {unit}** at {row.shape.label}; {', '.join(gains)}."


def _of_reduction(result: ResultFile, kernel: str, size: int | None) -> str:
    shape = length_near(result, size)
    row = result.at(kernel, shape) if shape else None
    if row is None:
        raise ResultError(f"{result.path} has no time of '{kernel}' over a whole array{f' of {size}' if size else ''}.")
    gains = [f"{text.percent(row.of_peak)} of read bandwidth"] if row.of_peak else []
    gains += [f"{text.times(row.vs_previous)} its parent"] if row.vs_previous else []
    gains += [f"{text.times(over_first(result, shape)[kernel])} the first rung"] if over_first(result, shape) else []
    speed = f"**{text.microseconds(row.median_us)}, {text.number(row.gbs)} GB/s** at {shape.size}"
    return f"{'; '.join([speed, ', '.join(gains)]) if gains else speed}."
