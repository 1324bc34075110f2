"""The report: README's table and plot of the library's modes beside the vendor and the ladder."""

import unittest

from report_support import HAVE_MATPLOTLIB, InFolder, document, sgemm_row

from kernelwright_report import text


def row(kernel, size, gflops, role, peer_gflops):
    fields = {"role": role, "gflops": gflops, "vs_peer": gflops / peer_gflops, "path": kernel}
    return {**sgemm_row("cublas", size), **fields, "kernel": kernel}


def run(kernel, speeds, peer_speed, role="production"):
    """A file with one kernel and cuBLAS at the sizes of `speeds`."""
    rows = [row(kernel, size, speed, role, peer_speed) for size, speed in speeds.items()]
    return document(rows + [row("cublas", size, peer_speed, "peer", peer_speed) for size in speeds])


MARK = "sgemm-fp32 sgemm-split sgemm-ladder library r01"


class LibraryTest(InFolder):
    def setUp(self):
        super().setUp()
        self.write(run("kernelwright", {128: 5500.0, 192: 6000.0, 256: 4000.0}, 5000.0), "results/h200/sgemm-fp32.json")
        self.write(
            run("kernelwright_split", {128: 5000.0, 192: 6000.0, 256: 16000.0}, 4000.0), "results/h200/sgemm-split.json"
        )
        self.write(
            run("r01_slow", {128: 50.0, 192: 60.0, 256: 70.0, 512: 80.0}, 5000.0, "rung"),
            "results/h200/sgemm-ladder.json",
        )

    def fill(self, mark):
        self.write(f"<!-- {mark} -->\n<!-- end -->\n", "README.md")
        code, out, err = self.run_main("docs", "--root", self.folder)
        return code, err, (self.folder / "README.md").read_text().replace(text.THIN, " ")

    def test_each_ratio_is_of_its_own_run(self):
        code, _, page = self.fill(f"table: {MARK}")
        self.assertEqual(code, 0)
        self.assertIn("| 128 | 5.00 | 5.50 | **1.10×** | 5.00 | **1.25×** | 0.01× |\n", page)
        self.assertIn("| 256 | 5.00 | 4.00 | 0.80× | 16.0 | **4.00×** | 0.01× |\n", page)
        self.assertNotIn("| 192 |", page)  # powers of two
        self.assertNotIn("| 512 |", page)  # sizes that all files have

    def test_what_the_files_do_not_have(self):
        for mark, pattern in (
            ("sgemm-fp32 sgemm-ladder library r07", "does not have all of r07"),
            ("sgemm-ladder sgemm-fp32 library r01", "each file but the last has one row of kernelwright"),
            ("sgemm-fp32 library", "library takes the files"),
            ("sgemm-fp32 none library", "no such .json"),
        ):
            self.write("", "README.md")
            self.write(f"<!-- table: {mark} -->\nold\n<!-- end -->\n", "README.md")
            code, _, err = self.run_main("docs", "--root", self.folder)
            self.assertEqual(code, 2, mark)
            self.assertRegex(err, pattern)

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_the_plot_follows_every_file(self):
        code, _, page = self.fill(f"plot: {MARK}")
        self.assertEqual(code, 0)
        self.assertIn('src="docs/img/h200-library.svg"', page)
        svg = (self.folder / "docs/img/h200-library.svg").read_text()
        for label in ("fp32_split", "fp32", "r01 slow", "cuBLAS"):
            self.assertIn(f">{label}<", svg)
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder)[0], 0)
        self.write(run("r01_slow", {128: 51.0, 192: 60.0, 256: 70.0}, 5000.0, "rung"), "results/h200/sgemm-ladder.json")
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder)[0], 1)


if __name__ == "__main__":
    unittest.main()
