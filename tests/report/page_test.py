"""The report: the page, its pictures, and the results that are committed."""

import json
import re
import unittest
from unittest import mock
from xml.etree import ElementTree

from report_support import (
    HAVE_MATPLOTLIB,
    InFolder,
    ROOT,
    SPEEDS,
    document,
    ladder,
    reduce_row,
    reductions,
    sgemm_row,
    untimed,
)

from kernelwright_report import guard, pictures, python_times, results, theme
from kernelwright_report.project import Project


@unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
class Page(InFolder):
    def test_every_kind_of_file_on_one_page(self):
        scale_rows = [sgemm_row("sgemm_own", size, op="scale_add", k=None, gbs=900.0) for size in (64, 128)]
        accuracy_rows = [
            {**untimed(sgemm_row(kernel, 64), True), "k": k, "input": kind}
            for kind in ("unit", "normal") for kernel in SPEEDS for k in (1, 64, 4096)
        ]  # fmt: skip
        files = [
            self.write(ladder(), "sgemm.json"),
            self.write(document(scale_rows, command="kernelwright bench scale_add"), "scale-add.json"),
            self.write(document(accuracy_rows, command="kernelwright accuracy sgemm"), "accuracy.json"),
            self.write(reductions(), "reduce.json"),
            self.write(document([untimed(sgemm_row("r01_slow", 64), False)], kind="host-simt"), "verify.json"),
        ]
        out = self.folder / "out"
        code, printed, _ = self.run_main(*files, "-o", out)
        self.assertEqual((code, printed), (0, f"{out / 'index.html'}\n"))
        expected = {f"sgemm-{name}" for name in ("by-size", "lines", "of-peak", "steps")}
        expected |= {"scale-add-bandwidth", "accuracy-accuracy"}
        expected |= {f"reduce-{name}" for name in ("by-length", "over-peer", "steps")}
        for end in ("svg", "png"):
            self.assertEqual({path.stem for path in out.glob(f"*.{end}")}, expected)
        self.assertEqual({path.stem for path in out.glob("*.csv")}, {path.stem for path in files})
        for path in out.glob("*.svg"):
            ElementTree.parse(path)
        self.check_page((out / "index.html").read_text(), out)

    def check_page(self, page, out):
        self.assertNotRegex(page, r'(src|href)="(https?:)?//', "it must open without a network")
        for said in ("Test device", "1.2", "L2 state", "kernelwright accuracy sgemm", "not recorded", "speed was not"):
            self.assertIn(said, page)
        for link in re.findall(r'href="([^"#]+)"', page):
            self.assertTrue((out / link).is_file(), link)
        ids = re.findall(r'\bid="([^"]+)"', page)
        self.assertEqual(len(ids), len(set(ids)))
        # No colour of a plot escapes the page's theme.
        body = page[page.index("<body>") :]
        light = {colour for _, colour, _ in theme.exchanges()}
        self.assertEqual(light & set(re.findall(r"#[0-9a-f]{6}\b", body)), set())
        self.assertIn("var(--ink)", body)

    def test_the_same_file_draws_the_same_picture(self):
        result = self.loaded(ladder())
        picture = pictures.pictures(result)[0]
        self.assertEqual(pictures.render(picture), pictures.render(picture))

    def test_bad_input_ends_with_one_line(self):
        code, out, err = self.run_main(self.folder / "none.json", "-o", self.folder / "out")
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, r"^kernelwright_report: .*none.json: no such file")
        self.assertFalse((self.folder / "out").exists())

    def test_reductions_of_which_there_is_little(self):
        for rows, names in (
            ([reduce_row("reduce_own", 1024, peer=None, vs_peer=None)], []),
            ([reduce_row("r01_tree", 1024, of_peak=None)], ["steps"]),
            ([reduce_row("reduce_own", n, peer=None, vs_peer=None) for n in (1024, 1000)], ["by-length"]),
            ([reduce_row("reduce_own", 4096, shape="rows", rows=64, cols=64, ld=64)], []),
        ):
            found = pictures.pictures(self.loaded(document(rows)))
            self.assertEqual([picture.name for picture in found], names)
            for picture in found:
                pictures.render(picture)

    def test_the_order_is_the_readers(self):
        rungs = document([untimed(sgemm_row("r01_slow", 64), True)], kind="host-simt")
        files = [
            self.write(rungs, "rungs.json"),
            self.write(reductions(), "reduce.json"),
            self.write(ladder(), "sgemm.json"),
        ]
        with mock.patch.object(pictures, "render", lambda picture: ("<svg></svg>", b"")):
            self.assertEqual(self.run_main(*files, "-o", self.folder / "out")[0], 0)
        page = (self.folder / "out/index.html").read_text()
        self.assertEqual(re.findall(r'<h2 id="([^"]+)"', page), ["sgemm", "reduce", "rungs"])
        first = page[page.index('<h2 id="sgemm"') : page.index('<h2 id="reduce"')]
        said = ["<strong>0.90×</strong>", "sgemm own over cuBLAS at 4096: 4.50", "<td", "<svg", "Step by step</h3>",
                "Ratios</h3>", "Every size</h3>", "Errors</h3>", "Verification</h3>", "8 of 8 rows verified",
                "<summary>Every case", "<summary>Where and how"]  # fmt: skip
        at = [first.index(words) for words in said]
        self.assertEqual(at, sorted(at), list(zip(said, at)))

    def test_sizes_that_are_not_square(self):
        rows = [sgemm_row(kernel, 64, n=96, op_a="T") for kernel in SPEEDS]
        result = self.loaded(document(rows))
        self.assertEqual(result.shapes[0].label, "64×96×64 TN")
        names = [picture.name for picture in pictures.pictures(result)]
        self.assertEqual(names, ["steps", "of-peak", "by-size"])
        for picture in pictures.pictures(result):
            pictures.render(picture)


class Committed(unittest.TestCase):
    """What lies in results/ must be readable by this version."""

    def test_every_result_file_loads(self):
        for path in sorted((ROOT / "results").glob("**/*.json")):
            with self.subTest(path=path.name):
                if path.name.startswith(("conformance", "epilogue-time", "attention")):
                    continue  # conformance_test.py reads the one, tools write the others
                if path.name.startswith(("plan", "scaling")):
                    self.check_plan(json.loads(path.read_text(encoding="utf-8")))
                elif path.name.startswith("guard"):
                    guard.table(path.read_text(encoding="utf-8"))
                elif path.name == "python.json":
                    for part in python_times.PARTS:
                        python_times.table(path.read_text(encoding="utf-8"), [part])
                else:
                    results.load(path)

    def check_plan(self, plan):
        """Predictions name the rates that they stand on, and where these come from."""
        self.assertGreater(len(plan["rows"]), 0)
        for row in plan["rows"]:
            self.assertGreater(row["predicted_us"], 0)
        for rate in plan["rates"]:
            self.assertTrue(rate["value"] > 0 and rate["source"], rate)

    def test_every_rung_has_its_idea(self):
        for op in ("sgemm", "reduce"):
            found = Project(ROOT, True).ideas(op)
            files = {path.stem for path in (ROOT / "ladder" / op).glob("r[0-9][0-9]_*.c*")}
            self.assertEqual(files - set(found), set())


if __name__ == "__main__":
    unittest.main()
