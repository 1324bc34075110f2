#!/usr/bin/env python3
"""What an epilogue costs: products with one beside the same products without, through the C interface, in one process.

    python3 tools/epilogue_time.py --library build/cuda/src/libkernelwright.so --output epilogue-time.json
    python3 tools/epilogue_time.py --library libkernelwright.so --count 20 --seed 7 --math fp32_split

Products are drawn at random (--seed), a third each short, middle and long by their operations, transposes and ragged sizes
among them; then a transformer's layers. Each form of a product is a CUDA graph of several calls; graphs take turns, and a
form's time is the median over the rounds. `plain` is alpha A B; `add` is beta 1 into C itself. Every form is compared with
float64 before it is timed. `lt_bias` and `lt_gelu` are PyTorch's addmm with a bias vector and its GELU, which cuBLASLt
computes. Needs PyTorch with a GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import random
import statistics
import sys
from pathlib import Path

import torch

MATHS = ("fp32", "fp32_split")
ACTIVATIONS = ("none", "relu", "gelu_tanh", "gelu_erf")
# Name: bias, activation, source (None, "c" or "apart").
FORMS = {
    "plain": (False, "none", None),
    "bias": (True, "none", None),
    "bias_relu": (True, "relu", None),
    "bias_gelu_tanh": (True, "gelu_tanh", None),
    "bias_gelu_erf": (True, "gelu_erf", None),
    "add": (False, "none", "c"),
    "add_apart": (False, "none", "apart"),
    "bias_add_apart": (True, "none", "apart"),
}
LAYERS = [  # m, n, k of row-major x W^T: GPT-2 small's and a 1600 wide model's, tokens x outputs x inputs
    (8192, 2304, 768), (8192, 768, 768), (8192, 3072, 768), (8192, 768, 3072), (4096, 4800, 1600), (4096, 6400, 1600),
    (4096, 1600, 6400), (1024, 768, 768), (256, 3072, 768), (32, 4096, 1024),
]  # fmt: skip
GRAPH_US, MOST_CALLS = 400.0, 64


class Epilogue(ctypes.Structure):
    _fields_ = [
        ("bias", ctypes.c_void_p), ("bias_of", ctypes.c_int32), ("stride_bias", ctypes.c_int64),
        ("activation", ctypes.c_int32), ("source", ctypes.c_void_p), ("ld_source", ctypes.c_int64),
        ("stride_source", ctypes.c_int64),
    ]  # fmt: skip


class Library:
    def __init__(self, path: Path, stream: torch.cuda.Stream, math_name: str):
        self.c = ctypes.CDLL(str(path.resolve()))
        self.c.kwLastErrorMessage.restype = ctypes.c_char_p
        self.c.kwVersion.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.check(self.c.kwCreateGpuOnStream(ctypes.byref(self.handle), ctypes.c_void_p(stream.cuda_stream), 0))
        self.check(self.c.kwSetMath(self.handle, MATHS.index(math_name)))
        self.check(self.c.kwReserveWorkspace(self.handle, ctypes.c_size_t(6 << 30)))

    def check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(self.c.kwLastErrorMessage(self.handle).decode())

    def multiply(self, p: "Product", form: str) -> None:
        with_bias, activation, source = FORMS[form]
        epilogue = Epilogue(bias_of=1, activation=ACTIVATIONS.index(activation))
        if with_bias:
            epilogue.bias = p.bias.data_ptr()
        if source == "apart":
            epilogue.source, epilogue.ld_source = p.source.data_ptr(), p.source.stride(0)
        plain = not with_bias and activation == "none" and source != "apart"
        self.check(self.c.kwSetEpilogue(self.handle, None if plain else ctypes.byref(epilogue)))
        alpha, beta = ctypes.c_float(1), ctypes.c_float(0 if source is None else 1)
        i64, pointer = ctypes.c_int64, ctypes.c_void_p
        self.check(
            self.c.kwSgemm(
                self.handle, 0, int(p.op_a), int(p.op_b), i64(p.m), i64(p.n), i64(p.k), ctypes.byref(alpha),
                pointer(p.a.data_ptr()), i64(p.a.stride(0)), pointer(p.b.data_ptr()), i64(p.b.stride(0)),
                ctypes.byref(beta), pointer(p.c.data_ptr()), i64(p.c.stride(0)),
            )
        )  # fmt: skip


class Product:
    def __init__(self, m: int, n: int, k: int, op_a: bool, op_b: bool, generator: torch.Generator):
        self.m, self.n, self.k, self.op_a, self.op_b = m, n, k, op_a, op_b

        def draw(rows: int, cols: int) -> torch.Tensor:
            return torch.randn(rows, cols, generator=generator, device="cuda")

        self.a = draw(k, m) if op_a else draw(m, k)
        self.b = draw(n, k) if op_b else draw(k, n)
        self.bias, self.source, self.c = draw(1, n)[0], draw(m, n), draw(m, n)

    def operands(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.a.T if self.op_a else self.a, self.b.T if self.op_b else self.b

    def want(self, form: str, before: torch.Tensor) -> torch.Tensor:
        with_bias, activation, source = FORMS[form]
        a, b = self.operands()
        x = a.double() @ b.double()
        if source is not None:
            x += (before if source == "c" else self.source).double()
        if with_bias:
            x += self.bias.double()
        if activation == "relu":
            return torch.relu(x)
        if activation != "none":
            return torch.nn.functional.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")
        return x


def verify(library: Library, p: Product, form: str) -> float:
    """Largest error over the typical size of a sum; raises where it is not that of FP32."""
    before = p.source.flip(0).contiguous() if FORMS[form][2] == "c" else torch.full_like(p.c, math.nan)
    p.c.copy_(before)
    library.multiply(p, form)
    error = float((p.c.double() - p.want(form, before)).abs().max()) / math.sqrt(p.k + 1)
    if not error <= 2e-5:
        raise RuntimeError(f"{form} of {p.m}x{p.n}x{p.k}: largest error {error:.3g} of sqrt(k)")
    return error


def graph_of(call, calls: int, stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            call()
    return graph


def time_of(graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record(stream)
    graph.replay()
    end.record(stream)
    end.synchronize()
    return 1e3 * begin.elapsed_time(end)


def measure(library: Library, p: Product, stream: torch.cuda.Stream, rounds: int) -> dict:
    errors = {form: verify(library, p, form) for form in FORMS}
    p.c.zero_()
    a, b = p.operands()
    calls = {form: (lambda form=form: library.multiply(p, form)) for form in FORMS}
    calls["lt_bias"] = lambda: torch.addmm(p.bias, a, b, out=p.c)
    calls["lt_gelu"] = lambda: torch.ops.aten._addmm_activation.out(p.bias, a, b, use_gelu=True, out=p.c)
    for call in calls.values():
        call()
    once = graph_of(calls["plain"], 1, stream)
    time_of(once, stream)
    count = max(1, min(MOST_CALLS, int(GRAPH_US / max(time_of(once, stream), 1.0))))
    graphs = {name: graph_of(call, count, stream) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for name in graphs:
        time_of(graphs[name], stream)
    for round_number in range(rounds):
        order = list(graphs)
        random.Random(round_number).shuffle(order)
        for name in order:
            times[name].append(time_of(graphs[name], stream) / count)
    return {
        "m": p.m, "n": p.n, "k": p.k, "ops": ("t" if p.op_a else "n") + ("t" if p.op_b else "n"),
        "calls": count, "time_us": {name: round(statistics.median(of), 3) for name, of in times.items()},
        "largest_error": max(errors.values()),
    }  # fmt: skip


def drawn(seed: int, count: int) -> list[tuple[int, int, int, bool, bool]]:
    draw = random.Random(seed)
    products = []
    while len(products) < count:
        m, n = (int(2 ** draw.uniform(3, 13.5)) for _ in range(2))
        k = int(2 ** draw.uniform(4, 12.5))
        third = len(products) % 3
        least, most = ((0, 2e8), (2e8, 5e9), (5e9, 3e11))[third]
        if least <= 2.0 * m * n * k < most:
            if draw.random() < 0.6:
                m, n, k = (max(8, size // 8 * 8) for size in (m, n, k))
            products.append((m, n, k, draw.random() < 0.3, draw.random() < 0.5))
    return products


def summary(rows: list[dict]) -> dict:
    out = {}
    for name in rows[0]["time_us"]:
        base = "add" if name in ("add_apart", "bias_add_apart") else "plain"
        ratios = sorted(row["time_us"][name] / row["time_us"][base] for row in rows)
        out[name] = {
            "beside": base, "mean": round(math.exp(statistics.fmean(map(math.log, ratios))), 4),
            "median": round(ratios[len(ratios) // 2], 4), "p95": round(ratios[int(0.95 * (len(ratios) - 1))], 4),
            "most": round(ratios[-1], 4),
        }  # fmt: skip
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True, help="libkernelwright.so")
    parser.add_argument("--math", choices=MATHS, action="append", help="one or more (default: both)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=48, help="of drawn products (default: 48)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path, help="JSON")
    args = parser.parse_args()
    if not args.library.exists():
        parser.error(f"--library: {args.library} does not exist: build it, or name libkernelwright.so")
    if not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    stream = torch.cuda.Stream()
    shapes = drawn(args.seed, args.count) + [(*layer, False, True) for layer in LAYERS]
    result = {
        "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda, "seed": args.seed,
        "rounds": args.rounds, "l2": "warm", "maths": {},
    }  # fmt: skip
    with torch.cuda.stream(stream):
        for name in args.math or MATHS:
            library = Library(args.library, stream, name)
            result["version"] = library.c.kwVersion().decode()
            generator = torch.Generator(device="cuda").manual_seed(args.seed)
            rows = []
            for number, shape in enumerate(shapes):
                rows.append(measure(library, Product(*shape, generator), stream, args.rounds))
                print(f"\r{name}: {number + 1} of {len(shapes)}", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
            result["maths"][name] = {"summary": summary(rows), "products": rows}
            library.c.kwDestroy(library.handle)
            print(f"{name}: time beside that of the form named")
            for form, s in result["maths"][name]["summary"].items():
                print(f"  {form:16} / {s['beside']:6} mean {s['mean']:.3f}  median {s['median']:.3f}  p95 {s['p95']:.3f}"
                      f"  most {s['most']:.3f}")  # fmt: skip
    if args.output:
        args.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
