#!/usr/bin/env python3
"""Fits the times of stream_tile to what the choice among all kernels loses by them.

    tools/fit_choice.py results/h200/explored-sgemm-choice.txt          # what the times of the tree lose
    tools/fit_choice.py results/h200/explored-sgemm-choice.txt --seconds 60 --apply
    tools/fit_choice.py FILE --seconds 60 --half                        # found on one half of the products, judged by the other

tools/fit_sgemm_choice.py fits each configuration's times to its own timings; a choice takes the one whose prediction
is too short by the most. So the search starts from such a fit and lowers the time lost by the choice (a soft one, in which
kernels within some 3 % of the least prediction have a part), the predictions' errors, and the distance from where it began.
The times of the large tiles stay: few products that lose are large, and fewer have aligned rows; those of small_tile too,
which hold for batches. Needs numpy. --apply puts what it finds into src/sgemm/stream/tuning.hpp.
"""
import argparse
import math
import pathlib
import random
import re
import time

import fit_sgemm_choice as streams
import fit_small_tiles as smalls
import numpy as np

H200 = {"name": "NVIDIA H200", "sm_count": 132, "measured_fp32_tflops": 66.3, "max_memory_clock_mhz": 3201,
        "memory_bus_bits": 6016, "l2_bytes": 62914560}  # fmt: skip
SOFTNESS = 0.03  # of the choice: relative
NEAR = 0.5  # how much a change of 100 % of a time counts in the fit to begin with, beside the rows' errors
DISTANCE, OF_ITERATIONS = 0.004, 12  # what moving away costs
LARGE_OUTPUTS = 64 * 128
ERROR, LARGE_ERROR = 0.4, 0.06  # the errors' weight beside the loss; from here on errors count linearly


class Row:
    """A kernel's time at a product."""

    def __init__(self, product, name, us):
        self.product, self.us = product, us
        self.kernel, *cut = name.split("/")
        self.cut = tuple(map(int, cut)) if self.kernel.startswith("stream_") else ()


class Table:
    """The times of all configurations, and their predictions."""

    def __init__(self, device):
        self.device = device
        self.tiles = streams.read_tiles()
        self.constants, self.small = smalls.read_table((smalls.ROOT / "src/sgemm/small_tuning.hpp").read_text())
        self.times = {name: np.array(tile.times) for name, tile in self.tiles.items()}
        self.times.update({name: np.array(times) for name, (_, times) in self.small.items()})

    def counts(self, row):
        tile = self.tiles[row.kernel]
        blocks, whole, cluster = row.cut
        return tile.counts(row.product, self.device, (blocks, tile.shape(row.product, self.device)[0] - whole, cluster))

    def fits(self, row):
        """Whether the library would take this cut: its clusters all run at once."""
        if row.kernel in self.tiles and row.cut[2]:
            at_once = streams.blocks_in_clusters(self.device.sms, self.tiles[row.kernel].blocks_per_sm, row.cut[2])
            return row.cut[0] <= at_once
        return row.kernel in self.tiles or row.kernel in self.small and row.product.k <= self.constants["max_k"]

    def small_us(self, row):
        p = row.product
        key = p.m, p.n, p.k, p.batch, p.op_a + p.op_b, p.lda, p.ldb, p.ldc
        return smalls.predict(self.small[row.kernel][0], self.times[row.kernel], key, self.constants, H200)


def read(paths, table):
    """Lists of rows, one a product, of the kernels that the table has; thin and ragged are left out."""
    products, rows = [], None
    for line in "\n".join(path.read_text() for path in paths).splitlines():
        fields = re.split(r"[ ,]+", line)
        if fields[0] == "==":
            m, n, k, ops, lda, ldb, ldc = fields[1:8]
            product = streams.Product({"m": int(m), "n": int(n), "k": int(k), "op_a": ops[0], "op_b": ops[1], "lda": int(lda),
                                       "ldb": int(ldb), "ldc": int(ldc), "batch": 1, "beta": 0})  # fmt: skip
            products.append(rows := [])
        elif len(fields) == 5 and rows is not None and ("/s" not in fields[0] and fields[0].startswith(("stream_", "small_"))):
            row = Row(product, fields[0], float(fields[4]))
            if table.fits(row):
                rows.append(row)
    return [rows for rows in products if len(rows) > 1]


