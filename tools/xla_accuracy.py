#!/usr/bin/env python3
"""XLA's split product (BF16_BF16_F32_X6) over the accuracy suite's own data, for comparison.

    kernelwright accuracy sgemm --classes unit,uniform,normal,near_one --dump DIR
    python3 tools/xla_accuracy.py DIR --beside accuracy.json --json accuracy-xla.json

Needs JAX with a GPU. The result file holds this product's rows, and of the file beside, which must be of the same
machine and size, the rows of the same data, so that tables and plots show them together.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import sys
from pathlib import Path

import numpy

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_SUBNORMAL = 2.0**-149
KERNEL = "xla_bf16x6"


def errors(got: numpy.ndarray, product: numpy.ndarray, magnitude: numpy.ndarray) -> dict:
    """Largest, root mean square and mean signed error in units of u |A| |B|, as the program has it."""
    error = got.astype(numpy.float64) - product
    unit = UNIT_ROUNDOFF * magnitude
    with numpy.errstate(divide="ignore", invalid="ignore"):
        error = numpy.where(numpy.abs(error) <= SMALLEST_SUBNORMAL, 0.0, error / unit)
    return {
        "max": float(numpy.abs(error).max()),
        "rms": float(numpy.sqrt(numpy.mean(error**2))),
        "mean_signed": float(error.mean()),
    }


def xla_product():
    """A function of two arrays, computed on the GPU."""
    import jax

    if jax.default_backend() != "gpu":
        sys.exit(f"xla_accuracy: JAX works on {jax.default_backend()} here; it needs a GPU")
    precision = jax.lax.DotAlgorithmPreset.BF16_BF16_F32_X6
    dot = jax.jit(lambda a, b: jax.lax.dot(a, b, precision=precision, preferred_element_type=numpy.float32))
    return lambda a, b: numpy.asarray(dot(jax.numpy.asarray(a), jax.numpy.asarray(b)))


def row_of(item: dict, folder: Path, multiply) -> dict:
    m, n, k = item["m"], item["n"], item["k"]

    def read(name: str, kind, rows: int, cols: int) -> numpy.ndarray:
        return numpy.fromfile(folder / item[name], dtype=kind).reshape(rows, cols)

    a, b = read("a", numpy.float32, m, k), read("b", numpy.float32, k, n)
    product, magnitude = read("product", numpy.float64, m, n), read("magnitude", numpy.float64, m, n)
    got, again = multiply(a, b), multiply(a, b)
    error = errors(got, product, magnitude)
    bound = k + 3.0
    return {
        "op": "sgemm", "kernel": KERNEL, "role": "peer", "m": m, "n": n, "k": k, "op_a": "N", "op_b": "N",
        "alpha": 1.0, "beta": 0.0, "batch": 1, "layout": "row_major", "path": KERNEL, "input": item["input"],
        "error": {**error, "bound": bound}, "c_first": float(got[0, 0]), "c_last": float(got[-1, -1]),
        "verified": error["max"] <= bound, "seeds": 1, "rms_vs_peer": None, "max_vs_peer": None,
        "same_bits": got.tobytes() == again.tobytes(),
    }  # fmt: skip


def beside(path: Path, rows: list[dict], device: dict) -> list[dict]:
    """The file's rows of the same data; the new rows get their ratios to its vendor's."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["device"]["name"] != device["name"]:
        sys.exit(f"xla_accuracy: {path} is of {data['device']['name']}, the dump of {device['name']}")
    place = {(row["input"], row["k"], row["m"], row["n"]): row for row in rows}
    found = [row for row in data["rows"] if (row["input"], row["k"], row["m"], row["n"]) in place]
    for other in found:
        if other["role"] != "peer":
            continue
        row = place[other["input"], other["k"], other["m"], other["n"]]
        row["peer"] = other["kernel"]
        for name in ("rms", "max"):
            if other["error"][name]:
                row[f"{name}_vs_peer"] = row["error"][name] / other["error"][name]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump", type=Path, metavar="DIR", help="what `kernelwright accuracy sgemm --dump` wrote")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="the suite's result file of the same machine")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where the rows go")
    options = parser.parse_args()
    index = json.loads((options.dump / "index.json").read_text(encoding="utf-8"))
    multiply = xla_product()
    rows = []
    for item in index["items"]:
        rows.append(row_of(item, options.dump, multiply))
        error = rows[-1]["error"]
        print(f"{item['input']:10} k={item['k']:<6} rms {error['rms']:.3g} max {error['max']:.3g} u")
    known = beside(options.beside, rows, index["device"]) if options.beside else []
    import jax

    result = {
        "schema": 1,
        "command": f"{index['command']}; {shlex.join(['python3', *sys.argv])}",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": index["device"],
        "software": {**index["software"], "jax": jax.__version__},
        "rows": [*known, *rows],
    }
    options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
