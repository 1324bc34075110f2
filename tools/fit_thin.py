#!/usr/bin/env python3
"""Fits the constants by which thin predicts its time (src/sgemm/thin_tuning.hpp) to measurements of its cuts.

    tools/fit_thin.py [results/h200/explored-thin-cuts.txt]      # how the constants of the tree choose
    tools/fit_thin.py --fit                                      # and other ones, found from these

What counts is which cut comes out quickest, so the search lowers the time lost by the choice, and with
a smaller weight the error of the prediction. Prints the constants; thin_tuning.hpp is edited by hand.
The formula is that of predict_us in src/sgemm/thin_plan.hpp.
"""
import argparse
import math
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUNING = ROOT / "src/sgemm/thin_tuning.hpp"
FITTED = ["start", "start_twice_threads", "step", "block", "fetch", "chunk", "add_lanes", "sums_pass", "sums_add",
          "output_direct", "scattered", "gather", "sm_bytes", "l2_bytes", "unaligned", "fma_slots", "element_slots",
          "load_slots"]
SMS, L2_BYTES, MEMORY_BYTES_PER_US = 132, 62914560, 2e-3 * 3201000 * 6144 / 8  # of the H200 that measured
SECTOR = 32
# In the measurements blocks that share rows add up their parts one load after the other.
GATHER_LOAD_US = 0.206


def read_tuning():
    text = TUNING.read_text()
    table = text[text.index("thin_configs[] = {"):text.index("thin_max_width")]
    configs = [tuple(map(int, found)) for found in re.findall(r"\{(\d+), (\d+), (\d+), (\d+), (\d+)\}", table)]
    blocks = {tuple(map(int, found)) for found in re.findall(r"^    \{(\d), (\d+), (\d+)\},  //", text, re.MULTILINE)}
    constants = {name: float(value) for name, value in re.findall(r"\.(\w+) = ([\d.e-]+)[,}]", text)}
    return configs, blocks, constants


def chunk_of(width):
    return 4096 if width <= 2 else 2048 if width <= 4 else 1024 if width <= 8 else 512


def log2_ceil(x):
    return max(0, math.ceil(math.log2(x)))


