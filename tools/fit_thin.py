#!/usr/bin/env python3
"""Fits the constants by which thin predicts its time (src/sgemm/thin_tuning.hpp) to measurements of its cuts.

    tools/fit_thin.py [results/h200/explored-thin-parts.txt ...]  # how the constants of the tree choose
    tools/fit_thin.py --fit                                      # and other ones, found from these

What counts is which cut comes out quickest, so the search lowers the time lost by the choice, and with
a smaller weight the error of the prediction, by which a call chooses among kernels. Prints the
constants; thin_tuning.hpp is edited by hand. The formula is that of predict_us in src/sgemm/thin_plan.hpp.
"""
import argparse
import collections
import math
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUNING = ROOT / "src/sgemm/thin_tuning.hpp"
# `chunk` keeps its time: a fit that frees it sends 5 to 12 columns with long k to slower kernels.
FITTED = ["start", "start_twice_threads", "start_shifted", "step", "block", "fetch", "add_lanes", "sums_pass", "sums_add",
          "output_direct", "scattered", "gather", "gather_loads", "l2_bytes", "repeated", "fma_slots", "narrow_slots",
          "element_slots", "load_slots", "share_of_bandwidth", "short_piece", "short_load", "four_lines", "sm_bytes",
          "kept_share", "lost_share", "uneven", "cut_sectors", "touches", "crowded_along",
          "crowded_across", "long_part", "many_blocks"]
SMS, L2_BYTES, MEMORY_BYTES_PER_US = 132, 62914560, 2e-3 * 3201000 * 6144 / 8  # of the H200 that measured
SECTOR, LINE = 32, 128
FEW_BYTES = 32 << 10
# Blocks of all parts of k that a cut may have, in shares of what the device holds, or 0, one an SM. None: k is whole.
SHARES = [None, 1, 2, 0]
# A cut's name: rows of a thread, log2 of a block's threads and of those along the rows, parts, and whether lines are read
# one element a load (u), or four (v), or four where they start anywhere (s); n: it begins after the kernel before.
NAME = re.compile(r"r(\d)_t(\d+)_l(\d+)_p(\d+)_w([usv])n?")
WAYS = {"u": "single", "s": "shifted", "v": "vector"}
MEASURED = [ROOT / "results/h200" / f"explored-thin-{name}.txt" for name in ("choice-3", "parts")]

Tuning = collections.namedtuple("Tuning", "configs blocks constants")
Config = collections.namedtuple("Config", "width rows depth threads blocks_along_k blocks_across_k")
# What the prediction asks of a plan, in the order in which predicted_us uses it.
Cut = collections.namedtuple(
    "Cut", "rounds steps chunks copies of_sm block_bytes repeated_bytes blocks lost_bytes kept elements width single shifted"
    " threads_shift merges passes added direct scattered parts gathered narrow_loads halvings load_halvings"
    " four_lines keeps_steps cut_bytes touched along_k doublings part_doublings block_doublings apart_touched")  # fmt: skip


def read_tuning():
    text = TUNING.read_text()

    def table(name):
        rows = text[text.index(f"{name}[] = {{") + len(name) + 6:]
        found = re.findall(r"\{([\d, ]+)\}", rows[:rows.index("};")])
        return [tuple(map(int, row.split(","))) for row in found]

    configs = [Config(*row) for row in table("thin_configs")]
    blocks = table("thin_blocks")
    constants = {name: float(value) * 2 ** int(shift or 0)
                 for name, value, shift in re.findall(r"\.(\w+) = ([\d.e-]+)(?: << (\d+))?[,}]", text)}  # fmt: skip
    return Tuning(configs, blocks, constants)


def chunk_of(width):
    return 4096 if width <= 2 else 2048 if width <= 4 else 1024 if width <= 8 else 512


def log2_ceil(x):
    return max(0, math.ceil(math.log2(x)))


