"""What makes two rows of reductions comparable, and which of a file's problems a plot or table takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import text

if TYPE_CHECKING:
    from .results import ResultFile
    from .rows import Row

OPS = ("sum", "mean", "min", "max", "argmin", "argmax", "sum_of_squares", "l1_norm", "l2_norm", "max_norm",
       "variance", "min_max")  # fmt: skip
TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64")
SHAPES = ("whole", "rows", "columns", "segments")


def _rank(known: tuple[str, ...], name: str) -> tuple[int, str]:
    return (known.index(name), "") if name in known else (len(known), name)


@dataclass(frozen=True, order=True)
class Reduction:
    rank: tuple  # operation, type, shape: in the order in which they are listed
    n: int
    rows: int
    cols: int
    ld: int
    segments: int
    lengths: str
    misalign: int
    correction: int
    reduce_op: str
    dtype: str
    kind: str

    @property
    def size(self) -> str:
        if self.kind == "whole":
            shown = text.length(self.n)
        elif self.kind == "segments":
            shown = f"{text.whole(self.segments)} segments"
            shown += f", {self.lengths.replace('_', ' ')}" if self.lengths else ""
        else:
            shown = f"{self.kind} of {self.rows}×{self.cols}"
            if self.ld > self.cols:
                shown += f" in {self.ld}"
        return f"{shown}, {self.misalign} past" if self.misalign else shown

    @property
    def family(self) -> str:
        name = f"{self.reduce_op} of {self.dtype}"
        return f"{name}, correction {self.correction}" if self.correction else name

    @property
    def label(self) -> str:
        return f"{self.family}: {self.size}"


def reduction_of(row: Row) -> Reduction:
    op, dtype, kind = row.reduce_op, row.dtype, row.fields["shape"]
    rank = (_rank(OPS, op), _rank(TYPES, dtype), _rank(SHAPES, kind))
    numbers = [row.fields.get(name) or 0 for name in ("n", "rows", "cols", "ld", "segments")]
    return Reduction(rank, *numbers, row.lengths or "", row.misalign or 0, row.correction or 0, op, dtype, kind)


def lengths(result: ResultFile) -> list[Reduction]:
    """The timed whole arrays that differ in length alone: of the family that has most of them."""
    families: dict[str, list[Reduction]] = {}
    for shape in result.timed_shapes:
        if shape.kind == "whole" and shape.misalign == 0:
            families.setdefault(shape.family, []).append(shape)
    return max(families.values(), key=len, default=[])


def length_near(result: ResultFile, size: int | None) -> Reduction | None:
    """The length of that size where it was timed, else the longest of those that most kernels have; nothing where
    there is none."""
    known = lengths(result)
    return next((shape for shape in known if shape.n == size), result.most_shared(known) if known else None)


def own(result: ResultFile, shape: Reduction) -> Row | None:
    """The library's row: the first kernel of its list that took the problem."""
    rows = (result.at(kernel, shape) for kernel in result.kernels if result.role(kernel) == "production")
    return next((row for row in rows if row), None)


def peer(result: ResultFile, shape: Reduction) -> Row | None:
    rows = (result.at(kernel, shape) for kernel in result.kernels if result.role(kernel) == "peer")
    return next((row for row in rows if row), None)


def over_first(result: ResultFile, shape: Reduction) -> dict[str, float]:
    """Kernel -> speed-up over the lowest rung that was timed at that shape."""
    rows = [row for kernel in result.timed_kernels if (row := result.at(kernel, shape))]
    first = next((row for row in rows if row.role == "rung"), None)
    return {row.kernel: first.median_us / row.median_us for row in rows} if first else {}
