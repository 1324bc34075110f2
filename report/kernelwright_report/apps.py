"""Files of `apps/measure.py`: whole programs, as they are and under the drop-in, their times and errors."""

from __future__ import annotations

from . import text
from .results import ResultFile
from .rows import Row
from .tables import Cell, Table

NAMES = {"vendor": "cuBLAS", "fp32": "drop-in, fp32", "fp32_split": "drop-in, fp32_split", "tf32": "cuBLAS, TF32"}
APART = 1.2  # losses that end so many times apart are worth a picture
CAPTION = (
    "A whole step of each program, data movement and optimizer included: the median by cuBLAS, and how many times as "
    "fast the others are, in turn in one run. Error: each program's own against float64, relative. Calls: products of "
    "the program that the drop-in in fp32_split took, and all that came to it."
)


def name(variant: str) -> str:
    return NAMES.get(variant, variant)


def title(app: str) -> str:
    """gpt2_small -> gpt2 small"""
    return text.kernel(app)


def programs(result: ResultFile) -> list[str]:
    return result.values("app")


def variants(result: ResultFile) -> list[str]:
    """Those with a time, in the order of NAMES, others behind them."""
    known = [row.kernel for row in result.rows if row.median_us is not None]
    return sorted(dict.fromkeys(known), key=lambda kernel: ([*NAMES, kernel].index(kernel), kernel))


def at(result: ResultFile, app: str, variant: str) -> Row | None:
    """The row that carries a time, or nothing."""
    rows = (row for row in result.rows if (row.app, row.kernel) == (app, variant))
    return next((row for row in rows if row.median_us is not None), None)


def relative_error(row: Row | None) -> float | None:
    return (row.error or {}).get("relative") if row else None


def _time(row: Row | None, variant: str, peer: str | None) -> str:
    if row is None:
        return "failed"
    return text.microseconds(row.median_us) if variant == peer or row.vs_peer is None else text.times(row.vs_peer)


def _calls(result: ResultFile, app: str) -> str:
    row = at(result, app, "fp32_split") or at(result, app, "fp32")
    if row is None or row.calls_taken is None:
        return text.NONE
    return f"{text.whole(row.calls_taken)} of {text.whole(row.calls_taken + (row.calls_forwarded or 0))}"


def table(result: ResultFile) -> Table:
    """A line a program: times, errors, calls."""
    shown, peer = variants(result), result.peer_name
    lines = []
    for app in programs(result):
        rows = {variant: at(result, app, variant) for variant in shown}
        cells = [title(app), *(_time(rows[variant], variant, peer) for variant in shown)]
        cells += [text.scientific(relative_error(rows[variant])) for variant in shown]
        lines.append([Cell(content) for content in (*cells, _calls(result, app))])
    header = ["program", *map(name, shown), *(f"error: {name(variant)}" for variant in shown), "calls taken"]
    return Table(CAPTION, header, lines)


def losses(row: Row | None) -> list[tuple[int, float]]:
    """Steps and losses that a logarithmic scale takes."""
    every = (row.loss_every or 1) if row else 1
    found = enumerate((row.loss or []) if row else [])
    return [(index * every, value) for index, value in found if value is not None and value > 0]


def parted(result: ResultFile) -> str | None:
    """The program whose losses end furthest apart, if they are worth a picture."""
    apart = {}
    for app in programs(result):
        curves = [losses(at(result, app, variant)) for variant in variants(result)]
        ends = [curve[-1][1] for curve in curves if len(curve) > 1]
        if len(ends) > 1:
            apart[app] = max(ends) / min(ends)
    widest = max(apart, key=apart.__getitem__, default=None)
    return widest if widest and apart[widest] > APART else None
