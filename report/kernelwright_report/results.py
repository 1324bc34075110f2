"""Result files as the rest of the report sees them: which kernels were timed at which problems, and what to say of
those that were not."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import schema, text
from .reductions import Reduction
from .rows import Row, Shape, ladder_order
from .schema import NoFile, NoRows, ResultError

__all__ = ["NoFile", "NoRows", "ResultError", "ResultFile", "Row", "Shape", "load"]

OWN_BOUND = 4  # a kernel whose bound is so many times the usual one is held to one of its own


def evenly(items: list, most: int) -> list:
    """At most so many of the items, evenly over all of them, the last one among them."""
    if len(items) <= most:
        return items
    return [items[round((i + 1) * len(items) / most) - 1] for i in range(most)]


@dataclass(frozen=True)
class ResultFile:
    """The rows of one operation in one JSON file, in ladder order; where and how they were measured."""

    path: Path
    command: str
    device: dict
    software: dict
    date: str | None
    rows: tuple[Row, ...]
    digest: str
    interrupted: bool = False

    @property
    def op(self) -> str:
        return self.rows[0].op

    @cached_property
    def kind(self) -> str:
        """bench, host (the host's times), sustained, distributed, apps, accuracy or verify: what the file can show."""
        if "accuracy" in self.command.split():
            return "accuracy"
        if self.op == "app":
            return "apps"
        timed = [row for row in self.rows if row.median_us is not None]
        if not timed or self.device["kind"] == "host-simt":
            return "verify"
        if any(row.timing == schema.SUSTAINED_TIMING for row in timed):
            return "sustained"
        if any(row.gpus is not None for row in timed):
            return "distributed"
        return "host" if any(row.timing == schema.HOST_TIMING for row in timed) else "bench"

    @cached_property
    def is_suite(self) -> bool:
        """An accuracy file of the suite: many kinds of data, each row beside the peer's."""
        return any(row.seeds is not None for row in self.rows)

    @cached_property
    def kernels(self) -> list[str]:
        return list(dict.fromkeys(row.kernel for row in self.rows))

    @cached_property
    def roles(self) -> dict[str, str]:
        return {row.kernel: row.role for row in reversed(self.rows)}

    def role(self, kernel: str) -> str:
        return self.roles[kernel]

    @cached_property
    def shapes(self) -> list[Shape] | list[Reduction]:
        return sorted({row.shape for row in self.rows})

    @cached_property
    def table(self) -> dict[tuple[str, Shape | Reduction], Row]:
        """A row of each cell, one with a time where there is one."""
        return {(row.kernel, row.shape): row for row in sorted(self.rows, key=lambda row: row.median_us is not None)}

    def at(self, kernel: str, shape: Shape | Reduction) -> Row | None:
        """The row that carries a time, or nothing."""
        row = self.table.get((kernel, shape))
        return row if row is not None and row.median_us is not None else None

    @cached_property
    def timed_shapes(self) -> list[Shape] | list[Reduction]:
        return [s for s in self.shapes if any(self.at(kernel, s) for kernel in self.kernels)]

    @cached_property
    def timed_kernels(self) -> list[str]:
        return [k for k in self.kernels if any(self.at(k, shape) for shape in self.timed_shapes)]

    def timed_at(self, shape: Shape | Reduction) -> list[Row]:
        """The timed rows of one problem, in ladder order."""
        return [row for kernel in self.timed_kernels if (row := self.at(kernel, shape))]

    def most_shared(self, shapes: list) -> Shape | Reduction:
        """The last of those shapes that most kernels were timed at."""
        return max(enumerate(shapes), key=lambda item: (len(self.timed_at(item[1])), item[0]))[1]

    def shape_near(self, size: int) -> Shape:
        """The square of that size where it was timed, else the largest problem that most kernels were timed at."""
        square = [s for s in self.timed_shapes if s.square and s.m == size]
        return square[0] if square else self.most_shared(self.timed_shapes)

    @cached_property
    def own_bounds(self) -> dict[str, tuple[float, float]]:
        """Kernel -> (its bound, the usual one), of steps that are less exact than FP32 and so are verified against a
        bound of their own. Usual is the vendor's, else the most frequent one."""
        bounds: dict[tuple, dict[str, float]] = {}
        for row in self.rows:
            bound = (row.error or {}).get("bound")
            if bound is not None:
                at = bounds.setdefault((row.shape, row.input), {})
                at[row.kernel] = max(bound, at.get(row.kernel, 0))
        found: dict[str, tuple[float, float]] = {}
        for at in bounds.values():
            counted = Counter(at.values())
            usual = next(
                (bound for kernel, bound in at.items() if self.role(kernel) == "peer"),
                max(counted, key=lambda bound: (counted[bound], bound)),
            )
            for kernel, bound in at.items():
                if bound > max(OWN_BOUND * usual, found.get(kernel, (0, 0))[0]):
                    found[kernel] = (bound, usual)
        return found

    @cached_property
    def peer_name(self) -> str | None:
        """The vendor that the rows are measured beside."""
        return next((row.peer for row in self.rows if row.peer), None)

    @cached_property
    def parents(self) -> dict[str, str]:
        """Kernel -> the step that it improves on: the one whose median, by the kernel's own, is vs_previous at every
        shape. Files name the ratio alone."""
        found: dict[str, set[str]] = {}
        for row in self.rows:
            if row.vs_previous is None or row.median_us is None:
                continue
            wanted = row.vs_previous * row.median_us
            fitting = {
                kernel
                for kernel in self.kernels
                if kernel != row.kernel
                and (other := self.at(kernel, row.shape))
                and math.isclose(other.median_us, wanted, rel_tol=1e-9)
            }
            found[row.kernel] = found.get(row.kernel, fitting) & fitting
        return {kernel: fitting.pop() for kernel, fitting in found.items() if len(fitting) == 1}

    def short_name(self, kernel: str) -> str:
        """The first parts of a kernel's name up to a number that no other kernel has there: r07, amd_03_1."""
        parts = kernel.split("_")
        for count in range(1, len(parts)):
            start = "_".join(parts[:count])
            others = (other for other in self.kernels if other != kernel)
            if any(c.isdigit() for c in start) and not any(f"{other}_".startswith(f"{start}_") for other in others):
                return start
        return kernel

    def values(self, field: str) -> list:
        """The distinct values of a field, in order of appearance, without null."""
        found = dict.fromkeys(row.fields.get(field) for row in self.rows)
        return [value for value in found if value is not None]

    def notes(self) -> list[str]:
        """What a reader of the tables must know: an interrupted run, rows that no table shows, and one line a kernel
        for cells of the bench grid that have no time."""
        lines = []
        if self.interrupted:
            lines.append("The run was interrupted: this is what it had measured.")
        if self.kind == "apps":
            failures = (row for row in self.rows if row.failed)
            lines += [f"{row.app} failed in {row.kernel}: {text.cut(row.failed, 200)}" for row in failures]
        if self.kind != "bench":
            return lines
        hidden = sum(row.median_us is not None for row in self.rows) - sum(
            row.median_us is not None for row in self.table.values()
        )
        if hidden:
            lines.append(
                f"{hidden} more timed rows of the same problems differ in input, L2 state or math: see the CSV."
            )
        for kernel in self.kernels:
            failed = [s.label for s in self.timed_shapes if (row := self.table.get((kernel, s))) and not row.verified]
            absent = [s.label for s in self.timed_shapes if not self.at(kernel, s) and s.label not in failed]
            if failed:
                lines.append(f"{kernel} failed verification at {text.listing(failed, 12)}: no time.")
            if absent:
                lines.append(f"{kernel} was not measured at {text.listing(absent, 12)}.")
        return lines


def _check_unique(path: Path, rows: Iterable[Row]) -> None:
    seen: dict = {}
    for number, row in enumerate(rows):
        if row.median_us is None:
            continue
        key = (row.op, row.kernel, row.shape, row.uplo, row.side, row.unit_diagonal, row.input, row.l2, row.math)
        if key in seen:
            raise ResultError(
                f"{path}: rows {seen[key]} and {number} are the same measurement "
                f"({row.kernel} at {row.shape.label}); keep one run a file."
            )
        seen[key] = number


def load(path: Path | str) -> list[ResultFile]:
    """The file's rows, one ResultFile an operation."""
    path = Path(path)
    data = schema.read(path)
    rows = [Row(fields) for fields in data["rows"]]
    _check_unique(path, rows)
    command = data.get("command") or ""
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return [
        ResultFile(
            path=path,
            command=shlex.join(command) if isinstance(command, list) else command,
            device=data["device"],
            software=data["software"],
            date=data.get("date"),
            rows=tuple(sorted((row for row in rows if row.op == op), key=ladder_order)),
            digest=digest,
            interrupted=data.get("interrupted", False),
        )
        for op in dict.fromkeys(row.op for row in rows)
    ]