def cut(shape, name, configs):
    """What predict_us asks of a plan."""
    m, n, k, ops, lda, ldb, _ = shape
    wide_is_b = m <= n
    width, rows = (m, n) if wide_is_b else (n, m)
    ld = ldb if wide_is_b else lda
    along_k = ops[1] == "T" if wide_is_b else ops[0] == "N"
    narrow_is_k = ops[0] == "N" if wide_is_b else ops[1] == "T"
    thread_rows, threads_shift, row_shift, parts = (int(part[1:]) for part in name.split("_"))
    config = next(c for c in configs if c[1] == thread_rows and c[0] >= width)
    k_shift = threads_shift - row_shift
    block_rows, step = thread_rows << row_shift, config[2] << k_shift
    row_blocks, steps = -(-rows // block_rows), -(-k // step)
    resident = config[4] * config[3] // (1 << threads_shift)
    if parts < 1:
        parts = max(1, min(resident * SMS * (1 - parts) // row_blocks, steps))
    steps_of_part = -(-steps // parts)
    parts = -(-steps // steps_of_part)
    vector = ld % 4 == 0 and (along_k or thread_rows == 4)
    return dict(locals(), blocks=row_blocks * parts, slots=resident * SMS)


def library_cuts(shape, configs, blocks):
    """Those among which thin_plan takes the least prediction, where lines start on 16-byte boundaries."""
    for thread_rows, threads_shift, row_shift in blocks:
        whole = cut(shape, f"r{thread_rows}_t{threads_shift}_l{row_shift}_p1", configs)
        config, k_shift = whole["config"], whole["k_shift"]
        if 1 << threads_shift > config[3] or config[2] << k_shift > chunk_of(config[0]):
            continue
        if row_shift > 0 and whole["block_rows"] >= 2 * whole["rows"]:
            continue
        if k_shift > 0 and whole["step"] >= 4 * whole["k"]:
            continue
        yield whole
        if whole["slots"] // whole["blocks"] > 1:
            yield cut(shape, f"r{thread_rows}_t{threads_shift}_l{row_shift}_p0", configs)


def predicted_us(c, t, as_measured=True):
    width = c["config"][0]
    threads, k_threads = 1 << c["threads_shift"], 1 << c["k_shift"]
    of_sm = -(-c["blocks"] // SMS)
    rounds = -(-c["blocks"] // c["slots"])
    k = min(c["steps_of_part"] * c["step"], c["k"])
    rows = min(c["block_rows"], c["rows"])

    chunk = chunk_of(width)
    chunks = max(0, -(-k // chunk) - 1)
    fetches = -(-min(k, chunk) // threads) + chunks * -(-chunk // threads) - 1
    waits = rounds * (c["steps_of_part"] * t["step"] + fetches * t["fetch"] + chunks * t["chunk"])
    waits += (of_sm - 1) * t["block"]

    line = 4 * (k if c["along_k"] else rows) + (0 if c["vector"] else SECTOR - 4)
    narrow = 4 * c["width"] if c["narrow_is_k"] else max(SECTOR, 4 * c["width"])
    block_bytes = (rows if c["along_k"] else k) * line + k * narrow
    more = 1 if c["vector"] else 1 + t["unaligned"]
    sm = more * of_sm * block_bytes / t["sm_bytes"]
    l2 = more * c["blocks"] * block_bytes / t["l2_bytes"]
    operand = 4 * c["rows"] * c["k"]
    if operand > t["share_of_l2"] * L2_BYTES:
        l2 = max(l2, operand / (t["share_of_bandwidth"] * MEMORY_BYTES_PER_US))
    slots = t["fma_slots"] * width + t["element_slots"] + (0 if c["vector"] else t["load_slots"])
    elements = c["block_rows"] * c["steps_of_part"] * c["step"]
    instructions = of_sm * elements * slots / (128 * 1750)
    us = (waits**3 + sm**3 + l2**3 + instructions**3) ** (1 / 3)

    us += t["start"] + t["start_twice_threads"] * (c["threads_shift"] - 8)
    adds_lanes = c["thread_rows"] * width <= 4
    lanes = 32 if c["along_k"] else max(1, 32 >> c["row_shift"])
    merged = min(k_threads, lanes) if adds_lanes else 1
    us += t["add_lanes"] if merged > 1 else 0
    sums = k_threads // merged
    if sums > 1:
        columns = min(width, 8 if c["thread_rows"] == 1 else 4)
        outputs = columns * c["block_rows"]
        shift = max(0, min(c["threads_shift"] - log2_ceil(outputs), 5, int(math.log2(sums))))
        each = max(1, (outputs << shift) / threads) * -(-sums // (1 << shift))
        us += -(-width // columns) * (t["sums_pass"] + t["sums_add"] * of_sm * max(1, each))
    else:
        us += t["output_direct"] * c["width"] * c["thread_rows"]
    outputs = c["width"] * c["block_rows"]
    if not c["wide_is_b"] and c["width"] > 1:
        us += t["scattered"] * of_sm * outputs
    if c["parts"] > 1:
        shift = max(0, min(c["threads_shift"] - log2_ceil(outputs), 5, int(math.log2(c["parts"]))))
        loads = -(-c["parts"] // (1 << shift))
        loads_us = GATHER_LOAD_US * loads if as_measured else t["gather_loads"] * -(-loads // 8)
        us += t["gather"] + max(1, (outputs << shift) / threads) * loads_us
    return us


def read_measurements(path, configs, blocks):
    """{shape: [(cut, us, name)]}, of the blocks that the library has, with k whole or filling the device."""
    shapes = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        m, n, k, ops, lda, ldb, ldc, name, us = line.split()
        if not re.fullmatch(r"r\d_t\d+_l\d_p[01]", name) or tuple(int(x[1:]) for x in name.split("_")[:3]) not in blocks:
            continue
        shape = int(m), int(n), int(k), ops, int(lda), int(ldb), int(ldc)
        shapes.setdefault(shape, []).append((cut(shape, name, configs), float(us), name))
    return shapes


def losses(shapes, t, margin=1):
    """Of each shape: (log of the chosen cut's time over the quickest's, mean square of the prediction's error).

    Of cuts within the margin of the least prediction the slowest counts as the chosen one.
    """
    for cuts in shapes.values():
        best = min(us for _, us, _ in cuts)
        predicted = [(predicted_us(c, t), us) for c, us, _ in cuts]
        least = min(predicted)[0]
        chosen = max(((us, guess) for guess, us in predicted if guess <= margin * least))[::-1]
        near = [math.log(guess / us) ** 2 for guess, us in predicted if us < 3 * best]
        yield math.log(chosen[1] / best), math.log(chosen[0] / chosen[1]) ** 2, sum(near) / len(near)


def score(shapes, t):
    found = list(losses(shapes, t, 1.03))
    return sum(loss + 0.3 * of_chosen + 0.5 * of_all for loss, of_chosen, of_all in found) / len(found)


def report(label, shapes, t):
    lost = sorted(math.exp(loss) for loss, _, _ in losses(shapes, t))
    mean = math.exp(sum(map(math.log, lost)) / len(lost))
    print(f"{label}: {len(lost)} shapes, the chosen cut takes {mean:.3f} of the quickest's time, at most {lost[-1]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=ROOT / "results/h200/explored-thin-cuts.txt")
    parser.add_argument("--fit", action="store_true", help="search for better constants")
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    configs, blocks, constants = read_tuning()
    shapes = read_measurements(options.file, configs, blocks)
    report("as it is", shapes, constants)
    if not options.fit:
        return
    engine = random.Random(options.seed)
    best, least, width = dict(constants), score(shapes, constants), 0.25
    for step in range(options.steps):
        tried = dict(best)
        for name in engine.sample(FITTED, engine.choice([1, 1, 2, 3])):
            tried[name] *= math.exp(engine.gauss(0, width))
        found = score(shapes, tried)
        if found < least:
            best, least = tried, found
        if step % 1500 == 1499:
            width *= 0.75
    report("fitted", shapes, best)
    for name in FITTED:
        print(f"  .{name} = {best[name]:.4g}")


if __name__ == "__main__":
    main()
