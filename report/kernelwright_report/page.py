"""The web page: one file that opens without a network, in the reader's light or dark theme."""

from __future__ import annotations

import html
import re
from pathlib import Path

from . import pictures as plots
from . import tables, tables_reduce, text, theme
from .reductions import length_near
from .results import ResultFile

STYLE = """
:root { color-scheme: light dark; %(light)s }
@media (prefers-color-scheme: dark) { :root { %(dark)s } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 78rem;
  background: var(--paper); color: var(--ink); font: 16px/1.55 %(font)s; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 3.5rem 0 .6rem; padding-top: 1.2rem; border-top: 1px solid var(--grid); }
h3 { font-size: 1.05rem; margin: 2.4rem 0 .3rem; }
p { margin: .3rem 0; max-width: 62rem; }
p.quiet, figcaption, caption { color: var(--muted); font-size: .9rem; }
nav a { margin-right: 1.2rem; }
a { color: inherit; text-underline-offset: .2em; }
figure { margin: 1.8rem 0; }
figure .plot { overflow-x: auto; }
figure svg { display: block; width: 100%%; min-width: 52rem; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 1rem 0; font-size: .92rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5rem; }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
th, td { padding: .28rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th.text, td.text { text-align: left; }
td.best { background: var(--tint); font-weight: 700; }
td.fail { color: var(--fail); font-weight: 700; }
ul.notes { margin: .8rem 0; padding-left: 1.1rem; color: var(--muted); font-size: .9rem; }
"""

TITLES = {"bench": "measured", "verify": "verified", "accuracy": "accuracy"}
OPS = {"sgemm": "Matrix product (sgemm)", "scale_add": "B = a·A + b (scale_add)", "reduce": "Reduction (reduce)"}
LABELS = {
    "name": "device", "sm_count": "multiprocessors", "measured_fp32_tflops": "measured FP32 peak, TFLOP/s",
    "measured_read_gbs": "measured read bandwidth, GB/s", "measured_copy_gbs": "measured copy bandwidth, GB/s",
    "l2_bytes": "L2 cache", "empty_kernel_us": "an empty kernel, µs",
}  # fmt: skip
CPU_LABELS = {"sm_count": "threads", "l2_bytes": "last-level cache"}


def _facts(result: ResultFile) -> str:
    """Device, versions, cache state, command and date, as the file has them."""
    own = CPU_LABELS if result.device["kind"] == "cpu" else {}
    items = [(own.get(name) or _label(name), _sized(name, value)) for name, value in result.device.items()]
    items += [(name.replace("_", " "), value) for name, value in result.software.items()]
    clocks, powers = result.values("sm_clock_mhz"), result.values("power_w")
    items += [
        ("L2 state", " and ".join(result.values("l2")) or None),
        ("timing", " and ".join(result.values("timing")) or None),
        ("input", ", ".join(result.values("input")) or None),
        ("SM clock while timing", f"{min(clocks):g} to {max(clocks):g} MHz" if clocks else None),
        ("power while timing", f"{min(powers):.0f} to {max(powers):.0f} W" if powers else None),
        ("date", result.date or "not recorded"),
    ]
    lines = [
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(_scalar(value))}</dd>"
        for name, value in items
        if value not in (None, "", [], 0)
    ]
    command = f"<dt>command</dt><dd><code>{html.escape(result.command or 'not recorded')}</code></dd>"
    return f"<dl>{command}{''.join(lines)}</dl>"


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_bytes", "").replace("_", " "))


def _sized(name: str, value):
    return text.size(value) if "bytes" in name and isinstance(value, int) else value


def _scalar(value) -> str:
    if isinstance(value, float):
        return text.number(value, 4)
    if isinstance(value, list):
        return " × ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_scalar(inner)}" for name, inner in value.items())
    return str(value)


