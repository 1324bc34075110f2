"""The report of the accuracy suite, and the measure of XLA's product beside it."""

import importlib.util
import json
import unittest

from report_support import HAVE_MATPLOTLIB, ROOT, InFolder, document, sgemm_row, untimed

from kernelwright_report import guard, pictures, results, tables_errors

RATIOS = {"sgemm_own": 0.5, "r01_slow": 1.5, "cublas": None}


def suite_row(kernel, kind, k, **changes):
    ratio = RATIOS[kernel]
    row = untimed(sgemm_row(kernel, 512), True)
    added = {"seeds": 2, "rms_vs_peer": ratio, "max_vs_peer": ratio and 2 * ratio, "same_bits": True}
    return {**row, "k": k, "input": kind, **added, **changes}


def suite(*more):
    kinds = ("unit", "normal", "near_one", "odd_nn")
    cases = [(kernel, kind, k) for kind in kinds for kernel in RATIOS for k in (8, 64)]
    rows = [suite_row(kernel, kind, k - (kind == "odd_nn")) for kernel, kind, k in cases]
    return document([*rows, *more], command="kernelwright accuracy sgemm --classes '*'")


def plain(kernel, kind, k, verified=True):
    return suite_row(kernel, kind, k, rms_vs_peer=None, max_vs_peer=None, verified=verified)


class Guard(InFolder):
    ROW = {"distribution": "N(0,1)", "size": 8192, "seeds": 100, "fp16x3": 99, "bf16x6": 1, "fp32": 0,
           "set_apart_mean": 1.584, "set_apart_most": 300}  # fmt: skip
    MACHINE = {"schema": 1, "device": "Test device", "driver": "1.2", "cuda": "13.0", "torch": "2.11", "kernelwright": "0.1.0"}

    def test_one_line_a_distribution(self):
        self.write(json.dumps({**self.MACHINE, "rows": [self.ROW]}), "results/dev/guard.json")
        page = self.write("<!-- table: results/dev/guard.json guard -->\n<!-- end -->\n", "docs/accuracy.md")
        self.assertEqual(self.run_main("docs", "--root", self.folder)[0], 0)
        self.assertIn("| N(0,1) | 8\u202f192 | 100 | 99 | 1 | 0 | 300 | 1.58 |", page.read_text())
        self.assertIn("Test device, driver 1.2, CUDA 13.0, PyTorch 2.11, kernelwright 0.1.0.", page.read_text())

    def test_files_of_another_kind_are_refused(self):
        for content in ("", "[]", "{}", json.dumps({**self.MACHINE, "rows": []}), json.dumps(suite())):
            with self.assertRaisesRegex(results.ResultError, "tools/guard_trips.py"):
                guard.table(content)


