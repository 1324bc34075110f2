"""Pictures that explain a rung, drawn from its trace (ladder/lessons.json, tools/trace_lessons.py): which outputs a
lane computes, which sectors and banks a request touches, the pipeline in time (pipeline.py), the rung's points in the
roofline (rung_roofline.py), wgmma's operands (operand_layout.py), which lanes of a tree work."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import operand_layout, pipeline, rung_roofline, theme
from .results import ResultError
from .scene import Scene

WIDTH = 860
LANES, BANKS, WORD, SECTOR, LINE = 32, 32, 4, 32, 128
CELL = 11
KINDS = {
    "global_load": "loads",
    "shared_load": "reads",
    "shared_store": "stores to",
    "async_copy_from": "copies (cp.async)",
    "async_copy_to": "copies (cp.async) to",
}
@dataclass(frozen=True)
class Lesson:
    rung: str
    op: str
    grid: list[int]
    block: list[int]
    requests: list[dict]
    stores: list[list[int]]
    flops: float
    loaded_bytes: float
    shared_bytes: float
    warps: list[dict]  # threads that do the same, and their steps: letter, how often, array, first and last byte
    products: list[dict]  # of wgmma
    tree: list[list]
    tile: list[int]  # a block's rows and columns of C
    columns: int  # of C

@dataclass(frozen=True)
class Measured:
    """A rung's speed and the ceilings of the device that it was measured on."""

    tflops: float
    size: str
    ceilings: rung_roofline.Ceilings


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
    pairs = any(all(offsets[lane] == offsets[lane ^ bit] for lane in range(LANES)) for bit in (1, 2))
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


