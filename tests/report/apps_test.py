"""Files of whole programs in the report: table, plots, figures, refusals; and apps/measure.py without PyTorch."""

import subprocess
import sys
import unittest
from pathlib import Path

from report_support import HAVE_MATPLOTLIB, ROOT, InFolder, document, ladder

from kernelwright_report import apps, doc_tables, headline, page, pictures, results, text, values
from kernelwright_report.project import Project

sys.path.insert(0, str(ROOT / "apps"))
import measure  # noqa: E402

SPEEDS = {"vendor": 1.0, "fp32": 1.05, "fp32_split": 2.0, "tf32": 2.5}
ERRORS = {"vendor": 1.1e-6, "fp32": 1e-6, "fp32_split": 2e-7, "tf32": 8e-4}


def rows(app="gpt2_small", us=160000.0, loss=(3.0, 2.0), last=None):
    made = []
    for variant, speed in SPEEDS.items():
        measured = measure.Measured({"error": {"relative": ERRORS[variant]}, "loss": list(loss)})
        ends = {"time_us": [us / speed, 1.1 * us / speed, us / speed], "loss": [(last or {}).get(variant, 1.0)]}
        measured.add(ends, timed=True)
        measured.calls = {"": 1200, "too small": 34}
        made.append(measured.row(app, variant))
    measure.with_vendor(made)
    return made


def failed(row):
    return {**row, "time_us": None, "vs_peer": None, "verified": False, "failed": "LinAlgError: not positive-definite"}


def programs():
    ends = {"vendor": 1e-4, "fp32": 1.1e-4, "fp32_split": 1e-4, "tf32": 2e-2}
    return [*rows(), *rows("pinn", 300000.0, last=ends)]


class Apps(InFolder):
    def apps(self, made=None):
        return self.loaded(document(made or programs(), command="apps/measure.py --json apps.json"))

    def test_a_line_a_program(self):
        result = self.apps()
        self.assertEqual(result.kind, "apps")
        table = apps.table(result)
        self.assertEqual(table.header[:4], ["program", "cuBLAS", "drop-in, fp32", "drop-in, fp32_split"])
        first, second = ([cell.text.replace(text.THIN, " ") for cell in line] for line in table.rows)
        times, errors = ["160 ms", "1.05×", "2.00×", "2.50×"], ["1.1·10⁻⁶", "1.0·10⁻⁶", "2.0·10⁻⁷", "8.0·10⁻⁴"]
        self.assertEqual(first, ["gpt2 small", *times, *errors, "1 200 of 1 234"])
        self.assertEqual(second[:2], ["pinn", "300 ms"])

    def test_what_failed_has_no_time_and_is_told(self):
        made = programs()
        result = self.apps([*made[:-1], failed(made[-1])])
        self.assertEqual([cell.text for cell in apps.table(result).rows[1]][4], "failed")
        self.assertEqual(result.notes(), ["pinn failed in tf32: LinAlgError: not positive-definite"])
        self.assertEqual(apps.relative_error(apps.at(result, "pinn", "tf32")), None)

    def test_only_losses_that_part_are_drawn(self):
        self.assertEqual(apps.parted(self.apps()), "pinn")
        self.assertIsNone(apps.parted(self.apps(rows())))
        self.assertEqual([picture.name for picture in pictures.pictures(self.apps(rows()))], ["apps"])

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_the_plots_name_programs_and_variants(self):
        made = programs()
        for shown in (made, [*made[:-1], failed(made[-1])], [{**row, "error": None} for row in made], made[:1]):
            for picture in pictures.pictures(self.apps(shown)):
                svg, _ = pictures.render(picture)
                self.assertIn("cuBLAS" if picture.name == "apps" else "The loss of pinn", svg)
        (times, losses) = (pictures.render(picture)[0] for picture in pictures.pictures(self.apps()))
        for name in ("gpt2 small", "pinn", *apps.NAMES.values(), "2.00×", "relative error against float64"):
            self.assertIn(name, times)
        self.assertIn("cuBLAS, TF32", losses)

    def test_the_page(self):
        result = self.apps()
        written = page.write([self.loaded(ladder()), result], self.folder / "out", None, [], draw=False).read_text()
        self.assertLess(written.index("Programs, measured whole"), written.index("Matrix product"))
        self.assertIn("8 of 8 runs came to their end.", written)
        self.assertEqual([line.figure for line in headline.headlines(result, 4096)], ["2.00×", "2.00×"])

    def test_documents(self):
        self.write(document(programs()), "apps.json")
        self.write(ladder(), "ladder.json")
        project = Project(self.folder, check=True)
        self.assertIn("| gpt2 small |", doc_tables.table(project, Path("x.md"), ["apps.json", "apps"]))
        self.assertEqual(values.value(project, "apps.json vs_peer(fp32_split, app=gpt2_small)"), "2.00×")
        self.assertEqual(values.value(project, "apps.json time(vendor, app=pinn)"), f"300{text.THIN}ms")
        self.assertEqual(values.value(project, "apps.json relative_error(tf32, app=pinn) / 1"), "0.00080")
        for words, pattern in ((["ladder.json", "apps"], "is of app"), (["apps.json", "sweep"], "is of kernels")):
            with self.assertRaisesRegex(results.ResultError, pattern):
                doc_tables.table(project, Path("x.md"), words)

    def test_fields_are_checked(self):
        for field, value, pattern in (
            ("app", None, "has no 'app'"), ("loss", ["a"], "'loss' is \"a\""), ("calls_taken", -1, "is -1, expected 0"),
            ("forwarded", {"why": "x"}, "'forwarded.why'"), ("loss_every", 0, "'loss_every' is 0"),
        ):  # fmt: skip
            with self.assertRaisesRegex(results.ResultError, pattern):
                self.apps([{**row, field: value} for row in rows()])


