"""What the tests of tools/fit_*.py share: the tool as a module, a device, and what the library predicts."""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("KW_PROGRAM", "")
NO_PROGRAM = "KW_PROGRAM names no program: run it by ctest"
DEVICE = {"name": "GPU", "kind": "cuda", "compute_capability": 90, "sm_count": 132, "warp_size": 32, "l2_bytes": 60 << 20,
          "shared_bytes_per_block_optin": 227 << 10, "max_sm_clock_mhz": 1980, "max_memory_clock_mhz": 3201,
          "memory_bus_bits": 6144}  # fmt: skip


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def drawn_row(draw, k_of):
    """A row of results whose m and n are drawn up to 9000; k_of draws k after them."""
    size = lambda most: int(most ** draw.random())
    m, n = size(9000), size(9000)
    k = k_of()
    op_a, op_b = draw.choice("NT"), draw.choice("NT")
    pad = lambda: draw.choice([0, 0, 1, 4])
    return {"op": "sgemm", "role": "production", "math": "fp32", "m": m, "n": n, "k": k, "op_a": op_a, "op_b": op_b,
            "lda": (k if op_a == "N" else m) + pad(), "ldb": (n if op_b == "N" else k) + pad(), "ldc": n + pad(),
            "batch": 1, "alpha": 1.0, "beta": 0.0, "verified": True, "workspace_bytes": 0,
            "predicted_us": None, "launch": {"grid": [1, 1, 1]}, "time_us": {"median": 1.0}}  # fmt: skip


def document(rows):
    return {"schema": 1, "device": DEVICE, "rows": rows}


def predict(results, predictions):
    """Writes what the program predicts for the rows of a file of results."""
    subprocess.run([PROGRAM, "choice", str(results), "--json", str(predictions)], check=True, capture_output=True)


def library_predictions(rows):
    """Of each product the predictions in plain FP32, in the order of the rows."""
    with tempfile.TemporaryDirectory() as folder:
        results, predictions = pathlib.Path(folder, "rows.json"), pathlib.Path(folder, "predictions.json")
        results.write_text(json.dumps(document(rows)))
        predict(results, predictions)
        entries = json.loads(predictions.read_text())["files"][0]["products"]
    return [entry for entry in entries if entry["math"] == "fp32"]
