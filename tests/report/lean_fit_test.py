"""tools/fit_lean_tiles.py: it predicts what the library predicts, and its search lowers its error."""

import os
import random
import subprocess
import sys
import unittest

import fit_support

TOOL = fit_support.ROOT / "tools/fit_lean_tiles.py"
sys.path.insert(0, str(TOOL.parent))
tool = fit_support.load(TOOL)


class Fit(unittest.TestCase):
    def setUp(self):
        self.constants, self.tiles = tool.read_table((fit_support.ROOT / "src/sgemm/lean_tuning.hpp").read_text())

    @unittest.skipUnless(fit_support.PROGRAM, fit_support.NO_PROGRAM)
    def test_predicts_as_the_library_does(self):
        draw = random.Random(12)
        drawn = [fit_support.drawn_row(draw, lambda: draw.randint(10, 900)) for _ in range(80)]
        rows = [{**row, "kernel": kernel} for row in drawn for kernel in self.tiles]
        entries = fit_support.library_predictions(rows)
        predicted_rows = 0
        for row, entry in zip(drawn, entries):
            product = (row["m"], row["n"], row["k"], 1, row["op_a"] + row["op_b"], row["lda"], row["ldb"], row["ldc"])
            for predicted in entry["rows"]:
                shape, times = self.tiles[predicted["kernel"]]
                us = tool.predict(shape, times, product, self.constants, fit_support.DEVICE)
                if predicted["predicted_us"] is None or us == float("inf"):
                    continue
                predicted_rows += 1
                self.assertAlmostEqual(us, predicted["predicted_us"], delta=1e-6 * us, msg=(product, predicted["kernel"]))
        self.assertGreater(predicted_rows, 200)

    def test_reads_what_was_measured_and_lowers_its_error(self):
        measured, best = tool.read_measurements(tool.MEASURED.read_text())
        self.assertEqual(set(measured), set(self.tiles))
        tile, times = self.tiles["lean_64x64"]
        self.assertGreater(len(measured["lean_64x64"]), 500)
        worse = [time * factor for time, factor in zip(times, [1, 1, 3, 0.4, 1, 1, 1, 1, 1, 1, 1, 1])]
        random.seed(1)
        fit = tool.Fit(self.constants, tile, worse, measured["lean_64x64"], best, fit_support.DEVICE)
        before = fit.error(fit.times)
        self.assertLess(fit.search(60), 0.8 * before)

    def test_refuses_files_without_rows_of_the_table(self):
        done = subprocess.run([sys.executable, "-B", str(TOOL), os.devnull], text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no timings", done.stderr)


if __name__ == "__main__":
    unittest.main()
