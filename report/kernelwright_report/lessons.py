"""Pictures that explain a rung, drawn from its trace (ladder/lessons.json, tools/trace_lessons.py): which outputs a
lane computes, which sectors and banks a request touches, what a thread does in order, which lanes of a tree work."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import theme
from .results import ResultError
from .scene import Scene

WIDTH = 860
LANES, BANKS, WORD, SECTOR, LINE = 32, 32, 4, 32, 128
SIZE = 256  # of the traced products: floats in a row of each matrix
CELL = 11
KINDS = {
    "global_load": "loads",
    "shared_load": "reads",
    "shared_store": "stores to",
    "async_copy_from": "copies (cp.async)",
    "async_copy_to": "copies (cp.async) to",
}
ORDER = {
    "L": ("load", "peer"),
    "w": ("to shared", "production"),
    "r": ("read, FMA", "reference"),
    "|": ("barrier", "ink"),
    "c": ("cp.async", "peer-2"),
    "S": ("store C", "peer-3"),
}


@dataclass(frozen=True)
class Lesson:
    rung: str
    op: str
    grid: list[int]
    block: list[int]
    requests: list[dict]
    stores: list[list[int]]
    order: str
    steps: list[list]


def read(content: str) -> dict[tuple[str, str], Lesson]:
    """(operation, rung) -> what its picture shows."""
    try:
        raw = json.loads(content)["lessons"]
        fields = Lesson.__dataclass_fields__
        found = [Lesson(**{name: entry[name] for name in fields}) for entry in raw]
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"not a file of tools/trace_lessons.py ({error}).") from None
    return {(lesson.op, lesson.rung): lesson for lesson in found}


def lane_colour(lane: int) -> str:
    return theme.ramp(lane, LANES)


# ---------------------------------------------------------------- what a request costs


def groups_of(offsets: list[int], width: int) -> list[list[int]]:
    """The lanes that shared memory serves together: all, halves or quarters; half as many groups where pairs of lanes have
    one address (docs/measuring.md)."""
    parts = {4: 1, 8: 2, 16: 4}[width]
    pairs = all(offsets[lane] == offsets[lane + 1] for lane in range(0, LANES, 2))
    if parts > 1 and pairs:
        parts //= 2
    each = LANES // parts
    return [list(range(first, first + each)) for first in range(0, LANES, each)]


def wavefronts(offsets: list[int], width: int) -> list[dict[int, int]]:
    """Of each pass: bank -> the first lane that it serves there."""
    passes: list[dict[int, int]] = []
    for group in groups_of(offsets, width):
        levels: list[dict[int, int]] = []
        words: dict[int, list[int]] = {}  # bank -> different words
        for lane in group:
            for word in range(offsets[lane] // WORD, (offsets[lane] + width) // WORD):
                known = words.setdefault(word % BANKS, [])
                if word not in known:
                    known.append(word)
                    if len(known) > len(levels):
                        levels.append({})
                    levels[len(known) - 1][word % BANKS] = lane
        passes += levels
    return passes


def sectors(offsets: list[int], width: int) -> set[int]:
    return {at // SECTOR for offset in offsets for at in range(offset, offset + width, WORD)}


# ---------------------------------------------------------------- panels: each draws at a height and says where it ends


def _rectangles(cells: set[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Row, column, height and width of rectangles that cover the cells."""
    found = []
    left = set(cells)
    for row, col in sorted(cells):
        if (row, col) not in left:
            continue
        width = 1
        while (row, col + width) in left:
            width += 1
        height = 1
        while all((row + height, col + i) in left for i in range(width)):
            height += 1
        found.append((row, col, height, width))
        left -= {(row + i, col + j) for i in range(height) for j in range(width)}
    return found


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}{'es' if word.endswith('s') else 's'}"


