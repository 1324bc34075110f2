#!/usr/bin/env python3
"""Fits the times by which stream_tile's configurations predict a product (src/sgemm/stream/tuning.hpp).

    kernelwright bench sgemm --sweep random --seed 101 --count 250 --no-peer --within 4 \\
        --kernel 'stream_*,small_*,thin,ragged,hopper_*' --json fit.json
    tools/fit_sgemm_choice.py fit.json --held held.json            # print what is gained
    tools/fit_sgemm_choice.py fit.json --held held.json --write    # and put the times into tuning.hpp
    tools/fit_sgemm_choice.py --check predictions.json fit.json    # this tool predicts what the library predicts

A predicted time is a sum: each of a configuration's times, as often as the schedule has it (Stream.counts).
So the times are a least-squares fit of relative errors. Rows near the best kernel of their product
count more, since only those can be chosen wrongly at little cost, and outliers count less. Rows state
with which schedule they were measured. The other families' predictions are those of the rows.

--check compares with what `kernelwright choice fit.json --json predictions.json` wrote.
"""
import argparse
import json
import math
import pathlib
import re
import sys

TUNING = pathlib.Path(__file__).resolve().parent.parent / "src/sgemm/stream/tuning.hpp"
MEMORY = TUNING.parent.parent / "memory_time.hpp"
FAN, MOST_BLOCKS = 16, 4096  # stream_fan, max_stream_blocks
LARGEST_SHARE = 0.87  # of the device's peak that a loop of multiply-adds and shared loads reaches
LARGE_ERROR = 0.06  # relative; from here on errors count linearly
SHORT_STAGE = 0.35  # stream_short_stage
MEMORY_FLOOR = 1.5  # stream_memory_floor
FEW, FEW_BY_4 = (3, 0.5), (4, 0.7)  # stream_few, stream_few_by_4: iterations, longer
ALONE_EXPOSED = 0.5  # stream_alone_exposed
NEARNESS = 8  # how much a change of 100 % of a time counts, beside the rows' errors
TIMES = ["start_us", "tile_us", "iteration_us", "crowded_iteration_us", "along_k_us", "by_4_us", "store_by_4_us",
         "exposed", "part_us", "each_part_us", "cluster_us", "crowded_cluster_us"]  # fmt: skip
MOST_IN_CLUSTER = 8  # stream_cluster_parts
CLUSTERS = [[0, 0, 66, 39, 30, 22, 17, 15, 15], [0, 0, 132, 75, 58, 43, 36, 30, 26]]  # clusters_of_132_sms