class Fit:
    def __init__(self, table, products):
        self.table = table
        self.rows = [row for rows in products for row in rows]
        self.of = np.repeat(np.arange(len(products)), [len(rows) for rows in products])
        self.starts = np.searchsorted(self.of, np.arange(len(products)))
        self.us = np.log([row.us for row in self.rows])
        self.lost = self.us - np.minimum.reduceat(self.us, self.starts)[self.of]
        self.weights = np.where(self.lost < 0.15, 1, np.where(self.lost < 0.3, 0.3, 0.05)) * np.where(self.us > math.log(100), 2, 1)
        self.places, self.counts = {}, {}
        for i, row in enumerate(self.rows):
            self.places.setdefault(row.kernel, []).append(i)
        for name, places in self.places.items():
            if name in table.tiles:
                self.counts[name] = np.array([table.counts(self.rows[i]) for i in places], float)
        self.floors = np.array([streams.MEMORY_FLOOR * table.device.memory_us(row.product) for row in self.rows])
        self.predicted = np.zeros(len(self.rows))

    def predict(self, name):
        if name in self.counts:
            return np.log(np.maximum(self.counts[name] @ self.table.times[name], self.floors[self.places[name]]))
        return np.log([self.table.small_us(self.rows[i]) for i in self.places[name]])

    def predict_all(self):
        for name, places in self.places.items():
            self.predicted[places] = self.predict(name)

    def begin(self):
        """Each configuration's times by its own rows, near the tree's."""
        for name, counts in self.counts.items():
            if len(counts) < 8 or not self.moves(name):
                continue
            tile, old = self.table.tiles[name], self.table.times[name]
            us = np.exp(self.us[self.places[name]])
            least = 2 * tile.bm * tile.bn * tile.bk / (streams.LARGEST_SHARE * self.table.device.flops_per_us_of_sm)
            floors = [{"iteration_us": least, "crowded_iteration_us": tile.blocks_per_sm * least}.get(key, 0) for key in streams.TIMES]
            weights = np.where(self.lost[self.places[name]] < math.log(1.2), 4, 1)
            x, rows, robust = old, counts / us[:, None], np.ones(len(us))
            near = np.diag([NEAR / t**2 if t > 0 else 0 for t in old])
            for _ in range(15):
                weighted = rows * (weights * robust)[:, None]
                x = np.array(descend(rows.T @ weighted + near, weighted.sum(0) + near @ old, floors, x))
                robust = np.minimum(1, LARGE_ERROR / np.maximum(1e-9, np.abs(rows @ x - 1)))
            self.table.times[name] = x

    def cost(self):
        best = np.minimum.reduceat(self.predicted, self.starts)
        shares = np.exp((best[self.of] - self.predicted) / SOFTNESS)
        lost = np.add.reduceat(shares * self.lost, self.starts) / np.add.reduceat(shares, self.starts)
        errors = np.abs(self.predicted - self.us)
        errors = np.where(errors < LARGE_ERROR, errors**2 / (2 * LARGE_ERROR), errors - LARGE_ERROR / 2)
        return lost.mean() + ERROR * (self.weights * errors).sum() / self.weights.sum()

    def search(self, seconds):
        times, moved = self.table.times, dict.fromkeys(self.places, 0.0)
        began = {name: times[name].copy() for name in self.places}
        costs = {name: self.costs_of_distance(name) for name in self.places}
        self.predict_all()
        names = [name for name in self.places if self.moves(name)]
        least, end = self.cost(), time.monotonic() + seconds
        while time.monotonic() < end:
            name = random.choice(names)
            before = times[name].copy(), self.predicted[self.places[name]].copy(), moved[name]
            which = random.randrange(len(times[name]))
            times[name][which] = max(1e-3, times[name][which]) * math.exp(random.gauss(0, 0.06))
            self.predicted[self.places[name]] = self.predict(name)
            ratio = np.log(np.maximum(times[name], 0.01) / np.maximum(began[name], 0.01))
            moved[name] = (costs[name] * ratio**2).sum()
            found = self.cost() + DISTANCE * sum(moved.values())
            if found < least:
                least = found
            else:
                times[name], self.predicted[self.places[name]], moved[name] = before

    def costs_of_distance(self, name):
        costs = np.ones(len(self.table.times[name]))
        costs[[streams.TIMES.index(key) for key in ("iteration_us", "crowded_iteration_us")]] = OF_ITERATIONS
        return costs

    def moves(self, name):
        tile = self.table.tiles.get(name)
        return tile is not None and tile.bm * tile.bn < LARGE_OUTPUTS

    def report(self, label):
        self.predict_all()
        ends = [*self.starts[1:], len(self.rows)]
        lost = sorted(self.lost[a + np.argmin(self.predicted[a:b])] for a, b in zip(self.starts, ends))
        near = self.lost < math.log(1.2)
        error = np.sqrt(((self.predicted - self.us)[near] ** 2).mean())
        print(f"{label}: {len(lost)} products, {100 * math.expm1(np.mean(lost)):.2f} % lost on average, "
              f"{100 * math.expm1(lost[int(0.95 * len(lost))]):.1f} % at the 95th percentile; predictions err by {100 * error:.1f} %")  # fmt: skip


def descend(gram, right, floors, x):
    x = list(x)
    for _ in range(400):
        before = list(x)
        for i in range(len(x)):
            if gram[i][i] > 0:
                x[i] = max(floors[i], x[i] + (right[i] - gram[i] @ x) / gram[i][i])
        if np.allclose(before, x, rtol=1e-7):
            break
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0, help="of the search")
    parser.add_argument("--half", action="store_true", help="fit to half of the products, judge by the other")
    parser.add_argument("--apply", action="store_true", help="put the times into the table")
    options = parser.parse_args()
    random.seed(1)
    table = Table(streams.Device(H200))
    products = read(options.files, table)
    Fit(table, products).report("as it is")
    if options.seconds == 0:
        return
    random.shuffle(products)
    held = products[len(products) // 2 :] if options.half else products
    fit = Fit(table, products[: len(products) // 2] if options.half else products)
    Fit(table, held).report("as it is, judged by")
    fit.begin()
    fit.search(options.seconds)
    fit.report("fitted")
    Fit(table, held).report("fitted, judged by")
    if options.apply:
        streams.write_times({name: table.times[name] for name in table.tiles})


if __name__ == "__main__":
    main()
