"""Reads and checks result files (schema 1). Everything after this module may trust what it gets."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .reductions import Reduction, reduction_of

SCHEMA = 1


class ResultError(Exception):
    """A file that cannot be used; the text says which, where and what to do."""


class NoFile(ResultError):
    """The file is not there."""


NUMBER = (int, float)
# Field -> types that a value may have. A row must carry the first group; the rest may be null or absent.
REQUIRED = {"op": str, "kernel": str, "role": str, "verified": bool}
OPTIONAL = {
    "m": int, "n": int, "k": int, "batch": int,
    "lda": int, "ldb": int, "ldc": int,
    "op_a": str, "op_b": str, "layout": str, "math": str, "path": str, "input": str,
    "l2": str, "timing": str, "peer": str,
    "dtype": str, "reduce_op": str, "shape": str, "rows": int, "cols": int, "ld": int,
    "segments": int, "lengths": str, "misalign": int, "correction": int,
    "alpha": NUMBER, "beta": NUMBER, "gflops": NUMBER, "gbs": NUMBER, "of_peak": NUMBER,
    "vs_peer": NUMBER, "vs_previous": NUMBER, "sm_clock_mhz": NUMBER, "power_w": NUMBER,
    "c_first": NUMBER, "c_last": NUMBER,
    "seeds": int, "rms_vs_peer": NUMBER, "max_vs_peer": NUMBER, "same_bits": bool,
    "time_us": dict, "error": dict, "launch": dict,
}  # fmt: skip
# What names a reduction, besides.
REDUCTION = ("n", "dtype", "reduce_op", "shape")
ROLES = ("rung", "reference", "production", "peer")


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


@dataclass(frozen=True)
class Row:
    fields: dict

    def __getattr__(self, name: str):
        if name.startswith("__"):  # copy and pickle probe these before `fields` exists
            raise AttributeError(name)
        return self.fields.get(name)

    @cached_property
    def shape(self) -> Shape | Reduction:
        if self.op == "reduce":
            return reduction_of(self)
        m, n, k, batch = self.m or 0, self.n or 0, self.k, self.batch or 1
        if self.op == "scale_add":  # two dimensions; one multiply and one add an element
            return Shape(2 * m * n * batch, m, n, m if m == n else 1, "N", "N", batch)
        k = k or 0
        return Shape(2 * m * n * k * batch, m, n, k, self.op_a or "N", self.op_b or "N", batch)

    @property
    def median_us(self) -> float | None:
        return (self.time_us or {}).get("median")

    @property
    def max_error(self) -> float | None:
        return (self.error or {}).get("max")


def _ladder_order(row: Row) -> tuple:
    """Rungs by number (the CPU loop is r00), then what the library uses, then the vendor."""
    rung = row.kernel[:1] == "r" and row.kernel[1:3].isdigit()
    return (0, row.kernel) if rung else (1 + ROLES.index(row.role), "")


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

    @property
    def op(self) -> str:
        return self.rows[0].op

    @cached_property
    def kind(self) -> str:
        """bench, accuracy or verify: what the file can show."""
        if "accuracy" in self.command.split():
            return "accuracy"
        timed = any(row.median_us is not None for row in self.rows)
        return "bench" if timed and self.device["kind"] != "host-simt" else "verify"

    @cached_property
    def is_suite(self) -> bool:
        """An accuracy file of the suite: many kinds of data, each row beside the peer's."""
        return any(row.seeds is not None for row in self.rows)

    @cached_property
    def kernels(self) -> list[str]:
        return list(dict.fromkeys(row.kernel for row in self.rows))

    def role(self, kernel: str) -> str:
        return next(row.role for row in self.rows if row.kernel == kernel)

    @cached_property
    def shapes(self) -> list[Shape] | list[Reduction]:
        return sorted({row.shape for row in self.rows})

    @cached_property
    def table(self) -> dict[tuple[str, Shape | Reduction], Row]:
        return {(row.kernel, row.shape): row for row in self.rows}

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

    def shape_near(self, size: int) -> Shape:
        """The square of that size where it was timed, else the largest timed problem."""
        square = [s for s in self.timed_shapes if s.square and s.m == size]
        return square[0] if square else self.timed_shapes[-1]

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

    def not_timed(self) -> list[str]:
        """One line a kernel for cells of the bench grid that have no time."""
        if self.kind != "bench":
            return []
        lines = []
        for kernel in self.kernels:
            failed = [s.label for s in self.timed_shapes if (row := self.table.get((kernel, s))) and not row.verified]
            absent = [s.label for s in self.timed_shapes if not self.at(kernel, s) and s.label not in failed]
            if failed:
                lines.append(f"{kernel} failed verification at {', '.join(failed)}: no time.")
            if absent:
                lines.append(f"{kernel} was not measured at {', '.join(absent)}.")
        return lines


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ResultError(message)


