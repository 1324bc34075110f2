"""What `kernelwright run --report` wrote: the calls of cuBLAS that a program made, which were taken and which were not."""

from __future__ import annotations

import csv
import html
import json
from dataclasses import dataclass
from pathlib import Path

from . import schema, tables, text
from .schema import NUMBER, ResultError
from .tables import Cell, Table

# A call must carry these.
FIELDS = {
    "symbol": str, "op_a": str, "op_b": str, "m": int, "n": int, "k": int, "batch": int, "epilogue": str, "pedantic": bool,
    "taken": bool, "math": str, "kernel": str, "reason": str, "calls": int, "captured": int, "host_us": NUMBER,
    "predicted_us": NUMBER, "vendor_predicted_us": NUMBER, "gained_us": NUMBER, "verified": int, "error": NUMBER, "vendor_error": NUMBER,
}  # fmt: skip
TOP = {"program": str, "version": str, "devices": list, "processes": int, "exit_code": int, "wall_s": NUMBER}
TAKEN = (
    "Calls that the library computed, by kernel; host time of a call, which holds the first call's start of the library; "
    "predicted times of the device, by which it was taken, and what they come to over all calls."
)
FORWARDED = "Calls that went to cuBLAS, and why."
MOST_ROWS = 200


@dataclass(frozen=True)
class RunReport:
    path: Path
    data: dict

    @property
    def device(self) -> dict:
        return {"name": ", ".join(self.data["devices"]) or "no device"}

    def calls(self, taken: bool) -> list[dict]:
        return [call for call in self.data["calls"] if call["taken"] == taken]


def is_run(path: Path | str) -> bool:
    """Whether the file is one of these; what is wrong with it is for whoever loads it to say."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and "calls" in data and "rows" not in data


def load(path: Path | str) -> RunReport:
    path = Path(path)
    data = schema.cleaned(path)
    schema.check_schema(path, data)
    for name, types in TOP.items():
        if name not in data:
            raise ResultError(f"{path}: '{name}' is missing.")
        if name == "exit_code" or types is list:
            continue
        schema.check_value(str(path), name, data[name], types)
    if not isinstance(data["devices"], list) or not all(isinstance(name, str) for name in data["devices"]):
        raise ResultError(f"{path}: 'devices' is not a list of names.")
    if not isinstance(data["calls"], list):
        raise ResultError(f"{path}: 'calls' is not a list.")
    for number, call in enumerate(data["calls"]):
        where = f"{path}: call {number}"
        if not isinstance(call, dict):
            raise ResultError(f"{where}: expected an object.")
        for name, types in FIELDS.items():
            if name not in call:
                raise ResultError(f"{where}: '{name}' is missing.")
            schema.check_value(where, name, call[name], types)
    return RunReport(path, data)


def _shape(call: dict) -> str:
    if not (call["m"] or call["n"] or call["k"]):
        return "other shapes"
    times = f" times {call['batch']}" if call["batch"] != 1 else ""
    beside = f" with {call['epilogue']}" if call["epilogue"] else ""
    return f"{call['op_a']}{call['op_b']} {call['m']} × {call['n']} × {call['k']}{times}{beside}"


def _time(us: float) -> str:
    return text.microseconds(us) if us else text.NONE


def taken_table(report: RunReport) -> Table:
    rows = []
    for call in report.calls(taken=True)[:MOST_ROWS]:
        rows.append([
            Cell(call["symbol"]), Cell(_shape(call)), Cell(f"{call['kernel']}, {call['math']}"), Cell(str(call["calls"])),
            Cell(_time(call["host_us"] / max(1, call["calls"]))), Cell(_time(call["predicted_us"])),
            Cell(_time(call["vendor_predicted_us"])), Cell(_time(call["gained_us"])),
        ])  # fmt: skip
    header = ["function", "shape", "by", "calls", "host, a call", "predicted", "cuBLAS, predicted", "gained in all"]
    return Table(TAKEN, header, rows, left=3)


def forwarded_table(report: RunReport) -> Table:
    rows = [
        [Cell(call["symbol"]), Cell(_shape(call)), Cell(call["reason"]), Cell(str(call["calls"]))]
        for call in report.calls(taken=False)[:MOST_ROWS]
    ]
    return Table(FORWARDED, ["function", "shape", "why", "calls"], rows, left=3)


def summary(report: RunReport) -> list[str]:
    taken, forwarded = (sum(call["calls"] for call in report.calls(which)) for which in (True, False))
    gained = sum(call["gained_us"] for call in report.data["calls"])
    lines = [f"{taken} calls of cuBLAS taken, {forwarded} left to it, in {report.data['processes']} processes."]
    if gained > 0:
        lines.append(f"By predicted times about {text.microseconds(gained)} of the device's time were gained.")
    verified = sum(call["verified"] for call in report.data["calls"])
    if verified:
        worst = max(call["error"] for call in report.data["calls"])
        vendor = max(call["vendor_error"] for call in report.data["calls"])
        lines.append(
            f"{verified} calls verified: the largest error against float64 was {worst:.3g}, cuBLAS's {vendor:.3g}, in units "
            "of 2⁻²⁴ · (|α| |op(A)| |op(B)| + |β C| + |bias|)."
        )
    lines.append(f"The program ended with exit code {report.data['exit_code']} after {report.data['wall_s']:.3g} s.")
    return lines


def section(report: RunReport, stem: str, folder: Path) -> str:
    """HTML of one run; writes all of its calls as CSV beside the page."""
    with (folder / f"{stem}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(report.data["calls"])
    parts = [f'<section><h2 id="{stem}">A program under the drop-in: {html.escape(report.device["name"])}</h2>']
    parts += [f"<p><code>{html.escape(report.data['program'])}</code></p>"]
    parts += [f"<p>{html.escape(line)}</p>" for line in summary(report)]
    parts += [tables.to_html(table) for table in (taken_table(report), forwarded_table(report)) if table.rows]
    parts.append(f'<p class="quiet">All calls: <a href="{stem}.csv">{stem}.csv</a>; kernelwright {html.escape(report.data["version"])}</p></section>')
    return "\n".join(parts)
