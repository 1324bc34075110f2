"""Device, versions, cache state, command and date of a result file, as the page lists them."""

from __future__ import annotations

import html

from . import text
from .results import ResultFile

LABELS = {
    "name": "device", "sm_count": "multiprocessors", "measured_fp32_tflops": "measured FP32 peak, TFLOP/s",
    "measured_read_gbs": "measured read bandwidth, GB/s", "measured_copy_gbs": "measured copy bandwidth, GB/s",
    "measured_cache_gbs": "measured read bandwidth of L2, GB/s",
    "l2_bytes": "L2 cache", "empty_kernel_us": "an empty kernel, µs",
}  # fmt: skip
CPU_LABELS = {"sm_count": "threads", "l2_bytes": "last-level cache"}


def facts(result: ResultFile) -> str:
    own = CPU_LABELS if result.device["kind"] == "cpu" else {}
    items = [(own.get(name) or _label(name), _sized(name, value)) for name, value in result.device.items()]
    items += [(name.replace("_", " "), value) for name, value in result.software.items()]
    clocks, powers = result.values("sm_clock_mhz"), result.values("power_w")
    repeats = sorted({row.time_us.get("repeats") for row in result.rows if row.median_us} - {None})
    items += [
        ("L2 state", " and ".join(result.values("l2")) or None),
        ("timing", " and ".join(result.values("timing")) or None),
        ("repeats", f"{repeats[0]:g} to {repeats[-1]:g}" if repeats else None),
        ("input", ", ".join(result.values("input")) or None),
        ("SM clock while timing", f"{min(clocks):g} to {max(clocks):g} MHz" if clocks else None),
        ("power while timing", f"{min(powers):.0f} to {max(powers):.0f} W" if powers else None),
        ("date", result.date or "not recorded"),
    ]
    lines = [
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(_scalar(value))}</dd>"
        for name, value in items
        if value not in (None, "", [], 0)
    ]
    command = f"<dt>command</dt><dd><code>{html.escape(result.command or 'not recorded')}</code></dd>"
    return f"<dl>{command}{''.join(lines)}</dl>"


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_bytes", "").replace("_", " "))


def _sized(name: str, value):
    return text.size(value) if "bytes" in name and isinstance(value, int) else value


def _scalar(value) -> str:
    if isinstance(value, float):
        return text.number(value, 4)
    if isinstance(value, list):
        return " × ".join(map(_scalar, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_scalar(inner)}" for name, inner in value.items())
    return str(value)