def _places(lesson: Lesson) -> list[tuple[int, int, int]]:
    """Row, column and lane of the outputs that a warp stores."""
    offsets = [offset for _, *offsets in lesson.stores for offset in offsets]
    first = min(offsets, default=0)
    row = lesson.columns * WORD
    first -= first % row % (32 * WORD)  # a warp's tile may begin within the block's
    return [
        ((offset - first) // row, (offset - first) % row // WORD + i, lane)
        for width, *offsets in lesson.stores
        for lane, offset in enumerate(offsets)
        for i in range(width // WORD)
    ]


def _outputs(scene: Scene, lesson: Lesson, measured: Measured | None, top: float) -> float:
    """The block's tile of C with the outputs of the first warp that stores, a colour a lane."""
    places = _places(lesson)
    if not places:
        return _point_alone(scene, lesson, measured, top)
    threads = lesson.block[0] * lesson.block[1] * lesson.block[2]
    each = len(places) // LANES
    rows, cols = lesson.tile
    unit = 256 / max(rows, cols)
    scene.heading(top, "The block's outputs, those of one warp in a colour a lane")
    left, above = 24, top + 26
    scene.box(left, above, cols * unit, rows * unit, fill="paper", stroke="grid")
    mine = [(row, col) for row, col, lane in places if lane == 0]
    for lane in range(LANES):
        for row, col, height, width in _rectangles({(row, col) for row, col, of in places if of == lane}):
            colour = {"fill": "fail"} if lane == 0 else {"colour": lane_colour(lane)}
            scene.box(left + col * unit, above + row * unit, width * unit, height * unit, **colour)
    rows_of, cols_of = len({row for row, _ in mine}), len({col for _, col in mine})
    texts = [
        f"{rows} × {cols} outputs a block, {threads} threads",
        f"{each} output{'s' if each > 1 else ''} a thread: {rows_of} × {cols_of}",
        f"a warp covers {_counted(len({row for row, _, _ in places}), 'row')}, {_counted(len({col for _, col, _ in places}), 'column')}",
        f"red: lane 0, {'its sums in registers' if each > 1 else 'its sum in a register'}",
    ]
    for i, words in enumerate(texts):
        scene.text(300, above + 14 + 19 * i, words)
    scene.text(300, above + 112, "lanes", muted=True)
    for lane in range(LANES):
        x, y = 300 + lane % 16 * 15, above + 120 + lane // 16 * 17
        scene.box(x, y, 14, 14, fill="fail" if lane == 0 else None, colour=None if lane == 0 else lane_colour(lane))
        scene.text(x + 7, y + 11, str(lane), middle=True, size=9, paper=lane == 0, on=lane)
    if measured:
        _point(scene, lesson, measured, above - 14)
    return above + max(rows * unit, 256) + 18


def _point(scene: Scene, lesson: Lesson, measured: Measured, top: float, left: float = 610) -> None:
    def per(moved: float) -> float:
        return lesson.flops / moved if moved else 0.0

    steps = {p["a"][0] for p in lesson.products}  # of a stage there are two along k, each with all pieces
    products = {0: 0, 1: 1, 2: 3, 3: 6}[len(steps & _first_block(lesson)) // 2]
    rung_roofline.draw(scene, left, top, measured.ceilings, measured.tflops, measured.size, per(lesson.loaded_bytes),
                       per(lesson.shared_bytes), products)  # fmt: skip


def _first_block(lesson: Lesson) -> set[int]:
    """Where A's steps of the first stage begin."""
    if not lesson.products:
        return set()
    low, size = min(p["a"][0] for p in lesson.products), lesson.products[0]["a"][2] * 8
    return {p["a"][0] for p in lesson.products if p["a"][0] - low < size}


def _point_alone(scene: Scene, lesson: Lesson, measured: Measured | None, top: float) -> float:
    """Of a rung of which no outputs are shown."""
    if not measured:
        return top
    threads = lesson.block[0] * lesson.block[1] * lesson.block[2]
    scene.text(360, top + 30, f"{threads} threads a block")
    _point(scene, lesson, measured, top + 12, 54)
    return top + 292


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


def _tree(scene: Scene, lesson: Lesson, top: float) -> float:
    """Of a tree in shared memory: a row a step, a cell a lane, those filled that read for the step."""
    by_step: dict[int, list] = {}
    for barrier, warp, lanes, kind, cost in lesson.tree:
        if kind == "shared_load":
            by_step.setdefault(barrier, []).append((warp, lanes, cost))
    if not by_step:
        return top
    threads, y = lesson.block[0], top + 26
    warps = threads // LANES
    is_tree = max(by_step) > 2
    what = "The tree of a block" if is_tree else "What a block reads from shared memory"
    scene.heading(top, f"{what}: a row a step, {warps} warps of 32 lanes, those that read are filled")
    number = 0
    for barrier in sorted(by_step):
        for rows in _steps_of(by_step[barrier]):
            active = {(warp, lane) for warp, lanes, _ in rows for lane in range(LANES) if lanes >> lane & 1}
            for warp in range(warps):
                x, idle = 70 + warp * (LANES * 2.5 + 4), 0  # idle lanes side by side are one box
                for lane in range(LANES + 1):
                    is_active = (warp, lane) in active
                    if (is_active or lane == LANES) and idle:
                        scene.box(x + (lane - idle) * 2.5, y, idle * 2.5 - 0.3, 12, fill="grid")
                    idle = 0 if is_active else idle + 1
                    if is_active:
                        scene.box(x + lane * 2.5, y, 2.2, 12, colour=lane_colour(lane))
            worst = max(cost for _, _, cost in rows)
            number += 1
            last = barrier == max(by_step) and len(active) == 1
            scene.text(24, y + 10, "result" if last else f"step {number}", muted=True, size=10)
            cost = f"{_counted(len({w for w, _ in active}), 'warp')}, {_counted(worst, 'pass')}"
            scene.text(750, y + 10, cost, muted=True, size=10)
            y += 17
    return y + 14


def _steps_of(rows: list[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    """Requests between two barriers of the block: a step has two reads of each warp, its own value and the one it adds.
    Steps within one warp, without a barrier of the block, follow one another."""
    counts: dict[int, int] = {}
    steps: list[list[tuple[int, int, int]]] = []
    for warp, lanes, cost in rows:
        turn = counts.get(warp, 0) // 2
        counts[warp] = counts.get(warp, 0) + 1
        if turn == len(steps):
            steps.append([])
        steps[turn].append((warp, lanes, cost))
    return steps


def name_of(request: dict) -> str:
    memory = request["memory"]
    return f"matrix {memory}" if len(memory) == 1 else memory if "memory" in memory else f"the array {memory}"


def draw(lesson: Lesson, measured: Measured | None = None) -> str:
    """SVG text, light."""
    scene = Scene(WIDTH)
    top: float = 22
    if lesson.op != "reduce":
        top = _outputs(scene, lesson, measured, top)
    for request in lesson.requests:
        if request["kind"] in ("global_load", "async_copy_from"):
            top = _lines(scene, request, name_of(request), top)
    if lesson.op != "reduce":
        for request in lesson.requests:
            if request["kind"] in ("shared_store", "shared_load", "async_copy_to"):
                top = _banks(scene, request, name_of(request), top)
    if lesson.products:
        top = operand_layout.draw(scene, lesson.products, top)
    if lesson.op == "reduce":
        top = _tree(scene, lesson, top)
    else:
        top = pipeline.draw(scene, lesson.warps, lesson.block[0] * lesson.block[1] * lesson.block[2], top)
    return scene.svg(top)
