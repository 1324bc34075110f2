"""Tables as data, and the same table as HTML, Markdown or CSV."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable
from dataclasses import dataclass

from . import text
from .curves import curves_of
from .reductions import Reduction
from .results import ResultFile, Row, Shape


@dataclass(frozen=True)
class Cell:
    text: str
    mark: str = ""  # "best", "fail" or nothing
    link: str = ""  # a kernel's name, which the writer may turn into a link to its file


@dataclass(frozen=True)
class Table:
    caption: str
    header: list[str]
    rows: list[list[Cell]]
    left: int = 1  # columns that hold text, from the left


# Where a kernel's name leads, or "" for nowhere.
Linker = Callable[[str], str]


def to_html(table: Table) -> str:
    def cell(tag: str, index: int, content: str, mark: str = "") -> str:
        classes = " ".join(filter(None, ("text" if index < table.left else "", mark)))
        attribute = f' class="{classes}"' if classes else ""
        return f"<{tag}{attribute}>{html.escape(content)}</{tag}>"

    head = "".join(cell("th", i, title) for i, title in enumerate(table.header))
    body = "\n".join(
        "<tr>" + "".join(cell("td", i, c.text, c.mark) for i, c in enumerate(row)) + "</tr>" for row in table.rows
    )
    return (
        f'<div class="scroll"><table><caption>{html.escape(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def to_markdown(table: Table, linker: Linker = lambda name: "") -> str:
    def show(cell: Cell) -> str:
        content = cell.text.replace("|", "\\|")
        target = linker(cell.link) if cell.link else ""
        if target:
            content = f"[{content}]({target})"
        return f"**{content}**" if cell.mark == "best" else content

    rule = [":--" if i < table.left else "--:" for i in range(len(table.header))]
    lines = [table.header, rule] + [[show(cell) for cell in row] for row in table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rows_csv(result: ResultFile) -> str:
    """Every row, every field; nested ones as time_us.median."""

    def flat(fields: dict, prefix: str = "") -> dict:
        out = {}
        for name, value in fields.items():
            if isinstance(value, dict):
                out.update(flat(value, f"{prefix}{name}."))
            else:
                out[prefix + name] = "x".join(map(str, value)) if isinstance(value, list) else value
        return out

    rows = [flat(row.fields) for row in result.rows]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def best_of(result: ResultFile, shape: Shape | Reduction) -> str | None:
    """The kernel with the shortest median at a shape."""
    timed = [(result.at(kernel, shape).median_us, kernel) for kernel in result.kernels if result.at(kernel, shape)]
    return min(timed)[1] if timed else None


def sweep(result: ResultFile, linked: bool = False) -> Table:
    """Kernel x size in GFLOP/s, of reductions in GB/s; best of each size marked."""
    unit, rate = ("GB/s", "gbs") if result.op == "reduce" else ("GFLOP/s", "gflops")
    best = {shape: best_of(result, shape) for shape in result.timed_shapes}
    rows = []
    for kernel in result.timed_kernels:
        cells = [Cell(kernel if linked else text.kernel(kernel), link=kernel)]
        for shape in result.timed_shapes:
            row = result.at(kernel, shape)
            shown = text.number(row.fields[rate] if row else None)
            cells.append(Cell(shown, "best" if kernel == best[shape] else ""))
        rows.append(cells)
    header = ["kernel"] + [shape.label for shape in result.timed_shapes]
    return Table(f"{unit} (10⁹ per second) from the median time; the best of each size is marked.", header, rows)


def products(result: ResultFile) -> Table:
    """The library at each shape: which kernel computed, its time and rate, the vendor's beside."""
    unit, scale = text.rate_unit(result.rows)
    rows = []
    for row in result.rows:
        if row.role != "production" or row.median_us is None or row.vs_peer is None:
            continue
        peer = result.at(row.peer, row.shape)
        rows.append([
            Cell(row.shape.label),
            Cell(row.path or row.kernel),
            Cell(text.microseconds(row.median_us)),
            Cell(text.number(row.gflops / scale)),
            Cell(text.microseconds(peer.median_us) if peer else text.NONE),
            Cell(text.times(row.vs_peer)),
        ])
    peers = " and ".join(text.kernel(name) for name in dict.fromkeys(row.peer for row in result.rows if row.peer))
    header = ["m × n × k", "computed by", "time", unit, peers, f"over {peers}"]
    return Table("Median times, interleaved in one run.", header, rows, left=2)


def over_parent(result: ResultFile, row: Row) -> str:
    """The gain over the step before, and which step that is: 1.24× r07"""
    parent = result.parents.get(row.kernel)
    gain = text.times(row.vs_previous)
    return f"{gain} {text.kernel(result.short_name(parent))}" if parent and row.vs_previous is not None else gain


