"""What all plots share: a sheet with a headline, axes placed in inches, labels that keep apart."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .theme import GRID, INK, MUTED, PAPER

HEADLINE = 0.78  # inches at the top of every sheet
CLEAR = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}  # lines do not run through a label


class Sheet:
    """A figure whose axes are placed in inches from its top left corner."""

    def __init__(self, width: float, height: float, title: str, subtitle: str):
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height))
        self.text(0.25, 0.27, title, fontsize=13, fontweight="bold")
        self.text(0.25, 0.51, subtitle, color=MUTED, fontsize=9)

    def text(self, left: float, top: float, content: str, **style) -> None:
        style.setdefault("va", "center")
        self.figure.text(left / self.width, 1 - top / self.height, content, **style)

    def axes(self, left: float, top: float, width: float, height: float, **options) -> Axes:
        box = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box, **options)


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as near to the wanted ones as a minimum gap allows, within [low, high]."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    placed: list[float] = []
    for i in order:
        at = max(wanted[i], low)
        placed.append(max(at, placed[-1] + gap) if placed else at)
    ceiling = high
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    # Push crowded labels down again where there is room below, so that none drifts only upward.
    out = [0.0] * len(wanted)
    for position, i in zip(placed, order):
        out[i] = position
    return out


def label_ends(axes: Axes, ends: list[tuple[float, float, str, str]], inches: float, size: float = 8.5) -> None:
    """Direct labels right of the axes: (x, y, text, colour) of each line's last point, in data units.
    `inches` is the height of the axes, from which the gap between two labels follows."""
    to_axes = axes.transAxes.inverted()
    points = [to_axes.transform(axes.transData.transform((x, y))) for x, y, _, _ in ends]
    heights = spread([point[1] for point in points], 0.172 / inches, 0.0, 1.02)
    for (x, y), height, (_, _, label, colour) in zip(points, heights, ends):
        axes.plot(
            [x + 0.008, 1.028, 1.045], [y, height, height], color=colour, linewidth=0.8, alpha=0.55,
            transform=axes.transAxes, clip_on=False, solid_capstyle="butt",
        )  # fmt: skip
        axes.text(1.052, height, label, color=INK, fontsize=size, va="center", transform=axes.transAxes)


def level(axes: Axes, y: float, label: str, x: float = 0.995) -> None:
    """A horizontal reference line with its name on it."""
    axes.axhline(y, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
    axes.annotate(
        label, (x, y), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
        ha="right" if x > 0.5 else "left", va="bottom", color=MUTED, fontsize=8.5, bbox=CLEAR,
    )  # fmt: skip


def _cut(axes: Axes, x: float, y: float) -> None:
    """Two slanted strokes: the bar is longer than it is drawn."""
    slant = 0.012 * (axes.get_xlim()[1] - axes.get_xlim()[0])
    for shift in (0, 1.6 * slant):
        axes.plot([x - shift - slant, x - shift], [y + 0.42, y - 0.42], color=PAPER, linewidth=1.8, zorder=3)


def bars(axes: Axes, labels: list[str], values: list[float | None], shown: list[str], colours: list[str],
         *, title: str, base: float = 0, limit: float | None = None, names: bool = True) -> None:  # fmt: skip
    """Horizontal bars in the given order, top to bottom, each with its value written at its end.
    A bar beyond `limit` is cut there and says so by two slanted strokes."""
    axes.set_title(title, pad=8)
    axes.grid(False)
    axes.set_yticks(range(len(labels)), labels if names else [""] * len(labels))
    axes.tick_params(axis="y", labelsize=9, labelcolor=INK, pad=5)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    known = [value for value in values if value is not None]
    top = max([*known, base + 1e-9]) if limit is None else limit
    axes.set_xlim(min([*known, base]), base + (top - base) * 1.16)
    for i, (value, content, colour) in enumerate(zip(values, shown, colours)):
        end = base if value is None else min(value, top)
        axes.barh(i, end - base, left=base, height=0.7, color=colour, zorder=2)
        if value is not None and value > top:
            _cut(axes, top - 0.025 * (top - base), i)
        axes.annotate(
            content, (max(end, base), i), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8.5,
            color=MUTED if value is None else INK, bbox=CLEAR,
        )  # fmt: skip
    axes.set_xticks([])
    axes.axvline(base, color=GRID, linewidth=1.2, zorder=1)
    axes.spines["bottom"].set_visible(False)
