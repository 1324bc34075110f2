"""Tables of errors: largest error of every kernel, of every case, by K, and of the accuracy suite."""

from __future__ import annotations

from . import text
from .curves import curves_of
from .results import ResultFile
from .schema import PRODUCTS, ROWWISE
from .rows import Row
from .tables import Cell, Table, short_labels


def _outcome(rows: list[Row]) -> Cell:
    """The cases of one kernel at one shape in one cell."""
    if not rows:
        return Cell(text.NONE)
    errors = [row.max_error for row in rows if row.max_error is not None]
    shown = text.number(max(errors), 2) if errors else "ok"
    return Cell(shown) if all(row.verified for row in rows) else Cell(f"✗ {shown if errors else 'failed'}", "fail")


OF_PRODUCTS = "u·(|α||A||B| + |β||C₀|), u = 2⁻²⁴"
UNITS = {
    **dict.fromkeys(PRODUCTS, OF_PRODUCTS),
    "strsm": "u·(|A||X| + |αB|) of the residual, u = 2⁻²⁴",
    "ctrsm": "u·(|A||X| + |α||B|) of the residual, u = 2⁻²⁴, |z| = |Re z| + |Im z|",
    "spotrf": "u·|L||L|ᵀ of the residual, u = 2⁻²⁴",
    "scale_add": "the last place",
    **dict.fromkeys(ROWWISE, "an eighth of the tolerance that rowwise.hpp states"),
    "reduce": "u = 2⁻²⁴ of the sum of |x| for a sum or mean, of the result otherwise",
}


def largest(result: ResultFile) -> Table:
    """A line a kernel: how many rows hold, its largest error, and the bound that it was held to; in words, where that
    bound is its own."""
    rows = []
    for kernel in result.kernels:
        mine = [row for row in result.rows if row.kernel == kernel]
        good = sum(row.verified for row in mine)
        count = Cell(f"{good} of {len(mine)}", "" if good == len(mine) else "fail")
        errors = [row.max_error for row in mine if row.max_error is not None]
        bounds = [bound for row in mine if (bound := (row.error or {}).get("bound")) is not None]
        own = result.own_bounds.get(kernel)
        said = f"its own: less exact, by design (others {text.number(own[1], 2)})" if own else ""
        rows.append([
            Cell(text.kernel(kernel), link=kernel), count, Cell(text.number(max(errors, default=None), 2)),
            Cell(text.number(max(bounds, default=None), 2)), Cell(said),
        ])  # fmt: skip
    if not any(row[4].text for row in rows):
        rows = [row[:4] for row in rows]
    unit = UNITS[result.op]
    header = ["kernel", "rows verified", "largest error", "largest bound", "which bound"][: len(rows[0])]
    return Table(f"Errors and the bounds that each row was held to, in units of {unit}.", header, rows)


def verified(result: ResultFile) -> Table:
    """Kernel x shape: largest error, or what went wrong. Many shapes go down the page, few across."""
    cells = {}
    for row in result.rows:
        cells.setdefault((row.kernel, row.shape), []).append(row)
    totals = []
    for kernel in result.kernels:
        mine = [row for row in result.rows if row.kernel == kernel]
        good = sum(row.verified for row in mine)
        totals.append(Cell(f"{good} of {len(mine)}", "" if good == len(mine) else "fail"))
    grid = [[_outcome(cells.get((kernel, shape), [])) for shape in result.shapes] for kernel in result.kernels]
    shapes, family = short_labels(result.shapes)
    unit = UNITS[result.op]
    caption = (
        f"{family}Largest error of each case in units of {unit}. Every element was compared; ✗ marks a failed case."
    )
    if len(shapes) > 8:
        names = [text.kernel(result.short_name(kernel)) for kernel in result.kernels]
        rows = [[Cell("verified"), *totals]] + [[Cell(shape), *column] for shape, column in zip(shapes, zip(*grid))]
        return Table(caption, ["shape", *names], rows)
    rows = [[Cell(text.kernel(name)), total, *line] for name, total, line in zip(result.kernels, totals, grid)]
    return Table(caption, ["kernel", "verified", *shapes], rows)


def _column(k: int) -> int:
    """Odd classes are measured one below a column's k."""
    return 1 << (k - 1).bit_length() if k > 0 else 0


def _not_compared(rows: list[Row]) -> str:
    """A sentence on data whose result is exact or not finite."""
    bad = [row for row in rows if not row.verified]
    good = dict.fromkeys(row.input or "unnamed" for row in rows)
    for row in bad:
        good.pop(row.input or "unnamed", None)
    said = f" As it must be at every K: {', '.join(good)}." if good else ""
    failed = [f"{row.input or 'unnamed'} ({text.kernel(row.kernel)}, K = {row.k})" for row in bad]
    return said + (f" ✗ {text.listing(failed)}." if failed else "")


def suite(result: ResultFile, kernel: str | None = None) -> Table:
    """Kind of data and kernel x K: root mean square error over the peer's; largest error over the peer's."""
    wanted = [kernel] if kernel else [name for name in result.kernels if result.role(name) != "peer"]
    mine = [row for row in result.rows if row.kernel in wanted]
    quotients = {row.input for row in mine if row.rms_vs_peer is not None}
    compared = [kind for kind in result.values("input") if kind in quotients]
    ks = sorted({_column(row.k or 0) for row in mine if row.input in compared})
    lines = []
    for kind, name in ((kind, name) for kind in compared for name in wanted):
        at = {_column(row.k or 0): row for row in mine if (row.input, row.kernel) == (kind, name)}
        cells = [Cell(kind)] if kernel else [Cell(kind), Cell(text.kernel(name), link=name)]
        for row in map(at.get, ks):
            shown = text.number(row.rms_vs_peer, 3) if row else text.NONE
            cells.append(Cell(shown) if row is None or row.verified else Cell(f"✗ {shown}", "fail"))
        largest = [row.max_vs_peer for row in at.values() if row.max_vs_peer is not None]
        lines.append([*cells, Cell(text.number(max(largest, default=None), 3))])
    peer = text.kernel(next((row.peer for row in mine if row.peer), "the peer"))
    caption = f"{text.kernel(kernel)}: root" if kernel else "Root"
    caption += f" mean square error divided by that of {peer}, by K; last, the greatest quotient of the largest errors."
    caption += " ✗ marks what fails the rule." + _not_compared([row for row in mine if row.input not in compared])
    header = ["data", *([] if kernel else ["kernel"]), *map(str, ks), "largest"]
    return Table(caption, header, lines, left=1 if kernel else 2)


def accuracy(result: ResultFile) -> Table:
    """Input and kernel x K: root mean square error in u; kernels with the same errors in one line."""
    ks = sorted({row.k for row in result.rows if row.k is not None})
    rows = []
    for kind in result.values("input"):
        mine = [row for row in result.rows if row.input == kind]
        for kernels, _, _ in curves_of(mine, result.kernels):
            at = {row.k: row for row in mine if row.kernel == kernels[0]}
            failed = {row.k for row in mine if row.kernel in kernels and not row.verified}
            name = Cell(text.group(kernels), link=kernels[0] if len(kernels) == 1 else "")
            cells = [Cell(kind), name]
            for k in ks:
                rms = (at[k].error or {}).get("rms") if k in at else None
                cells.append(Cell(text.number(rms, 2), "fail" if k in failed else ""))
            rows.append(cells)
    caption = "Root mean square error in units of u·|A||B|, u = 2⁻²⁴, against float64, by K."
    return Table(caption, ["input", "kernel"] + [str(k) for k in ks], rows, left=2)
