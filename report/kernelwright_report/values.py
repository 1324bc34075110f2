"""Figures within sentences: what `<!-- value: FILE EXPRESSION [as FORMAT] -->…<!-- end -->` stands for.

    1537 cubed takes <!-- value: sgemm-fp32 time(kernelwright, 1537) -->162 µs<!-- end -->

FILE        results/h200/FILE.json, .csv or .txt; another device's with its folder (gfx908/sgemm-amd-isa); or a path.
EXPRESSION  calls of the functions below, numbers, + - * / and brackets. One file an expression: ratios between two runs
            are not formed.
FORMAT      a unit, or `bare` for the number alone, and how many significant digits (`3`) or decimals (`.1`):
            `as µs .0`, `as bare 2`. Left out: what suits the figure, in the form of the tables.

Of a result file, each function takes a kernel, by any beginning of its name that no other kernel has (r14; cublas), which
may be left out where there is one beside the peer; a shape: a size (4096), 512x512x4096, "1024x1024x1024 NT",
"32x32x32 x4096", 2^25, a range of squares (512..16384), the name of a shape (rows, segments), or nothing for all; and
fields (k=16384, input=unit, dtype=float16):

    time gflops gbs of_peak vs_peer vs_previous     of the medians
    min_time max_time mean_time iqr repeats         of the repeats
    error rms_error signed_error                    largest, root mean square and mean error
    relative_error                                  of programs, with app=NAME: vs_peer(fp32_split, app=pinn)
    grid block power clock                          of the launch, W, MHz
    rested of_fp16_third joules gflop_per_joule     of `bench sgemm --sustain`: rate after a rest, share, J a call
    field(NAME, …)                                  any other field of the rows
    sweep(KERNEL, THIRD, FIGURE)                    of a sweep of products: mean least below over_roofline … (sweeps.py)
    ratio(A, B, shape)    gain(A, B, shape)         how many times as fast as B A is; the same in percent more
    change(A, B, shape)                             A's time over B's in percent more or less
    peak() bandwidth() empty_kernel() sms()         what the device was measured to reach; what it is
    says(name)   says(cublas)   says(driver)        the device's name, versions: what the file says as text

Of hardware counters (.csv of ncu), with a kernel, a part of one function's name ("amd::Plain, 0") or the number of a launch:
issue occupancy fma dram sectors wavefronts reads writes (millions of wavefronts) instructions (millions) stall_global
stall_shared stall_mio stall_barrier stall_dispatch stall_queue, latency (a warp's cycles for an instruction), warps (of a
scheduler), registers, tensor (cores' cycles), duration, per_fma(KERNEL, SIZE) (instructions for each FMA of a square product),
fmas(KERNEL, SIZE) (the share of FMAs in them), passes(KERNEL, SIZE) (of reads through shared memory, for each FMA),
pass_limit(KERNEL, SIZE) (the share of the peak that these leave), and counter(KERNEL, "METRIC"). Of counts by opcode:
opcodes(KERNEL, "KIND", SIZE), the instructions of a kind of mixes.py for each FMA. Of another table (.csv): cell(ROW, COLUMN), the row by
the beginning of its first cell, or cell(TEXT, TEXT, …, COLUMN), the only row that has each text in a cell. Of a text (.txt): log("…", "… # …"), each text looked for behind the one before, # in the
last being the figure; a space matches any number of spaces, * any word; and distinct(4), the number of different
beginnings of four words among its lines, remarks (#) left out.

Over several figures: min max mean sum count, range ("3 to 5"), place_of_min, place_of_max (a shape); abs and sqrt of one.
"""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING

from . import text
from .results import ResultError
from .sources import Figures, open_source

if TYPE_CHECKING:
    from .project import Project

DEFAULT_DEVICE = "h200"
SHAPE = re.compile(r"""(?<!["\w.^])(\d+\.\.\d+|\d+(?:x\d+)+|2\^\d+)(?!["\w])""")
SPAN = re.compile(r'^(\S+)\s+(.+?)(?:\s+as\s+([^"()]+))?$', re.DOTALL)


# ------------------------------------------------------------------------------------------------------------ expressions


def _over(name: str, figures: Figures) -> Figures | None:
    values = figures.values
    if name in ("place_of_min", "place_of_max"):
        best = (min if name.endswith("min") else max)(range(len(values)), key=values.__getitem__)
        return Figures((0.0,), "text", (figures.places[best],))
    if name == "count":
        return Figures((float(len(values)),), "count")
    if name == "range":
        return Figures((min(values), max(values)), figures.kind, is_range=True)
    if name in ("abs", "sqrt"):
        return Figures(((abs if name == "abs" else math.sqrt)(figures.one()),), figures.kind)
    over = {"min": min, "max": max, "sum": sum, "mean": lambda xs: sum(xs) / len(xs)}
    return Figures((over[name](values),), figures.kind) if name in over else None


