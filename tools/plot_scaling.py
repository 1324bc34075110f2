#!/usr/bin/env python3
"""Strong and weak scaling of a file of `kernelwright plan --scaling`, as docs/img/scaling-plan.svg and its dark twin.

    kernelwright plan --scaling --shape 65536 --json results/h200x8/scaling.json
    tools/plot_scaling.py results/h200x8/scaling.json
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "report"))

from kernelwright_report import theme  # noqa: E402
from kernelwright_report.canvas import HEADLINE, WIDTH, Sheet  # noqa: E402
from kernelwright_report.pictures import Picture, render  # noqa: E402

NAMES = {"strong": "strong: the same product", "weak": "weak: m and n grow with the GPUs"}
HEIGHT = 3.6


def curve(rows: list[dict], kind: str) -> list[tuple[int, float]]:
    """GPUs, and the share of as many times one GPU's rate."""
    return [(row["gpus"], 100 * row["predicted_speedup"] / row["gpus"]) for row in rows if row["scaling"] == kind]


def draw(rows: list[dict]):
    first = rows[0]
    size = f"{first['m']} × {first['n']} × {first['k']}"
    sheet = Sheet(WIDTH, HEADLINE + HEIGHT + 1.0, "Predicted scaling", f"{size} · {first['math']} · H200, eight a node")
    axes = sheet.axes(0.75, HEADLINE + 0.35, WIDTH - 1.2, HEIGHT)
    colours = {"strong": theme.COLOURS["production"][0], "weak": theme.COLOURS["peer"][0]}
    for kind, name in NAMES.items():
        points = curve(rows, kind)
        axes.plot(*zip(*points, strict=True), color=colours[kind], marker="o", markersize=4.5, linewidth=2, label=name)
    gpus = [x for x, _ in curve(rows, "strong")]
    axes.set_xscale("log", base=2)
    axes.set_xticks(gpus, [str(x) for x in gpus])
    axes.set_ylim(0, 110)
    axes.set_xlabel("GPUs")
    axes.set_ylabel("% of so many times one GPU")
    axes.legend(frameon=False, loc="lower left")
    return sheet.figure


def main(path: str) -> None:
    rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
    svg, _ = render(Picture("scaling", "Predicted scaling", "", lambda: draw(rows)))
    (ROOT / "docs/img/scaling-plan.svg").write_text(svg, encoding="utf-8")
    (ROOT / "docs/img/scaling-plan-dark.svg").write_text(theme.dark_svg(svg), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
