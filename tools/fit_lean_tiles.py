#!/usr/bin/env python3
"""Fits the times of lean_tile's configurations (src/sgemm/lean_tuning.hpp) to measurements.

    tools/fit_lean_tiles.py [results/h200/explored-lean-tiles.txt]

Reads the last run of the file. Each configuration is fitted by itself: what counts most are the
products at which it is near the quickest kernel. Prints the times, by a share of which those
in lean_tuning.hpp are longer; that file is edited by hand.
"""
import math
import pathlib
import random
import re
import sys

import fit_small_tiles as smalls

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURED = ROOT / "results/h200/explored-lean-tiles.txt"
TIMES = ["first_us", "step_us", "block_us", "busy_step_us", "c_by_4_us", "copies_by_4_us", "few_blocks", "along_k_us",
         "part_steps", "tail", "memory", "together"]


def read_table(text):
    """The launch's constants, and {name: (shape, times)}"""
    constants, _ = smalls.read_table((ROOT / "src/sgemm/small_tuning.hpp").read_text())
    for name in ("launch_us", "uneven", "one_more", "fewer", "long", "long_from_us", "min_k", "max_k"):
        constants[name] = float(re.search(rf"lean_{name} = ([\d.]+)", text).group(1))
    tiles = {}
    for name, config, times in re.findall(r'\.name = "(lean_\w+)".*?\.config = \{([^}]*)\},\s*\.times = \{([^}]*)\}',
                                          text, re.S):
        tm, tn, lanes_m, lanes_n, warps_m, warps_n, bk, _, most, *_ = map(int, config.split(","))
        shape = {"bm": tm * lanes_m * warps_m, "bn": tn * lanes_n * warps_n, "bk": bk, "blocks_per_sm": most,
                 "warps": warps_m * warps_n}
        values = {key: float(value) for key, value in re.findall(r"\.(\w+) = (-?[\d.]+)", times)}
        tiles[name] = shape, [values[key] for key in TIMES]
    return constants, tiles


def read_measurements(text):
    """{configuration: {product: us}}, and {product: the quickest kernel's us}"""
    measured, best, product = {}, {}, None
    for line in text.rpartition("# == Run")[2].splitlines():
        if line.startswith("== "):
            m, n, k, ops, lda, ldb, ldc = line[3:].split(",")[0].split()
            product = int(m), int(n), int(k), 1, ops, int(lda), int(ldb), int(ldc)
        elif product and " t " in line:
            name, us = line.split()[0], float(line.rpartition(" t ")[2])
            if name.startswith("lean_"):
                measured.setdefault(name, {})[product] = us
            if name != "cublas":
                best[product] = min(us, best.get(product, us))
    return measured, best


def rounds_of(tile, blocks, together, constants):
    """As lean_rounds in src/sgemm/lean_plan.hpp."""
    rounds = smalls.rounds_of(blocks, tile["blocks_per_sm"], together)
    if blocks > tile["blocks_per_sm"]:
        return rounds + constants["one_more"] * (math.ceil(blocks) - blocks)
    busiest = math.ceil(rounds * tile["warps"] / 4) * 4 / tile["warps"]
    return rounds + constants["uneven"] * (busiest - rounds) - constants["fewer"] * (rounds - blocks)


def predict(tile, times, product, constants, device):
    """As predict_lean_us in src/sgemm/lean_plan.hpp."""
    m, n, k, batch, ops, lda, ldb, ldc = product
    first, step, block, busy, c_by_4, copies_by_4, few_blocks, along_k, part_steps, tail, memory, together = times
    if not constants["min_k"] <= k <= constants["max_k"] or batch > 1:
        return math.inf
    bm, bn, fit = tile["bm"], tile["bn"], tile["blocks_per_sm"]
    blocks = -(-m // bm) * -(-n // bn) * batch / device["sm_count"]
    rounds = rounds_of(tile, blocks, together, constants)
    steps = k / 16 + part_steps * bool(k % tile["bk"])
    by_4 = (bm * bool(ops[0] == "N" or lda % 4) + bn * bool(ops[1] == "T" or ldb % 4)) / (bm + bn)
    busy *= 1 + few_blocks * smalls.missing_blocks(blocks, fit)
    busy += copies_by_4 * by_4 + along_k * ((bm * (ops[0] == "N") + bn * (ops[1] == "T")) / (bm + bn) - 0.5)
    us = max(first + steps * step,
             constants["launch_us"] + (rounds + tail) * (block + c_by_4 * bool(n % 4 or ldc % 4) + steps * busy),
             constants["launch_us"] + smalls.memory_us(product, memory, constants, device))
    return us * (1 + constants["long"] * min(1.0, max(0.0, math.log2(us / constants["long_from_us"]) / 2)))


class Fit:
    """Of one configuration."""

    def __init__(self, constants, tile, times, measured, best, device):
        self.constants, self.tile, self.times, self.device = constants, tile, list(times), device
        self.measured = {p: us for p, us in measured.items() if predict(tile, times, p, constants, device) < math.inf}
        self.weight = {p: (0.03 + us / best[p] - 1) ** -0.7 for p, us in self.measured.items()}

    def error(self, times):
        total = sum(weight * min(0.25, abs(math.log(predict(self.tile, times, p, self.constants, self.device)
                                                     / self.measured[p]))) ** 1.5
                    for p, weight in self.weight.items())  # fmt: skip
        return total / sum(self.weight.values())

    def search(self, steps):
        best = self.error(self.times)
        for step in range(steps):
            spread, times = 0.5 * (1 - step / steps) + 0.02, list(self.times)
            for which in random.sample(range(len(TIMES)), random.choice([1, 1, 2, 3])):
                times[which] *= math.exp(random.gauss(0, spread))
                if times[which] < 0.05:
                    times[which] = max(0, times[which] + random.gauss(0, 0.02))
            error = self.error(times)
            if error < best:
                best, self.times = error, times
        return best


def main(paths):
    constants, tiles = read_table((ROOT / "src/sgemm/lean_tuning.hpp").read_text())
    measured, best = read_measurements((pathlib.Path(paths[0]) if paths else MEASURED).read_text())
    if not set(measured) & set(tiles):
        sys.exit("no timings of the table's rows")
    random.seed(1)
    for name, (tile, times) in tiles.items():
        fit = Fit(constants, tile, times, measured[name], best, smalls.H200)
        before = fit.error(fit.times)
        after = fit.search(3000)
        print(f"{name}: error {before:.4f} to {after:.4f};",
              ", ".join(f".{key} = {value:.3f}" for key, value in zip(TIMES, fit.times)))


if __name__ == "__main__":
    main(sys.argv[1:])