class Measure(unittest.TestCase):
    def test_statistics(self):
        found = measure.statistics_of([4.0, 1.0, 2.0, 3.0])
        self.assertEqual((found["min"], found["median"], found["max"], found["repeats"]), (1.0, 2.5, 4.0, 4))
        self.assertEqual(measure.statistics_of([5.0])["iqr"], 0)

    def test_a_variant_that_fails_has_no_time(self):
        measured = measure.Measured({"error": {}, "loss": []})
        measured.add({"time_us": [1.0]}, timed=True)
        measured.add({"failed": "out of memory"}, timed=True)
        row = measured.row("lu_16384", "tf32")
        self.assertEqual((row["time_us"], row["verified"], row["failed"]), (None, False, "out of memory"))
        self.assertIn("failed: out of memory", measure.table([row]))

    def test_long_loss_curves_are_thinned(self):
        measured = measure.Measured({"loss": [1.0, float("nan")] * 1000})
        row = measured.row("pinn", "fp32")
        self.assertEqual((row["loss_every"], len(row["loss"])), (7, 286))
        self.assertIn(None, row["loss"])

    def test_every_program_has_its_module(self):
        for module, _ in measure.APPS.values():
            self.assertTrue((ROOT / "apps" / f"{module}.py").is_file(), module)

    def test_messages_say_the_way_out(self):
        for words, pattern in (
            (["--apps", "no*"], "no program is called 'no\\*'; there are: gpt2_small"),
            (["--variants", "x"], "no variant is called 'x'"),
            (["--apps", "lu*"], "--adapter is missing"),
            (["--adapter", "nowhere.so"], "nowhere.so: no such file. `./dev build cuda`"),
            (["--rounds", "0"], "must be more than 0"),
        ):
            command = [sys.executable, str(ROOT / "apps/measure.py"), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertRegex(done.stderr, pattern)
            self.assertTrue(done.returncode)


if __name__ == "__main__":
    unittest.main()