def up(a, b):
    return -(-a // b)


def levels_of(parts):
    """As parts_us in plan.hpp: how often sums of parts are added up, and how many one block reads."""
    levels = read = 0
    while parts > 1:
        levels, read, parts = levels + 1, read + min(parts, FAN), up(parts, FAN)
    return levels, read


def blocks_in_clusters(sms, blocks_per_sm, parts):
    """As src/sgemm/stream/clusters.hpp."""
    return CLUSTERS[blocks_per_sm - 1][parts] * sms // 132 * parts


class Device:
    def __init__(self, stated):
        text = MEMORY.read_text()
        tuning = {name: eval(value) for name, value in re.findall(r"\.(\w+) = ([\d./e<< ]+)[,}]", text)}
        self.name, self.sms = stated["name"], stated["sm_count"]
        self.flops_per_us_of_sm = 1e6 * (stated.get("measured_fp32_tflops") or 0) / self.sms or math.inf
        bandwidth = 2 * (stated.get("max_memory_clock_mhz") or 0) * (stated.get("memory_bus_bits") or 0) / 8
        self.bytes_per_us = bandwidth * tuning["share_of_bandwidth"] or tuning["unstated_bytes_per_us"]
        l2 = stated.get("l2_bytes") or tuning["unstated_l2_bytes"]
        self.kept, self.lost = tuning["kept_share"] * l2, tuning["lost_share"] * l2

    def memory_us(self, p):
        bytes_ = 4 * p.batch * (p.m * p.k + p.k * p.n + (1 if p.beta == 0 else 2) * p.m * p.n)
        return min(1, max(0, (bytes_ - self.kept) / (self.lost - self.kept))) * bytes_ / self.bytes_per_us


class Product:
    def __init__(self, row):
        self.fields = [row[name] for name in ("m", "n", "k", "batch", "op_a", "op_b", "lda", "ldb", "ldc")]
        self.m, self.n, self.k, self.batch, self.op_a, self.op_b, self.lda, self.ldb, self.ldc = self.fields
        self.beta, self.third = row["beta"], row.get("third", "")
        self.rows = {}  # kernel -> its row

    def by_4(self, ld, rows):
        """Whether rows of a matrix are not aligned; entries of a batch follow each other."""
        return ld % 4 != 0 or (self.batch > 1 and rows * ld % 4 != 0)

    def name(self):
        m, n, k, batch, op_a, op_b, lda, ldb, ldc = self.fields
        pads = lda - (k if op_a == "N" else m), ldb - (n if op_b == "N" else k), ldc - n
        return (f"{m}x{n}x{k}" + (f" x{batch}" if batch != 1 else "") + f" {op_a}{op_b}"
                + (f" +{pads[0]},{pads[1]},{pads[2]}" if any(pads) else ""))  # fmt: skip


class Stream:
    """A configuration, as src/sgemm/stream/plan.hpp has it."""

    def __init__(self, block):
        number = lambda key: float((re.search(rf"\.{key} = ([\d.e-]+)", block) or [0, 0])[1])
        self.clusters = ".clusters = true" in block
        keys = ("bm", "bn", "bk", "warps_k", "blocks_per_sm")
        self.bm, self.bn, self.bk, self.warps_k, self.blocks_per_sm = (int(number(key)) for key in keys)
        self.times = [number(key) for key in TIMES]
        self.both_along_k = number("both_along_k") or 1

    def shape(self, p, device):
        tiles = up(p.m, self.bm) * up(p.n, self.bn) * p.batch
        return tiles, up(p.k, self.bk), min(MOST_BLOCKS, device.sms * self.blocks_per_sm)

    def ways(self, p, device):
        """(blocks, shared tiles, blocks of a cluster or 0) of each candidate."""
        tiles, iterations, slots = self.shape(p, device)
        ways = [(min(slots, tiles), 0, 0)]
        if iterations >= 2 and tiles % slots:
            ways.append((slots, tiles % slots, 0))
        if iterations >= 2 and tiles < slots:
            most = min(slots // tiles, iterations)
            ways += [(tiles * parts, tiles, 0) for parts in (most, most // 2, 8, 4, 3, 2) if 2 <= parts <= most]
        if self.clusters:
            ways += [(tiles * parts, tiles, parts) for parts in range(2, min(MOST_IN_CLUSTER, iterations) + 1)
                     if tiles * parts <= blocks_in_clusters(device.sms, self.blocks_per_sm, parts)]  # fmt: skip
        return [way for way in ways if way[1] == 0 or way[1] * iterations >= way[0]]

    def last_iteration(self, p):
        """A tile's last iteration, as a part of one. The largest tiles multiply all of it."""
        k, pairs = p.k % self.bk, 2 * self.warps_k
        if k == 0 or self.bm * self.bn > 128 * 128:
            return 1
        return SHORT_STAGE + (1 - SHORT_STAGE) * (up(k, pairs) * pairs / self.bk)

    def counts(self, p, device, way):
        """How often each of TIMES is in the prediction."""
        tiles, iterations, _ = self.shape(p, device)
        blocks, shared, cluster = way
        share, longer = divmod(shared * iterations, blocks)
        rounds = up(tiles - shared, blocks)
        steps = rounds * (iterations - 1 + self.last_iteration(p)) + (share + (longer > 0) if shared else 0)
        further = max(0, rounds - 1) + (1 if shared and rounds else 0)
        parts = up(iterations, share) if shared else 0
        levels, read = levels_of(parts) if shared and not cluster else (0, 0)
        stores_by_4 = p.by_4(p.ldc, p.m) or p.n % 4 != 0
        of_stage = {"along_k": 0, "by_4": 0, "by_16": 0}
        for extent, along_k, ld, rows in ((self.bm, p.op_a == "N", p.lda, p.k if p.op_a == "T" else p.m),
                                          (self.bn, p.op_b == "T", p.ldb, p.n if p.op_b == "T" else p.k)):  # fmt: skip
            of_stage["along_k" if along_k else "by_4" if p.by_4(ld, rows) else "by_16"] += extent / (self.bm + self.bn)
        crowded = blocks > (blocks_in_clusters(device.sms, 1, cluster) if cluster else device.sms)
        exposed = device.memory_us(p) * (1 + (ALONE_EXPOSED if self.blocks_per_sm > 1 and not crowded else 0))
        few, longer = FEW_BY_4 if stores_by_4 else FEW
        if not shared and iterations <= few:
            steps += longer
        if cluster:
            steps, further, stores_by_4 = up(iterations, cluster), 0, 0
        if p.op_a == "N" and p.op_b == "T":
            steps *= self.both_along_k
        return [1, further, 0 if crowded else steps, steps if crowded else 0, steps * of_stage["along_k"],
                steps * of_stage["by_4"], (1 + further) * stores_by_4, exposed, levels, read,
                1 if cluster and not crowded else 0, 1 if cluster and crowded else 0]  # fmt: skip

    def predict(self, p, device, way, times=None):
        return max(MEMORY_FLOOR * device.memory_us(p), dot(self.counts(p, device, way), times or self.times))

    def predict_best(self, p, device, times=None):
        return min(self.predict(p, device, way, times) for way in self.ways(p, device))

    def measured_way(self, p, device, row):
        """From the grid and the workspace, which has two slots a block where tiles are shared, but not in clusters."""
        tiles, _, slots = self.shape(p, device)
        blocks = math.prod(row["launch"]["grid"])
        if blocks > tiles and row["workspace_bytes"] == 0:
            return blocks, tiles, blocks // tiles
        shared = tiles if tiles < slots else tiles % slots
        return blocks, shared if row["workspace_bytes"] > 0 else 0, 0


def read_tiles():
    blocks = re.findall(r"\{\.name = \"stream_.*?\}\}", TUNING.read_text(), re.S)
    return {re.search(r'"(stream_\w+)"', block).group(1): Stream(block) for block in blocks}


def write_times(times_of):
    """Puts the times of configurations, in TIMES' order, in place of those that the table states for them."""
    text = TUNING.read_text()
    for name, times in times_of.items():
        begin = text.index(".times = {", text.index(f'.name = "{name}"'))
        end = text.index("}", begin)
        block = text[begin:end]
        for key, value in zip(TIMES, times):
            block = re.sub(rf"\.{key} = [\d.]+(,?)( *//[^\n]*)?", rf".{key} = {value:.3f}\g<1>", block)
        text = text[:begin] + block + text[end:]
    TUNING.write_text(text)


def read(paths):
    """The products of result files, with the rows of the library's kernels in plain fp32."""
    device, products = None, {}
    for path in paths:
        file = json.loads(path.read_text())
        found = Device(file["device"])
        if device and (device.name, device.sms) != (found.name, found.sms):
            sys.exit(f"{path}: measured on {found.name}, the files before on {device.name}; fit one device at a time")
        device = found
        for row in file["rows"]:
            choice = row["kernel"].startswith("kernelwright")
            if row.get("time_us") and row["role"] == "production" and row["math"] == "fp32" and not choice:
                if "workspace_bytes" not in row:
                    sys.exit(f"{path}: rows have no workspace_bytes; measure with bench sgemm --within")
                product = Product(row)
                products.setdefault(product.name(), product).rows[row["kernel"]] = row
    if not products:
        sys.exit("no timed row of the library's kernels in plain fp32 in these files")
    return device, list(products.values())


def best_us(product):
    return min(row["time_us"]["median"] for row in product.rows.values())


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def least_squares(rows, weights, least, x):
    """The x, each at least `least`, with the least sum of weight * (row . x - 1)^2, by coordinate descent from x on."""
    unknowns = range(len(x))
    gram = [[sum(w * row[i] * row[j] for row, w in zip(rows, weights)) for j in unknowns] for i in unknowns]
    right = [sum(w * row[i] for row, w in zip(rows, weights)) for i in unknowns]
    x = list(x)
    for _ in range(2000):
        before = list(x)
        for i in unknowns:
            if gram[i][i] > 0:
                x[i] = max(least[i], x[i] + (right[i] - dot(gram[i], x)) / gram[i][i])
        if all(abs(a - b) <= 1e-7 * a for a, b in zip(x, before)):
            break
    return x


def fit(name, tile, device, products):
    """The times with the least squared relative errors. One that no row has keeps its value, one that few
    rows have stays near, and no iteration is quicker than the device allows."""
    iteration_us = 2 * tile.bm * tile.bn * tile.bk / (LARGEST_SHARE * device.flops_per_us_of_sm)
    crowded_us = tile.blocks_per_sm * iteration_us
    least = [{"iteration_us": iteration_us, "crowded_iteration_us": crowded_us}.get(key, 0.0) for key in TIMES]
    rows, weights = [], []
    for p in products:
        if name in p.rows:
            row = p.rows[name]
            us = row["time_us"]["median"]
            rows.append([count / us for count in tile.counts(p, device, tile.measured_way(p, device, row))])
            over = us / best_us(p)
            weights.append(4 if over < 1.2 else 1 if over < 2 else 0.1)
    near = [[1 / t if i == j else 0 for j in range(len(TIMES))] for i, t in enumerate(tile.times) if t > 0]
    times = list(tile.times)
    robust = [1.0] * len(rows)
    for _ in range(20):
        times = least_squares(rows + near, [a * b for a, b in zip(weights, robust)] + [NEARNESS] * len(near), least, times)
        robust = [min(1, LARGE_ERROR / max(1e-9, abs(dot(row, times) - 1))) for row in rows]
    return times


def report(title, tiles, device, products):
    """What the choice among the measured kernels loses, and how good the predictions are."""
    losses, errors, near = [], [], []
    for p in products:
        predicted = {}
        for kernel, row in p.rows.items():
            us = row["time_us"]["median"]
            if kernel in tiles:
                predicted[kernel] = tiles[kernel].predict_best(p, device)
                errors.append(math.log(predicted[kernel] / us))
                if us < 1.5 * best_us(p):
                    near.append(errors[-1])
            elif row["predicted_us"]:
                predicted[kernel] = row["predicted_us"]
        chosen = min(predicted, key=predicted.get)
        losses.append((p.rows[chosen]["time_us"]["median"] / best_us(p), p.name(), chosen, p.rows[chosen]["time_us"]["median"]))
    losses.sort(reverse=True)
    mean = math.exp(sum(math.log(loss) for loss, *_ in losses) / len(losses))
    rms = lambda xs: 100 * math.sqrt(sum(x * x for x in xs) / max(1, len(xs)))
    print(f"{title}: {len(losses)} products, loss {100 * (mean - 1):.2f} % on average, "
          f"{100 * (losses[len(losses) // 20][0] - 1):.1f} % at the 95th percentile; predictions err by {rms(errors):.1f} % "
          f"(rms), {rms(near):.1f} % within 1.5 times of the best")  # fmt: skip
    for loss, name, chosen, us in losses[:5]:
        print(f"    {100 * (loss - 1):5.1f} %  {name}: {chosen} {us:.2f} us")


def check(tiles, path, predictions):
    device, products = read([path])
    known = {product.name(): product for product in products}
    compared = 0
    for entry in json.loads(predictions.read_text())["files"][0]["products"]:
        for row in entry["rows"] if entry["math"] == "fp32" else []:
            if row["kernel"] not in tiles:
                continue
            us = tiles[row["kernel"]].predict_best(known[entry["product"]], device)
            if abs(us / row["predicted_us"] - 1) > 1e-9:
                sys.exit(f"{entry['product']}, {row['kernel']}: {us} us here, {row['predicted_us']} in the library")
            compared += 1
    if compared == 0:
        sys.exit(f"{predictions}: has no prediction of a stream_* kernel")
    print(f"{compared} predictions agree")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--held", nargs="+", type=pathlib.Path, default=[], help="other products, to judge by")
    parser.add_argument("--write", action="store_true", help="put the times into tuning.hpp")
    parser.add_argument("--check", type=pathlib.Path, metavar="PREDICTIONS", help="compare instead of fitting")
    arguments = parser.parse_args()
    tiles = read_tiles()
    if arguments.check:
        return check(tiles, arguments.results[0], arguments.check)
    sets = [("fitted", *read(arguments.results))] + ([("held out", *read(arguments.held))] if arguments.held else [])
    for name, device, products in sets:
        report(f"{name}, as tuning.hpp has it", tiles, device, products)
    _, device, products = sets[0]
    for name, tile in tiles.items():
        if any(name in p.rows for p in products):
            tile.times = fit(name, tile, device, products)
    for name, device, products in sets:
        report(f"{name}, after the fit", tiles, device, products)
    for name, tile in tiles.items():
        print(f"{name:16}", "  ".join(f"{key} {value:.3f}" for key, value in zip(TIMES, tile.times)))
    if arguments.write:
        write_times({name: tile.times for name, tile in tiles.items()})


if __name__ == "__main__":
    main()
