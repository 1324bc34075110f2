#!/usr/bin/env python3
"""Fits the constants by which the drop-in predicts cuBLAS's FP32 time (adapters/cublas/vendor_time.cpp).

    tools/fit_cublas_time.py                     # how the constants of the tree predict products that they were not fitted to
    tools/fit_cublas_time.py --fit h200          # and other ones, found from the measurements below

Fitted are the cuBLAS rows of the random sweeps of seeds 1001 (H200), 1002, 1003 and 1005, as they were committed, and of
the squares; held out are the seeds that lie in results/ now and the products of programs. The formula is that of
predict_vendor_us. --fit reads the older files from git, so it takes a clone with its history; it takes half an hour.
"""

import argparse
import json
import math
import pathlib
import random
import re
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "adapters/cublas/vendor_time.cpp"
NAMES = {"h200": "NVIDIA H200", "h100": "NVIDIA H100 80GB HBM3"}
# The commits that hold a published sweep, oldest first: seeds 1001 (of an H200 alone), 1002, 1003, 1005.
FITTED = {"h200": ["044f2b7", "f9b0796", "e405b8b", "c124858"], "h100": ["f9b0796", "e405b8b", "c124858"]}
CACHED_BYTES, LEAST_PART = 40e6, 16
SCALARS = ["start", "output", "step", "more_k", "memory", "cache", "split", "vector_start", "vector_memory", "vector_cache"]
ARRAYS = {"aligned": 4, "unaligned": 4}
# What a prediction that is too long costs, against one that is too short: it takes a call that loses.
TOO_LONG = 1.5
# The margin by which the library's time must be predicted to be shorter.
MARGIN = float(re.search(r"vendor_margin = ([\d.]+)", SOURCE.with_suffix(".hpp").read_text())[1])


def numbers(text):
    return [float(word) for word in re.findall(r"-?\d[\d.e+-]*", text)]


def read_source():
    """Tiles, parts of k, and the constants of each model."""
    text = SOURCE.read_text()
    tiles = re.search(r"Tile tiles\[\] = \{(.*?)\};", text, re.S)[1]
    values = numbers(tiles)
    parts = numbers(re.search(r"parts_of_k\[\] = \{(.*?)\}", text, re.S)[1])
    models = {}
    for body in re.findall(r"\{\.device = (.*?)\}\}", text, re.S):
        fields = {name: numbers(value) for name, value in re.findall(r"\.(\w+) =\s*(\{[^}]*\}?|[^,]+)", body + "}")}
        constants = {name: value[0] if len(value) == 1 else value for name, value in fields.items()}
        constants["fma_per_us"] = math.prod(fields["fma_per_us"])
        models[re.match(r'"([^"]+)"', body)[1]] = constants
    return list(zip(values[::2], values[1::2])), parts, models


TILES, PARTS, MODELS = read_source()


class Product:
    """What a row says, column-major as cuBLAS sees it, and all that no constant changes."""

    def __init__(self, row):
        self.m, self.n, self.k, self.batch = row["n"], row["m"], row["k"], row["batch"]
        self.ops = 2 * (row["op_b"] == "T") + (row["op_a"] == "T")
        self.aligned = row["lda"] % 4 == 0 and row["ldb"] % 4 == 0
        self.bytes = 4 * self.batch * (self.m * self.k + self.k * self.n + self.m * self.n)
        self.is_vector = min(self.m, self.n) == 1 and self.batch == 1
        self.cuts = []
        for which, (tile_m, tile_n) in enumerate(TILES):
            blocks = math.ceil(self.m / tile_m) * math.ceil(self.n / tile_n) * self.batch
            for parts in PARTS:
                if parts > 1 and self.k < LEAST_PART * parts:
                    break
                rounds = math.ceil(blocks * parts / 132)
                self.cuts.append((which, math.ceil(self.k / parts), rounds, tile_m * tile_n, parts > 1))
        self.measured = row["time_us"]["median"]

    def predict(self, c):
        cached = self.bytes < CACHED_BYTES
        if self.is_vector:
            return c["vector_start"] + self.bytes / c["vector_cache" if cached else "vector_memory"]
        factor = c["aligned" if self.aligned else "unaligned"][self.ops] / c["fma_per_us"]
        memory = self.bytes / c["cache" if cached else "memory"]
        least, shares, floor, more_k, output, split = math.inf, c["share_of_peak"], c["step"], c["more_k"], c["output"], c["split"]
        for which, steps, rounds, outputs, is_split in self.cuts:
            step = rounds * outputs * factor / shares[which]
            sums = (steps + more_k) * (step if step > floor else floor) + rounds * output * outputs
            time = (sums if sums > memory else memory) + (split if is_split else 0)
            if time < least:
                least = time
        return c["start"] + least


def rows_of(text):
    return json.loads(text)["rows"]


