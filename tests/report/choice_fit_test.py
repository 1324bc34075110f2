"""tools/fit_sgemm_choice.py: it predicts what the library predicts, and finds the times that rows were made with."""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import fit_support

TOOL = fit_support.ROOT / "tools/fit_sgemm_choice.py"
tool = fit_support.load(TOOL)


def drawn_row(draw):
    size = lambda most: int(math.exp(draw.uniform(0, math.log(most))))
    m, n, k, batch = size(16384), size(16384), size(16384), draw.choice([1, 1, 1, size(200)])
    op_a, op_b = draw.choice("NT"), draw.choice("NT")
    pad = lambda: draw.choice([0, 1, 4, 5, 32])
    return {"op": "sgemm", "kernel": "", "role": "production", "math": "fp32", "m": m, "n": n, "k": k, "op_a": op_a,
            "op_b": op_b, "lda": (k if op_a == "N" else m) + pad(), "ldb": (n if op_b == "N" else k) + pad(),
            "ldc": n + pad(), "batch": batch, "alpha": 1.0, "beta": draw.choice([0.0, 0.5]), "verified": True,
            "workspace_bytes": 0, "predicted_us": None, "launch": {"grid": [1, 1, 1]}}  # fmt: skip


class Fit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tiles = tool.read_tiles()

    def write(self, name, document_):
        path = self.folder / name
        path.write_text(json.dumps(document_))
        return path

    def run_tool(self, *arguments):
        words = [sys.executable, "-B", str(TOOL), *map(str, arguments)]
        return subprocess.run(words, text=True, capture_output=True)

    def predictions(self, results):
        """What the program predicts."""
        path = self.folder / "predictions.json"
        fit_support.predict(results, path)
        return path

    @unittest.skipUnless(fit_support.PROGRAM, fit_support.NO_PROGRAM)
    def test_predicts_as_the_library_does(self):
        draw = random.Random(7)
        rows = []
        for _ in range(150):
            row = drawn_row(draw)
            rows += [{**row, "kernel": kernel, "time_us": {"median": 1.0}} for kernel in self.tiles]
        results = self.write("results.json", fit_support.document(rows))
        predictions = self.predictions(results)
        done = self.run_tool("--check", predictions, results)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\A\d{4} predictions agree\n\Z")
        other = json.loads(predictions.read_text())
        other["files"][0]["products"][0]["rows"][2]["predicted_us"] *= 1.001
        done = self.run_tool("--check", self.write("other.json", other), results)
        self.assertEqual(done.returncode, 1)
        self.assertIn("in the library", done.stderr)

    def test_finds_the_times_that_rows_were_made_with(self):
        draw, device = random.Random(8), tool.Device(fit_support.DEVICE)
        name, tile = next((name, tile) for name, tile in self.tiles.items() if tile.blocks_per_sm == 2 and tile.clusters)
        true = [time * draw.uniform(0.8, 1.3) + 0.05 for time in tile.times]
        rows = []
        for _ in range(600):
            row = drawn_row(draw)
            product = tool.Product(row)
            way = draw.choice(tile.ways(product, device))
            noise = draw.choice([1, 1, 1, 1, 1, 1, 1, 1, 2])  # one in nine is an outlier
            blocks, shared, cluster = way
            rows.append({**row, "kernel": name, "launch": {"grid": [blocks, 1, 1]},
                         "workspace_bytes": 0 if cluster else shared,
                         "time_us": {"median": noise * tile.predict(product, device, way, true)}})  # fmt: skip
        _, products = tool.read([self.write("made.json", fit_support.document(rows))])
        found = tool.fit(name, tile, device, products)
        for product in products:
            for way in tile.ways(product, device):
                was = tile.predict(product, device, way, true)
                self.assertLess(abs(tile.predict(product, device, way, found) / was - 1), 0.1, (product.name(), way))

    def test_refuses_what_it_cannot_fit(self):
        row = {**drawn_row(random.Random(9)), "kernel": "stream_64x64", "time_us": {"median": 2.0}}
        del row["workspace_bytes"]
        done = self.run_tool(self.write("old.json", fit_support.document([row])))
        self.assertEqual(done.returncode, 1)
        self.assertIn("old.json: rows have no workspace_bytes", done.stderr)
        done = self.run_tool(self.write("none.json", fit_support.document([])))
        self.assertIn("no timed row", done.stderr)


if __name__ == "__main__":
    unittest.main()
