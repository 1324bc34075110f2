"""The web page: one file that opens without a network, in the reader's light or dark theme."""

from __future__ import annotations

import html
import re
from pathlib import Path

from . import runs, text, theme
from .results import ResultFile
from .runs import RunReport
from .schema import PRODUCTS, ROWWISE
from .sections import section

STYLE = """
:root { color-scheme: light dark; %(light)s }
@media (prefers-color-scheme: dark) { :root { %(dark)s } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 78rem;
  background: var(--paper); color: var(--ink); font: 16px/1.55 %(font)s; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 3.5rem 0 .6rem; padding-top: 1.2rem; border-top: 1px solid var(--grid); }
h3 { font-size: 1.05rem; margin: 2.4rem 0 .3rem; }
.headlines { display: grid; gap: .5rem; margin: 1rem 0 1.4rem; }
.headlines p { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .8rem; margin: 0; }
.headlines strong { font-size: 2rem; line-height: 1.15; font-variant-numeric: tabular-nums; }
details { margin: .8rem 0; }
summary { cursor: pointer; color: var(--muted); font-size: .92rem; }
p { margin: .3rem 0; max-width: 62rem; }
p.quiet, figcaption { color: var(--muted); font-size: .9rem; }
nav a { margin-right: 1.2rem; }
a { color: inherit; text-underline-offset: .2em; }
figure { margin: 1.8rem 0; }
figure .plot { overflow-x: auto; }
figure svg { display: block; width: 100%%; min-width: 52rem; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 1rem 0; font-size: .92rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.scroll { overflow-x: auto; margin: .5rem 0 1.6rem; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
th, td { padding: .28rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th.text, td.text { text-align: left; }
.scroll th:first-child, .scroll td:first-child { position: sticky; left: 0; background: var(--paper); }
td.best { background: var(--tint); font-weight: 700; }
td.fail { color: var(--fail); font-weight: 700; }
ul.fail { color: var(--fail); }
ul.notes:not(.fail) { color: var(--muted); }
ul.notes { margin: .8rem 0; padding-left: 1.1rem; font-size: .9rem; }
"""

# The order on the page: programs; what was measured, by weight; the host's times; accuracy; what was only verified.
KINDS = ("apps", "bench", "distributed", "sustained", "host", "accuracy", "verify")
OPS = ("app", *PRODUCTS, "reduce", *ROWWISE, "scale_add")


def _stems(results: list[ResultFile | RunReport]) -> list[str]:
    """File names without their end; numbered where two are the same."""
    stems: list[str] = []
    for result in results:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", result.path.stem) or "result"
        taken, wanted = 2, stem
        while stem in stems:
            stem, taken = f"{wanted}-{taken}", taken + 1
        stems.append(stem)
    return stems


def _ordered(results: list[ResultFile | RunReport]) -> list[ResultFile | RunReport]:
    """Programs that were run come first, then what was measured."""
    ran = [result for result in results if isinstance(result, RunReport)]
    measured = [result for result in results if not isinstance(result, RunReport)]
    return ran + sorted(measured, key=lambda result: (KINDS.index(result.kind), OPS.index(result.op)))


def _section(result: ResultFile | RunReport, stem: str, folder: Path, size: int | None, draw: bool) -> str:
    if isinstance(result, RunReport):
        return runs.section(result, stem, folder)
    return section(result, stem, folder, size, draw)


def write(results: list[ResultFile | RunReport], folder: Path, size: int | None, notes: list[str], draw: bool) -> Path:
    """index.html, and beside it each plot as SVG and PNG and each file's rows as CSV. `notes` go to the top."""
    folder.mkdir(parents=True, exist_ok=True)
    results = _ordered(results)
    stems = _stems(results)
    found = [_section(result, stem, folder, size, draw) for result, stem in zip(results, stems)]
    links = "".join(f'<a href="#{stem}">{stem}</a>' for stem in stems) if len(stems) > 1 else ""
    style = STYLE % {"light": theme.css_variables(False), "dark": theme.css_variables(True), "font": theme.FONT}
    devices = ", ".join(dict.fromkeys(result.device["name"] for result in results))
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kernelwright: {html.escape(text.cut(devices, 120))}</title>
<style>{style}</style>
</head>
<body>
<h1>Kernelwright report</h1>
<p class="quiet">{html.escape(devices)} · 1 GFLOP is 10⁹ operations, 2·m·n·k a product · times are medians ·
only verified results carry a time</p>
{f'<ul class="notes">{listed}</ul>' if notes else ""}
<nav>{links}</nav>
{chr(10).join(found)}
</body>
</html>
"""
    index = folder / "index.html"
    index.write_text(page, encoding="utf-8")
    return index
