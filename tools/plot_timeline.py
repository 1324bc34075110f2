#!/usr/bin/env python3
"""The products and copies of each rank in one call, of a row of `bench distributed --timeline`, as docs/img/timeline.svg
and its dark twin.

    kernelwright bench distributed --gpus 2 --processes --shape 16384 --math fp32_split --timeline --json timeline.json
    tools/plot_timeline.py timeline.json [ROW]
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "report"))

from kernelwright_report import theme  # noqa: E402
from kernelwright_report.canvas import HEADLINE, WIDTH, Sheet  # noqa: E402
from kernelwright_report.pictures import Picture, render  # noqa: E402

LANES = {"product": 0.0, "copy": 0.42}  # below the rank's first
KINDS = {"product": "production", "copy": "peer"}


def bars(row: dict) -> list[tuple[float, str, float, float]]:
    """Place, kind, begin and length in ms, of what took time."""
    return [
        (span["rank"] + LANES[span["what"]], span["what"], span["begin_us"] / 1e3, (span["end_us"] - span["begin_us"]) / 1e3)
        for span in row["timeline"]
        if span["end_us"] > span["begin_us"]
    ]


def draw(row: dict, device: str):
    size = f"{row['m']} × {row['n']} × {row['k']}"
    ranks = 1 + max(span["rank"] for span in row["timeline"])
    height = 0.9 * ranks
    facts = f"{size} · {row['math']} · {device}, {row['grid'].replace('x', ' × ')}"
    sheet = Sheet(WIDTH, HEADLINE + height + 1.2, "Products and copies of one call", facts)
    axes = sheet.axes(0.95, HEADLINE + 0.35, WIDTH - 1.4, height)
    shown = set()
    for place, what, begin, length in bars(row):
        label = {"product": "products", "copy": "copies from other ranks"}[what] if what not in shown else None
        shown.add(what)
        colour = theme.COLOURS[KINDS[what]][0]
        axes.barh(place, length, left=begin, height=0.36, color=colour, edgecolor="white", linewidth=0.6, label=label)
    axes.set_xlim(left=0)
    axes.set_ylim(ranks - 0.3, -0.5)
    axes.set_yticks([rank + 0.2 for rank in range(ranks)], [f"rank {rank}" for rank in range(ranks)])
    axes.set_xlabel("ms")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2)
    return sheet.figure


def main(path: str, number: int = 0) -> None:
    file = json.loads(Path(path).read_text(encoding="utf-8"))
    row = file["rows"][number]
    svg, _ = render(Picture("timeline", "Products and copies of one call", "", lambda: draw(row, file["device"]["name"])))
    (ROOT / "docs/img/timeline.svg").write_text(svg, encoding="utf-8")
    (ROOT / "docs/img/timeline-dark.svg").write_text(theme.dark_svg(svg), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *(int(number) for number in sys.argv[2:3]))
