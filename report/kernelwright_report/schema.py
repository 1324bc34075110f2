"""What a result file (schema 1) may hold. Everything after `checked` may trust types, signs and sizes of what it gets;
a file that breaks them ends in one line that names file, row and field."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

SCHEMA = 1
LEVEL3 = ("ssyrk", "ssyrkx", "ssyr2k", "ssymm", "strmm", "strsm", "spotrf")
PRODUCTS = ("sgemm", "cgemm", "ctrsm", *LEVEL3)  # whose rate is of operations
ROWWISE = ("softmax", "log_softmax", "layer_norm", "rms_norm", "map")
OPS = (*PRODUCTS, "scale_add", "reduce", *ROWWISE, "attention", "app")
ROLES = ("rung", "reference", "production", "peer")
HOST_TIMING = "enqueue"  # such a time is the host's, which has no rate
SUSTAINED_TIMING = "sustained"  # one kernel back to back for seconds
LONGEST_TEXT = 4000  # a longer one is cut: it belongs in no table
DEEPEST = 40
LARGEST_INT = 2**63 - 1
LARGEST_SEED = 2**64 - 1
LARGEST_NUMBER = 1e18  # no time, rate or ratio comes near; beyond it plots have no scale


class ResultError(Exception):
    """A file that cannot be used; the text says which, where and what to do."""


class NoFile(ResultError):
    """The file is not there."""


class NoRows(ResultError):
    """The file is sound but has nothing to show."""


NUMBER = (int, float)
# A row must carry these; the rest may be null or absent.
REQUIRED = {"op": str, "kernel": str, "role": str, "verified": bool}
OPTIONAL = {
    "m": int, "n": int, "k": int, "batch": int,
    "lda": int, "ldb": int, "ldc": int,
    "op_a": str, "op_b": str, "uplo": str, "side": str, "unit_diagonal": bool, "layout": str, "math": str, "path": str, "input": str,
    "l2": str, "timing": str, "peer": str,
    "dtype": str, "reduce_op": str, "shape": str, "rows": int, "cols": int, "ld": int,
    "segments": int, "lengths": str, "misalign": int, "correction": int, "in_place": bool, "residual": bool,
    "heads": int, "kv_heads": int, "queries": int, "keys": int, "dim": int, "causal": str,
    "alpha": NUMBER, "beta": NUMBER, "alpha_im": NUMBER, "beta_im": NUMBER, "gflops": NUMBER, "gbs": NUMBER, "of_peak": NUMBER,
    "vs_peer": NUMBER, "vs_previous": NUMBER, "sm_clock_mhz": NUMBER, "power_w": NUMBER,
    "c_first": NUMBER, "c_last": NUMBER,
    "sweep": str, "seed": int, "number": int, "program": str, "third": str, "roofline_us": NUMBER,
    "beside_us": NUMBER, "predicted_us": NUMBER, "workspace_bytes": int,
    "sustained_s": NUMBER, "calls": int, "rested_gflops": NUMBER, "joules_per_call": NUMBER, "gflop_per_joule": NUMBER,
    "energy_from": str, "hottest_c": NUMBER, "power_limit_w": NUMBER, "limited_by": dict, "of_fp16_third": NUMBER,
    "gpus": int, "grid": str, "panel_k": int, "one_gpu_us": NUMBER, "one_gpu_us_each": list, "speedup": NUMBER,
    "products_us": NUMBER, "transfers_us": NUMBER, "overlap": NUMBER, "predicted_speedup": NUMBER, "peer_bytes": NUMBER,
    "memory_bytes": NUMBER, "device_bytes": NUMBER, "in_memory_us": NUMBER, "of_in_memory": NUMBER, "bytes_in": NUMBER,
    "bytes_out": NUMBER, "tiles": str, "timeline": list,
    "draw": int, "data": str, "products": int, "outputs": int,
    "one_sum_rms": NUMBER, "rms_vs_one_sum": NUMBER, "excess": NUMBER,
    "app": str, "variant": str, "failed": str, "loss": list, "loss_every": int, "calls_taken": int, "calls_forwarded": int,
    "forwarded": dict,
    "seeds": int, "rms_vs_peer": NUMBER, "max_vs_peer": NUMBER, "same_bits": bool,
    "time_us": dict, "error": dict, "launch": dict,
}  # fmt: skip
# What names attention.
ATTENTION = ("batch", "heads", "kv_heads", "queries", "keys", "dim", "causal")
# What names a reduction, besides; and what its shape asks for.
REDUCTION = ("n", "dtype", "reduce_op", "shape")
OF_SHAPE = {"whole": (), "rows": ("rows", "cols"), "columns": ("rows", "cols"), "segments": ("segments",)}
# Numbers of the device that plots and tables compute with.
CEILINGS = ("measured_fp32_tflops", "measured_read_gbs", "measured_copy_gbs", "measured_cache_gbs")
SIGNED = {"loss", "alpha", "beta", "alpha_im", "beta_im", "c_first", "c_last", "error.mean_signed", "excess"}
POSITIVE = {"beside_us", "time_us.median", "vs_peer", "vs_previous", "roofline_us", "sustained_s", "rested_gflops", "gflop_per_joule", "loss_every"}
UNBOUNDED = {"alpha", "beta", "alpha_im", "beta_im", "c_first", "c_last"}  # any float of the data; errors are as large as a wrong result


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ResultError(message)


def _shown(value) -> str:
    """A value in a message: short, without control characters."""
    if isinstance(value, int) and abs(value) > LARGEST_INT:
        return f"a number of {int(math.log10(abs(value))) + 1} digits"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _type_name(types) -> str:
    names = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object", list: "a list", NUMBER: "a number"}
    return names[types]


def _check_number(where: str, name: str, value: int | float) -> None:
    if name in UNBOUNDED:
        return
    finite = isinstance(value, int) or math.isfinite(value)
    _need(finite, f"{where}: '{name}' is {_shown(value)}, expected a finite number.")
    most = LARGEST_SEED if name == "seed" else LARGEST_INT if isinstance(value, int) else math.inf if name.startswith("error.") else LARGEST_NUMBER
    _need(abs(value) <= most, f"{where}: '{name}' is {_shown(value)}, expected at most {most:g}.")
    if name in POSITIVE:
        _need(value > 0, f"{where}: '{name}' is {_shown(value)}, expected more than 0.")
    elif name not in SIGNED:
        _need(value >= 0, f"{where}: '{name}' is {_shown(value)}, expected 0 or more.")


def check_value(where: str, name: str, value, types) -> None:
    # In Python, True is an int.
    fits = isinstance(value, types) and (types is bool or not isinstance(value, bool))
    _need(fits, f"{where}: '{name}' is {_shown(value)}, expected {_type_name(types)}.")
    if types in (int, NUMBER):
        _check_number(where, name, value)


def _check_numbers(where: str, group: str, values: dict) -> None:
    for name, value in values.items():
        if value is not None:
            check_value(where, f"{group}.{name}", value, NUMBER)


def check_row(where: str, fields) -> None:
    _need(isinstance(fields, dict), f"{where}: expected an object, found {_shown(fields)}.")
    for name, types in REQUIRED.items():
        _need(name in fields, f"{where}: '{name}' is missing.")
        check_value(where, name, fields[name], types)
    where += f" ({fields['kernel'][:60]})"
    for name, types in OPTIONAL.items():
        if fields.get(name) is not None:
            check_value(where, name, fields[name], types)
    for group in ("time_us", "error", "limited_by", "forwarded"):
        _check_numbers(where, group, fields.get(group) or {})
    for name, known in (("op", OPS), ("role", ROLES)):
        _need(fields[name] in known, f"{where}: {name} {_shown(fields[name])} is not one of {', '.join(known)}.")
    if fields["op"] == "reduce":
        _check_reduction(where, fields)
    if fields["op"] in ROWWISE:
        for name in ("dtype", "rows", "cols"):
            _need(fields.get(name) is not None, f"{where}: it is a row-wise operation but has no '{name}'.")
    if fields["op"] == "attention":
        for name in ATTENTION:
            _need(fields.get(name) is not None, f"{where}: it is attention but has no '{name}'.")
    if fields["op"] == "app":
        _check_app(where, fields)
    _check_time(where, fields)


def _check_reduction(where: str, fields: dict) -> None:
    for name in REDUCTION:
        _need(fields.get(name) is not None, f"{where}: it is a reduction but has no '{name}'.")
    kind = fields["shape"]
    _need(kind in OF_SHAPE, f"{where}: shape {_shown(kind)} is not one of {', '.join(OF_SHAPE)}.")
    for name in OF_SHAPE[kind]:
        _need(fields.get(name) is not None, f"{where}: a reduction of {kind} has no '{name}'.")


def _check_app(where: str, fields: dict) -> None:
    _need(fields.get("app") is not None, f"{where}: it is of a program but has no 'app'.")
    for value in fields.get("loss") or []:
        if value is not None:
            check_value(where, "loss", value, NUMBER)


def _check_time(where: str, fields: dict) -> None:
    median = (fields.get("time_us") or {}).get("median")
    if median is None:
        return
    _need(
        fields["verified"],
        f"{where}: not verified, yet it has a time ({median} µs). Only verified rows may be timed: measure again.",
    )
    if fields.get("timing") == HOST_TIMING or fields["op"] == "app":
        return
    rate = "gflops" if fields["op"] in (*PRODUCTS, "attention") else "gbs"
    _need(fields.get(rate) is not None, f"{where}: it has a time but no '{rate}'.")


def check_schema(path: Path, data: dict) -> None:
    schema = data.get("schema")
    _need(
        schema == SCHEMA and not isinstance(schema, bool),
        f"{path}: schema {_shown(schema)}, this report reads schema {SCHEMA}. "
        "Measure again with this version of kernelwright.",
    )


def _check_top(path: Path, data) -> None:
    _need(isinstance(data, dict), f"{path}: expected one object with 'schema', 'device' and 'rows'.")
    check_schema(path, data)
    for name, types in (("device", dict), ("software", dict), ("rows", list)):
        _need(isinstance(data.get(name), types), f"{path}: '{name}' is missing or has the wrong type.")
    command = data.get("command")
    words = command if isinstance(command, list) else [command or ""]
    _need(all(isinstance(word, str) for word in words), f"{path}: 'command' is {_shown(command)}, expected a text.")
    _need(
        isinstance(data.get("date"), (str, type(None))),
        f"{path}: 'date' is {_shown(data.get('date'))}, expected a text.",
    )
    interrupted = data.get("interrupted", False)
    _need(isinstance(interrupted, bool), f"{path}: 'interrupted' is {_shown(interrupted)}, expected true or false.")
    _check_device(f"{path}: device", data["device"])


def _check_device(where: str, device: dict) -> None:
    for name in ("name", "kind"):
        _need(isinstance(device.get(name), str), f"{where}.{name} is missing or not a text.")
    for name in CEILINGS:
        if device.get(name) is not None:
            check_value(where, name, device[name], NUMBER)
    empty = device.get("empty_kernel_us")
    _need(isinstance(empty, (dict, type(None))), f"{where}: 'empty_kernel_us' is {_shown(empty)}, expected an object.")
    _check_numbers(where, "empty_kernel_us", empty or {})


# What neither a page nor a terminal takes: control characters, halves of surrogate pairs, what XML forbids.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def _clean(value, depth: int = 0):
    """The same data, with texts that every output can show."""
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, str):
        value = UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        return value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + "…"
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item, depth + 1) for name, item in value.items()}
    return value


def cleaned(path: Path):
    """What the file holds, with texts that every output can show."""
    try:
        return _clean(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise NoFile(f"{path}: no such file. `kernelwright bench sgemm --json {path}` writes one.") from None
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: cannot be read: {error}.") from None
    except RecursionError:
        raise ResultError(f"{path}: nested too deeply for a result file.") from None
    except ValueError as error:  # JSONDecodeError, and whole numbers of thousands of digits
        raise ResultError(f"{path}: not JSON: {str(error).rstrip('.')}.") from None


def read(path: Path) -> dict:
    """The file's data, checked."""
    data = cleaned(path)
    _check_top(path, data)
    if not data["rows"]:
        ended = "the run was interrupted before its first row" if data.get("interrupted") else "it has no rows"
        raise NoRows(f"{path}: {ended}, so there is nothing to show.")
    for number, fields in enumerate(data["rows"]):
        check_row(f"{path}: row {number}", fields)
    return data
