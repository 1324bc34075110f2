"""A drawing of boxes and words as SVG text, in the colours of theme.py."""

from __future__ import annotations

from html import escape

from . import theme


class Scene:
    def __init__(self, width: int):
        self.width = width
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, *, fill: str | None = None, colour: str | None = None,
            stroke: str | None = None) -> None:  # fmt: skip
        """`fill` and `stroke` name colours of the theme, `colour` is one of its ramp."""
        shade = colour or (theme.COLOURS[fill][0] if fill else "none")
        edge = f' stroke="{theme.COLOURS[stroke][0]}"' if stroke else ""
        self.parts.append(f'<rect x="{x:.4g}" y="{y:.5g}" width="{width:.4g}" height="{height:.4g}" fill="{shade}"{edge}/>')

    def text(self, x: float, y: float, words: str, *, size: int = 12, muted: bool = False, middle: bool = False,
             bold: bool = False, paper: bool = False, on: int | None = None) -> None:  # fmt: skip
        """`on`: on a box of that lane's colour, in ink or paper, whichever stands out."""
        colour = theme.MUTED if muted else theme.INK
        if paper or (on is not None and on >= 12):
            colour = theme.PAPER
        anchor = ' text-anchor="middle"' if middle else ""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:.4g}" y="{y:.5g}" font-size="{size}" fill="{colour}"{anchor}{weight}>{escape(words)}</text>'
        )

    def heading(self, y: float, words: str) -> None:
        self.text(24, y + 12, words, size=13, bold=True)

    def svg(self, height: float) -> str:
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:.5g}" width="{self.width}" '
            f'font-family="{theme.FONT}">\n<rect width="{self.width}" height="{height:.5g}" fill="{theme.PAPER}"/>\n{body}\n</svg>\n'
        )
