"""A rung's pipeline in time: which warps copy and which multiply, what is on its way from memory meanwhile, stage by stage.

The order of what each warp does, and the stage of shared memory that it does it to, are the trace's. How long it takes is
assumed, the same for all rungs: that is what the four numbers below say. From these a schedule follows: nobody reads a
stage before it has come, nobody overwrites one that is still read."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from .scene import Scene

MULTIPLY, FLIGHT, ISSUE, STORE = 10.0, 8.0, 1.0, 1.5  # of a stage: its FMAs, from memory, to ask for it, to shared memory
STAGES = ("peer", "production", "peer-3", "production-2", "peer-2", "reference-2")  # colours
UNIT = 6.6  # pixels
COPIES, WORK = "cB", "rm"


@dataclass
class Step:
    what: str
    count: int
    stages: list[int] = field(default_factory=list)


@dataclass
class Role:
    threads: list[int]  # the first lanes of its warps
    steps: list[Step]

    def does(self, letters: str) -> bool:
        return any(step.what in letters for step in self.steps)

    def name(self, block: int) -> str:
        first, last = min(self.threads), max(self.threads) + 31
        if len(self.threads) * 32 == block:
            return "every thread"
        if self.steps and not self.does(WORK) and all(step.what in "Ba|q" for step in self.steps):
            return f"thread {first}"
        return f"threads {first} to {last}"


@dataclass
class Box:
    begin: float
    end: float
    what: str
    stage: int = -1
    stages: list[int] = field(default_factory=list)  # where there are several


# ---------------------------------------------------------------- what the trace says


def _runs(steps: list[list]) -> list[tuple[str, int, list[tuple[str, int, int]]]]:
    """Of what a thread does in a row: letter, how often, the bytes of which arrays. A wait ("-") ends a run."""
    runs: list[tuple[str, int, list[tuple[str, int, int]]]] = []
    for what, count, memory, first, last in steps:
        place = [(memory, first, last)] if memory else []
        if runs and runs[-1][0] == what:
            runs[-1] = (what, runs[-1][1] + count, runs[-1][2] + place)
        else:
            runs.append((what, count, place))
    return [run for run in runs if run[0] != "-"]


def _stage_starts(all_runs: list[list]) -> dict[str, list[int]]:
    """Array -> where its stages begin: the lowest bytes of runs of copies, of whoever copies."""
    copied: dict[str, set[int]] = {}
    for runs in all_runs:
        for what, _, places in runs:
            lowest: dict[str, int] = {}
            for memory, first, _ in places if what in "wcB" else []:
                lowest[memory] = min(first, lowest.get(memory, first))
            for memory, first in lowest.items():
                copied.setdefault(memory, set()).add(first)
    return {memory: sorted(starts) for memory, starts in copied.items()}


def _stages(places: list[tuple[str, int, int]], starts: dict[str, list[int]]) -> list[int]:
    found = set()
    for memory, first, last in places:
        known = starts.get(memory, [0])
        low, high = bisect.bisect_right(known, first) - 1, bisect.bisect_right(known, last) - 1
        found |= set(range(max(low, 0), max(high, 0) + 1))
    return sorted(found)


def roles(warps: list[dict]) -> list[Role]:
    """Warps that do the same to the same stages are one role; warps that do nothing are none."""
    all_runs = [_runs(warp["steps"]) for warp in warps]
    # Where a thread copies to differs from warp to warp, so stages are those of the first warp that copies.
    copier = next((runs for runs in all_runs if any(what in "wcB" for what, _, _ in runs)), [])
    starts = _stage_starts([copier])
    if any(len(known) > len(STAGES) for known in starts.values()):
        return []  # no stages: a tree, or single elements
    found: dict[tuple, Role] = {}
    for warp, runs in zip(warps, all_runs):
        steps = [Step(what, count, _stages(places, starts)) for what, count, places in runs if what != "S"]
        if not any(step.what in COPIES + WORK + "L" for step in steps):
            continue
        key = tuple((step.what, tuple(step.stages)) for step in steps[:12] if step.what != "|")
        role = found.setdefault(key, Role([], steps))
        role.threads += warp["threads"]
    return list(found.values())


# ---------------------------------------------------------------- the schedule


class Schedule:
    """Boxes of each role, and those of copies on their way."""

    def __init__(self, all_roles: list[Role]):
        self.roles = all_roles
        self.rows: list[list[Box]] = [[] for _ in all_roles]
        self.flights: list[Box] = []
        self.clock = [0.0] * len(all_roles)
        self.arrived: dict[int, list[float]] = {}  # stage -> when its copies had come
        self.read: list[dict[int, list[float]]] = [{} for _ in all_roles]  # stage -> when its readings ended
        self.asked: list[list[float]] = [[] for _ in all_roles]  # loads under way to registers
        self.largest = max((s.count for r in all_roles for s in r.steps if s.what in WORK), default=1)
        self._run()

    def _run(self) -> None:
        at = [0] * len(self.roles)
        moved = True
        while moved:
            moved = False
            for i, role in enumerate(self.roles):
                while at[i] < len(role.steps) and self._do(i, role.steps[at[i]]):
                    at[i] += 1
                    moved = True

    def _readers(self, stage: int) -> list[int]:
        return [i for i, role in enumerate(self.roles) if any(stage in s.stages for s in role.steps if s.what in WORK)]

    def _free_at(self, i: int, stage: int) -> float | None:
        """When a copier that is not itself the reader may fill the stage again; None: not known yet."""
        filled = len(self.arrived.get(stage, []))
        ends = []
        for reader in self._readers(stage):
            done = self.read[reader].get(stage, [])
            if reader != i and len(done) < filled:
                return None
            ends += done[filled - 1 : filled] if filled else []
        return max(ends, default=0.0)

    def _do(self, i: int, step: Step) -> bool:
        """False: it waits for what another role does first."""
        now, row = self.clock[i], self.rows[i]
        if step.what == "|":
            row.append(Box(now, now, "|"))
        elif step.what == "L":
            row.append(Box(now, now + ISSUE, "ask"))
            self.asked[i].append(now)
            now += ISSUE
        elif step.what == "w":
            asked = self.asked[i][-1] if self.asked[i] else now
            begin = max(now, asked + FLIGHT) if self.asked[i] else now
            for stage in step.stages:
                if self.asked[i]:
                    self.flights.append(Box(asked, begin, "flight", stage))
                self.arrived.setdefault(stage, []).append(begin + STORE)
            row += [Box(now, begin, "wait")] if begin > now else []
            row.append(Box(begin, begin + STORE, "store", step.stages[0]))
            self.asked[i].clear()
            now = begin + STORE
        elif step.what in COPIES:
            for stage in step.stages:
                free = self._free_at(i, stage)
                if free is None:
                    step.stages = step.stages[step.stages.index(stage) :]
                    self.clock[i] = now
                    return False
                begin = max(now, free)
                row.append(Box(begin, begin + ISSUE, "ask", stage))
                self.flights.append(Box(begin, begin + FLIGHT, "flight", stage))
                self.arrived.setdefault(stage, []).append(begin + FLIGHT)
                now = begin + ISSUE
        elif step.what in WORK:
            begin = now
            for stage in step.stages:
                arrived = self.arrived.get(stage, [])
                copies_itself = any(stage in s.stages for s in self.roles[i].steps if s.what in COPIES + "w")
                turn = len(arrived) - 1 if copies_itself else len(self.read[i].get(stage, []))
                if not 0 <= turn < len(arrived):
                    return False
                begin = max(begin, arrived[turn])
            row += [Box(now, begin, "wait")] if begin > now else []
            now = begin + MULTIPLY * step.count / self.largest
            row.append(Box(begin, now, "multiply", step.stages[0], step.stages))
            for stage in step.stages:
                self.read[i].setdefault(stage, []).append(now)
        self.clock[i] = now
        return True


# ---------------------------------------------------------------- the picture


def draw(scene: Scene, warps: list[dict], block: int, top: float) -> float:
    """Where it ends; nothing is drawn of a rung that has no stages."""
    all_roles = roles(warps)
    if not any(role.does("wcB") for role in all_roles) or not any(role.does(WORK) for role in all_roles):
        return top
    schedule = Schedule(all_roles)
    left, right = 150.0, scene.width - 24
    most = (right - left) / UNIT
    scene.heading(top, "The pipeline in time: order and stages as traced, lengths assumed (to multiply a stage 10, from memory 8)")
    y = top + 26
    y = _flights(scene, schedule.flights, left, most, y)
    for role, row in zip(all_roles, schedule.rows):
        scene.text(24, y + 15, role.name(block), size=11)
        _row(scene, row, left, most, y)
        y += 28
    used = 1 + max((stage for role in all_roles for step in role.steps for stage in step.stages), default=0)
    x = 24.0
    legend = [("coming, or multiplied from, stage", ""), *((str(stage), STAGES[stage]) for stage in range(used))]
    legend += [("asks for data", "ink"), ("waits", "grid")]
    if any(box.what == "|" for row in schedule.rows for box in row):
        legend.append(("barrier of the block", "|"))
    for name, colour in legend:
        if colour == "|":
            scene.box(x, y + 4, 2.5, 12, fill="ink")
        elif colour:
            scene.box(x, y + 5, 10, 10, fill=colour)
        scene.text(x + (15 if colour else 0), y + 14, name, muted=True, size=11)
        x += (30 if colour else 12) + 6.0 * len(name)
    return y + 34


def _flights(scene: Scene, flights: list[Box], left: float, most: float, y: float) -> float:
    lanes: list[float] = []  # when each ends
    scene.text(24, y + 10, "on its way", size=11)
    for box in sorted(flights, key=lambda box: box.begin):
        if box.begin >= most or box.end <= box.begin:
            continue
        lane = next((i for i, end in enumerate(lanes) if end <= box.begin + 1e-9), len(lanes))
        lanes[lane:] = [box.end] if lane == len(lanes) else [box.end, *lanes[lane + 1 :]]
        end = min(box.end, most)
        scene.box(left + box.begin * UNIT, y + lane * 13, (end - box.begin) * UNIT - 1, 11, fill=STAGES[box.stage])
    return y + 13 * max(len(lanes), 1) + 6


def _row(scene: Scene, row: list[Box], left: float, most: float, y: float) -> None:
    for box in row:
        if box.begin >= most:
            continue
        x, width = left + box.begin * UNIT, (min(box.end, most) - box.begin) * UNIT
        if box.what == "|":
            scene.box(x - 1, y - 2, 2.5, 26, fill="ink")
        elif box.what == "wait":
            scene.box(x, y, max(width - 1, 0.5), 22, fill="grid")
        elif box.what == "ask":
            scene.box(x, y, max(width - 1, 1), 22, fill="ink")
        elif box.what == "store":
            scene.box(x, y + 6, max(width - 1, 1), 10, fill=STAGES[box.stage])
        else:
            each = 22 / len(box.stages)
            for i, stage in enumerate(box.stages):
                scene.box(x, y + i * each, max(width - 1, 1), each, fill=STAGES[stage])
            if width > 14:
                words = ", ".join(str(stage) for stage in box.stages)
                scene.text(x + width / 2, y + 15, words, middle=True, size=11, paper=True)
