#!/usr/bin/env python3
"""Attention through the library's C interface beside PyTorch's FP32 `scaled_dot_product_attention`, in one process.

    python3 tools/attention_peer.py --library build/cuda/src/libkernelwright.so --json results/h200/attention.json
    python3 tools/attention_peer.py --library build/cuda/src/libkernelwright.so --sweep random --seed 1000 --count 60

Every element of both is compared with float64 before a time counts; calls take turns, a time is the median between two
events. Errors are |O - O64| in units of 2^-24 * sum of P |V|, beside those of the unfused form in FP32 (two products of
PyTorch with a softmax between them). Rates count 4 * pairs of query and key that count * D. Needs PyTorch with a GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import random
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as functional
from peer_library import PeerLibrary, driver

U = 2.0**-24
MATHS = {"fp32": 0, "fp32_split": 1}
KERNELS = {"fp32": "kernelwright", "fp32_split": "kernelwright_split", "pytorch": "pytorch"}
SHAPES = (  # batch, heads, kv_heads, queries, keys, dim, causal
    (2, 16, 16, 4096, 4096, 128, 0), (2, 16, 16, 4096, 4096, 128, 2), (8, 12, 12, 1024, 1024, 64, 0),
    (8, 12, 12, 1024, 1024, 64, 2), (1, 32, 8, 2048, 2048, 128, 2), (4, 16, 16, 512, 2048, 64, 0),
    (2, 16, 16, 1000, 1000, 80, 0), (2, 8, 8, 1024, 1024, 256, 0), (4, 16, 16, 1024, 1024, 32, 0),
    (1, 12, 12, 1, 1024, 64, 0), (8, 12, 12, 1, 1024, 64, 0), (8, 32, 8, 1, 8192, 128, 0), (1, 16, 16, 16, 16384, 128, 0),
)  # fmt: skip
CLASSES = ("uniform", "normal", "positive", "dominant", "equal", "tails", "large", "masked rows", "minus infinity", "nan")


class Strides(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "head", "row")]


class Problem(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_int64) for name in ("batch", "heads", "kv_heads", "queries", "keys", "dim")],
        ("q", ctypes.c_void_p), ("q_strides", Strides), ("k", ctypes.c_void_p), ("k_strides", Strides),
        ("v", ctypes.c_void_p), ("v_strides", Strides), ("o", ctypes.c_void_p), ("o_strides", Strides),
        ("scale", ctypes.c_float), ("causal", ctypes.c_int32), ("mask", ctypes.c_void_p), ("mask_strides", Strides),
        ("query_offsets", ctypes.c_void_p), ("key_offsets", ctypes.c_void_p),
    ]  # fmt: skip


class Library(PeerLibrary):
    def attention(self, q, k, v, o, scale: float, causal: int, mask, math_name: str):
        def strides(x):
            return Strides(*x.stride()[:3]) if x is not None else Strides()

        def of_mask(x):
            if x is None:
                return Strides()
            return Strides(*[step if size > 1 else 0 for size, step in zip(x.shape[:3], x.stride()[:3])])

        problem = Problem(
            q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], q.data_ptr(), strides(q), k.data_ptr(),
            strides(k), v.data_ptr(), strides(v), o.data_ptr(), strides(o), scale, causal,
            mask.data_ptr() if mask is not None else None, of_mask(mask), None, None,
        )  # fmt: skip

        def call(kept=(q, k, v, o, mask)):  # as long as the call can be made
            del kept
            self.check(self.c.kwSetMath(self.handle, MATHS[math_name]))
            self.check(self.c.kwAttention(self.handle, ctypes.byref(problem)))

        return call


def visible(queries: int, keys: int, causal: int) -> torch.Tensor | None:
    if causal == 0:
        return None
    shift = keys - queries if causal == 2 else 0
    return torch.arange(keys, device="cuda")[None, :] <= torch.arange(queries, device="cuda")[:, None] + shift


def reference(q, k, v, scale: float, causal: int, mask):
    """O in float64 and sum of P |V|, a few heads at a time."""
    group = q.shape[1] // k.shape[1]
    want, size = torch.empty_like(q, dtype=torch.float64), torch.empty_like(q, dtype=torch.float64)
    sees = visible(q.shape[2], k.shape[2], causal)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            x = q[b, h].double() @ k[b, h // group].double().T * float(torch.tensor(scale, dtype=torch.float32))
            if mask is not None:
                x += mask.expand(q.shape[0], q.shape[1], -1, -1)[b, h]
            if sees is not None:
                x = x.masked_fill(~sees, -math.inf)
            none = (x == -math.inf).all(dim=-1, keepdim=True)
            p = torch.softmax(x, dim=-1).masked_fill(none, 0.0)
            want[b, h] = p @ v[b, h // group].double()
            size[b, h] = p @ v[b, h // group].double().abs()
    return want, size


def error(got: torch.Tensor, want: torch.Tensor, size: torch.Tensor) -> dict:
    """In units of 2^-24 times the size. Where a NaN is wanted, there must be one."""
    wanted_nan = want.isnan()
    wrong_nan = int((got.isnan() != wanted_nan).sum())
    e = torch.where(wanted_nan | (size == 0), 0.0, (got.double() - want) / (U * size))
    zeros = int(((size == 0) & ~wanted_nan & (got != 0)).sum())
    return {"rms": float(e.square().mean().sqrt()), "max": float(e.abs().max()), "wrong": wrong_nan + zeros}


def unfused(q, k, v, scale: float, causal: int, mask):
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) if group > 1 else x for x in (k, v))
    x = q @ k.transpose(-1, -2) * scale
    if mask is not None:
        x = x + mask
    sees = visible(q.shape[2], k.shape[2], causal)
    if sees is not None:
        x = x.masked_fill(~sees, -math.inf)
    return torch.softmax(x, dim=-1) @ v


def fused(q, k, v, scale: float, causal: int, mask):
    grouped = q.shape[1] != k.shape[1]
    is_causal = causal != 0 and q.shape[2] == k.shape[2]
    if causal != 0 and not is_causal:
        mask = visible(q.shape[2], k.shape[2], causal)
    if grouped:  # its fused kernel takes equal numbers of heads
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    return lambda: functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale)


def operands(batch, heads, kv_heads, queries, keys, dim, name: str, generator: torch.Generator):
    def draw(count: int, rows: int, normal: bool):
        x = torch.empty(batch, count, rows, dim, device="cuda")
        return x.normal_(generator=generator) if normal else x.uniform_(-1, 1, generator=generator)

    normal = name in ("normal", "tails")
    q, k, v, mask = draw(heads, queries, normal), draw(kv_heads, keys, normal), draw(kv_heads, keys, normal), None
    if name == "positive":
        q, k, v = q.abs(), k.abs(), v.abs()
    elif name == "dominant":
        q += 1
        k[:, :, keys // 3] = 4
    elif name == "equal":
        k[:] = k[:, :, :1]
    elif name == "tails":
        v = v**7
    elif name == "large":
        q *= 3e4
    elif name == "masked rows":
        mask = torch.zeros(1, 1, queries, keys, device="cuda")
        mask[:, :, ::5] = -math.inf
    elif name == "minus infinity":
        mask = torch.zeros(1, 1, queries, keys, device="cuda").masked_fill_(
            torch.rand(queries, keys, device="cuda", generator=generator) < 0.3, -math.inf
        )
    elif name == "nan":
        q[:, :, 3, 1] = math.nan
        q[:, :, 5, 0] = math.inf
    return q, k, v, mask


def event_us(call, stream) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record(stream)
    call()
    end.record(stream)
    end.synchronize()
    return 1e3 * begin.elapsed_time(end)


def replayed(call, stream: torch.cuda.Stream, least_us: float):
    """A call that takes some time on the device, as a graph of several, and how many."""
    call()
    quick = min(event_us(call, stream) for _ in range(3))
    count = max(1, math.ceil(least_us / quick))
    if count == 1:
        return call, 1
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(count):
            call()
    return graph.replay, count


def pairs(queries: int, keys: int, causal: int) -> int:
    if causal == 0:
        return queries * keys
    shift = keys - queries if causal == 2 else 0
    return sum(min(keys, max(0, t + 1 + shift)) for t in range(queries))


def row(shape, name, math_name, samples, errors, extra):
    batch, heads, kv_heads, queries, keys, dim, causal = shape
    made = {
        "op": "attention", "kernel": name, "role": "peer" if name == "pytorch" else "production", "math": math_name, "batch": batch,
        "heads": heads, "kv_heads": kv_heads, "queries": queries, "keys": keys, "dim": dim,
        "causal": ("none", "from_start", "from_end")[causal], **extra, "verified": errors["wrong"] == 0, "error": errors,
    }  # fmt: skip
    if samples:
        median = statistics.median(samples)
        quarters = statistics.quantiles(samples, n=4)
        made["time_us"] = {
            "min": min(samples), "median": median, "mean": statistics.fmean(samples), "max": max(samples),
            "iqr": quarters[2] - quarters[0], "repeats": len(samples),
        }  # fmt: skip
        made["gflops"] = 4.0 * batch * heads * pairs(queries, keys, causal) * dim / median / 1e3
    return made


def bound_of(errors: dict, plain: dict) -> bool:
    return errors["wrong"] == 0 and errors["rms"] <= 4 * max(plain["rms"], 0.25)


def measure(shape, library: Library, stream, seed: int, budget_ms: float, extra: dict) -> list[dict]:
    batch, heads, kv_heads, queries, keys, dim, causal = shape
    generator = torch.Generator(device="cuda").manual_seed(seed)
    q, k, v, _ = operands(*shape[:6], "normal", generator)
    scale = 1 / math.sqrt(dim)
    want, size = reference(q, k, v, scale, causal, None)
    plain = error(unfused(q, k, v, scale, causal, None), want, size)
    results, calls = {}, {}
    for name in MATHS:
        o = torch.full_like(q, math.nan)
        calls[name] = library.attention(q, k, v, o, scale, causal, None, name)
        calls[name]()
        results[name] = error(o, want, size)
        if not bound_of(results[name], plain):
            raise RuntimeError(f"{shape} {name}: error {results[name]}, unfused {plain}")
    theirs = fused(q, k, v, scale, causal, None)
    results["pytorch"], calls["pytorch"] = error(theirs(), want, size), theirs
    del want, size
    torch.cuda.empty_cache()
    replays = {name: replayed(call, stream, 150.0) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.monotonic()
    while len(samples["pytorch"]) < 5 or time.monotonic() - begin < 1e-3 * budget_ms:
        for name, (call, count) in replays.items():
            samples[name].append(event_us(call, stream) / count)
    rows = []
    for name in calls:
        math_name = "fp32" if name == "pytorch" else name
        made = row(shape, KERNELS[name], math_name, samples[name], {**results[name], "unfused_rms": plain["rms"]}, extra)
        made["peer"] = "pytorch"
        made["vs_peer"] = statistics.median(samples["pytorch"]) / statistics.median(samples[name])
        rows.append(made)
    return rows


def print_rows(rows: list[dict]) -> None:
    first = rows[0]
    text = f"{first['batch']}x{first['heads']}/{first['kv_heads']} {first['queries']}x{first['keys']} D {first['dim']} {first['causal']}"
    for made in rows:
        kernel = "pytorch" if made["role"] == "peer" else made["math"]
        text += f" | {kernel} {made['time_us']['median']:9.1f} us {made['gflops'] / 1e3:6.1f} T rms {made['error']['rms']:.3f}"
    print(text + f" | unfused rms {first['error']['unfused_rms']:.3f}", flush=True)


def accuracy(library: Library, dims, extents) -> list[dict]:
    """Errors on every class of data; nothing is timed."""
    rows = []
    for dim in dims:
        for name in CLASSES:
            shape = (1, 4, 2, extents, extents, dim, 0)
            generator = torch.Generator(device="cuda").manual_seed(5)
            q, k, v, mask = operands(*shape[:6], name, generator)
            scale = 1 / math.sqrt(dim)
            want, size = reference(q, k, v, scale, 0, mask)
            plain = error(unfused(q, k, v, scale, 0, mask), want, size)
            for math_name in MATHS:
                o = torch.full_like(q, math.nan)
                library.attention(q, k, v, o, scale, 0, mask, math_name)()
                errors = {**error(o, want, size), "unfused_rms": plain["rms"], "unfused_max": plain["max"]}
                rows.append(row(shape, KERNELS[math_name], math_name, [], errors, {"input": name}))
                print(f"D {dim} {name:<15} {math_name:<11} rms {errors['rms']:8.3f} max {errors['max']:9.2f} "
                      f"wrong {errors['wrong']} | unfused rms {plain['rms']:8.3f} max {plain['max']:9.2f}", flush=True)  # fmt: skip
    return rows


def random_shapes(seed: int, count: int):
    """Head sizes and lengths log-uniform, at most 2^33 multiply-adds a product, a third of them causal."""
    draw = random.Random(seed)
    found = []
    while len(found) < count:
        dim = draw.choice((32, 48, 64, 64, 80, 96, 128, 128, 256))
        queries = 1 if draw.random() < 0.25 else round(2 ** draw.uniform(0, 12))
        keys = round(2 ** draw.uniform(4, 13))
        kv_heads, group, batch = draw.choice((1, 2, 4, 8, 12)), draw.choice((1, 1, 1, 2, 4)), draw.choice((1, 1, 2, 4, 8))
        causal = draw.choice((0, 0, 2)) if queries <= keys else 0
        if batch * kv_heads * group * queries * keys * dim <= 2**33:
            found.append((batch, kv_heads * group, kv_heads, queries, keys, dim, causal))
    return found


def described(name: str) -> dict:
    """The device as the program's result files have it."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": name, "kind": "cuda", "sm_count": properties.multi_processor_count, "memory_bytes": properties.total_memory,
        "driver": driver(),
    }  # fmt: skip


