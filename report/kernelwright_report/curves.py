"""Error against K: one curve for all kernels that share it."""

from __future__ import annotations

from .results import ResultFile
from .rows import Row

USUAL_INPUTS = ("unit", "normal", "near_one")


def drawn_inputs(result: ResultFile) -> list[str]:
    """All kinds of data that have a curve, where they are few; of many the usual ones."""
    inputs = [
        kind for kind in result.values("input")
        if curves_of([row for row in result.rows if row.input == kind], result.kernels)
    ]  # fmt: skip
    usual = [kind for kind in USUAL_INPUTS if kind in inputs]
    return usual if usual and len(inputs) > 3 else inputs[:3]


def _alike(one: list[tuple], other: list[tuple]) -> bool:
    """Curves that a reader could not tell apart."""
    return [k for k, _ in one] == [k for k, _ in other] and all(
        abs(a - b) <= 0.02 * max(a, b) for (_, a), (_, b) in zip(one, other)
    )


def curves_of(rows: list[Row], kernels: list[str]) -> list[tuple[list[str], list[tuple], list[tuple]]]:
    """(kernels, rms by K, max by K); kernels with the same errors share one curve."""
    groups: list[tuple[list[str], list[tuple], list[tuple]]] = []
    for kernel in kernels:
        mine = sorted((row for row in rows if row.kernel == kernel and row.error and row.k), key=lambda row: row.k)
        rms = [(row.k, row.error["rms"]) for row in mine if row.error.get("rms")]
        most = [(row.k, row.error["max"]) for row in mine if row.error.get("max")]
        if not rms:
            continue
        same = next((group for group in groups if _alike(group[1], rms)), None)
        if same:
            same[0].append(kernel)
        else:
            groups.append(([kernel], rms, most))
    return groups
