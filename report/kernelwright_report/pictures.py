"""Which plots a result file has, their captions, and how one is saved. Drawing needs matplotlib;
the list and the captions do not."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import text, theme
from .reductions import length_near, lengths
from .results import ResultError, ResultFile

DEFAULT_SIZE = 4096


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    caption: str
    draw: Callable  # () -> matplotlib figure


def _sgemm(result: ResultFile, size: int) -> list[Picture]:
    def draw(function: str, *arguments):
        def run():
            from . import plots_sgemm

            return getattr(plots_sgemm, function)(result, *arguments)

        return run

    unit, _ = text.rate_unit(result.rows)
    shape = result.shape_near(size)
    pictures = [
        Picture(
            "by-size", "Every kernel at every size",
            f"{unit} of each kernel, grouped by size, with the table of GFLOP/s beneath; the best of each size is "
            "marked. Kernels in ladder order, the vendor last.",
            draw("by_size"),
        )
    ]  # fmt: skip
    if sum(shape.square for shape in result.timed_shapes) > 1:
        caption = f"{unit} against size, M = N = K."
        if result.device.get("measured_fp32_tflops"):
            caption += " Dashed: what registers alone reach on this device."
        pictures.append(Picture("lines", f"{unit} against size", caption, draw("lines")))
    if any(row.of_peak is not None for row in result.rows):
        pictures.append(
            Picture(
                "of-peak", "Share of peak", "Share of the FP32 peak measured on this device, at the largest sizes.",
                draw("of_peak"),
            )
        )  # fmt: skip
    rows = [row for kernel in result.timed_kernels if (row := result.at(kernel, shape))]
    if any(row.vs_previous is not None or row.vs_peer is not None for row in rows):
        caption = f"At {shape.label}: speed-up over the step that each kernel improves on, and ratio to the vendor."
        pictures.append(Picture("steps", "Step by step", caption, draw("steps", shape)))
    return pictures


def _reduce(result: ResultFile, size: int | None) -> list[Picture]:
    shape = length_near(result, size)
    if shape is None:
        return []

    def draw(function: str, *arguments):
        def run():
            from . import plots_reduce

            return getattr(plots_reduce, function)(result, *arguments)

        return run

    found = []
    if len(lengths(result)) > 1:
        caption = "Median time and bytes read a second against the number of elements n."
        if result.device.get("measured_read_gbs"):
            caption += " Dashed: the measured read bandwidth"
            caption += ", and the time of an empty kernel." if result.device.get("empty_kernel_us") else "."
        found.append(Picture("by-length", "Time and bandwidth against n", caption, draw("by_length")))
        if any(row.vs_peer is not None and row.role != "peer" for row in result.rows):
            vendor = text.kernel(next(row.peer for row in result.rows if row.peer))
            caption = f"Median time of {vendor} by that of each kernel, from the same run; above 1 is faster."
            found.append(Picture("over-peer", f"Speed-up over {vendor} against n", caption, draw("over_peer")))
    if any(result.role(kernel) == "rung" for kernel in result.timed_kernels):
        caption = f"{shape.label}: share of the measured read bandwidth, gain over the step that each kernel "
        caption += "improves on, and over the first rung."
        found.append(Picture("steps", "Step by step", caption, draw("steps", shape)))
    return found


def pictures(result: ResultFile, size: int | None = None) -> list[Picture]:
    """`size` is that of the step-by-step plot; without one DEFAULT_SIZE, of reductions the longest."""
    if result.kind == "accuracy":

        def draw_accuracy():
            from . import plots_other

            return plots_other.accuracy(result)

        caption = "Error against float64 by K, in units of u·|A||B| with u = 2⁻²⁴. Both scales are "
        caption += "logarithmic; kernels with the same errors share one line."
        return [Picture("accuracy", "Error against K", caption, draw_accuracy)]
    if result.kind == "verify":
        return []
    if result.op == "scale_add":

        def draw_bandwidth():
            from . import plots_other

            return plots_other.bandwidth(result)

        caption = "Bytes read and written by the median time, against the matrix size."
        return [Picture("bandwidth", "Bytes moved per second", caption, draw_bandwidth)]
    if result.op == "reduce":
        return _reduce(result, size)
    return _sgemm(result, size or DEFAULT_SIZE)


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
    with matplotlib.rc_context(theme.RC):
        figure = picture.draw()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Title": picture.title})
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    # Text stays text: searchable, and in the reader's own font.
    content = svg.getvalue().replace("'DejaVu Sans'", theme.FONT.replace('"', "'"))
    return content, png.getvalue()


def save(picture: Picture, folder: Path, stem: str) -> str:
    """Writes stem-name.svg and .png; returns the SVG."""
    svg, png = render(picture)
    (folder / f"{stem}-{picture.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{stem}-{picture.name}.png").write_bytes(png)
    return svg
