"""tools/fit_thin.py: it predicts what the library predicts, and the library's constants choose well among the measured
cuts."""

import math
import random
import unittest

import fit_support

TOOL = fit_support.ROOT / "tools/fit_thin.py"
MEASURED = fit_support.ROOT / "results/h200/explored-thin-cuts.txt"
tool = fit_support.load(TOOL)


def drawn_row(draw):
    """A product with few rows or columns, all lines on 16-byte boundaries."""
    width, rows, k = draw.randint(1, 16), int(17 * 900 ** draw.random()), int(16000 ** draw.random()) + 1
    m, n = draw.choice([(width, rows), (rows, width)])
    op_a, op_b = draw.choice("NT"), draw.choice("NT")
    aligned = lambda ld: -(-ld // 4) * 4
    return {"op": "sgemm", "kernel": "thin", "role": "production", "math": "fp32", "m": m, "n": n, "k": k, "op_a": op_a,
            "op_b": op_b, "lda": aligned(k if op_a == "N" else m), "ldb": aligned(n if op_b == "N" else k),
            "ldc": aligned(n), "batch": 1, "alpha": 1.0, "beta": 0.0, "verified": True, "workspace_bytes": 0,
            "predicted_us": None, "launch": {"grid": [1, 1, 1]}, "time_us": {"median": 1.0}}  # fmt: skip


class ThinFit(unittest.TestCase):
    def setUp(self):
        self.configs, self.blocks, self.constants = tool.read_tuning()
        self.assertEqual((len(self.configs), len(self.blocks)), (11, 15))

    @unittest.skipUnless(fit_support.PROGRAM, fit_support.NO_PROGRAM)
    def test_predicts_as_the_library_does(self):
        draw = random.Random(12)
        rows = [drawn_row(draw) for _ in range(200)]
        entries = fit_support.library_predictions(rows)
        self.assertEqual(len(entries), len(rows))
        compared = in_parts = 0
        for row, entry in zip(rows, entries):
            shape = (row["m"], row["n"], row["k"], row["op_a"] + row["op_b"], row["lda"], row["ldb"], row["ldc"])
            cuts = [(tool.predicted_us(cut, self.constants, as_measured=False), cut["parts"])
                    for cut in tool.library_cuts(shape, self.configs, self.blocks)]  # fmt: skip
            if not cuts:
                continue  # next to nothing to read: no choice
            us, parts = min(cuts)
            compared += 1
            in_parts += parts > 1
            self.assertAlmostEqual(us, entry["rows"][0]["predicted_us"], delta=1e-6 * us, msg=shape)
        self.assertGreater(in_parts, 20)
        self.assertGreater(compared - in_parts, 20)

    def test_the_constants_choose_well_among_the_measured_cuts(self):
        shapes = tool.read_measurements(MEASURED, self.configs, self.blocks)
        self.assertEqual(len(shapes), 42)
        lost = [loss for loss, _, _ in tool.losses(shapes, self.constants)]
        self.assertLess(math.exp(sum(lost) / len(lost)), 1.03)
        # What the test sees: without the time of the steps, the largest blocks look best.
        worse = [loss for loss, _, _ in tool.losses(shapes, {**self.constants, "step": 0.05})]
        self.assertGreater(sum(worse), 1.2 * sum(lost))


if __name__ == "__main__":
    unittest.main()