def _combined(operator: ast.operator, a: Figures, b: Figures) -> Figures:
    if len(a.values) != len(b.values) and 1 not in (len(a.values), len(b.values)):
        raise ResultError(f"{len(a.values)} figures and {len(b.values)} cannot be combined.")
    wide = max(len(a.values), len(b.values))
    pairs = zip(*(x.values * wide if len(x.values) == 1 else x.values for x in (a, b)), strict=True)
    if isinstance(operator, ast.Div):
        same = a.kind == b.kind or {a.kind, b.kind} == {"number", "count"}
        kind = a.kind if b.kind == "literal" else "ratio" if same else "number"
        return Figures(tuple(x / y for x, y in pairs), kind, a.places or b.places)
    kind = a.kind if b.kind in ("literal", a.kind) else b.kind if a.kind == "literal" else "number"
    work = {ast.Add: lambda x, y: x + y, ast.Sub: lambda x, y: x - y, ast.Mult: lambda x, y: x * y}.get(type(operator))
    if work is None:
        raise ResultError("of operators there are + - * /.")
    return Figures(tuple(work(x, y) for x, y in pairs), kind, a.places or b.places)


def _word(node: ast.expr):
    """An argument that is a name, a text or a whole number."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, int | str):
        return node.value
    raise ResultError(f"'{ast.unparse(node)}' is no kernel, shape or field.")


def _evaluate(node: ast.expr, source) -> Figures:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Figures((float(node.value),), "literal")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _combined(ast.Mult(), Figures((-1.0,), "literal"), _evaluate(node.operand, source))
    if isinstance(node, ast.BinOp):
        return _combined(node.op, _evaluate(node.left, source), _evaluate(node.right, source))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if len(node.args) == 1 and isinstance(node.args[0], ast.Call | ast.BinOp):
            found = _over(name, _evaluate(node.args[0], source))
        else:
            found = source.call(
                name, [_word(each) for each in node.args], {k.arg: _word(k.value) for k in node.keywords}
            )
        if found is not None:
            return found
        raise ResultError(f"there is no '{name}' for such a file. The head of values.py lists what there is.")
    raise ResultError(f"'{ast.unparse(node)}' is not understood. The head of values.py lists what there is.")


# ----------------------------------------------------------------------------------------------------------------- format

USUAL = {"gflops": "TFLOP/s", "gbs": "GB/s", "share": "%", "gain": "+%", "ratio": "×"}
SCALES = {
    "time": {"ns": 1e3, "µs": 1.0, "ms": 1e-3, "s": 1e-6},
    "gflops": {"GFLOP/s": 1.0, "TFLOP/s": 1e-3},
    "gbs": {"GB/s": 1.0, "TB/s": 1e-3},
}
PERCENT = ("%", "+%")
UNITS = ("ns", "µs", "ms", "s", "GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "×", "W", "MHz", "GHz", *PERCENT)


def _format(figures: Figures, wanted: str | None) -> str:
    if figures.kind == "text":
        return figures.places[0]
    words = (wanted or "").split()
    bare = "bare" in words
    units = [word for word in words if word in UNITS]
    digits = [word for word in words if re.fullmatch(r"\.?\d", word)]
    if len(units) > 1 or len(digits) > 1 or len(units) + len(digits) + bare != len(words):
        raise ResultError(f"format '{wanted}' is not a unit ({', '.join(UNITS)}) or bare, and 3 digits or .1 decimals.")
    if not figures.is_range:
        figures.one()
    if figures.kind == "time" and not units and not bare and not digits and len(figures.values) == 1:
        return text.microseconds(figures.one())
    unit = units[0] if units else USUAL.get(figures.kind, "µs" if figures.kind == "time" else "")
    scale = (
        100.0
        if unit in PERCENT and figures.kind in ("share", "gain", "ratio")
        else SCALES.get(figures.kind, {}).get(unit, 1.0)
    )
    shown = [_number(scale * value, figures.kind, unit, digits[0] if digits else "") for value in figures.values]
    joined = " to ".join(dict.fromkeys(shown))
    if bare or not unit:
        return joined
    return f"{joined}×" if unit == "×" else f"{joined}{text.THIN}{unit.removeprefix('+')}"


def _number(value: float, kind: str, unit: str, digits: str) -> str:
    if digits.startswith("."):
        shown = f"{abs(value):,.{digits[1:]}f}".replace(",", text.THIN)
    elif digits:
        shown = text.number(abs(value), int(digits))
    elif unit in PERCENT or unit == "×":
        shown = f"{abs(value):.{1 if unit in PERCENT else 2}f}"
    elif kind == "count":
        shown = text.whole(round(abs(value)))
    else:
        shown = text.number(abs(value), 2 if kind == "error" else 3)
    signs = ("−", "+") if unit == "+%" else ("−", "")
    return (signs[0] if value < 0 and shown.strip("0.") else signs[1]) + shown


def _quoted_shapes(expression: str) -> str:
    """512x512x4096 as Python wants it; texts stay as they are."""
    parts = re.split(r'("[^"]*")', expression)
    return "".join(part if i % 2 else SHAPE.sub(r'"\1"', part) for i, part in enumerate(parts))


def value(project: Project, arguments: str) -> str:
    """What stands between the mark and its end."""
    match = SPAN.match(arguments)
    if match is None:
        raise ResultError("a file and an expression are wanted: <!-- value: FILE EXPRESSION [as FORMAT] -->.")
    name, expression, wanted = match[1], match[2], match[3]
    try:
        tree = ast.parse(_quoted_shapes(expression), mode="eval").body
    except SyntaxError as error:
        raise ResultError(f"'{expression}' is not an expression: {error.msg}.") from None
    return _format(_evaluate(tree, project.source_of(name, open_source)), wanted)