def _type_name(types) -> str:
    names = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object", NUMBER: "a number"}
    return names[types]


def _check_value(where: str, name: str, value, types) -> None:
    # In Python, True is an int.
    fits = isinstance(value, types) and (types is bool or not isinstance(value, bool))
    _need(fits, f"{where}: '{name}' is {json.dumps(value)[:40]}, expected {_type_name(types)}.")


def _check_row(where: str, fields) -> Row:
    _need(isinstance(fields, dict), f"{where}: expected an object, found {json.dumps(fields)[:40]}.")
    for name, types in REQUIRED.items():
        _need(name in fields, f"{where}: '{name}' is missing.")
        _check_value(where, name, fields[name], types)
    where += f" ({fields['kernel']})"
    for name, types in OPTIONAL.items():
        if fields.get(name) is not None:
            _check_value(where, name, fields[name], types)
    for group in ("time_us", "error"):
        for name, value in (fields.get(group) or {}).items():
            if value is not None:
                _check_value(where, f"{group}.{name}", value, NUMBER)
    _need(fields["role"] in ROLES, f"{where}: role '{fields['role']}' is not one of {', '.join(ROLES)}.")
    if fields["op"] == "reduce":
        for name in REDUCTION:
            _need(fields.get(name) is not None, f"{where}: it is a reduction but has no '{name}'.")
    row = Row(fields)
    _need(
        row.verified or row.median_us is None,
        f"{where}: not verified, yet it has a time ({row.median_us} µs). Only verified rows may be timed: measure again.",
    )
    if row.median_us is not None:
        _need(row.median_us > 0, f"{where}: time_us.median is {row.median_us}, expected more than 0.")
        rate = "gflops" if row.op == "sgemm" else "gbs"
        _need(row.fields.get(rate) is not None, f"{where}: it has a time but no '{rate}'.")
    return row


def _check_unique(path: Path, rows: Iterable[Row]) -> None:
    seen: dict = {}
    for number, row in enumerate(rows):
        if row.median_us is None:
            continue
        key = (row.op, row.kernel, row.shape, row.input, row.l2, row.math)
        _need(
            key not in seen,
            f"{path}: rows {seen.get(key)} and {number} are the same measurement "
            f"({row.kernel} at {row.shape.label}); keep one run a file.",
        )
        seen[key] = number


def load(path: Path | str) -> list[ResultFile]:
    """The file's rows, one ResultFile an operation."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NoFile(f"{path}: no such file. `kernelwright bench sgemm --json {path}` writes one.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path}: cannot be read: {error}.") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ResultError(f"{path}: not JSON: {error}.") from None
    _need(isinstance(data, dict), f"{path}: expected one object with 'schema', 'device' and 'rows'.")
    schema = data.get("schema")
    _need(
        schema == SCHEMA,
        f"{path}: schema {schema}, this report reads schema {SCHEMA}. Measure again with this version of kernelwright.",
    )
    for name, types in (("device", dict), ("software", dict), ("rows", list)):
        _need(isinstance(data.get(name), types), f"{path}: '{name}' is missing or has the wrong type.")
    for name in ("name", "kind"):
        _need(isinstance(data["device"].get(name), str), f"{path}: device.{name} is missing or not a text.")
    _need(len(data["rows"]) > 0, f"{path}: it has no rows, so there is nothing to show.")
    rows = [_check_row(f"{path}: row {number}", fields) for number, fields in enumerate(data["rows"])]
    _check_unique(path, rows)
    command = data.get("command") or ""
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return [
        ResultFile(
            path=path,
            command=shlex.join(command) if isinstance(command, list) else str(command),
            device=data["device"],
            software=data["software"],
            date=data.get("date"),
            rows=tuple(sorted((row for row in rows if row.op == op), key=_ladder_order)),
            digest=digest,
        )
        for op in dict.fromkeys(row.op for row in rows)
    ]