def _summary(result: ResultFile) -> str:
    good = sum(row.verified for row in result.rows)
    failed = len(result.rows) - good
    counted = f"{good} of {len(result.rows)} rows verified against float64"
    counted += f"; {failed} failed, which counts no time." if failed else "."
    if result.kind == "verify" and result.device["kind"] == "host-simt":
        counted += " The kernels ran through host SIMT, on the CPU: speed was not measured."
    elif result.kind == "verify":
        counted += " Speed was not measured."
    return counted


def _reduce_tables(result: ResultFile, size: int | None) -> list[tables.Table]:
    found = [tables_reduce.types(result)]
    shape = length_near(result, size)
    if shape and any(result.role(kernel) == "rung" for kernel in result.timed_kernels):
        found.insert(0, tables_reduce.ladder(result, shape))
    return [*found, tables.sweep(result)] if len(result.timed_shapes) > 1 else found


def _tables(result: ResultFile, size: int | None) -> list[tables.Table]:
    if result.kind == "accuracy":
        return [tables.suite(result) if result.is_suite else tables.accuracy(result)]
    if result.kind == "verify":
        return [tables.verified(result)]
    if result.op == "scale_add":
        return [tables.bandwidth(result)]
    if result.op == "reduce":
        return _reduce_tables(result, size)
    return [tables.ladder(result, result.shape_near(size or plots.DEFAULT_SIZE)), tables.sweep(result)]


def _inline(svg: str, prefix: str) -> str:
    """An SVG as part of the page: no prologue, ids of its own, colours of the page's theme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    return theme.themed_svg(svg)


def _section(result: ResultFile, stem: str, folder: Path, size: int | None) -> str:
    title = f"{OPS.get(result.op, result.op)}, {TITLES[result.kind]}: {result.device['name']}"
    parts = [f'<h2 id="{stem}">{html.escape(title)}</h2>', f"<p>{html.escape(_summary(result))}</p>"]
    notes = result.not_timed()
    if notes:
        parts.append('<ul class="notes">' + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    for picture in plots.pictures(result, size):
        svg = plots.save(picture, folder, stem)
        name = f"{stem}-{picture.name}"
        parts.append(
            f'<figure role="group" aria-label="{html.escape(picture.title)}"><div class="plot">{_inline(svg, name)}</div>'
            f'<figcaption>{html.escape(picture.caption)} <a href="{name}.svg">SVG</a> <a href="{name}.png">PNG</a>'
            "</figcaption></figure>"
        )
    parts += [tables.to_html(table) for table in _tables(result, size)]
    (folder / f"{stem}.csv").write_text(tables.rows_csv(result), encoding="utf-8")
    parts.append(f'<p class="quiet">All rows: <a href="{stem}.csv">{stem}.csv</a></p>')
    parts.append("<h3>Where and how</h3>" + _facts(result))
    return "\n".join(parts)


def _stems(results: list[ResultFile]) -> list[str]:
    """File names without their end; numbered where two are the same."""
    stems: list[str] = []
    for result in results:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", result.path.stem) or "result"
        taken, wanted = 2, stem
        while stem in stems:
            stem, taken = f"{wanted}-{taken}", taken + 1
        stems.append(stem)
    return stems


def write(results: list[ResultFile], folder: Path, size: int | None) -> Path:
    """index.html, and beside it each plot as SVG and PNG and each file's rows as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    stems = _stems(results)
    sections = [_section(result, stem, folder, size) for result, stem in zip(results, stems)]
    links = "".join(f'<a href="#{stem}">{stem}</a>' for stem in stems) if len(stems) > 1 else ""
    style = STYLE % {"light": theme.css_variables(False), "dark": theme.css_variables(True), "font": theme.FONT}
    devices = ", ".join(dict.fromkeys(result.device["name"] for result in results))
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kernelwright: {html.escape(devices)}</title>
<style>{style}</style>
</head>
<body>
<h1>Kernelwright report</h1>
<p class="quiet">{html.escape(devices)} · 1 GFLOP is 10⁹ operations, 2·m·n·k a product · times are medians ·
only verified results carry a time</p>
<nav>{links}</nav>
{chr(10).join(sections)}
</body>
</html>
"""
    index = folder / "index.html"
    index.write_text(page, encoding="utf-8")
    return index
