"""How numbers and names are written, the same in every table, plot and page."""

from __future__ import annotations

THIN = "\u202f"  # narrow space that does not break: 51 234
NONE = "–"


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant digits, never fewer than the whole part has; thousands set apart."""
    if value is None:
        return NONE
    size = abs(value)
    if size == 0:
        return "0"
    if size < 1e-6:
        return f"{value:.{digits}g}"
    decimals = 0
    while decimals < 6 and round(size, decimals) * 10**decimals < 10 ** (digits - 1):
        decimals += 1
    return f"{value:,.{decimals}f}".replace(",", THIN)


def scientific(value: float | None, digits: int = 2) -> str:
    """1.1·10⁻⁶"""
    if not value:
        return NONE if value is None else "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def whole(value: int) -> str:
    return f"{value:,}".replace(",", THIN)


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decade(exponent: int) -> str:
    """1, 1 000, 10⁻⁶"""
    return f"{10**exponent:,}".replace(",", THIN) if 0 <= exponent < 5 else "10" + str(exponent).translate(SUPERSCRIPTS)


def length(n: int) -> str:
    """A number of elements: 2²⁰, 1 000 003"""
    if n >= 1024 and n & (n - 1) == 0:
        return "2" + str(n.bit_length() - 1).translate(SUPERSCRIPTS)
    return whole(n)


def percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}{THIN}%"


def times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}×"


def microseconds(value: float | None) -> str:
    if value is None:
        return NONE
    for limit, scale, unit in ((1e3, 1, "µs"), (1e6, 1e3, "ms")):
        if value < limit:
            return f"{number(value / scale)}{THIN}{unit}"
    return f"{number(value / 1e6)}{THIN}s"


def size(size_bytes: float) -> str:
    if abs(size_bytes) >= 2**70:  # of no machine
        return str(size_bytes)
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= limit:
            return f"{size_bytes / limit:.4g}{THIN}{unit}"
    return f"{size_bytes:g}{THIN}bytes"


VENDORS = {
    "cublas": "cuBLAS", "openblas": "OpenBLAS", "rocblas": "rocBLAS", "cub": "CUB", "openmp": "OpenMP",
    "xla_bf16x6": "XLA bf16x6", "cublas_fp16": "cuBLAS FP16", "cublas_bf16": "cuBLAS BF16", "pytorch": "PyTorch",
}  # fmt: skip


def kernel(name: str) -> str:
    """r07_conflict_free -> r07 conflict free; cublas -> cuBLAS."""
    return VENDORS.get(name, name.replace("_", " "))


def group(names: list[str]) -> str:
    """Kernels that behave alike: r01 … r13, async tile"""
    rungs = [name for name in names if name[:1] == "r" and name[1:3].isdigit()]
    shown = [f"{rungs[0][:3]} … {rungs[-1][:3]}"] if len(rungs) > 2 else [kernel(name) for name in rungs]
    return ", ".join(shown + [kernel(name) for name in names if name not in rungs])


def cut(content: str, most: int) -> str:
    """At most so many characters, for places that have no room for more."""
    return content if len(content) <= most else content[: most - 1].rstrip() + "…"


def plus_minus(share: float | None) -> str:
    """Spread to either side: ±0.4 %"""
    return NONE if share is None else f"±{100 * share:.{0 if share >= 0.1 else 1}f}{THIN}%"


def listing(items: list[str], most: int = 6) -> str:
    """a, b, c and 4 more"""
    if len(items) <= most:
        return ", ".join(items)
    return ", ".join(items[:most]) + f" and {len(items) - most} more"


def rate_unit(rows) -> tuple[str, float]:
    """TFLOP/s where something reaches one, GFLOP/s otherwise; and what to divide gflops by."""
    best = max((row.gflops for row in rows if row.gflops is not None), default=0)
    return ("TFLOP/s", 1e3) if best >= 1e3 else ("GFLOP/s", 1.0)
