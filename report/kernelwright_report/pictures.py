"""Which plots a result file has, their captions, and how one is saved. Drawing needs matplotlib;
the list and the captions do not."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import apps, distributed, sweeps, sweeps_reduce, text, theme
from .curves import drawn_inputs
from .panels import MOST_SIZES, VISIBLE, peak_shares, reduce_steps, sgemm_steps
from .reductions import length_near, lengths
from .results import ResultError, ResultFile
from .schema import ROWWISE
from .svg import compact

DEFAULT_SIZE = 4096


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    caption: str
    draw: Callable  # () -> matplotlib figure
    part: str = "result"  # of the page: result, steps, ratios, sizes, errors


def _drawing(module: str, function: str, *arguments) -> Callable:
    """Loads matplotlib when it draws, not before."""

    def draw():
        return getattr(importlib.import_module(f".{module}", __package__), function)(*arguments)

    return draw


def _spread(result: ResultFile, shown: str) -> str:
    """A sentence on bands or strokes, where there are any to be seen."""
    visible = any(row.time_range.width > VISIBLE for row in result.rows)
    return (
        f" {shown}: half the interquartile range of the repeats to either side, within shortest and longest."
        if visible
        else ""
    )


def _sweep(result: ResultFile) -> list[Picture]:
    if not any(sweeps.over_roofline(row) for product in sweeps.products(result) for row in product.values()):
        return []
    caption = "Median time by the roofline's (the longest of the operations at the measured FP32 peak, the bytes at the "
    caption += "measured bandwidth, an empty launch) against operations for each byte. Both scales are logarithmic."
    if any(row.math == "fp32_split" for row in result.rows):
        caption += " Split products run on tensor cores: the roofline of FP32 is no limit to them."
    return [
        Picture("roofline", "Time over the roofline against intensity", caption,
                _drawing("plots_sweep", "roofline", result))
    ]  # fmt: skip


def _sustained(result: ResultFile) -> list[Picture]:
    if sum(shape.square and shape.m > 0 for shape in result.timed_shapes) < 2:
        return []
    caption = "Sustained: the rate of one kernel back to back for seconds. Rested: of a short spell after a rest. A product in "
    caption += "16 bits counts as a third, for a split product takes three."
    return [
        Picture("sustained", "Rates that last, and their energy", caption,
                _drawing("plots_sustained", "rates_and_energy", result))
    ]  # fmt: skip


def _apps(result: ResultFile) -> list[Picture]:
    if not apps.variants(result):
        return []
    caption = "Median time of a step by cuBLAS's, with the time and how many times as fast it is; beside it each program's own "
    caption += "relative error against float64, on a logarithmic scale: further left is more exact. TF32 shows what its speed costs."
    title = "Whole programs: time and error"
    found = [Picture("apps", title, caption, _drawing("plots_apps", "times_and_errors", result))]
    app = apps.parted(result)
    if app:
        caption = f"The loss of {apps.title(app)} against steps, from the same start in every arithmetic."
        draw = _drawing("plots_apps", "losses", result, app)
        found.append(Picture("loss", f"The loss of {apps.title(app)}", caption, draw, "errors"))
    return found


def _sgemm(result: ResultFile, size: int) -> list[Picture]:
    unit, _ = text.rate_unit(result.rows)
    shape = result.shape_near(size)
    found = []
    if sum(shape.square and shape.m > 0 for shape in result.timed_shapes) > 1:
        caption = f"{unit} against size, M = N = K."
        if result.device.get("measured_fp32_tflops"):
            caption += " Dashed: what registers alone reach on this device."
        caption += _spread(result, "Bands")
        found.append(Picture("lines", f"{unit} against size", caption, _drawing("plots_sgemm", "lines", result)))
    steps = sgemm_steps(result, shape)
    if steps.panels:
        caption = f"At {shape.label}: {steps.caption}.{_spread(result, 'Strokes')}"
        found.append(
            Picture("steps", "Step by step", caption, _drawing("plots_sgemm", "steps", result, shape), "steps")
        )
    if peak_shares(result)[1]:
        caption = "Share of the FP32 peak measured on this device, at the largest sizes."
        found.append(Picture("of-peak", "Share of peak", caption, _drawing("plots_sgemm", "of_peak", result), "ratios"))
    all_sizes = len(result.timed_shapes)
    some = f", {MOST_SIZES} of {all_sizes}" if all_sizes > MOST_SIZES else ""
    caption = (
        f"{unit} of each kernel, grouped by size{some}, with the numbers beneath; the best of each size is marked. "
    )
    caption += f"Kernels in ladder order, the vendor last.{_spread(result, 'Strokes')}"
    found.append(
        Picture("by-size", "Every kernel at every size", caption, _drawing("plots_sgemm", "by_size", result), "sizes")
    )
    return found


def _distributed(result: ResultFile) -> list[Picture]:
    found = []
    if len(distributed.timed(result)) > 1:
        caption = "How many times as fast as the library's call on one GPU each product was, all GPUs equally warm. Hollow: as "
        caption += "predicted before the run. The dashed line is as many times as there are GPUs."
        found.append(Picture("speedups", "Times as fast as one GPU", caption, _drawing("plots_distributed", "speedups", result)))
    if distributed.with_timeline(result):
        caption = "When the products and the copies of each rank ran in one call, by events of its streams, from the call's "
        caption += "begin on that rank. The devices were idle before it."
        found.append(
            Picture("timeline", "Products and copies of one call", caption, _drawing("plots_distributed", "timeline", result))
        )
    return found


def _reduce(result: ResultFile, size: int | None) -> list[Picture]:
    shape = length_near(result, size)
    if shape is None:
        return []
    found = []
    known = [shape for shape in lengths(result) if shape.n > 0]
    if len(known) > 1:
        caption = "Median time and bytes read a second against the number of elements n."
        if result.device.get("measured_read_gbs"):
            caption += " Dashed: the measured read bandwidth"
            empty = (result.device.get("empty_kernel_us") or {}).get("graph")
            caption += ", and the time of an empty kernel." if empty else "."
        caption += _spread(result, "Bands")
        found.append(
            Picture("by-length", "Time and bandwidth against n", caption, _drawing("plots_reduce", "by_length", result))
        )
        if any(row.vs_peer is not None and row.role != "peer" for shape in known for row in result.timed_at(shape)):
            vendor = text.kernel(result.peer_name or "the vendor")
            caption = f"Median time of {vendor} by that of each kernel, from the same run; above 1 is faster."
            draw = _drawing("plots_reduce", "over_peer", result)
            found.append(Picture("over-peer", f"Speed-up over {vendor} against n", caption, draw, "ratios"))
    steps = reduce_steps(result, shape)
    if steps.panels and any(result.role(kernel) == "rung" for kernel in result.timed_kernels):
        caption = f"{shape.label}: {steps.caption}.{_spread(result, 'Strokes')}"
        found.append(
            Picture("steps", "Step by step", caption, _drawing("plots_reduce", "steps", result, shape), "steps")
        )
    return found


def _reduce_sweep(result: ResultFile) -> list[Picture]:
    if not any(each.own.of_peak for each in sweeps_reduce.drawn(result)):
        return []
    caption = "Share of the measured read bandwidth against the bytes that must be read and, from 64 MiB on, against the "
    caption += "aspect: elements of a sequence by the number of sequences."
    title = "Share of the read bandwidth against bytes and aspect"
    return [Picture("share", title, caption, _drawing("plots_sweep_reduce", "share", result))]


def pictures(result: ResultFile, size: int | None = None) -> list[Picture]:
    """`size` is that of the step-by-step plot; without one DEFAULT_SIZE, of reductions the longest."""
    if result.kind == "accuracy":
        if not drawn_inputs(result):
            return []
        caption = "Error against float64 by K, in units of u·|A||B| with u = 2⁻²⁴. Both scales are "
        caption += "logarithmic; kernels with the same errors share one line."
        return [Picture("accuracy", "Error against K", caption, _drawing("plots_other", "accuracy", result))]
    if result.kind in ("verify", "host"):
        return []
    if result.kind == "apps":
        return _apps(result)
    if result.kind == "sustained":
        return _sustained(result)
    if result.kind == "distributed":
        return _distributed(result)
    if result.op in ROWWISE:
        return []
    if result.op == "scale_add":
        if not any(shape.flops > 0 for shape in result.timed_shapes):
            return []
        caption = f"Bytes read and written by the median time, against the matrix size.{_spread(result, 'Bands')}"
        return [Picture("bandwidth", "Bytes moved per second", caption, _drawing("plots_other", "bandwidth", result))]
    if sweeps_reduce.is_sweep(result):
        return _reduce_sweep(result)
    if result.op == "reduce":
        return _reduce(result, size)
    if sweeps.is_sweep(result):
        return _sweep(result)
    return _sgemm(result, size or DEFAULT_SIZE)


DRAWN_BY = ("canvas.py", "curves.py", "labels.py", "panels.py", "plots_*.py", "svg.py", "theme.py")


def drawing_digest() -> str:
    """Of the text of the modules that draw: a picture is as old as they are."""
    folder = Path(__file__).parent
    paths = [path for pattern in DRAWN_BY for path in sorted(folder.glob(pattern))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def render(picture: Picture) -> tuple[str, bytes]:
    """SVG text (light) and PNG bytes; the same input gives the same output."""
    try:
        import matplotlib
    except ImportError:
        raise ResultError(
            "matplotlib is not installed for this Python; plots need it. "
            "`./dev setup` installs it into .venv, or: python3 -m pip install matplotlib"
        ) from None
    svg, png = io.StringIO(), io.BytesIO()
    with matplotlib.rc_context(theme.RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the page is drawn in the reader's font
        figure = picture.draw()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Title": picture.title})
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return compact(svg.getvalue()), png.getvalue()


def save(picture: Picture, folder: Path, stem: str) -> str:
    """Writes stem-name.svg and .png; returns the SVG."""
    svg, png = render(picture)
    (folder / f"{stem}-{picture.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{stem}-{picture.name}.png").write_bytes(png)
    return svg
