"""tools/fit_cublas_time.py: it reads the constants of the source, and they predict what they were not fitted to."""

import importlib.util
import math
import statistics
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("fit_cublas_time", ROOT / "tools/fit_cublas_time.py")
fit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fit)


class CublasTime(unittest.TestCase):
    def test_every_constant_is_read(self):
        self.assertEqual(set(fit.MODELS), set(fit.NAMES.values()))
        self.assertEqual(len(fit.TILES), 16)
        for constants in fit.MODELS.values():
            self.assertEqual([name for name in fit.SCALARS if not isinstance(constants[name], float)], [])
            self.assertEqual([len(constants[name]) for name in ("aligned", "unaligned", "share_of_peak")], [4, 4, 16])
            self.assertEqual(constants["fma_per_us"], 128 * 1980)

    def test_products_that_were_held_out_are_predicted(self):
        for device, name in fit.NAMES.items():
            for file, most in (("sgemm-random", 0.16), ("sgemm-programs", 0.1)):
                found = fit.products(fit.committed(device, file))
                self.assertGreaterEqual(len(found), 45)
                errors = [abs(math.log(each.predict(fit.MODELS[name]) / each.measured)) for each in found]
                self.assertLess(statistics.mean(errors), most, f"{device} {file}")

    def test_the_committed_account_is_what_the_tool_says(self):
        said = (ROOT / "results/h200/cublas-time.txt").read_text()
        for device, name in fit.NAMES.items():
            self.assertIn(fit.held_out_line(device, fit.MODELS[name]), said)

    def test_the_search_lowers_the_loss(self):
        found = fit.products(fit.committed("h200", "sgemm-squares"))
        spoiled = fit.changed(fit.MODELS["NVIDIA H200"], ("start", None), 3)
        self.assertLess(fit.loss(found, fit.fit(found, spoiled, 60)), fit.loss(found, spoiled))


if __name__ == "__main__":
    unittest.main()