def committed(device, name, commit=None):
    path = f"results/{device}/{name}.json"
    if commit is None:
        return rows_of((ROOT / path).read_text())
    shown = subprocess.run(["git", "-C", ROOT, "show", f"{commit}:{path}"], capture_output=True, text=True)
    if shown.returncode:
        raise SystemExit(f"fit_cublas_time: {commit} has no {path}: clone with the whole history")
    return rows_of(shown.stdout)


def products(rows):
    return [Product(row) for row in rows if row["kernel"] == "cublas" and row["time_us"]]


def loss(found, constants):
    total = 0
    for product in found:
        error = math.log(product.predict(constants) / product.measured)
        total += min(TOO_LONG * error if error > 0 else -error, 0.6)
    beyond_peak = sum(max(0, math.log(share / 1.02)) for share in constants["share_of_peak"])
    return total / len(found) + 0.1 * beyond_peak


def flat(constants):
    return [(name, None) for name in SCALARS] + [
        (name, i) for name in (*ARRAYS, "share_of_peak") for i in range(len(constants[name]))
    ]


def changed(constants, place, factor):
    name, index = place
    copy = dict(constants)
    if index is None:
        copy[name] *= factor
    else:
        copy[name] = [value * factor if i == index else value for i, value in enumerate(copy[name])]
    return copy


def fit(found, constants, turns):
    """A walk that keeps what lowers the loss, with a step of its own for each constant."""
    generator, places = random.Random(0), flat(constants)
    steps, best = dict.fromkeys(places, 0.2), loss(found, constants)
    for _ in range(turns):
        place = generator.choice(places)
        other = changed(constants, place, math.exp(generator.gauss(0, steps[place])))
        value = loss(found, other)
        if value < best:
            best, constants, steps[place] = value, other, steps[place] * 1.3
        else:
            steps[place] = max(0.97 * steps[place], 0.005)
    return constants


def printed(constants):
    lines = [f".{name} = {constants[name]:.4g}," for name in SCALARS]
    for name in (*ARRAYS, "share_of_peak"):
        lines.append(f".{name} = {{{', '.join(f'{value:.4g}' for value in constants[name])}}},")
    return "\n".join(lines)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def errors_line(what, found, constants):
    errors = [math.log(product.predict(constants) / product.measured) for product in found]
    return (
        f"{what}: {len(found)} products, the prediction is off by {statistics.mean(map(abs, errors)):.1%} in the mean (of logarithms), "
        f"5th and 95th percentile {math.expm1(percentile(errors, 0.05)):+.0%} and {math.expm1(percentile(errors, 0.95)):+.0%}"
    )


def decision_line(what, rows, kernel, constants):
    """What taking calls by the prediction gives, with the library's own time known."""
    times = {}
    for row in rows:
        if row["time_us"]:
            key = (row.get("sweep"), row.get("number"), row.get("program"), row["m"], row["n"], row["k"])
            times.setdefault(key, {})[row["kernel"]] = row
    pairs = [(each[kernel]["time_us"]["median"], Product(each["cublas"])) for each in times.values() if {kernel, "cublas"} <= each.keys()]
    gains, best, taken = [], [], 0
    for own, product in pairs:
        takes = own * MARGIN <= product.predict(constants)
        taken += takes
        gains.append(product.measured / own if takes else 1)
        best.append(max(1, product.measured / own))
    mean = statistics.geometric_mean
    return (
        f"{what}, {kernel}: {taken} of {len(pairs)} taken, {mean(gains):.3f} x cuBLAS's speed (always taken {mean([p.measured / own for own, p in pairs]):.3f}, "
        f"the better of both {mean(best):.3f}); 5th percentile {percentile(gains, 0.05):.3f}, least {min(gains):.3f}, "
        f"{sum(gain < 0.97 for gain in gains)} below 0.97"
    )


def seed_of(device):
    return f"seed {committed(device, 'sgemm-random')[0]['seed']}"


def held_out_line(device, constants):
    return errors_line(f"held out, {seed_of(device)}", products(committed(device, "sgemm-random")), constants)


def report(device, constants):
    print(f"# {NAMES[device]}, margin {MARGIN}")
    print(held_out_line(device, constants))
    print(errors_line("held out, programs", products(committed(device, "sgemm-programs")), constants))
    for name, what in (("sgemm-fp32-split-random", seed_of(device)), ("sgemm-programs", "programs")):
        for kernel in ("kernelwright_split", "kernelwright"):
            print(decision_line(what, committed(device, name), kernel, constants))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", choices=NAMES, metavar="DEVICE", help="h200 or h100")
    parser.add_argument("--turns", type=int, default=12000, help="steps of the search (default 12000)")
    options = parser.parse_args()
    if not options.fit:
        for device, name in NAMES.items():
            report(device, MODELS[name])
        return
    found = []
    for commit in FITTED[options.fit]:
        found += products(committed(options.fit, "sgemm-random", commit))
    found += products(committed(options.fit, "sgemm-squares"))
    constants = fit(found, MODELS[NAMES[options.fit]], options.turns)
    print(errors_line("fitted", found, constants))
    print(printed(constants))
    report(options.fit, constants)


if __name__ == "__main__":
    main()
