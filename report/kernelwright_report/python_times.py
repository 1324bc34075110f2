"""What python/measure/measure.py measured: the package's host time a call, products by every way, a program."""

from __future__ import annotations

import json

from . import text
from .results import ResultError
from .tables import Cell, Table

# How a program's products are served, in its table's columns.
SERVED_BY = {"drop-in": "under the drop-in", "enable": "with enable()"}
# The parts of a file, as `table: FILE python PART` names them.
PARTS = ("host", "products", "programs")
# The forms of a product, and what each is measured beside.
BESIDE = {
    "kernelwright.matmul": "C interface",
    "kernelwright.matmul, out": "C interface",
    "kernelwright.torch.matmul": "torch.mm",
    "torch.ops.kernelwright.matmul": "torch.mm",
    "torch.ops.kernelwright.matmul, inference mode": "torch.mm, inference mode",
    "kernelwright.torch.matmul, recorded": "torch.mm, recorded",
    "torch.ops.kernelwright.matmul, recorded": "torch.mm, recorded",
    "torch.mm, enabled": "torch.mm",
    "torch.addmm, enabled": "torch.addmm",
    "torch.mm of float16, enabled": "torch.mm of float16",
}


def _host(data: dict) -> Table:
    times = data["host"]
    rows = []
    for name, us in times.items():
        beside = BESIDE.get(name)
        more = f"{us - times[beside]:+.1f} µs against {beside}" if beside else ""
        rows.append([Cell(name), Cell(f"{us:.2f} µs"), Cell(more)])
    caption = "What the host takes for a call with tensors on the GPU, medians; the device has the same small product to do."
    return Table(f"{caption} {_machine(data)}", ["call", "time", "beside"], rows)


def _products(data: dict) -> Table:
    rows = []
    for part, peer in (("products", "torch.mm"), ("jax", "xla")):
        if part not in data:
            continue
        times, size = data[part]["time_us"], data[part]["size"]
        for name, us in times.items():
            rows.append([Cell(name), Cell(str(size)), Cell(text.microseconds(us)), Cell(f"{times[peer] / us:.2f}×")])
    caption = (
        "Products of square matrices, medians: by PyTorch's ways in fp32_split beside torch.mm in FP32, on the device; "
        "by JAX's beside XLA's own at precision HIGHEST, by the clock of the host over groups of calls."
    )
    return Table(f"{caption} {_machine(data)}", ["call", "m = n = k", "time", "of the peer's speed"], rows)


def _programs(data: dict) -> Table:
    rows = []
    for part in ("eager", "compiled"):
        if part not in data:
            continue
        times = data[part]["time_us"]
        cells = [Cell(text.microseconds(times["vendor"]))]
        cells += [Cell(f"{times['vendor'] / times[name]:.2f}×" if name in times else text.NONE) for name in SERVED_BY]
        rows.append([Cell(part), *cells])
    caption = "A training step of GPT-2 small (`apps/gpt.py`), medians, a process each in turn, optimizer included."
    return Table(f"{caption} {_machine(data)}", ["", "PyTorch", *SERVED_BY.values()], rows)


def _machine(data: dict) -> str:
    machine = data["machine"]
    parts = [machine["name"], f"driver {machine['driver']}", f"PyTorch {machine['torch']}", f"Python {machine['python']}"]
    return ", ".join(parts) + f". Command: `{data['command']}`."


def table(content: str, parts: list[str]) -> Table:
    """One part of the file; raises ResultError for a file of another kind."""
    makers = dict(zip(PARTS, (_host, _products, _programs), strict=True))
    part = " ".join(parts)
    if part not in makers:
        raise ResultError(f"table 'python {part}' is unknown; there are: {', '.join(f'python {name}' for name in PARTS)}.")
    try:
        return makers[part](json.loads(content))
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"not a file of python/measure/measure.py ({error}).") from None
