"""A drawing of boxes and words as SVG text, in the colours of theme.py."""

from __future__ import annotations

from html import escape

from . import theme


class Scene:
    def __init__(self, width: int):
        self.width = width
        self.parts: list[str] = []
        self.cells: dict[str, list[str]] = {}  # colour -> pieces of a path: many small boxes, drawn at once
        self.labels: dict[tuple[int, str], list[str]] = {}  # size, colour -> words on such boxes

    @staticmethod
    def ramp(index: int, count: int) -> str:
        return theme.ramp(index, count)

    def box(self, x: float, y: float, width: float, height: float, *, fill: str | None = None, colour: str | None = None,
            stroke: str | None = None) -> None:  # fmt: skip
        """`fill` and `stroke` name colours of the theme, `colour` is one of its ramp. Boxes of a colour without an edge
        are one path, since a picture has thousands; they must not lie on one another."""
        shade = colour or (theme.COLOURS[fill][0] if fill else "none")
        if not stroke:
            self.cells.setdefault(shade, []).append(f"M{x:.4g} {y:.5g}h{width:.4g}v{height:.4g}h-{width:.4g}z")
            return
        edge = f' stroke="{theme.COLOURS[stroke][0]}"'
        self.parts.append(f'<rect x="{x:.4g}" y="{y:.5g}" width="{width:.4g}" height="{height:.4g}" fill="{shade}"{edge}/>')

    def circle(self, x: float, y: float, radius: float, *, fill: str) -> None:
        path = f"M{x - radius:.4g} {y:.5g}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 -{2 * radius} 0z"
        self.cells.setdefault(theme.COLOURS[fill][0], []).append(path)

    def line(self, x: float, y: float, to_x: float, to_y: float, *, stroke: str, width: float = 1.5) -> None:
        self.parts.append(
            f'<path d="M{x:.4g} {y:.5g}L{to_x:.4g} {to_y:.5g}" stroke="{theme.COLOURS[stroke][0]}" stroke-width="{width}"/>'
        )

    def text(self, x: float, y: float, words: str, *, size: int = 12, muted: bool = False, middle: bool = False,
             end: bool = False, bold: bool = False, paper: bool = False, on: int | None = None,
             fill: str | None = None) -> None:  # fmt: skip
        """`on`: on a box of that lane's colour, in ink or paper, whichever stands out."""
        colour = theme.COLOURS[fill][0] if fill else theme.MUTED if muted else theme.INK
        if paper or (on is not None and on >= 12):
            colour = theme.PAPER
        if middle and not bold:
            self.labels.setdefault((size, colour), []).append(f'<text x="{x:.4g}" y="{y:.5g}">{escape(words)}</text>')
            return
        anchor = ' text-anchor="middle"' if middle else ' text-anchor="end"' if end else ""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:.4g}" y="{y:.5g}" font-size="{size}" fill="{colour}"{anchor}{weight}>{escape(words)}</text>'
        )

    def heading(self, y: float, words: str) -> None:
        self.text(24, y + 12, words, size=13, bold=True)

    def svg(self, height: float) -> str:
        cells = [f'<path fill="{colour}" d="{"".join(pieces)}"/>' for colour, pieces in self.cells.items()]
        labels = [
            f'<g font-size="{size}" fill="{colour}" text-anchor="middle">{"".join(words)}</g>'
            for (size, colour), words in self.labels.items()
        ]
        edged = [part for part in self.parts if part.startswith("<rect")]
        others = [part for part in self.parts if not part.startswith("<rect")]
        body = "\n".join([*edged, *(p for p in others if p.startswith("<path")), *cells, *labels,
                          *(p for p in others if not p.startswith("<path"))])  # fmt: skip
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:.5g}" width="{self.width}" '
            f'font-family="{theme.FONT}">\n<rect width="{self.width}" height="{height:.5g}" fill="{theme.PAPER}"/>\n{body}\n</svg>\n'
        )
