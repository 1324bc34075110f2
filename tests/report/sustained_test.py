"""Files of rates that last in the report: the page, the documents' table, plot and figures, what they refuse."""

import unittest
from pathlib import Path

from report_support import HAVE_MATPLOTLIB, InFolder, document, ladder, sgemm_row

from kernelwright_report import doc_tables, headline, pictures, results, sections, sustained, values
from kernelwright_report.project import Project

RATES = {  # kernel: role, math, sustained and rested TFLOP/s
    "kernelwright": ("production", "fp32", 56.0, 58.0),
    "kernelwright_split": ("production", "fp32_split", 190.0, 230.0),
    "cublas": ("peer", "fp32", 51.0, 52.0),
    "cublas_fp16": ("peer", "fp16", 600.0, 800.0),
}
ENERGY = {"energy_from": "counter", "hottest_c": 60.0, "power_limit_w": 700.0, "limited_by": {"power_cap": 1.0}}
NO_ENERGY = {**dict.fromkeys(("energy_from", "hottest_c", "power_limit_w", "limited_by")), "power_w": None}


def row(kernel, size, **changes):
    role, math, rate, rested = RATES[kernel]
    us = 2e-6 * size**3 / rate
    time = {"min": us, "median": us, "mean": us, "max": us, "iqr": 0.0, "repeats": 50}
    joules = 690e-6 * us
    own = {
        "timing": "sustained", "time_us": time, "gflops": 1e3 * rate, "of_peak": None, "vs_peer": None, "power_w": 690.0,
        "sm_clock_mhz": 1400.0, "sustained_s": 5.0, "calls": 100, "rested_gflops": 1e3 * rested, "joules_per_call": joules,
        "gflop_per_joule": 2e-9 * size**3 / joules, "of_fp16_third": 0.95 if math == "fp32_split" else None, **ENERGY,
    }  # fmt: skip
    return {**sgemm_row("cublas", size), "kernel": kernel, "role": role, "math": math, **own, **changes}


def rows(**changes):
    return [row(kernel, size, **changes) for size in (2048, 8192) for kernel in RATES]


class Sustained(InFolder):
    def test_a_line_a_kernel_and_size(self):
        result = self.loaded(document(rows()))
        self.assertEqual(result.kind, "sustained")
        table = sustained.table(result)
        lines = [[cell.text for cell in line] for line in table.rows]
        self.assertEqual(
            next(line for line in lines if line[:2] == ["8192", "kernelwright split"])[2:],
            ["190", "230", "690", "1\u202f400", "3.99", "275", "0.950", "power"],
        )
        self.assertEqual(next(line for line in lines if line[1] == "cuBLAS FP16")[8], "–")
        self.assertEqual(len(lines), 8)
        self.assertIn("Each for 5.0\u202fs.", table.caption)

    def test_energy_that_was_not_measured(self):
        none = {**NO_ENERGY, "joules_per_call": None, "gflop_per_joule": None, "sm_clock_mhz": None}
        table = sustained.table(self.loaded(document(rows(**none))))
        self.assertEqual([cell.text for cell in table.rows[0]][4:], ["–"] * 4 + ["–", "–"])

    def test_what_holds_the_clock_down(self):
        for shares, said in (
            ({}, "nothing"),
            ({"power_cap": 0.9, "software_thermal": 0.2, "hardware_thermal": 0.1}, "power, heat"),
            ({"power_cap": 0.01}, "nothing"),
        ):
            self.assertEqual(sustained.limits(results.Row(row("cublas", 64, limited_by=shares))), said)

    def test_sixteen_bits_count_as_a_third(self):
        half, split = (results.Row(row(kernel, 4096)) for kernel in ("cublas_fp16", "kernelwright_split"))
        self.assertAlmostEqual(sustained.joules_a_tera(half), 3 * 690 / 600, places=6)
        self.assertAlmostEqual(sustained.joules_a_tera(split), 690 / 190, places=6)

    def test_the_page_has_table_and_headlines(self):
        result = self.loaded(document(rows()))
        page = sections.section(result, "sustained", self.folder, None, draw=False)
        self.assertIn("rates that last", page)
        self.assertIn("held down by", page)
        said = headline.headlines(result, 4096)
        self.assertEqual(said[1].figure, "190\u202fTFLOP/s")
        self.assertIn("95.0\u202f% of a third of cuBLAS's FP16", said[1].said)

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_the_plot_names_each_line(self):
        for changes, panels in (({}, 2), ({**NO_ENERGY, "gflop_per_joule": None}, 1)):
            result = self.loaded(document(rows(**changes)))
            (picture,) = pictures.pictures(result)
            svg, _ = pictures.render(picture)
            for name in ("kernelwright split", "cuBLAS FP16 ÷ 3", "solid: sustained"):
                self.assertIn(name, svg)
            self.assertEqual(svg.count("cuBLAS FP16 × 3"), panels - 1)
            self.assertEqual("board limit 700" in svg, panels == 2)

    def test_one_size_has_no_plot(self):
        self.assertEqual(pictures.pictures(self.loaded(document([row("cublas", 64)]))), [])

    def test_documents(self):
        project = Project(Path("."), check=True)
        result = self.loaded(document(rows()))
        project.known["result", "file.json"] = result
        self.assertIn("kernelwright", doc_tables.table(project, Path("x.md"), ["file.json", "sustained"]))
        with self.assertRaisesRegex(results.ResultError, "host-time is of `bench sgemm --timing enqueue`"):
            doc_tables.table(project, Path("x.md"), ["file.json", "host-time"])
        with self.assertRaisesRegex(results.ResultError, "sustained is of `bench sgemm --sustain`"):
            doc_tables.table(project, Path("x.md"), ["file.json", "sweep"])
        project.known["result", "file.json"] = self.loaded(ladder())
        with self.assertRaisesRegex(results.ResultError, "sustained is of `bench sgemm --sustain`"):
            doc_tables.table(project, Path("x.md"), ["file.json", "sustained"])

    def test_figures_within_sentences(self):
        self.write(document(rows()), "sgemm-sustained.json")
        project = Project(self.folder, check=True)

        def value(expression):
            return values.value(project, f"sgemm-sustained.json {expression}")

        self.assertEqual(value("gflops(kernelwright_split, 8192)"), "190\u202fTFLOP/s")
        self.assertEqual(value("rested(kernelwright_split, 8192)"), "230\u202fTFLOP/s")
        self.assertEqual(value("of_fp16_third(kernelwright_split, 8192) as % .0"), "95\u202f%")
        self.assertEqual(value("joules(kernelwright_split, 8192)"), "3.99")

    def test_fields_are_checked(self):
        with self.assertRaisesRegex(results.ResultError, "'limited_by.power_cap' is \"much\""):
            self.loaded(document(rows(limited_by={"power_cap": "much"})))
        with self.assertRaisesRegex(results.ResultError, "'gflop_per_joule' is -1"):
            self.loaded(document(rows(gflop_per_joule=-1)))


if __name__ == "__main__":
    unittest.main()
