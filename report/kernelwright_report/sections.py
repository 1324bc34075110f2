"""One file on the page, in the order in which a reader asks: the result, the steps to it, ratios, all speeds, errors,
and last how it was verified, where and how."""

from __future__ import annotations

import html
from pathlib import Path

from . import pictures as plots
from . import apps, attention, distributed, host_times, rowwise, sustained, sweeps, sweeps_reduce, tables, tables_errors, tables_reduce
from .facts import facts
from .headline import headlines
from .reductions import length_near
from .results import ResultFile
from .schema import ROWWISE
from .svg import inline
from .tables import Table

TITLES = {
    "bench": "measured", "host": "the host's time of a call", "sustained": "rates that last",
    "distributed": "over several devices", "apps": "measured whole", "verify": "verified",
    "accuracy": "accuracy",
}  # fmt: skip
OPS = {"app": "Programs", "sgemm": "Matrix product (sgemm)",
    "ssyrk": "Update of a triangle (ssyrk)", "ssyrkx": "Update of a triangle (ssyrkx)", "ssyr2k": "Update of a triangle (ssyr2k)",
    "ssymm": "Symmetric product (ssymm)", "strmm": "Triangular product (strmm)", "strsm": "Triangular systems (strsm)",
    "cgemm": "Complex matrix product (cgemm)", "ctrsm": "Complex triangular systems (ctrsm)",
    "spotrf": "Cholesky factorisation (spotrf)",
    "attention": "Attention", "scale_add": "B = a·A + b (scale_add)", "reduce": "Reduction (reduce)",
    **dict.fromkeys(ROWWISE, "Row-wise operations (rowwise)")}
# What a part holds depends on the file; one without tables and pictures is left out.
PARTS = {"result": "", "steps": "Step by step", "ratios": "Ratios", "sizes": "Every size", "errors": "Errors"}
MOST_FAILURES = 12


def title(result: ResultFile) -> str:
    return f"{OPS[result.op]}, {TITLES[result.kind]}: {result.device['name']}"


def _has_rungs(result: ResultFile) -> bool:
    return any(result.role(kernel) == "rung" for kernel in result.timed_kernels)


def _reduce_tables(result: ResultFile, size: int | None) -> dict[str, list[Table]]:
    found = {"result": [tables_reduce.types(result)], "steps": [], "sizes": []}
    shape = length_near(result, size)
    if shape and _has_rungs(result):
        found["steps"].append(tables_reduce.ladder(result, shape))
    if len(result.timed_shapes) > 1:
        found["sizes"].append(tables.sweep(result))
    if not found["result"][0].rows:
        found["result"] = []
    return found


def part_tables(result: ResultFile, size: int | None) -> dict[str, list[Table]]:
    """Part -> its tables."""
    if result.kind == "accuracy":
        return {"result": [tables_errors.suite(result) if result.is_suite else tables_errors.accuracy(result)]}
    if result.kind == "apps":
        return {"result": [apps.table(result)]}
    errors = {"errors": [tables_errors.largest(result)]}
    if result.kind == "host":
        return {"result": [host_times.table(result)], **errors}
    if result.kind == "sustained":
        return {"result": [sustained.table(result)], **errors}
    if result.kind == "distributed":
        return {"result": [distributed.table(result)], **errors}
    if result.kind == "verify":
        return errors
    if result.op in ROWWISE:
        return {"result": [rowwise.summary_table(result)], "sizes": [rowwise.table(result)], **errors}
    if result.op == "attention":
        return {"result": [attention.summary(result)], "sizes": [attention.table(result)], **errors}
    if result.op == "scale_add":
        return {"result": [tables.bandwidth(result)], **errors}
    if sweeps_reduce.is_sweep(result):
        return {"result": [sweeps_reduce.summary_table(result)], "sizes": [tables.sweep(result)], **errors}
    if result.op == "reduce":
        return {**_reduce_tables(result, size), **errors}
    if sweeps.is_sweep(result):
        return {"result": [sweeps.summary_table(result)], "sizes": [sweeps.product_table(result)], **errors}
    beside = tables.beside(result)
    shape = result.shape_near(size or plots.DEFAULT_SIZE)
    return {
        "result": [beside] if beside else [],
        "steps": [tables.ladder(result, shape)],
        "sizes": [tables.sweep(result)],
        **errors,
    }