def ladder(result: ResultFile, shape: Shape, ideas: dict[str, str] | None = None) -> Table:
    """The walk at one size: speed, share of peak, gain over the step before, ratio to the vendor."""
    unit, scale = text.rate_unit(result.rows)
    best = best_of(result, shape)
    rows = []
    for kernel in result.timed_kernels:
        row = result.at(kernel, shape)
        if row is None:
            continue
        peer = result.role(kernel) == "peer"
        cells = [
            Cell(kernel if ideas is not None else text.kernel(kernel), link=kernel),
            Cell(text.microseconds(row.median_us)),
            Cell(text.number(row.gflops / scale), "best" if kernel == best else ""),
            Cell(text.percent(row.of_peak)),
            Cell(over_parent(result, row)),
            Cell(text.NONE if peer else text.percent(row.vs_peer)),
        ]
        if ideas is not None:
            cells.insert(1, Cell(ideas.get(kernel, "")))
        rows.append(cells)
    vendor = next((row.peer for row in result.rows if row.peer), None)
    of_vendor = f"of {text.kernel(vendor)}" if vendor else "of the vendor"
    header = ["kernel", "time", unit, "of peak", "over the step before", of_vendor]
    if ideas is not None:
        header.insert(1, "idea")
    peak = result.device.get("measured_fp32_tflops")
    measured = f" of {text.number(peak * 1e3 / scale)} {unit}" if peak else ""
    caption = f"{shape.label}: median time; share of this device's measured FP32 peak{measured}."
    return Table(caption, header, rows, left=1 if ideas is None else 2)


def spread(result: ResultFile, shape: Shape) -> Table:
    """Shortest, median, mean and longest time at one size, and how far apart they lie."""
    rows = []
    for kernel in result.timed_kernels:
        row = result.at(kernel, shape)
        if row is None:
            continue
        times = [row.time_us.get(name) for name in ("min", "median", "mean", "max")]
        longest = times[3] / times[0] if times[0] and times[3] else None
        cells = [Cell(kernel, link=kernel), *(Cell(text.microseconds(time)) for time in times)]
        rows.append([*cells, Cell(text.times(longest)), Cell(str(row.time_us.get("repeats", text.NONE)))])
    header = ["kernel", "min", "median", "mean", "max", "max over min", "repeats"]
    return Table(f"{shape.label}: times of the repeats.", header, rows)


def bandwidth(result: ResultFile) -> Table:
    """scale_add: GB/s and share of the measured read bandwidth."""
    rows = []
    for shape in result.timed_shapes:
        best = best_of(result, shape)
        for kernel in result.timed_kernels:
            row = result.at(kernel, shape)
            if row is None:
                continue
            marked = "best" if kernel == best and len(result.timed_kernels) > 1 else ""
            rows.append([
                Cell(f"{row.m}×{row.n}"), Cell(text.kernel(kernel), link=kernel), Cell(text.microseconds(row.median_us)),
                Cell(text.number(row.gbs), marked), Cell(text.percent(row.of_peak)),
            ])  # fmt: skip
    peak = result.device.get("measured_read_gbs")
    measured = f" of {text.number(peak, 4)} GB/s" if peak else ""
    return Table(
        f"GB/s: bytes read and written by the median time; share of the measured read bandwidth{measured}.",
        ["size", "kernel", "time", "GB/s", "of bandwidth"], rows, left=2,
    )  # fmt: skip


def _outcome(rows: list[Row]) -> Cell:
    """The cases of one kernel at one shape in one cell."""
    if not rows:
        return Cell(text.NONE)
    errors = [row.max_error for row in rows if row.max_error is not None]
    shown = text.number(max(errors), 2) if errors else "ok"
    return Cell(shown) if all(row.verified for row in rows) else Cell(f"✗ {shown if errors else 'failed'}", "fail")


UNITS = {
    "sgemm": "u·(|α||A||B| + |β||C₀|), u = 2⁻²⁴",
    "scale_add": "the last place",
    "reduce": "u = 2⁻²⁴ of the sum of |x| for a sum or mean, of the result otherwise",
}


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
    names, shapes = [text.kernel(kernel) for kernel in result.kernels], [shape.label for shape in result.shapes]
    unit = UNITS[result.op]
    caption = f"Largest error of each case in units of {unit}. Every element was compared; ✗ marks a failed case."
    if len(shapes) > max(12, len(names)):
        rows = [[Cell("verified"), *totals]] + [[Cell(shape), *column] for shape, column in zip(shapes, zip(*grid))]
        return Table(caption, ["shape", *names], rows)
    rows = [[Cell(name), total, *line] for name, total, line in zip(names, totals, grid)]
    return Table(caption, ["kernel", "verified", *shapes], rows)


def _column(k: int) -> int:
    """Odd classes are measured one below a column's k."""
    return 1 << (k - 1).bit_length() if k > 0 else 0


def _not_compared(rows: list[Row]) -> str:
    """A sentence on data whose result is exact or not finite."""
    bad = [row for row in rows if not row.verified]
    good = dict.fromkeys(row.input for row in rows)
    for row in bad:
        good.pop(row.input, None)
    said = f" As it must be at every K: {', '.join(good)}." if good else ""
    failed = [f"{row.input} ({text.kernel(row.kernel)}, K = {row.k})" for row in bad]
    return said + (f" ✗ {text.listing(failed)}." if failed else "")


def suite(result: ResultFile, kernel: str | None = None) -> Table:
    """Kind of data and kernel x K: root mean square error over the peer's; largest error over the peer's."""
    wanted = [kernel] if kernel else [name for name in result.kernels if result.role(name) != "peer"]
    mine = [row for row in result.rows if row.kernel in wanted]
    quotients = {row.input for row in mine if row.rms_vs_peer is not None}
    compared = [kind for kind in result.values("input") if kind in quotients]
    ks = sorted({_column(row.k) for row in mine if row.input in compared})
    lines = []
    for kind, name in ((kind, name) for kind in compared for name in wanted):
        at = {_column(row.k): row for row in mine if (row.input, row.kernel) == (kind, name)}
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
    ks = sorted({row.k for row in result.rows})
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