class Suite(InFolder):
    def test_one_line_a_kind_of_data_and_kernel(self):
        table = tables_errors.suite(self.loaded(suite()))
        self.assertEqual(table.header, ["data", "kernel", "8", "64", "largest"])
        shown = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in table.rows}
        self.assertEqual(len(shown), 4 * 2, "the vendor is what the others are divided by")
        self.assertEqual(shown["unit", "sgemm own"], ["0.500", "0.500", "1.00"])
        self.assertEqual(shown["odd_nn", "r01 slow"], ["1.50", "1.50", "3.00"], "k = 7 and 63 in the columns of 8 and 64")

    def test_of_one_kernel(self):
        table = tables_errors.suite(self.loaded(suite()), "sgemm_own")
        self.assertEqual(table.header, ["data", "8", "64", "largest"])
        self.assertEqual([row[0].text for row in table.rows], ["unit", "normal", "near_one", "odd_nn"])

    def test_failures_are_marked(self):
        bad = suite_row("sgemm_own", "cancelling", 8, verified=False, rms_vs_peer=3.25)
        table = tables_errors.suite(self.loaded(suite(bad)), "sgemm_own")
        cells = {row[0].text: row[1:] for row in table.rows}["cancelling"]
        self.assertEqual([(cell.text, cell.mark) for cell in cells[:2]], [("✗ 3.25", "fail"), ("–", "")])

    def test_data_without_a_quotient_is_told_in_words(self):
        rows = [plain("sgemm_own", "integers", 8), plain("sgemm_own", "mixed", 8, verified=False)]
        caption = tables_errors.suite(self.loaded(suite(*rows)), "sgemm_own").caption
        self.assertIn("As it must be at every K: integers.", caption)
        self.assertIn("✗ mixed (sgemm own, K = 8).", caption)

    def test_documents_name_a_kernel(self):
        self.write(suite(), "results/dev/accuracy.json")
        self.write("<!-- table: results/dev/accuracy.json suite sgemm_own -->\n<!-- end -->\n", "README.md")
        self.assertEqual(self.run_main("docs", "--root", self.folder)[0], 0)
        self.assertIn("| unit | 0.500 | 0.500 | 1.00 |", (self.folder / "README.md").read_text())
        self.write("<!-- table: results/dev/accuracy.json suite nobody -->\n<!-- end -->\n", "README.md")
        code, _, err = self.run_main("docs", "--root", self.folder)
        self.assertEqual(code, 2)
        self.assertIn("no kernel 'nobody'; it has r01_slow, sgemm_own, cublas", err)

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_the_picture_shows_the_usual_data(self):
        result = self.loaded(suite())
        (picture,) = pictures.pictures(result)
        svg, _ = pictures.render(picture)
        for shown in ("unit input", "near_one input"):
            self.assertIn(shown, svg)
        for hidden in ("odd_nn input", "dashed"):
            self.assertNotIn(hidden, svg)


@unittest.skipUnless(importlib.util.find_spec("numpy"), "needs numpy")
class Xla(InFolder):
    def setUp(self):
        super().setUp()
        import numpy

        path = ROOT / "tools/xla_accuracy.py"
        spec = importlib.util.spec_from_file_location("xla_accuracy", path)
        self.xla = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.xla)
        self.numpy = numpy

    def dump(self):
        """A product of 2 x 3 x 4 as the program writes one."""
        numpy = self.numpy
        a = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
        b = numpy.arange(12, dtype=numpy.float32).reshape(4, 3)
        item = {"input": "unit", "m": 2, "n": 3, "k": 4}
        wide = a.astype(numpy.float64) @ b
        for name, values in (("a", a), ("b", b), ("product", wide), ("magnitude", wide)):
            item[name] = f"{name}.raw"
            values.tofile(self.folder / item[name])
        return item

    def test_errors_are_counted_in_units(self):
        numpy = self.numpy
        u = 2.0**-24
        found = self.xla.errors(
            numpy.float32([1 + 2**-20, 1, 0]), numpy.array([1.0, 1.0, 0.0]), numpy.array([1.0, 1.0, 0.0])
        )
        self.assertEqual(found["max"], 2.0**-20 / u)
        self.assertAlmostEqual(found["mean_signed"], 16 / 3)
        self.assertAlmostEqual(found["rms"], 16 / 3**0.5)

    def test_rows_and_their_ratios(self):
        row = self.xla.row_of(self.dump(), self.folder, lambda a, b: (a @ b) * self.numpy.float32(1 + 2**-20))
        self.assertTrue(row["same_bits"])
        self.assertFalse(row["verified"], "16 u at k = 4")
        known = [suite_row(kernel, "unit", 4, m=2, n=3) for kernel in RATIOS] + [suite_row("cublas", "normal", 4)]
        path = self.write(document(known), "accuracy.json")
        kept = self.xla.beside(path, [row], {"name": "Test device"})
        self.assertEqual([other["input"] for other in kept], ["unit"] * 3)
        self.assertEqual(row["peer"], "cublas")
        self.assertAlmostEqual(row["rms_vs_peer"], row["error"]["rms"] / 0.5)
        with self.assertRaises(SystemExit):
            self.xla.beside(path, [row], {"name": "Other device"})
        result = self.loaded(document([*kept, row], command="kernelwright accuracy sgemm"))
        self.assertEqual([cells[0].text for cells in tables_errors.suite(result, "xla_bf16x6").rows], ["unit"])


if __name__ == "__main__":
    unittest.main()
