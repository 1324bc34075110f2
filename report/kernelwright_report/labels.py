"""Labels that keep clear of lines and of each other: names at the ends of lines, and texts that try several places."""

from __future__ import annotations

import textwrap

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.path import Path as Outline
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from .theme import INK, MUTED, PAPER

CLEAR = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}  # what a label may still cover stays readable
LEADER = "_leader"  # names a line that texts need not keep clear of; matplotlib hides such names
WRAP = 24  # characters of a name at the end of a line
LINE = 0.172  # inches from one line of a label to the next


def spread(wanted: list[float], gaps: list[float], low: float, high: float) -> list[float]:
    """Centres as near to the wanted ones as their heights (`gaps`) allow, within [low, high]."""
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    room = high - low
    needed = sum(gaps) - (gaps[order[0]] + gaps[order[-1]]) / 2
    scale = min(1.0, room / needed) if needed > 0 else 1.0
    placed: list[float] = []
    for rank, i in enumerate(order):
        at = min(max(wanted[i], low), high)
        if rank:
            at = max(at, placed[-1] + scale * (gaps[i] + gaps[order[rank - 1]]) / 2)
        placed.append(at)
    ceiling = high
    for rank in reversed(range(len(placed))):
        placed[rank] = min(placed[rank], ceiling)
        if rank:
            ceiling = placed[rank] - scale * (gaps[order[rank]] + gaps[order[rank - 1]]) / 2
    out = [0.0] * len(wanted)
    for position, i in zip(placed, order):
        out[i] = position
    return out


def label_ends(axes: Axes, ends: list[tuple[float, float, str, str]], inches: float, size: float = 8.5) -> None:
    """Direct labels right of the axes: (x, y, text, colour) of each line's last point, in data units. `inches` is the
    height of the axes, from which the gap between two labels follows."""
    to_axes = axes.transAxes.inverted()
    points = [to_axes.transform(axes.transData.transform((x, y))) for x, y, _, _ in ends]
    wrapped = ["\n".join(textwrap.wrap(label, WRAP)) or label for _, _, label, _ in ends]
    gaps = [LINE * (label.count("\n") * 0.8 + 1) / inches for label in wrapped]
    heights = spread([point[1] for point in points], gaps, 0.0, 1.02)
    for (x, y), height, label, (_, _, _, colour) in zip(points, heights, wrapped, ends):
        axes.plot(
            [x + 0.008, 1.028, 1.045], [y, height, height], color=colour, linewidth=0.8, alpha=0.55,
            transform=axes.transAxes, clip_on=False, solid_capstyle="butt", label=LEADER,
        )  # fmt: skip
        axes.text(
            1.052, height, label, color=INK, fontsize=size, va="center", linespacing=1.1, transform=axes.transAxes
        )


class Placer:
    """Places texts in one axes, each at the first of its candidate places that crosses no line and no other text, else
    at the one that crosses least. The axes' limits must be final."""

    def __init__(self, axes: Axes):
        self.axes = axes
        self.renderer = FigureCanvasAgg(axes.figure).get_renderer()
        self.lines = [
            Outline(line.get_transform().transform(line.get_xydata()))
            for line in axes.lines
            if line.get_label() != LEADER and len(line.get_xydata()) > 1
        ]
        self.taken: list[Bbox] = []

    def cost(self, box: Bbox) -> int:
        crossed = sum(line.intersects_bbox(box, filled=False) for line in self.lines)
        covered = sum(box.overlaps(other) for other in self.taken)
        frame = self.axes.bbox.padded(2)
        outside = not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1 + 12)
        return crossed + 3 * covered + 2 * outside

    def text(self, content: str, places: list[dict], optional: bool = False, **style) -> Annotation | None:
        """`places` are the arguments of annotate that differ. An optional text is left out where every place is
        crossed."""
        best: tuple[int, dict] | None = None
        for place in places:
            trial = self.axes.annotate(content, textcoords="offset points", **place, **style)
            cost = self.cost(trial.get_window_extent(self.renderer).padded(1.5))
            trial.remove()
            if best is None or cost < best[0]:
                best = (cost, place)
            if cost == 0:
                break
        if best is None or (optional and best[0] > 0):
            return None
        kept = self.axes.annotate(content, textcoords="offset points", bbox=CLEAR, **best[1], **style)
        self.taken.append(kept.get_window_extent(self.renderer).padded(1))
        return kept


def around(x: float, y: float, distance: float = 6) -> list[dict]:
    """Places above, below, right and left of a point in data units."""
    d = distance
    return [
        {"xy": (x, y), "xytext": (0, d), "ha": "center", "va": "bottom"},
        {"xy": (x, y), "xytext": (0, -d), "ha": "center", "va": "top"},
        {"xy": (x, y), "xytext": (d, d), "ha": "left", "va": "bottom"},
        {"xy": (x, y), "xytext": (-d, d), "ha": "right", "va": "bottom"},
        {"xy": (x, y), "xytext": (d, -d), "ha": "left", "va": "top"},
        {"xy": (x, y), "xytext": (-d, -d), "ha": "right", "va": "top"},
    ]


def level(axes: Axes, y: float, label: str) -> None:
    """A horizontal reference line, with its name on it where no other line is."""
    axes.axhline(y, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
    coords = ("axes fraction", "data")
    places = [
        {"xy": (x, y), "xycoords": coords, "xytext": (0, d), "ha": ha, "va": "bottom" if d > 0 else "top"}
        for x, ha in ((0.01, "left"), (0.25, "left"), (0.5, "center"), (0.75, "right"), (0.995, "right"))
        for d in (3, -3)
    ]
    Placer(axes).text(label, places, color=MUTED, fontsize=8.5)
