#!/usr/bin/env python3
"""Fits the times of small_tile's configurations (src/sgemm/small_tuning.hpp) to measurements.

    kernelwright bench sgemm --device gpu --sweep random --seed 2 --kernel 'small_*' --json times.json
    tools/fit_small_tiles.py results/h200/explored-short-k.txt  # or times.json ...

What counts is which configuration comes out shortest, so the search lowers the time lost by the
choice among those that were measured, and with half the weight the error of the predictions. Prints
the times; small_tuning.hpp is edited by hand.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES = ["first_us", "chunk_us", "block_us", "busy_chunk_us", "c_by_4_us", "copies_by_4_us", "few_blocks", "along_k_us",
         "tail", "memory"]
H200 = {"sm_count": 132, "l2_bytes": 60 << 20, "max_memory_clock_mhz": 3201, "memory_bus_bits": 6144}


def read_table(text):
    """The launch's constants, and {name: (shape, times)}"""
    constants = {name: float(re.search(rf"small_{name} = ([\d.e]+);", text).group(1))
                 for name in ("launch_us", "memory_share", "l2_share", "together", "max_k")}
    memory = (ROOT / "src/sgemm/memory_time.hpp").read_text()
    constants["share_of_bandwidth"] = float(re.search(r"\.share_of_bandwidth = ([\d.]+)", memory).group(1))
    tiles = {}
    for block in re.findall(r"\{\.name = \"small_.*?\}\}", text, re.S):
        values = {key: float(value) for key, value in re.findall(r"\.(\w+) = ([\d.]+)", block)}
        shape = {key: int(values[key]) for key in ("bm", "bn", "bk", "blocks_per_sm")}
        shape["turns"] = ".turns = true" in block
        tiles[re.search(r'"(small_\w+)"', block).group(1)] = shape, [values[key] for key in TIMES]
    return constants, tiles


def read_measurements(paths, max_k):
    """{configuration: {(m, n, k, batch, ops, lda, ldb, ldc): us}}"""
    measured = collections.defaultdict(dict)
    for path in paths:
        if path.suffix == ".json":
            rows = [(r["m"], r["n"], r["k"], r["batch"], r["op_a"] + r["op_b"], r["lda"], r["ldb"],
                     r["ldc"], r["kernel"], r["time_us"]["median"])
                    for r in json.loads(path.read_text())["rows"] if r["time_us"]]
        else:
            present = path.read_text().rpartition("# Present text")[2]  # of explored-short-k.txt
            rows = [line.split() for line in present.splitlines() if line[:1].isdigit()]
        for m, n, k, batch, ops, lda, ldb, ldc, kernel, us in rows:
            product = int(m), int(n), int(k), int(batch), ops, int(lda), int(ldb), int(ldc)
            if product[2] <= max_k and min(product[:2]) > 2:
                measured[kernel][product] = float(us)
    return measured


def rounds_of(blocks, fit, together):
    """As small_rounds in src/sgemm/small_plan.hpp."""
    if blocks <= fit:
        return math.ceil(blocks)
    return blocks + together * (math.ceil(blocks / fit) * fit - blocks) * fit / blocks


def missing_blocks(blocks, fit):
    return 1 / min(max(1, math.ceil(blocks)), fit) - 1 / fit


def memory_us(product, longer, constants, device):
    """As small_memory_us there."""
    m, n, k, batch = product[:4]
    data = 4 * batch * (m * n + k * (m + n))
    if data <= constants["l2_share"] * device["l2_bytes"]:
        return 0
    bytes_per_us = constants["share_of_bandwidth"] * 2 * device["max_memory_clock_mhz"] * device["memory_bus_bits"] / 8
    return longer * data / (constants["memory_share"] * bytes_per_us)