def _outputs(scene: Scene, lesson: Lesson, top: int) -> int:
    """The block's tile of C with the outputs of the first warp, a colour a lane."""
    first = min((offset for _, *offsets in lesson.stores for offset in offsets), default=0)  # C[0][0]
    places = [
        ((offset - first) // WORD // SIZE, (offset - first) // WORD % SIZE + i, lane)
        for width, *offsets in lesson.stores
        for lane, offset in enumerate(offsets)
        for i in range(width // WORD)
    ]
    if not places:
        return top
    threads = lesson.block[0] * lesson.block[1] * lesson.block[2]
    each = len(places) // LANES
    rows = max(row for row, _, _ in places) + 1
    cols = max(col for _, col, _ in places) + 1
    side = 128 if rows > 32 or cols > 32 or threads * each > 1024 else 32
    unit = 256 / side
    scene.heading(top, "The block's outputs, those of its first warp in a colour a lane")
    left, above = 24, top + 26
    scene.box(left, above, 256, 256, fill="paper", stroke="grid")
    mine = [(row, col) for row, col, lane in places if lane == 0]
    for lane in range(LANES):
        for row, col, height, width in _rectangles({(row, col) for row, col, of in places if of == lane}):
            colour = {"fill": "fail"} if lane == 0 else {"colour": lane_colour(lane)}
            scene.box(left + col * unit, above + row * unit, width * unit, height * unit, **colour)
    rows_of, cols_of = len({row for row, _ in mine}), len({col for _, col in mine})
    texts = [
        f"{side} × {side} outputs a block, {threads} threads",
        f"{each} output{'s' if each > 1 else ''} a thread: {rows_of} × {cols_of}",
        f"a warp covers {_counted(len({row for row, _, _ in places}), 'row')} and {_counted(len({col for _, col, _ in places}), 'column')}",
        f"red: lane 0, in registers {'as its sums' if each > 1 else 'as one sum'}",
    ]
    for i, words in enumerate(texts):
        scene.text(300, above + 14 + 19 * i, words)
    scene.text(300, above + 112, "lanes", muted=True)
    for lane in range(LANES):
        scene.box(300 + lane * 13, above + 120, 12, 12, colour=lane_colour(lane))
        if lane % 4 == 0:
            scene.text(300 + lane * 13, above + 146, str(lane), muted=True, size=9)
    return above + 256 + 18


def _request_line(request: dict, memory: str) -> str:
    return f"A warp {KINDS[request['kind']]} {memory}, {request['bytes']} bytes a lane"


def _lines(scene: Scene, request: dict, memory: str, top: int) -> int:
    """Global memory: the lines of 128 bytes that a request touches, a cell a word."""
    offsets, width = request["offset"], request["bytes"]
    touched = sorted({offset // LINE for offset in offsets})
    count = len(sectors(offsets, width))
    total = len({offset + i for offset in offsets for i in range(0, width, WORD)}) * WORD
    scene.heading(
        top, f"{_request_line(request, memory)}: {count} sector{'s' if count > 1 else ''} of 32 bytes for {total} bytes wanted"
    )
    lane_of: dict[int, int] = {}
    for lane in reversed(range(LANES)):
        for i in range(0, width, WORD):
            lane_of[(offsets[lane] + i) // WORD] = lane
    shown = touched[:5]
    for i, line in enumerate(shown):
        y = top + 24 + i * (CELL + 4)
        for word in range(LINE // WORD):
            x = 24 + word * CELL + word // 8 * 3
            lane = lane_of.get(line * (LINE // WORD) + word)
            if lane is None:
                scene.box(x, y, CELL - 1, CELL - 1, fill="grid")
            else:
                scene.box(x, y, CELL - 1, CELL - 1, colour=lane_colour(lane))
    bottom = top + 24 + len(shown) * (CELL + 4)
    rest = len(touched) - len(shown)
    text = f"line of 128 bytes, 4 sectors; and {rest} more lines like these" if rest else "a row: a line of 128 bytes, 4 sectors"
    scene.text(400, top + 34, text, muted=True)
    return bottom + 12


def _banks(scene: Scene, request: dict, memory: str, top: int) -> int:
    """Shared memory: a row a pass, a column a bank, the colour and the number of the lane that is served."""
    passes = wavefronts(request["offset"], request["bytes"])
    words = {at for offset in request["offset"] for at in range(offset // WORD, (offset + request["bytes"]) // WORD)}
    least = -(-len(words) // BANKS)
    text = f"{_request_line(request, memory)}: {len(passes)} wavefront{'s' if len(passes) > 1 else ''}"
    scene.heading(top, f"{text} for {_counted(len(words), 'different word')}")
    y = top + 24
    for number, row in enumerate(passes[:8]):
        for bank in range(BANKS):
            x = 24 + bank * (CELL + 2)
            lane = row.get(bank)
            scene.box(x, y, CELL + 1, CELL + 1, fill="grid" if lane is None else None,
                      colour=None if lane is None else lane_colour(lane))  # fmt: skip
            if lane is not None:
                scene.text(x + (CELL + 1) / 2, y + 9, str(lane), size=7, middle=True, on=lane)
        scene.text(24 + BANKS * (CELL + 2) + 8, y + 10, f"pass {number + 1}", muted=True, size=9)
        y += CELL + 3
    if len(passes) > 8:
        scene.text(24, y + 8, f"and {len(passes) - 8} more passes like these", muted=True)
        y += 14
    note = "a column a bank, in it the lane it serves"
    if len(passes) > max(least, len(groups_of(request["offset"], request["bytes"]))):
        note = "conflict: a bank gives one word a pass"
    scene.text(510, top + 34, note, muted=True)
    return y + 12


def _order(scene: Scene, lesson: Lesson, top: int) -> int:
    """What thread 0 does, runs of the same put together: the first tiles."""
    runs: list[tuple[str, int]] = []
    for letter in lesson.order:
        if runs and runs[-1][0] == letter:
            runs[-1] = (letter, runs[-1][1] + 1)
        else:
            runs.append((letter, 1))
    if "|" not in lesson.order:
        return top
    if sum(1 for letter, _ in runs[:200] if letter == "r") > 12:  # copies between reads: still one thread's order
        runs = runs[:60]
    scene.heading(top, "One thread in the order of its program, from the start: how often it does what")
    x, y = 24.0, top + 24
    shown = {}
    for letter, count in runs:
        name, colour = ORDER[letter]
        width = 5.0 if letter == "|" else min(16 + 9 * len(str(count)) + 1.1 * min(count, 64) ** 0.9, 130)
        if x + width > WIDTH - 24:
            break
        scene.box(x, y, width - 2, 26, fill=colour)
        if letter != "|":
            scene.text(x + width / 2 - 1, y + 17, str(count), middle=True, size=10, paper=True)
        shown[name] = colour
        x += width
    x = 24.0
    for name, colour in shown.items():
        scene.box(x, y + 36, 10, 10, fill=colour)
        scene.text(x + 15, y + 45, name, muted=True)
        x += 32 + 6.6 * len(name)
    return y + 62


def _tree(scene: Scene, lesson: Lesson, top: int) -> int:
    """Of a tree in shared memory: a row a step, a cell a lane, those filled that read for the step."""
    by_step: dict[int, list] = {}
    for barrier, warp, lanes, kind, cost in lesson.steps:
        if kind == "shared_load":
            by_step.setdefault(barrier, []).append((warp, lanes, cost))
    scene.heading(top, "The tree of a block of 256 threads: a row a step, eight warps of 32 lanes, those that read are filled")
    y = top + 26
    for number, step in enumerate(sorted(by_step)):
        rows = by_step[step]
        active = {(warp, lane) for warp, lanes, _ in rows for lane in range(LANES) if lanes >> lane & 1}
        for warp in range(8):
            for lane in range(LANES):
                x = 70 + (warp * LANES + lane) * 2.5 + warp * 4
                filled = (warp, lane) in active
                scene.box(x, y, 2.2, 12, fill=None if filled else "grid", colour=lane_colour(lane) if filled else None)
        worst = max(cost for _, _, cost in rows)
        is_result = number + 1 == len(by_step) and len(active) == 1
        scene.text(24, y + 10, "result" if is_result else f"step {number + 1}", muted=True, size=10)
        cost = f"{_counted(len({w for w, _ in active}), 'warp')}, {_counted(worst, 'pass')}"
        scene.text(750, y + 10, cost, muted=True, size=10)
        y += 17
    return y + 14


def name_of(request: dict) -> str:
    memory = request["memory"]
    return f"matrix {memory}" if len(memory) == 1 else memory if "memory" in memory else f"the array {memory}"


def draw(lesson: Lesson) -> str:
    """SVG text, light."""
    scene = Scene(WIDTH)
    top = 22
    if lesson.op == "sgemm":
        top = _outputs(scene, lesson, top)
        for request in lesson.requests:
            if request["kind"] in ("global_load", "async_copy_from"):
                top = _lines(scene, request, name_of(request), top)
        for request in lesson.requests:
            if request["kind"] in ("shared_store", "shared_load", "async_copy_to"):
                top = _banks(scene, request, name_of(request), top)
        top = _order(scene, lesson, top)
    else:
        top = _tree(scene, lesson, top)
    return scene.svg(top)
