"""A rung's points in the roofline: flops for each byte that its global loads and its shared memory move, as its trace counts
them, at the speed that was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .results import ResultFile
from .scene import Scene

SHARED_BYTES = 128  # of an SM in a cycle
SIDE = (222, 186)  # of the axes, pixels
FLOPS_PER_BYTE, TFLOPS = (0.05, 2000.0), (0.3, 1000.0)


@dataclass(frozen=True)
class Ceilings:
    peak: float  # TFLOP/s
    memory: float  # TB/s
    cache: float | None
    shared: float
    half: float | None = None  # products of 16-bit numbers on tensor cores, TFLOP/s


def ceilings(result: ResultFile, cache_gbs: float | None, half: float | None = None) -> Ceilings | None:
    device = result.device
    needed = [device.get(name) for name in ("measured_fp32_tflops", "measured_read_gbs", "sm_count", "max_sm_clock_mhz")]
    if not all(needed):
        return None
    peak, read, sms, clock = needed
    return Ceilings(peak, read / 1e3, cache_gbs / 1e3 if cache_gbs else None, sms * SHARED_BYTES * clock / 1e6, half)


def _x(value: float) -> float:
    low, high = (math.log10(v) for v in FLOPS_PER_BYTE)
    return SIDE[0] * min(max((math.log10(value) - low) / (high - low), 0), 1)


def _y(value: float) -> float:
    low, high = (math.log10(v) for v in TFLOPS)
    return SIDE[1] * (1 - min(max((math.log10(value) - low) / (high - low), 0), 1))


def draw(scene: Scene, left: float, top: float, of: Ceilings, tflops: float, size: str, per_loaded: float,
         per_shared: float, products: int = 0) -> None:  # fmt: skip
    """`products`: of 16-bit numbers for each of FP32; 0: none."""
    scene.text(left - 22, top, f"TFLOP/s over flops a byte, at {size}", size=11, bold=True)
    top += 12
    scene.box(left, top, *SIDE, fill="paper", stroke="grid")
    slopes = [("memory", of.memory, "reference-2"), ("L2", of.cache, "peer-3"), ("shared", of.shared, "production")]
    for name, bandwidth, colour in slopes:
        if not bandwidth:
            continue
        first, last = FLOPS_PER_BYTE[0], of.peak / bandwidth
        first = max(first, TFLOPS[0] / bandwidth)
        scene.line(left + _x(first), top + _y(first * bandwidth), left + _x(last), top + _y(of.peak), stroke=colour)
    scene.line(left + _x(of.peak / of.shared), top + _y(of.peak), left + SIDE[0], top + _y(of.peak), stroke="ink")
    scene.text(left + SIDE[0] - 4, top + _y(of.peak) - 4, "FP32 peak", size=9, end=True)
    if products and of.half:
        ceiling = of.half / products
        scene.line(left + _x(ceiling / of.shared), top + _y(ceiling), left + SIDE[0], top + _y(ceiling), stroke="ink")
        scene.line(left + _x(of.peak / of.shared), top + _y(of.peak), left + _x(ceiling / of.shared), top + _y(ceiling), stroke="production")
        scene.text(left + SIDE[0] - 4, top + _y(ceiling) - 4, f"BF16 / {products}" if products > 1 else "BF16", size=9, end=True)
    for value, shape in ((per_loaded, "square"), (per_shared, "circle")):
        if value <= 0:
            continue
        x, y = left + _x(value), top + _y(tflops)
        if shape == "square":
            scene.box(x - 4, y - 4, 8, 8, fill="peer-3")
        else:
            scene.circle(x, y, 4.5, fill="production")
    for value in (0.1, 1, 10, 100, 1000):
        scene.text(left + _x(value), top + SIDE[1] + 13, f"{value:g}", size=9, muted=True, middle=True)
    for value in (1, 10, 100, 1000):
        scene.text(left - 4, top + _y(value) + 3, f"{value:g}", size=9, muted=True, end=True)
    y = top + SIDE[1] + 28
    x = left
    for name, bandwidth, colour in reversed(slopes):
        if bandwidth:
            words = f"{name} {bandwidth:.3g}"
            scene.line(x, y - 4, x + 10, y - 4, stroke=colour, width=2.5)
            scene.text(x + 13, y, words, size=9, muted=True)
            x += 20 + 5.3 * len(words)
    scene.text(x, y, "TB/s", size=9, muted=True)
    words = []
    if per_loaded > 0:
        words.append(("square", f"{per_loaded:.3g} flops a byte of global loads"))
    if per_shared > 0:
        words.append(("circle", f"{per_shared:.3g} flops a byte of shared memory"))
    for shape, text in words:
        y += 16
        if shape == "square":
            scene.box(left, y - 8, 8, 8, fill="peer-3")
        else:
            scene.circle(left + 4, y - 4, 4.5, fill="production")
        scene.text(left + 14, y, text, size=10)
