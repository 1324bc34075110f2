"""What becomes of the SVG that matplotlib writes: smaller, and fit to be part of a page."""

from __future__ import annotations

import re

from . import theme

DRAWN_FONT = "'DejaVu Sans'"


def compact(svg: str) -> str:
    """The same picture in fewer bytes: hundredths of a point, no turns by nothing, the font named once. Text stays
    text, searchable and in the reader's own font."""
    svg = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", svg)
    svg = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[0]), svg)
    svg = svg.replace(f"font-family: {DRAWN_FONT}; ", "").replace(DRAWN_FONT, theme.FONT)
    return svg.replace("<svg ", f'<svg font-family="{theme.FONT}" ', 1)


def inline(svg: str, prefix: str) -> str:
    """An SVG as part of the page: no prologue, ids of its own, colours of the page's theme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    return theme.themed_svg(svg)
