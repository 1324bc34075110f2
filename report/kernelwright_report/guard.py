"""What tools/guard_trips.py measured: where fp16x3's guard sent products of ordinary data."""

from __future__ import annotations

import json

from . import text
from .results import ResultError
from .tables import Cell, Table

# A row's counts, as the table names them.
COLUMNS = {
    "size": "m = n = k",
    "seeds": "products",
    "fp16x3": "in fp16x3",
    "bf16x6": "in bf16x6",
    "fp32": "in plain FP32",
    "set_apart_most": "outliers, at most",
}


def table(content: str) -> Table:
    """The file's rows, one distribution a line; raises ResultError for a file of another kind."""
    try:
        data = json.loads(content)
        rows = [
            [Cell(row["distribution"]), *(Cell(text.whole(row[name])) for name in COLUMNS), Cell(f"{row['set_apart_mean']:.2f}")]
            for row in data["rows"]
        ]
        machine = [data["device"], f"CUDA {data['cuda']}", f"PyTorch {data['torch']}", f"kernelwright {data['kernelwright']}"]
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"not a file of tools/guard_trips.py ({error}).") from None
    if not rows:
        raise ResultError("no rows: tools/guard_trips.py --json writes such a file.")
    if "driver" in data:
        machine.insert(1, f"driver {data['driver']}")
    caption = f"Where the device took products of ordinary data, a seed each. {', '.join(machine)}."
    return Table(caption, ["data", *COLUMNS.values(), "on average"], rows)
