"""The marks of the documents: HTML comments, which no reader sees, around what is filled in or stands for itself.

    <!-- KIND: ARGUMENTS -->…<!-- end -->

A pair stands within a line, around paragraphs, or around other pairs. docs.py lists the kinds that are filled in, check.py
those that say where a figure comes from which nobody fills in. What stands in code, `…` or a fenced block, is no mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .results import ResultError

GENERATED = ("table", "plot", "machine", "rung", "value", "drawing", "diff", "step")
STATED = ("prediction", "published", "constant", "unrecorded", "example")
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@dataclass
class Mark:
    kind: str
    arguments: str
    start: int  # of the opening comment
    body: int  # the first character behind it
    body_end: int = -1
    end: int = -1  # behind the closing comment
    inside: list[Mark] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The opening comment as it is written."""
        return f"<!-- {self.kind}: {self.arguments} -->" if self.arguments else f"<!-- {self.kind} -->"


def line_of(document: str, position: int) -> int:
    return document.count("\n", 0, position) + 1


def without_code(document: str, filler: str = " ") -> str:
    """The same length, with code blanked out; lines stay lines."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", filler, match[0]), document)


def parse(document: str) -> list[Mark]:
    """The outermost marks in order, the others inside them. Raises ResultError for a mark that is unknown or not closed."""
    found: list[Mark] = []
    opened: list[Mark] = []
    for comment in COMMENT.finditer(without_code(document)):
        text = document[comment.start() : comment.end()].removeprefix("<!--").removesuffix("-->").strip()
        where = f"line {line_of(document, comment.start())}"
        if text == "end":
            if not opened:
                raise ResultError(f"{where}: <!-- end --> without an opening mark before it.")
            opened[-1].body_end, opened[-1].end = comment.start(), comment.end()
            opened.pop()
            continue
        kind, _, arguments = (part.strip() for part in text.partition(":"))
        if kind not in GENERATED + STATED:
            raise ResultError(f"{where}: mark '{kind}' is unknown; there are: {', '.join(GENERATED + STATED)}, end.")
        if opened and opened[-1].kind in GENERATED:
            raise ResultError(f"{where}: <!-- {text} --> inside {opened[-1].text}: its <!-- end --> is missing.")
        mark = Mark(kind, arguments, comment.start(), comment.end())
        (opened[-1].inside if opened else found).append(mark)
        opened.append(mark)
    if opened:
        raise ResultError(f"line {line_of(document, opened[-1].start)}: {opened[-1].text} without its <!-- end -->.")
    return found


def flat(found: list[Mark]) -> list[Mark]:
    return [each for mark in found for each in (mark, *flat(mark.inside))]
