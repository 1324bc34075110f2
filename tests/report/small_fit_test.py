"""tools/fit_small_tiles.py: it predicts what the library predicts, and its search lowers what the choice loses."""

import os
import random
import subprocess
import sys
import unittest

import fit_support

TOOL = fit_support.ROOT / "tools/fit_small_tiles.py"
MEASURED = fit_support.ROOT / "results/h200/explored-short-k.txt"
tool = fit_support.load(TOOL)


class Fit(unittest.TestCase):
    def setUp(self):
        self.constants, self.tiles = tool.read_table((fit_support.ROOT / "src/sgemm/small_tuning.hpp").read_text())

    @unittest.skipUnless(fit_support.PROGRAM, fit_support.NO_PROGRAM)
    def test_predicts_as_the_library_does(self):
        draw = random.Random(11)
        drawn = [fit_support.drawn_row(draw, lambda: int(320 ** draw.random())) for _ in range(80)]
        rows = [{**row, "kernel": kernel} for row in drawn for kernel in self.tiles]
        entries = fit_support.library_predictions(rows)
        self.assertEqual(len(entries), len(drawn))
        for row, entry in zip(drawn, entries):
            product = (row["m"], row["n"], row["k"], 1, row["op_a"] + row["op_b"], row["lda"], row["ldb"], row["ldc"])
            self.assertEqual(len(entry["rows"]), len(self.tiles))
            for predicted in entry["rows"]:
                shape, times = self.tiles[predicted["kernel"]]
                us = tool.predict(shape, times, product, self.constants, fit_support.DEVICE)
                self.assertAlmostEqual(us, predicted["predicted_us"], delta=1e-6 * us, msg=(product, predicted["kernel"]))

    def test_search_lowers_what_the_choice_loses(self):
        measured = tool.read_measurements([MEASURED], self.constants["max_k"])
        measured = {name: times for name, times in measured.items() if name in self.tiles}
        self.assertGreater(len(measured), 5)
        worse = {name: (shape, [time * factor for time, factor in zip(times, [1, 1, 3, 0.4, 1, 1, 1, 1, 1, 1])])
                 if name == "small_64x64" else (shape, times) for name, (shape, times) in self.tiles.items()}  # fmt: skip
        random.seed(1)
        fit = tool.Fit(self.constants, worse, measured, tool.H200)
        before = fit.mean_lost(), fit.cost()
        fit.search(300)
        self.assertLess(fit.cost(), 0.97 * before[1])
        self.assertLess(fit.mean_lost(), before[0])

    def test_refuses_files_without_rows_of_the_table(self):
        done = subprocess.run([sys.executable, "-B", str(TOOL), os.devnull], text=True, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row of a configuration", done.stderr)


if __name__ == "__main__":
    unittest.main()
