#!/usr/bin/env python3
"""Fits the seven times of each stream_tile configuration (src/sgemm/stream/tuning.hpp) to measurements.

    kernelwright bench sgemm --device gpu --kernel 'stream_*' --shape ... --json times.json
    tools/fit_stream_tiles.py results/h200/explored-stream-choice.txt  # or times.json ...

What counts is which configuration comes out shortest, so the search lowers the time lost by the
choice, and with a small weight the error of the prediction. It leaves every shape's schedule as it
was when it was measured. Prints the times before and after; tuning.hpp is edited by hand.
"""
import argparse
import json
import math
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES = ["start_us", "tile_us", "iteration_us", "crowded_iteration_us", "by_4_us", "part_us", "each_part_us"]
FAN, MOST_BLOCKS = 16, 4096  # stream_fan, max_stream_blocks


def read_tiles(text):
    tiles = {}
    for block in re.findall(r"\{\.name = \"stream_.*?\}\}", text, re.S):
        value = lambda key: float(re.search(rf"\.{key} = ([\d.]+)", block).group(1))
        name = re.search(r'"(stream_\w+)"', block).group(1)
        shape = {key: int(value(key)) for key in ("bm", "bn", "bk", "blocks_per_sm")}
        tiles[name] = shape, [value(key) for key in TIMES]
    return tiles


def read_measurements(paths):
    """{configuration: {(m, n, k, batch): us}}"""
    measured = {}
    for path in paths:
        if path.suffix == ".json":
            rows = [(*(r[key] for key in ("m", "n", "k", "batch", "kernel")), r["time_us"]["median"])
                    for r in json.loads(path.read_text())["rows"] if r["time_us"]]
        else:
            rows = [line.split() for line in path.read_text().splitlines() if line[:1].isdigit()]
        for m, n, k, batch, kernel, us in rows:
            if kernel.startswith("stream_"):
                shape = int(m), int(n), int(k), int(batch)
                measured.setdefault(kernel, {})[shape] = float(us)
    return measured


def weight(shape):
    m, n, k, batch = shape
    return 4 if m == n == k and m % 128 == 0 and batch == 1 else 1  # of the sweep `classic`


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def schedule(tile, shape, times, sms):
    """The quickest of plan_stream_tile's ways: (us, how often each time counts, the way)."""
    m, n, k, batch = shape
    iterations = -(-k // tile["bk"])
    tiles = -(-m // tile["bm"]) * -(-n // tile["bn"]) * batch
    slots = min(MOST_BLOCKS, sms * tile["blocks_per_sm"])
    ways = []

    def consider(blocks, shared):
        if shared and shared * iterations < blocks:
            return
        share, longer = divmod(shared * iterations, blocks)
        rounds = -(-(tiles - shared) // blocks)
        steps = rounds * iterations + (share + (longer > 0) if shared else 0)
        further = max(0, rounds - 1) + (1 if shared and rounds else 0)
        parts = -(-iterations // share) if shared else 0
        levels = (2 if parts > FAN else 1) if shared else 0
        crowded = blocks > sms
        counts = [1, further, 0 if crowded else steps, steps if crowded else 0, steps if n % 4 else 0,
                  levels, levels * min(parts, FAN)]
        ways.append((dot(counts, times), counts, (blocks, shared)))

    consider(min(slots, tiles), 0)
    if iterations >= 2:
        if tiles % slots:
            consider(slots, tiles % slots)
        if tiles < slots:
            most = min(slots // tiles, iterations)
            for parts in (most, most // 2, 8, 4, 3, 2):
                if 2 <= parts <= most:
                    consider(tiles * parts, tiles)
    return min(ways)


class Fit:
    def __init__(self, tiles, measured, sms):
        self.tiles, self.measured, self.sms = tiles, measured, sms
        self.times = {name: list(tiles[name][1]) for name in measured}
        self.shapes = sorted({shape for times in measured.values() for shape in times})
        self.plan = {name: {shape: schedule(tiles[name][0], shape, self.times[name], sms)[1:]
                            for shape in measured[name]} for name in measured}

    def choice(self, shape):
        """(chosen, its time, the best, its time)"""
        here = [name for name in self.measured if shape in self.measured[name]]
        chosen = min(here, key=lambda name: dot(self.plan[name][shape][0], self.times[name]))
        best = min(here, key=lambda name: self.measured[name][shape])
        return chosen, self.measured[chosen][shape], best, self.measured[best][shape]

    def cost(self):
        lost = error = 0
        for shape in self.shapes:
            _, us, _, best_us = self.choice(shape)
            lost += weight(shape) * math.log(us / best_us)
            for name, times in self.measured.items():
                if times.get(shape, math.inf) < 1.25 * best_us:
                    predicted = dot(self.plan[name][shape][0], self.times[name])
                    error += abs(math.log(predicted / times[shape]))
        return lost + 0.0012 * error

    def keeps_schedules(self, name):
        tile = self.tiles[name][0]
        return all(schedule(tile, shape, self.times[name], self.sms)[2] == way
                   for shape, (_, way) in self.plan[name].items())

    def search(self, steps):
        best = self.cost()
        for _ in range(steps):
            name, which = random.choice(list(self.times)), random.randrange(len(TIMES))
            one_block = self.tiles[name][0]["blocks_per_sm"] == 1
            if which == 2 and not one_block:
                continue  # hardly a shape of the choice has two-block tiles alone on an SM
            before = list(self.times[name])
            now = self.times[name]
            now[which] = now[which] * math.exp(random.gauss(0, 0.05)) or 0.3 * random.random()
            if one_block and which in (2, 3):
                now[2] = now[3] = now[which]
            cost = self.cost()
            if cost < best and self.keeps_schedules(name):
                best = cost
            else:
                self.times[name] = before

    def report(self):
        total = 0
        for shape in self.shapes:
            chosen, us, best, best_us = self.choice(shape)
            total += math.log(us / best_us)
            if us > 1.02 * best_us:
                print(f"  {shape}: {chosen} {us:.1f} us, best {best} {best_us:.1f} us")
        print(f"  lost on average: {100 * math.expm1(total / len(self.shapes)):.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=6000, help="of the search (default 6000)")
    parser.add_argument("--sms", type=int, default=132, help="of the device (default: H200's 132)")
    arguments = parser.parse_args()
    random.seed(1)
    tiles = read_tiles((ROOT / "src/sgemm/stream/tuning.hpp").read_text())
    measured = read_measurements(arguments.results)
    if unknown := sorted(set(measured) - set(tiles)):
        parser.error(f"not in src/sgemm/stream/tuning.hpp: {', '.join(unknown)}")
    if not measured:
        parser.error("no row of a stream_* kernel in these files")
    fit = Fit(tiles, measured, arguments.sms)
    print(f"{len(fit.shapes)} shapes, as tuning.hpp has it:")
    fit.report()
    fit.search(arguments.steps)
    print("after the search:")
    fit.report()
    for name, times in fit.times.items():
        print(f"{name:16}", "  ".join(f"{key} {us:.3f}" for key, us in zip(TIMES, times)))


if __name__ == "__main__":
    main()