def summary(result: ResultFile) -> str:
    good = sum(row.verified for row in result.rows)
    failed = len(result.rows) - good
    if result.kind == "apps":
        return f"{good} of {len(result.rows)} runs came to their end" + (f"; {failed} failed." if failed else ".")
    counted = f"{good} of {len(result.rows)} rows verified against float64"
    counted += f"; {failed} failed, which counts no time." if failed else "."
    if result.kind == "verify" and result.device["kind"] == "host-simt":
        counted += " The kernels ran through host SIMT, on the CPU: speed was not measured."
    elif result.kind == "verify":
        counted += " Speed was not measured."
    return counted


def _failures(result: ResultFile) -> str:
    bad = [f"{row.kernel} at {row.shape.label}" for row in result.rows if not row.verified]
    if not bad:
        return ""
    shown = "".join(f"<li>✗ {html.escape(name)}</li>" for name in bad[:MOST_FAILURES])
    more = f"<li>and {len(bad) - MOST_FAILURES} more</li>" if len(bad) > MOST_FAILURES else ""
    return f'<ul class="notes fail">{shown}{more}</ul>'


def _outcome(result: ResultFile) -> str:
    return f"<p>{html.escape(summary(result))}</p>{_failures(result)}"


def _verification(result: ResultFile) -> str:
    """Short; every case is folded. A file that was only verified says the outcome at its top."""
    parts = [] if result.kind == "verify" else ["<h3>Verification</h3>", _outcome(result)]
    if result.kind not in ("accuracy", "apps"):
        parts.append(folded("Every case", tables.to_html(tables_errors.verified(result))))
    return "".join(parts)


def folded(name: str, content: str) -> str:
    return f"<details><summary>{html.escape(name)}</summary>{content}</details>"


def _figure(picture: plots.Picture, stem: str, folder: Path) -> str:
    svg, name = plots.save(picture, folder, stem), f"{stem}-{picture.name}"
    return (
        f'<figure role="group" aria-label="{html.escape(picture.title)}"><div class="plot">{inline(svg, name)}</div>'
        f'<figcaption>{html.escape(picture.caption)} <a href="{name}.svg">SVG</a> <a href="{name}.png">PNG</a>'
        "</figcaption></figure>"
    )


def _headlines(result: ResultFile, size: int | None) -> str:
    found = headlines(result, size or plots.DEFAULT_SIZE)
    lines = "".join(
        f"<p><strong>{html.escape(line.figure)}</strong> <span>{html.escape(line.said)}</span></p>" for line in found
    )
    return f'<div class="headlines">{lines}</div>' if lines else ""


def section(result: ResultFile, stem: str, folder: Path, size: int | None, draw: bool) -> str:
    """HTML of one file; writes its plots and its rows as CSV beside the page."""
    parts = [f'<section><h2 id="{stem}">{html.escape(title(result))}</h2>', _headlines(result, size)]
    if result.kind == "verify":
        parts.append(_outcome(result))
    notes = result.notes()
    if notes:
        parts.append('<ul class="notes">' + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    pictures, found = plots.pictures(result, size) if draw else [], part_tables(result, size)
    for part, name in PARTS.items():
        own = [picture for picture in pictures if picture.part == part]
        content = [tables.to_html(table) for table in found.get(part, [])]
        figures = [_figure(picture, stem, folder) for picture in own]
        if part == "sizes" and content and sweeps.is_sweep(result):
            content = [folded("Every product", "".join(content))]
        elif part == "sizes" and figures:  # the picture holds the same numbers
            content = [folded("The same as a table", "".join(content))]
        # The result is read off its table, then seen; of the others the picture says more.
        content = content + figures if part == "result" else figures + content
        if content:
            parts += [f"<h3>{name}</h3>" if name else "", *content]
    parts.append(_verification(result))
    (folder / f"{stem}.csv").write_text(tables.rows_csv(result), encoding="utf-8")
    parts.append(f'<p class="quiet">All rows: <a href="{stem}.csv">{stem}.csv</a></p>')
    parts.append(folded("Where and how", facts(result)) + "</section>")
    return "\n".join(filter(None, parts))
