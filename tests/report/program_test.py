"""python -m kernelwright_report as a program: help, exit codes, messages, and what it does without matplotlib."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from report_support import ROOT, InFolder, document, ladder, reductions, sgemm_row, untimed


class Program(InFolder):
    def run_program(self, *arguments, python=(sys.executable,), **options):
        words = [*python, "-m", "kernelwright_report", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "report")}
        return subprocess.run(words, text=True, env=environment, **{"capture_output": True, **options})

    def tables_only(self, *arguments):
        """By a Python that sees no packages, so no matplotlib either."""
        return self.run_program(*arguments, python=(sys.executable, "-S"))

    def refused(self, pattern, *arguments):
        done = self.tables_only(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\Akernelwright_report: {pattern}.*\n\Z")

    def test_help_has_examples_that_parse(self):
        done = self.run_program("--help")
        self.assertEqual(done.returncode, 0)
        examples = [line.split("kernelwright_report", 1)[1].split("  ")[0].split() for line in done.stdout.splitlines()
                    if line.startswith("  python -m")]  # fmt: skip
        self.assertEqual(len(examples), 4)
        self.write(ladder(), "sgemm.json")
        self.write(reductions(), "reduce.json")
        for words in examples[:3]:
            words = [word if word.startswith("-") or word.isdigit() else self.folder / word for word in words]
            self.assertEqual(self.tables_only(*words).returncode, 0)

    def test_without_matplotlib_the_page_has_tables(self):
        out = self.folder / "out"
        done = self.tables_only(self.write(ladder(), "sgemm.json"), "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, f"{out / 'index.html'}\n"))
        self.assertRegex(done.stderr, r"\Akernelwright_report: plots: off, .*pip install matplotlib\n\Z")
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["index.html", "sgemm.csv"])
        page = (out / "index.html").read_text()
        self.assertIn("sgemm own over cuBLAS at 4096", page)
        self.assertIn(">r02 better<", page)
        self.assertNotIn("<svg", page)

    def test_what_cannot_be_used_is_named(self):
        good, out = self.write(ladder(), "good.json"), self.folder / "out"
        self.refused(r".*none\.json: no such file", good, self.folder / "none.json", "-o", out)
        self.refused(f"{self.folder}: cannot be read: Is a directory", self.folder, "-o", out)
        row = {**sgemm_row("cublas", 64), "gflops": float("inf")}
        self.refused(
            r".*bad\.json: row 0 \(cublas\): 'gflops' is Infinity, expected a finite number",
            self.write(document([row]), "bad.json"),
            "-o",
            out,
        )
        self.assertFalse(out.exists(), "nothing is written where something is refused")

    def test_a_folder_that_cannot_be_written(self):
        good = self.write(ladder(), "good.json")
        self.refused(rf"{good}.*: cannot be written: (Not a directory|File exists)", good, "-o", good)
        self.refused(rf"{good}/deep.*: cannot be written: Not a directory", good, "-o", good / "deep")
        (self.folder / "out/index.html").mkdir(parents=True)
        self.refused(r".*index\.html: cannot be written: Is a directory", good, "-o", self.folder / "out")

    def test_arguments_that_make_no_sense(self):
        for words in ((), ("a.json",), ("a.json", "-o", "x", "--size", "0"), ("a.json", "-o", "x", "--size", "big")):
            done = self.tables_only(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: ", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_an_output_that_is_full(self):
        good = self.write(ladder(), "good.json")
        with open("/dev/full", "w") as full:
            done = self.run_program(good, "-o", self.folder / "out", python=(sys.executable, "-S"), stdout=full,
                                    stderr=subprocess.PIPE, capture_output=False)  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn("No space left on device", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_interrupted_runs(self):
        begun = self.write(document(ladder()["rows"][:3], interrupted=True), "begun.json")
        empty = self.write(document([], interrupted=True), "empty.json")
        out = self.folder / "out"
        self.refused(r".*empty\.json: the run was interrupted before its first row", empty, "-o", out)
        done = self.tables_only(begun, empty, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("empty.json: the run was interrupted before its first row", done.stderr)
        page = (out / "index.html").read_text()
        self.assertIn("The run was interrupted: this is what it had measured.", page)
        self.assertIn("empty.json: the run was interrupted before its first row", page)

    def test_rows_without_times(self):
        rows = [untimed(sgemm_row("cublas", 64), True), untimed(sgemm_row("r01_slow", 64), False)]
        out = self.folder / "out"
        self.assertEqual(self.tables_only(self.write(document(rows)), "-o", out).returncode, 0)
        page = (out / "index.html").read_text()
        self.assertIn("1 of 2 rows verified against float64; 1 failed", page)
        self.assertIn("✗ r01_slow at 64", page)


if __name__ == "__main__":
    unittest.main()
