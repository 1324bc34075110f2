"""tools/fit_thin.py: it predicts what the library predicts, and the library's constants choose well among the measured
cuts."""

import math
import random
import unittest

import fit_support

TOOL = fit_support.ROOT / "tools/fit_thin.py"
tool = fit_support.load(TOOL)


def drawn_row(draw):
    """A product with few rows or columns."""
    width, rows, k = draw.randint(1, 16), int(17 * 900 ** draw.random()), int(16000 ** draw.random()) + 1
    m, n = draw.choice([(width, rows), (rows, width)])
    op_a, op_b = draw.choice("NT"), draw.choice("NT")
    padded = lambda ld: ld + draw.choice([-ld % 4, 0, 1])
    return {"op": "sgemm", "kernel": "thin", "role": "production", "math": "fp32", "m": m, "n": n, "k": k, "op_a": op_a,
            "op_b": op_b, "lda": padded(k if op_a == "N" else m), "ldb": padded(n if op_b == "N" else k),
            "ldc": padded(n), "batch": 1, "alpha": 1.0, "beta": 0.0, "verified": True, "workspace_bytes": 0,
            "predicted_us": None, "launch": {"grid": [1, 1, 1]}, "time_us": {"median": 1.0}}  # fmt: skip


class ThinFit(unittest.TestCase):
    def setUp(self):
        self.tuning = tool.read_tuning()
        self.assertEqual((len(self.tuning.configs), len(self.tuning.blocks)), (11, 20))

    @unittest.skipUnless(fit_support.PROGRAM, fit_support.NO_PROGRAM)
    def test_predicts_as_the_library_does(self):
        draw = random.Random(12)
        rows = [drawn_row(draw) for _ in range(200)]
        entries = fit_support.library_predictions(rows)
        self.assertEqual(len(entries), len(rows))
        compared = in_parts = 0
        for row, entry in zip(rows, entries):
            shape = (row["m"], row["n"], row["k"], row["op_a"] + row["op_b"], row["lda"], row["ldb"], row["ldc"])
            cuts = [(tool.predicted_us(cut, self.tuning.constants), cut.parts)
                    for cut in tool.library_cuts(shape, self.tuning)]  # fmt: skip
            if not cuts:
                continue  # next to nothing to read: no choice
            us, parts = min(cuts)
            compared += 1
            in_parts += parts > 1
            self.assertAlmostEqual(us, entry["rows"][0]["predicted_us"], delta=1e-6 * us, msg=shape)
        self.assertGreater(in_parts, 20)
        self.assertGreater(compared - in_parts, 20)

    def test_the_constants_choose_well_among_the_measured_cuts(self):
        constants = self.tuning.constants
        shapes = tool.read_measurements(tool.MEASURED, self.tuning)
        self.assertEqual(len(shapes), 1092)
        lost = [loss for loss, _, _ in tool.losses(shapes, constants)]
        self.assertLess(math.exp(sum(lost) / len(lost)), 1.05)
        # What the test sees: if blocks that share rows cost nothing, they look best.
        worse = [loss for loss, _, _ in tool.losses(shapes, {**constants, "gather": 0})]
        self.assertGreater(sum(worse), 1.5 * sum(lost))


if __name__ == "__main__":
    unittest.main()