def without_folder(argument: str) -> str:
    """An argument as a result file keeps it: a file's folder is the measuring machine's own."""
    return Path(argument).name if argument.startswith("/") else argument


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", type=Path, required=True, help="libkernelwright.so")
    parser.add_argument("--json", type=Path, help="where the rows go")
    parser.add_argument("--sweep", choices=("random",), help="shapes drawn at random in place of the list")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="only so many shapes of the list (0: all)")
    parser.add_argument("--budget-ms", type=float, default=400, help="measuring time a shape")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    stream = torch.cuda.Stream()
    rows: list[dict] = []
    failed = False
    with torch.cuda.stream(stream), torch.no_grad():
        library = Library(arguments.library, stream.cuda_stream)
        shapes = random_shapes(arguments.seed, arguments.count) if arguments.sweep else SHAPES
        if arguments.first:
            shapes = shapes[: arguments.first]
        if not arguments.sweep:
            rows += accuracy(library, (64, 128, 256), 1024)
            failed = any(not made["verified"] for made in rows)
        for number, shape in enumerate(shapes):
            extra = {"sweep": "random", "seed": arguments.seed, "number": number} if arguments.sweep else {}
            try:
                rows += measure(shape, library, stream, number + 1, arguments.budget_ms, extra)
                print_rows(rows[-3:])
            except RuntimeError as problem:
                failed = True
                print(f"FAILED {str(problem)[:400]}", flush=True)
        device = torch.cuda.get_device_name(0)
        if arguments.json:
            data = {
                "schema": 1, "command": " ".join(["python3", "tools/attention_peer.py", *map(without_folder, sys.argv[1:])]),
                "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "device": described(device),
                "software": {"kernelwright": library.c.kwVersion().decode(), "pytorch": torch.__version__},
                "rows": rows,
            }  # fmt: skip
            arguments.json.write_text(json.dumps(data, indent=1) + "\n")
    timed = [made for made in rows if made["role"] == "production" and made.get("time_us")]
    for math_name in MATHS:
        ratios = [made["vs_peer"] for made in timed if made["math"] == math_name]
        if ratios:
            print(f"{math_name}: {statistics.geometric_mean(ratios):.2f} x PyTorch (geometric mean of {len(ratios)}), least {min(ratios):.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