def predict(tile, times, product, constants, device):
    """As predict_small_us in src/sgemm/small_plan.hpp."""
    m, n, k, batch, ops, lda, ldb, ldc = product
    first, chunk, block, busy, c_by_4, copies_by_4, few_blocks, along_k, tail, memory = times
    bm, bn = tile["bm"], tile["bn"]
    blocks = -(-m // bm) * -(-n // bn) * batch / device["sm_count"]
    fit = tile["blocks_per_sm"]
    rounds = rounds_of(blocks, fit, constants["together"])
    chunks = k / tile["bk"]
    stores_by_4 = bool(n % 4 or ldc % 4)
    turns_a, turns_b = tile["turns"] and ops[0] == "N", tile["turns"] and ops[1] == "T"
    by_4 = bm * bool(turns_a or lda % 4) + bn * bool(turns_b or ldb % 4 or (ops[1] == "N" and stores_by_4))
    busy *= 1 + few_blocks * missing_blocks(blocks, fit)
    busy += copies_by_4 * by_4 / (bm + bn)
    busy += along_k * ((ops[0] == "N") + (ops[1] == "T") - 1) / 2
    return max(first + chunks * chunk,
               constants["launch_us"] + (rounds + tail) * (block + c_by_4 * stores_by_4 + chunks * busy),
               constants["launch_us"] + memory_us(product, memory, constants, device))


class Fit:
    def __init__(self, constants, tiles, measured, device):
        self.constants, self.tiles, self.measured, self.device = constants, tiles, measured, device
        self.times = {name: list(tiles[name][1]) for name in measured}
        self.products = sorted({p for times in measured.values() for p in times})
        self.best = {p: min(times[p] for times in measured.values() if p in times) for p in self.products}
        alike = collections.Counter(p[:3] for p in self.products)
        self.weight = {p: alike[p[:3]] ** -0.5 for p in self.products}
        self.predicted = {name: self.predictions(name, self.times[name]) for name in measured}
        self.errors = {name: self.error(name, self.predicted[name]) for name in measured}

    def predictions(self, name, times):
        return {p: predict(self.tiles[name][0], times, p, self.constants, self.device)
                for p in self.measured[name]}

    def error(self, name, predicted):
        total = weights = 0
        for p, us in self.measured[name].items():
            weight = self.weight[p] * (1 if us < 1.25 * self.best[p] else 0.2)
            total += weight * abs(math.log(predicted[p] / us))
            weights += weight
        return total / weights

    def lost(self, product):
        """(lost, chosen)"""
        here = [name for name in self.measured if product in self.measured[name]]
        chosen = min(here, key=lambda name: self.predicted[name][product])
        return math.log(self.measured[chosen][product] / self.best[product]), chosen

    def mean_lost(self):
        return (sum(self.weight[p] * self.lost(p)[0] for p in self.products)
                / sum(self.weight.values()))

    def cost(self):
        return self.mean_lost() + 0.5 * sum(self.errors.values()) / len(self.errors)

    def search(self, steps):
        best = self.cost()
        for _ in range(steps):
            name, which = random.choice(list(self.times)), random.randrange(len(TIMES))
            before = self.times[name], self.predicted[name], self.errors[name]
            times = list(self.times[name])
            times[which] = max(1e-4, times[which] * math.exp(random.gauss(0, 0.08)))
            self.times[name] = times
            self.predicted[name] = self.predictions(name, times)
            self.errors[name] = self.error(name, self.predicted[name])
            cost = self.cost()
            if cost < best:
                best = cost
            else:
                self.times[name], self.predicted[name], self.errors[name] = before

    def report(self):
        for lost, chosen, product in sorted(((*self.lost(p), p) for p in self.products), reverse=True)[:8]:
            print(f"  {product}: {chosen} {100 * math.expm1(lost):.0f} % slower than the best")
        print(f"  lost on average: {100 * math.expm1(self.mean_lost()):.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=3000, help="of the search (default 3000)")
    parser.add_argument("--held", nargs="+", type=pathlib.Path, default=[], help="other products, to judge by")
    arguments = parser.parse_args()
    random.seed(1)
    constants, tiles = read_table((ROOT / "src/sgemm/small_tuning.hpp").read_text())

    def read(paths):
        measured = read_measurements(paths, constants["max_k"])
        return {name: times for name, times in measured.items() if name in tiles}

    measured = read(arguments.results)
    if not measured:
        parser.error("no row of a configuration of src/sgemm/small_tuning.hpp in these files")
    fit = Fit(constants, tiles, measured, H200)
    held = read(arguments.held)

    def report(when):
        print(f"{when}: {len(fit.products)} products")
        fit.report()
        if held:
            fitted = {name: (tiles[name][0], fit.times.get(name, tiles[name][1])) for name in held}
            print("held out:")
            Fit(constants, fitted, held, H200).report()

    report("as small_tuning.hpp has it")
    fit.search(arguments.steps)
    report("after the search")
    for name, times in fit.times.items():
        print(f"{name:16}", "  ".join(f"{key} {us:.3f}" for key, us in zip(TIMES, times)),
              f" error {100 * fit.errors[name]:.1f} %")


if __name__ == "__main__":
    main()
