"""One row of a result file: the problem that it solves, its times and their spread, its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .reductions import Reduction, reduction_of
from .schema import ATTENTION, LEVEL3, ROLES, ROWWISE


@dataclass(frozen=True, order=True)
class Shape:
    """What makes two rows comparable: the problem that they solve."""

    flops: int
    m: int
    n: int
    k: int
    op_a: str
    op_b: str
    batch: int

    @property
    def square(self) -> bool:
        return self.m == self.n and self.k in (self.m, 0) and self.plain

    @property
    def plain(self) -> bool:
        return self.op_a == self.op_b == "N" and self.batch == 1

    @property
    def label(self) -> str:
        if self.square and self.k:
            return str(self.m)
        text = "×".join(str(x) for x in (self.m, self.n, self.k))
        if self.op_a != "N" or self.op_b != "N":
            text += f" {self.op_a}{self.op_b}"
        return text if self.batch == 1 else f"{text} ×{self.batch}"


@dataclass(frozen=True, order=True)
class Program:
    """A whole program: what its rows have in common."""

    label: str


@dataclass(frozen=True, order=True)
class Rows:
    """A row-wise operation: what its rows have in common."""

    op: str
    dtype: str
    rows: int
    cols: int
    ld: int
    misalign: int
    residual: bool
    in_place: bool

    @property
    def size(self) -> str:
        said = f" ld {self.ld}" if self.ld != self.cols else ""
        said += f" at {self.misalign}" if self.misalign else ""
        said += " residual" if self.residual else ""
        return f"{self.rows}×{self.cols}{said}{' in place' if self.in_place else ''}"

    @property
    def label(self) -> str:
        return f"{self.op} {self.dtype} {self.size}"


@dataclass(frozen=True, order=True)
class Heads:
    """Attention: what its rows have in common."""

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    dim: int
    causal: str

    @property
    def size(self) -> str:
        heads = str(self.heads) if self.heads == self.kv_heads else f"{self.heads}/{self.kv_heads}"
        return "×".join(map(str, (self.batch, heads, self.queries, self.keys, self.dim)))

    @property
    def label(self) -> str:
        return self.size if self.causal == "none" else f"{self.size} {self.causal}"


@dataclass(frozen=True)
class Range:
    """From where to where a value spreads, as factors of it."""

    low: float
    high: float

    @property
    def inverse(self) -> Range:
        """Of what is divided by the value: a rate, by the time."""
        return Range(1 / max(self.high, 1e-3), 1 / max(self.low, 1e-3))

    @property
    def width(self) -> float:
        return max(self.high - 1, 1 - self.low)


EXACT = Range(1.0, 1.0)


@dataclass(frozen=True)
class Row:
    fields: dict

    def __getattr__(self, name: str):
        if name.startswith("__"):  # copy and pickle probe these before `fields` exists
            raise AttributeError(name)
        return self.fields.get(name)

    @cached_property
    def shape(self) -> Shape | Reduction | Rows | Heads | Program:
        if self.op == "app":
            return Program(self.app)
        if self.op == "reduce":
            return reduction_of(self)
        if self.op in ROWWISE:
            ld = self.cols if self.ld is None else self.ld
            return Rows(self.op, self.dtype, self.rows, self.cols, ld, self.misalign or 0, bool(self.residual), bool(self.in_place))
        if self.op == "attention":
            return Heads(*(self.fields[name] for name in ATTENTION))
        m, n, k, batch = self.m or 0, self.n or 0, self.k, self.batch or 1
        if self.op == "scale_add":  # two dimensions; one multiply and one add an element
            return Shape(2 * m * n * batch, m, n, m if m == n else 1, "N", "N", batch)
        k = k or 0
        if self.op == "ctrsm":
            return Shape(4 * m * n * k * batch, m, n, k, self.op_a or "N", "N", batch)
        if self.op in LEVEL3:  # as BLAS counts them: of a triangle, or with one, half
            flops = {"ssymm": 2 * m * n * k, "ssyr2k": 2 * m * (m + 1) * k, "ssyrk": m * (m + 1) * k, "ssyrkx": m * (m + 1) * k}
            return Shape(flops.get(self.op, m * n * k) * batch, m, n, k, self.op_a or "N", self.op_b or "N", batch)
        return Shape(2 * m * n * k * batch, m, n, k, self.op_a or "N", self.op_b or "N", batch)

    @property
    def median_us(self) -> float | None:
        return (self.time_us or {}).get("median")

    @property
    def spread(self) -> float | None:
        """Half the interquartile range of the repeats, as a share of the median: the ± of the time."""
        iqr, repeats = (self.time_us or {}).get("iqr"), (self.time_us or {}).get("repeats")
        return iqr / 2 / self.median_us if self.median_us and iqr is not None and repeats != 1 else None

    @property
    def time_range(self) -> Range:
        """Where about half of the repeats lie, as shares of the median; never beyond the shortest and the longest."""
        if self.spread is None:
            return EXACT
        shortest, longest = (self.time_us.get(name) or self.median_us for name in ("min", "max"))
        low = max(1 - self.spread, min(shortest / self.median_us, 1))
        return Range(low, min(1 + self.spread, max(longest / self.median_us, 1)))

    @property
    def max_error(self) -> float | None:
        return (self.error or {}).get("max")


def ladder_order(row: Row) -> tuple:
    """Rungs by number (the CPU loop is r00), then what the library uses, then the vendor."""
    rung = row.kernel[:1] == "r" and row.kernel[1:3].isdigit()
    return (0, row.kernel) if rung else (1 + ROLES.index(row.role), "")