def ceil_div(a, b):
    return -(-a // b)


class Operands:
    """A product as thin sees it."""

    def __init__(self, shape):
        m, n, self.k, ops, lda, ldb, _ = shape
        self.wide_is_b = m <= n
        self.width, self.rows = (m, n) if self.wide_is_b else (n, m)
        self.along_k = ops[1] == "T" if self.wide_is_b else ops[0] == "N"
        self.narrow_is_k = ops[0] == "N" or lda == 1 if self.wide_is_b else ops[1] == "T" or ldb == 1
        self.narrow_ld = 1 if self.narrow_is_k else lda if self.wide_is_b else ldb
        self.aligned = (ldb if self.wide_is_b else lda) % 4 == 0


def ways_of(operands, config):
    """How a block may read the wide operand: what thin_plan considers."""
    if not operands.along_k and config.rows == 1:
        return ["single"]
    if operands.aligned:
        return ["vector"]
    if not operands.along_k:
        return ["single"]
    return ["single", "shifted"] if config.rows * config.width < 64 else ["shifted"]


def is_cut(operands, config, block, constants):
    """Whether thin_plan considers the block."""
    thread_rows, threads_shift, row_shift = block
    step = config.depth << (threads_shift - row_shift)
    return (1 << threads_shift <= config.threads and step <= chunk_of(config.width)
            and (row_shift == 0 or thread_rows << row_shift < 2 * operands.rows)
            and (threads_shift == row_shift or step < 4 * operands.k)
            and (threads_shift > row_shift or not operands.along_k or operands.k <= constants["short_k"]))  # fmt: skip


def config_of(operands, block, tuning):
    return next(c for c in tuning.configs if c.rows == block[0] and c.width >= operands.width)


def cut(operands, block, loads, tuning, share=None, parts=1):
    """The plan with k in so many parts, or in as many as a share of SHARES says; None where there is no such cut."""
    thread_rows, threads_shift, row_shift = block
    config = config_of(operands, block, tuning)
    if not is_cut(operands, config, block, tuning.constants):
        return None
    rows_of_block, stride = thread_rows << row_shift, 4 if loads == "shifted" else 1
    k_shift, k_threads = threads_shift - row_shift, 1 << (threads_shift - row_shift)
    threads, step, width = 1 << threads_shift, config.depth << k_shift, config.width
    span = stride * rows_of_block
    row_blocks = operands.rows // span * stride + min(operands.rows % span, stride)
    steps = ceil_div(operands.k + (3 if loads == "shifted" else 0), step)
    slots = (config.blocks_along_k if operands.along_k else config.blocks_across_k) * config.threads // threads * SMS
    if share is not None:
        parts = min((slots // share if share else SMS) // row_blocks, steps)
        if parts <= 1:
            return None
    steps_of_part = ceil_div(steps, parts)
    parts = ceil_div(steps, steps_of_part)
    blocks = row_blocks * parts
    of_sm = ceil_div(blocks, SMS)
    at_once, reads_apart = min(of_sm, slots // SMS), not operands.along_k and width <= tuning.constants["apart_columns"]
    k, rows = min(steps_of_part * step, operands.k), min(rows_of_block, ceil_div(operands.rows, stride))

    run = 4 * min(32, k_threads if operands.along_k else 1 << row_shift) * (1 if loads == "single" else 4)
    piece = 4 * (step if operands.along_k else rows_of_block)
    beyond = SECTOR - 4 if loads == "single" and not operands.aligned else 0
    narrow = 4 * operands.width if operands.narrow_is_k else max(SECTOR, 4 * operands.width)
    adds_lanes = thread_rows * width <= 4
    lanes_shift = min(5, k_shift if operands.along_k else 5 - min(row_shift, 5))
    merged = 1 << min(k_shift, lanes_shift) if adds_lanes else 1
    sums, columns = k_threads // merged, min(width, 8 if thread_rows == 1 else 4)

    def sharing(outputs, of):
        return max(0, min(threads_shift - log2_ceil(outputs), 5, int(math.log2(of))))

    outputs = columns * (thread_rows << row_shift)
    shift = sharing(outputs, sums)
    added = of_sm * max(1, (outputs << shift) / threads) * ceil_div(sums, 1 << shift)
    of_block = operands.width * rows_of_block
    shift = sharing(of_block, parts)
    operand = 4 * operands.rows * operands.k
    apart = operands.along_k and operands.width == 1 and not operands.narrow_is_k
    return Cut(
        rounds=ceil_div(blocks, slots), steps=steps_of_part, chunks=ceil_div(k, chunk_of(width)),
        copies=width * ceil_div(k, threads), of_sm=of_sm, block_bytes=k * (4 * rows + narrow),
        repeated_bytes=k * 4 * rows * ((max(piece, SECTOR) + beyond) / piece - 1), blocks=blocks,
        lost_bytes=operand, kept=operand / L2_BYTES, elements=of_sm * rows_of_block * steps_of_part * step, width=width,
        single=loads == "single", shifted=loads == "shifted", threads_shift=threads_shift, merges=merged > 1,
        passes=ceil_div(width, columns) if sums > 1 else 0, added=added,
        direct=operands.width * thread_rows if sums <= 1 else 0,
        scattered=of_sm * of_block if not operands.wide_is_b and operands.width > 1 else 0, parts=parts,
        narrow_loads=width / thread_rows * (1 if loads == "single" and operands.along_k else 0.25),
        halvings=0 if operands.along_k else max(0, math.log2(128 / (thread_rows << row_shift))),
        load_halvings=max(0, math.log2(512 / run)) if operands.along_k else 0,
        four_lines=operands.along_k and thread_rows == 4, keeps_steps=width <= (12 if thread_rows == 4 else 4),
        cut_bytes=k * 4 * rows * 16 / run if loads == "shifted" else 0,
        touched=of_sm * rows_of_block * steps_of_part * step * 4 / run * (run + LINE - (4 if loads == "single" else 16)) / LINE,
        along_k=operands.along_k, doublings=max(0, math.log2(of_sm * threads * thread_rows * config.depth * 8 / FEW_BYTES)),
        part_doublings=0 if not reads_apart else max(0, math.log2(steps_of_part * step / tuning.constants["short_part"])),
        block_doublings=0 if not reads_apart else max(0, math.log2(at_once / 2)),
        apart_touched=of_sm * k * min(1, (4 * 31 * operands.narrow_ld / LINE + 1) / 32) if apart else 0,
        gathered=max(1, (of_block << shift) / threads) * ceil_div(ceil_div(parts, 1 << shift), 8))  # fmt: skip


def library_cuts(shape, tuning):
    """Those among which thin_plan takes the least prediction."""
    operands = Operands(shape)
    for block in tuning.blocks:
        for loads in ways_of(operands, config_of(operands, block, tuning)):
            for share in SHARES:
                found = cut(operands, block, loads, tuning, share)
                if found:
                    yield found


def predicted_us(c, t):
    waits = c.rounds * ((c.steps - 1) * t["step"] + (c.chunks - 1) * t["chunk"] + c.copies * t["fetch"])
    waits += (c.of_sm - 1) * t["block"] * 2 ** (c.threads_shift - 8)
    block_bytes = c.block_bytes + t["repeated"] * c.repeated_bytes + t["cut_sectors"] * c.cut_bytes
    lost = min(1, max(0, (c.kept - t["kept_share"]) / (t["lost_share"] - t["kept_share"])))
    if c.keeps_steps:
        lost *= 1 - min(1, t["steps_share"] / c.kept)
    lost *= (1 + t["short_piece"] * c.halvings + t["short_load"] * c.load_halvings + t["four_lines"] * c.four_lines
             + t["crowded_along" if c.along_k else "crowded_across"] * c.doublings
             + t["long_part"] * c.part_doublings + t["many_blocks"] * c.block_doublings)  # fmt: skip
    bytes_us = max(c.blocks * block_bytes / t["l2_bytes"], c.of_sm * block_bytes / t["sm_bytes"], c.touched / t["touches"],
                   lost * c.lost_bytes / (t["share_of_bandwidth"] * MEMORY_BYTES_PER_US))  # fmt: skip
    bytes_us *= 1 + t["uneven"] * (c.of_sm * SMS / c.blocks - 1)
    slots = t["fma_slots"] * c.width + t["element_slots"] + (t["load_slots"] if c.single else 0) + t["narrow_slots"] * c.narrow_loads
    instructions = c.elements * slots / (128 * 1750)
    us = math.sqrt(waits**2 + bytes_us**2 + instructions**2)

    us += t["start"] + t["start_twice_threads"] * (c.threads_shift - 8) + t["start_shifted"] * c.shifted
    us += t["add_lanes"] if c.merges else 0
    us += c.passes * (t["sums_pass"] + t["sums_add"] * c.added) + t["output_direct"] * c.direct
    us += t["scattered"] * c.scattered
    if c.parts > 1:
        us += t["gather"] + t["gather_loads"] * c.gathered
    if c.apart_touched:
        us = (us + c.apart_touched / t["touches"]) * (t["single_apart"] if c.single else 1)
    return us


def read_measurements(paths, tuning):
    """{shape: [(cut, us, name)]}, of the blocks that the library has."""
    shapes = {}
    lines = [line for path in paths for line in path.read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        m, n, k, ops, lda, ldb, ldc, name, us = line.split()
        found = NAME.fullmatch(name)
        block = tuple(map(int, found.groups()[:3])) if found else None
        if block not in tuning.blocks:
            continue
        shape = int(m), int(n), int(k), ops, int(lda), int(ldb), int(ldc)
        plan = cut(Operands(shape), block, WAYS[found.group(5)], tuning, parts=int(found.group(4)))
        if plan:
            shapes.setdefault(shape, []).append((plan, float(us), name))
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
    return sum(loss + 0.6 * of_chosen + 0.5 * of_all for loss, of_chosen, of_all in found) / len(found)


def report(label, shapes, t):
    lost = sorted(math.exp(loss) for loss, _, _ in losses(shapes, t))
    mean = math.exp(sum(map(math.log, lost)) / len(lost))
    error = math.sqrt(sum(of_chosen for _, of_chosen, _ in losses(shapes, t)) / len(lost))
    print(f"{label}: {len(lost)} shapes, the chosen cut takes {mean:.3f} of the quickest's time, at most {lost[-1]:.2f};"
          f" its prediction errs by {100 * error:.0f} %")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, default=MEASURED)
    parser.add_argument("--fit", action="store_true", help="search for better constants")
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    tuning = read_tuning()
    shapes = read_measurements(options.files, tuning)
    report("as it is", shapes, tuning.constants)
    if not options.fit:
        return
    engine = random.Random(options.seed)
    best, least, width = dict(tuning.constants), score(shapes, tuning.constants), 0.25
    for step in range(options.steps):
        tried = dict(best)
        for name in engine.sample(FITTED, engine.choice([1, 1, 2, 3])):
            tried[name] *= math.exp(engine.gauss(0, width))
        found = score(shapes, tried) if tried["lost_share"] > 1.05 * tried["kept_share"] else math.inf
        if found < least:
            best, least = tried, found
        if step % 1500 == 1499:
            width *= 0.75
    report("fitted", shapes, best)
    for name in FITTED:
        print(f"  .{name} = {best[name]:.4g}")


if __name__ == "__main__":
    main()
