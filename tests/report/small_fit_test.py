"""tools/fit_small_tiles.py: it predicts what the library predicts, and its search lowers what the choice loses."""

import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools/fit_small_tiles.py"
MEASURED = ROOT / "results/h200/explored-short-k.txt"
PROGRAM = os.environ.get("KW_PROGRAM", "")

spec = importlib.util.spec_from_file_location("fit_small_tiles", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

DEVICE = {"name": "GPU", "kind": "cuda", "compute_capability": 90, "sm_count": 132, "warp_size": 32, "l2_bytes": 60 << 20,
          "shared_bytes_per_block_optin": 227 << 10, "max_sm_clock_mhz": 1980, "max_memory_clock_mhz": 3201,
          "memory_bus_bits": 6144}  # fmt: skip


def drawn_row(draw):
    size = lambda most: int(most ** draw.random())
    m, n, k = size(9000), size(9000), size(320)
    op_a, op_b = draw.choice("NT"), draw.choice("NT")
    pad = lambda: draw.choice([0, 0, 1, 4])
    return {"op": "sgemm", "role": "production", "math": "fp32", "m": m, "n": n, "k": k, "op_a": op_a, "op_b": op_b,
            "lda": (k if op_a == "N" else m) + pad(), "ldb": (n if op_b == "N" else k) + pad(), "ldc": n + pad(),
            "batch": 1, "alpha": 1.0, "beta": 0.0, "verified": True, "workspace_bytes": 0,
            "predicted_us": None, "launch": {"grid": [1, 1, 1]}, "time_us": {"median": 1.0}}  # fmt: skip


class Fit(unittest.TestCase):
    def setUp(self):
        self.constants, self.tiles = tool.read_table((ROOT / "src/sgemm/small_tuning.hpp").read_text())

    @unittest.skipUnless(PROGRAM, "KW_PROGRAM names no program: run it by ctest")
    def test_predicts_as_the_library_does(self):
        draw = random.Random(11)
        drawn = [drawn_row(draw) for _ in range(80)]
        with tempfile.TemporaryDirectory() as folder:
            results, predictions = pathlib.Path(folder, "rows.json"), pathlib.Path(folder, "predictions.json")
            rows = [{**row, "kernel": kernel} for row in drawn for kernel in self.tiles]
            results.write_text(json.dumps({"schema": 1, "device": DEVICE, "rows": rows}))
            subprocess.run([PROGRAM, "choice", results, "--json", predictions], check=True, capture_output=True)
            entries = json.loads(predictions.read_text())["files"][0]["products"]
        entries = [entry for entry in entries if entry["math"] == "fp32"]
        self.assertEqual(len(entries), len(drawn))
        for row, entry in zip(drawn, entries):
            product = (row["m"], row["n"], row["k"], 1, row["op_a"] + row["op_b"], row["lda"], row["ldb"], row["ldc"])
            self.assertEqual(len(entry["rows"]), len(self.tiles))
            for predicted in entry["rows"]:
                shape, times = self.tiles[predicted["kernel"]]
                us = tool.predict(shape, times, product, self.constants, DEVICE["sm_count"])
                self.assertAlmostEqual(us, predicted["predicted_us"], delta=1e-6 * us, msg=(product, predicted["kernel"]))

    def test_search_lowers_what_the_choice_loses(self):
        measured = tool.read_measurements([MEASURED], self.constants["max_k"])
        measured = {name: times for name, times in measured.items() if name in self.tiles}
        self.assertGreater(len(measured), 5)
        worse = {name: (shape, [time * factor for time, factor in zip(times, [1, 1, 3, 0.4, 1, 1, 1])])
                 if name == "small_64x64" else (shape, times) for name, (shape, times) in self.tiles.items()}  # fmt: skip
        random.seed(1)
        fit = tool.Fit(self.constants, worse, measured, 132)
        before = fit.mean_lost(), fit.cost()
        fit.search(150)
        self.assertLess(fit.cost(), 0.97 * before[1])
        self.assertLess(fit.mean_lost(), before[0])

    def test_refuses_files_without_rows_of_the_table(self):
        done = subprocess.run([sys.executable, "-B", str(TOOL), os.devnull], text=True, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row of a configuration", done.stderr)


if __name__ == "__main__":
    unittest.main()
