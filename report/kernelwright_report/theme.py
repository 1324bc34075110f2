"""Colours and type of every plot, light and dark. Plots are drawn light; the dark picture and the
page's own theme are the same SVG with its colours exchanged, so each colour here is used once."""

from __future__ import annotations

import re

# name: (light, dark)
COLOURS = {
    "paper": ("#ffffff", "#11151b"),
    "ink": ("#1a212b", "#e7eaf0"),
    "muted": ("#5a6573", "#9ba6b5"),
    "grid": ("#e2e6eb", "#29313c"),
    "tint": ("#fdeccb", "#4a3a14"),
    "fail": ("#c62b2b", "#ff7070"),
    "peer": ("#e36a07", "#ff9838"),
    "peer-2": ("#b08400", "#f2cf4a"),
    "peer-3": ("#3d7f7a", "#6fc4bd"),
    "production": ("#b51f68", "#f26aa7"),
    "production-2": ("#8a2be0", "#b98cff"),
    "production-3": ("#d9638f", "#ffb0cf"),
    "reference": ("#87909d", "#8791a0"),
    "reference-2": ("#5f6b7a", "#b4bdc9"),
}
INK, MUTED, GRID, PAPER, TINT = (COLOURS[name][0] for name in ("ink", "muted", "grid", "paper", "tint"))
# Rungs: the further up the ladder, the more a colour stands out from its paper.
RAMP = (
    ["#8bc9a6", "#62b9b4", "#409fc4", "#2d7cbd", "#3053a3", "#2b2a78"],
    ["#476f82", "#2f7f9f", "#2d97b5", "#45b3bd", "#84d6bd", "#d8f5c8"],
)
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def _mix(anchors: list[str], position: float) -> str:
    at = position * (len(anchors) - 1)
    low = min(int(at), len(anchors) - 2)
    share = at - low
    pairs = ((int(anchors[low][i : i + 2], 16), int(anchors[low + 1][i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


STEPS = 33  # distinct positions of the ramp; their light colours are the keys of the exchange


def ramp(index: int, count: int, dark: bool = False) -> str:
    step = STEPS - 1 if count <= 1 else round(index * (STEPS - 1) / (count - 1))
    return _mix(RAMP[dark], step / (STEPS - 1))


def kernel_colours(result) -> dict[str, str]:
    """Rungs along the ramp, the vendor and the library's kernels apart from it."""
    roles: dict[str, list[str]] = {}
    for kernel in result.kernels:
        roles.setdefault(result.role(kernel), []).append(kernel)
    colours = {}
    for role, kernels in roles.items():
        own = [light for name, (light, _) in COLOURS.items() if name.split("-")[0] == role]
        for i, kernel in enumerate(kernels):
            colours[kernel] = ramp(i, len(kernels)) if role == "rung" else own[i % len(own)]
    return colours


def exchanges() -> list[tuple[str, str, str]]:
    """(name, light, dark) of every colour that a plot can hold."""
    fixed = [(name, light, dark) for name, (light, dark) in COLOURS.items()]
    steps = [
        (f"ramp-{step}", _mix(RAMP[0], step / (STEPS - 1)), _mix(RAMP[1], step / (STEPS - 1))) for step in range(STEPS)
    ]
    return fixed + steps


def recolour(svg: str, to: dict[str, str]) -> str:
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: to.get(match[0], match[0]), svg)


def dark_svg(svg: str) -> str:
    return recolour(svg, {light: dark for _, light, dark in exchanges()})


def themed_svg(svg: str) -> str:
    """For a page that sets the variables: the plot follows its theme."""
    return recolour(svg, {light: f"var(--{name})" for name, light, _ in exchanges()})


def css_variables(dark: bool) -> str:
    return " ".join(f"--{name}: {night if dark else day};" for name, day, night in exchanges())


RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.parse_math": False,  # a name may hold a dollar
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.facecolor": PAPER,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 0,
    "xtick.major.size": 3,
    "xtick.minor.size": 0,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "none",
    "svg.hashsalt": "kernelwright",
}
