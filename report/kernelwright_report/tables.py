"""Tables as data, and the same table as HTML, Markdown or CSV."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable
from dataclasses import dataclass

from . import text
from .reductions import Reduction
from .results import ResultFile
from .rows import Row, Shape
from .schema import PRODUCTS


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
        f'<p class="quiet">{html.escape(table.caption)}</p><div class="scroll"><table>'
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


def with_caption(table: Table) -> str:
    """Markdown of a table whose rows link nowhere."""
    return f"{to_markdown(table)}\n\n{table.caption}"


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


MEASURES = {
    "TFLOP/s": "10¹² operations a second", "GFLOP/s": "10⁹ operations a second", "GB/s": "10⁹ bytes a second",
}  # fmt: skip


def best_of(result: ResultFile, shape: Shape | Reduction) -> str | None:
    """The kernel with the shortest median at a shape, among those that are as exact as the rest."""
    rows = result.timed_at(shape)
    exact = [row for row in rows if row.kernel not in result.own_bounds] or rows
    return min(exact, key=lambda row: row.median_us).kernel if exact else None


def less_exact(result: ResultFile, kernels: list[str]) -> str:
    """A sentence on the kernels among these that are verified against bounds of their own."""
    own = [text.kernel(kernel) for kernel in kernels if kernel in result.own_bounds]
    if not own:
        return ""
    one = len(own) == 1
    return (
        f" {text.listing(own)} {'is' if one else 'are'} less exact than the others, by design, and never marked best."
    )


def sweep(result: ResultFile, linked: bool = False) -> Table:
    """Kernel x size, in TFLOP/s or GFLOP/s, of others in GB/s; best of each size marked."""
    unit, scale = text.rate_unit(result.rows) if result.op in PRODUCTS else ("GB/s", 1.0)
    rate = "gflops" if result.op in PRODUCTS else "gbs"
    best = {shape: best_of(result, shape) for shape in result.timed_shapes}
    rows = []
    for kernel in result.timed_kernels:
        cells = [Cell(kernel if linked else text.kernel(kernel), link=kernel)]
        for shape in result.timed_shapes:
            row = result.at(kernel, shape)
            shown = text.number(row.fields[rate] / scale if row else None)
            cells.append(Cell(shown, "best" if kernel == best[shape] else ""))
        rows.append(cells)
    labels, family = short_labels(result.timed_shapes)
    caption = f"{family}{unit} ({MEASURES[unit]}) from the median time; the best of each size is marked."
    return Table(caption + less_exact(result, result.timed_kernels), ["kernel", *labels], rows)


def short_labels(shapes: list) -> tuple[list[str], str]:
    """The shapes' labels, and what they have in common, for the caption: reductions of one family show their size."""
    families = {getattr(shape, "family", None) for shape in shapes}
    if len(families) == 1 and None not in families:
        return [shape.size for shape in shapes], f"{families.pop()}. "
    return [shape.label for shape in shapes], ""


def beside(result: ResultFile, most: int = 3) -> Table | None:
    """A line a size: the library's kernels and the vendor's, each with its spread; nothing where either is missing."""
    unit, scale = text.rate_unit(result.rows) if result.op in PRODUCTS else ("GB/s", 1.0)
    own = [kernel for kernel in result.timed_kernels if result.role(kernel) == "production"][:most]
    peers = [kernel for kernel in result.timed_kernels if result.role(kernel) == "peer"]
    if not own or not peers:
        return None

    def rate(row: Row | None, best: str | None) -> Cell:
        if row is None:
            return Cell(text.NONE)
        value = row.gflops / scale if result.op in PRODUCTS else row.gbs
        shown = text.number(value) + (f" {text.plus_minus(row.spread)}" if row.spread is not None else "")
        return Cell(shown, "best" if row.kernel == best else "")

    rows = []
    for shape in result.timed_shapes:
        found = {kernel: result.at(kernel, shape) for kernel in own + peers}
        if not any(found[kernel] for kernel in own):
            continue
        best = min((row for row in found.values() if row), key=lambda row: row.median_us).kernel
        cells = [Cell(shape.label)]
        for kernel in own:
            row = found[kernel]
            cells += [rate(row, best), Cell(text.times(row.vs_peer if row else None))]
        rows.append([*cells, *(rate(found[kernel], best) for kernel in peers)])
    vendor = text.kernel(result.peer_name or peers[0])
    header = ["size"]
    for kernel in own:
        header += [text.kernel(kernel), f"over {vendor}"]
    caption = f"{unit} from medians of one run, ± half the interquartile range of the repeats; the best of each size "
    caption += "is marked."
    return Table(caption, [*header, *map(text.kernel, peers)], rows)


def products(result: ResultFile) -> Table:
    """The library at each shape: which kernel computed, its time and rate, the vendor's beside."""
    unit, scale = text.rate_unit(result.rows)
    rows = []
    for row in result.rows:
        if row.role != "production" or row.median_us is None or row.vs_peer is None:
            continue
        peer = result.at(row.peer, row.shape)
        rows.append(
            [
                Cell(row.shape.label),
                Cell(row.path or row.kernel),
                Cell(text.microseconds(row.median_us)),
                Cell(text.plus_minus(row.spread)),
                Cell(text.number(row.gflops / scale)),
                Cell(text.microseconds(peer.median_us) if peer else text.NONE),
                Cell(text.times(row.vs_peer)),
            ]
        )
    peers = " and ".join(text.kernel(name) for name in dict.fromkeys(row.peer for row in result.rows if row.peer))
    header = ["m × n × k", "computed by", "time", "±", unit, peers, f"over {peers}"]
    return Table(
        "Median times, interleaved in one run, ± half the interquartile range of the repeats.", header, rows, left=2
    )


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
            Cell(text.plus_minus(row.spread)),
            Cell(text.number(row.gflops / scale), "best" if kernel == best else ""),
            Cell(text.percent(row.of_peak)),
            Cell(over_parent(result, row)),
            Cell(text.NONE if peer else text.percent(row.vs_peer)),
        ]
        if ideas is not None:
            cells.insert(1, Cell(ideas.get(kernel, "")))
        rows.append(cells)
    of_vendor = f"of {text.kernel(result.peer_name)}" if result.peer_name else "of the vendor"
    header = ["kernel", "time", "±", unit, "of peak", "over the step before", of_vendor]
    if ideas is not None:
        header.insert(1, "idea")
    peak = result.device.get("measured_fp32_tflops")
    measured = f" of {text.number(peak * 1e3 / scale)} {unit}" if peak else ""
    caption = f"{shape.label}: median time, ± half the interquartile range of the repeats; share of this device's "
    caption += f"measured FP32 peak{measured}.{less_exact(result, [row.kernel for row in result.timed_at(shape)])}"
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
                Cell(f"{shape.m}×{shape.n}"), Cell(text.kernel(kernel), link=kernel),
                Cell(text.microseconds(row.median_us)),
                Cell(text.plus_minus(row.spread)), Cell(text.number(row.gbs), marked), Cell(text.percent(row.of_peak)),
            ])  # fmt: skip
    peak = result.device.get("measured_read_gbs")
    measured = f" of {text.number(peak, 4)} GB/s" if peak else ""
    return Table(
        "Median time, ± half the interquartile range of the repeats; GB/s: bytes read and written by that time; "
        f"share of the measured read bandwidth{measured}.",
        ["size", "kernel", "time", "±", "GB/s", "of bandwidth"], rows, left=2,
    )  # fmt: skip
