"""Sweeps of products in the report: the summary that the program prints as well, tables, figures, the plot, the page."""

import json
import re
import unittest
from unittest import mock

from report_support import HAVE_MATPLOTLIB, ROOT, InFolder, document, ladder, sweep_rows, untimed

from kernelwright_report import docs, headline, pictures, results, schema, sections, sweeps, tables


def shared():
    """The file that tests/program/sweep_summary_test.cpp reads, too: a C++ literal of one JSON document."""
    literal = (ROOT / "tests/program/sweep_summary.inc").read_text(encoding="utf-8")
    return json.loads(re.fullmatch(r'R"json\((.*)\)json"\n', literal, re.DOTALL)[1])


class Summaries(InFolder):
    def test_it_is_the_programs(self):
        data = shared()
        found = sweeps.summaries(self.loaded(data))
        self.assertEqual(len(found), len(data["expected"]))
        for summary, wanted in zip(found, data["expected"]):
            with self.subTest(kernel=wanted["kernel"], third=wanted["third"]):
                for name, value in wanted.items():
                    if name == "least_number":
                        continue
                    have = getattr(summary, name)
                    if isinstance(value, float):
                        self.assertAlmostEqual(have / value, 1, places=12, msg=name)
                    else:
                        self.assertEqual(have, value, name)
        self.assertEqual(found[0].least_at, "289×1×1817 TN")
        self.assertEqual(found[-1].least_at, "1313×6317×2 NT")

    def test_slack_is_for_short_calls_that_lose(self):
        self.assertAlmostEqual(sweeps.ratio_with_slack(2.0, 2.4), 1.2)
        self.assertEqual(sweeps.ratio_with_slack(2.2, 2.0), 1)
        self.assertAlmostEqual(sweeps.ratio_with_slack(4.3, 2.0), 0.5)
        self.assertAlmostEqual(sweeps.ratio_with_slack(4 / 0.9, 4.0), 0.9)

    def test_without_a_vendor_and_a_roofline(self):
        rows = [row for row in sweep_rows(12) if row["kernel"] == "kernelwright"]
        rows = [{**row, "peer": None, "vs_peer": None, "roofline_us": None} for row in rows]
        result = self.loaded(document(rows))
        for summary in sweeps.summaries(result):
            self.assertGreater(summary.products, 0)
            self.assertEqual({summary.mean, summary.least, summary.below, summary.over_roofline}, {None})
        self.assertIn("–", tables.to_markdown(sweeps.summary_table(result)))
        self.assertEqual(pictures.pictures(result), [])
        self.assertEqual(headline.headlines(result, 4096), [])

    def test_intensity_counts_c_twice_where_it_is_read(self):
        (row,) = [row for row in self.loaded(shared()).rows if (row.kernel, row.number) == ("cublas", 7)]
        self.assertAlmostEqual(sweeps.intensity(row), 2e9 / 12e6)
        read = results.Row({**row.fields, "beta": 1.0})
        self.assertAlmostEqual(sweeps.intensity(read), 2e9 / 16e6)


class Tables(InFolder):
    def test_the_summary_has_a_line_a_third_and_one_for_all(self):
        table = sweeps.summary_table(self.loaded(shared()))
        self.assertIn("10 products at random, seed 1000. Means are geometric.", table.caption)
        lines = [[cell.text for cell in row] for row in table.rows]
        self.assertEqual([line[1] for line in lines], ["under 4 µs", "4 to 50 µs", "over 50 µs", "all"] * 2)
        self.assertEqual(lines[0][2:8], ["4", "1.02×", "0.63×", "0.57×", "289×1×1817 TN", "1 of 4"])
        self.assertEqual(table.header[-1], "over 3 % slower than FP32")
        self.assertEqual((lines[0][-1], lines[-1][-1]), ("–", "1 of 9"))
        plain = [row for row in shared()["rows"] if row["kernel"] != "kernelwright_split"]
        self.assertEqual(sweeps.summary_table(self.loaded({**shared(), "rows": plain})).header[-1], "cuBLAS's")

    def test_each_program_has_its_line(self):
        result = self.loaded(document(sweep_rows(5, split=True, programs=True)))
        table = sweeps.product_table(result)
        self.assertEqual([row[0].text for row in table.rows], [f"Program {i}" for i in range(5)])
        self.assertEqual(table.header[:4], ["program", "m × n × k", "roofline", "cuBLAS"])
        self.assertEqual(table.header[4:], ["kernelwright", "over cuBLAS", "over roofline",
                                            "kernelwright split", "over cuBLAS", "over roofline"])  # fmt: skip
        for row, product in zip(table.rows, sweeps.products(result)):
            ratio = product["cublas"].median_us / product["kernelwright"].median_us
            self.assertEqual((row[5].text, row[5].mark), (f"{ratio:.2f}×", "best" if ratio >= 1 else ""))
        self.assertIn("5 products of programs. ", sweeps.summary_table(result).caption)

    def test_what_failed_has_no_time_but_keeps_its_product(self):
        rows = [untimed(row, False) if row["number"] == 1 and row["kernel"] == "kernelwright" else row
                for row in sweep_rows(3)]  # fmt: skip
        result = self.loaded(document(rows))
        self.assertEqual([row[3].text for row in sweeps.product_table(result).rows].count("–"), 1)
        self.assertEqual(sweeps.summaries(result)[-1].products, 2)

    def test_seeds_have_all_64_bits(self):
        rows = [{**row, "seed": 2**64 - 1} for row in sweep_rows(3)]
        self.assertIn(f"seed {2**64 - 1}", sweeps.summary_table(self.loaded(document(rows))).caption)
        with self.assertRaisesRegex(schema.ResultError, "'seed' is a number of 20 digits, expected at most"):
            self.loaded(document([{**rows[0], "seed": 2**64}]))
        with self.assertRaisesRegex(schema.ResultError, "'roofline_us' is 0, expected more than 0"):
            self.loaded(document([{**rows[0], "roofline_us": 0}]))


class Documents(InFolder):
    def fill(self, mark):
        self.write(f"{mark}<!-- end -->\n", "README.md")
        docs.update(self.folder, False)
        return (self.folder / "README.md").read_text()

    def setUp(self):
        super().setUp()
        for folder in ("docs", "ladder"):
            (self.folder / folder).mkdir()
        self.write(document(sweep_rows(45, split=True)), "results/h200/sgemm-random.json")
        self.write(document(sweep_rows(6, programs=True)), "results/h200/sgemm-programs.json")
        self.write(ladder(), "results/h200/sgemm.json")

    def test_tables_and_figures(self):
        filled = self.fill("<!-- table: results/h200/sgemm-random.json sweep-summary -->\n")
        self.assertIn("| kernelwright split | all | 45 | **", filled)
        filled = self.fill("<!-- table: results/h200/sgemm-programs.json sweep-products -->\n")
        self.assertIn("| Program 5 |", filled)
        (result,) = results.load(self.folder / "results/h200/sgemm-random.json")
        wanted = next(s for s in sweeps.summaries(result) if (s.kernel, s.third) == ("kernelwright", "all"))
        filled = self.fill("At least <!-- value: sgemm-random sweep(kernelwright, all, least) -->")
        self.assertIn(f"-->{wanted.least:.2f}×<!-- end -->", filled)
        filled = self.fill("<!-- value: sgemm-random sweep(kernelwright, all, below) -->")
        self.assertIn(f"-->{wanted.below}<!-- end -->", filled)

    def test_what_is_not_there_is_named(self):
        for mark, said in (
            ("table: results/h200/sgemm.json sweep-summary", "is of no sweep of products"),
            ("value: sgemm-random sweep(kernelwright, short, best)", "has no 'best' of kernelwright, short"),
            ("value: sgemm-random sweep(kernelwright, every, mean)", "thirds are short, middle, long, all"),
        ):
            with self.assertRaisesRegex(results.ResultError, said):
                self.fill(f"<!-- {mark} -->\n")


class Page(InFolder):
    def test_a_sweep_begins_with_its_summary_and_folds_its_products(self):
        result = self.loaded(document(sweep_rows(30)))
        with mock.patch.object(pictures, "render", lambda picture: ("<svg></svg>", b"")):
            page = sections.section(result, "random", self.folder, None, True)
        said = ["over cuBLAS, the geometric mean of 30 products; least", "<td", "random-roofline.svg",
                "Every product</summary>", "Verification</h3>"]  # fmt: skip
        at = [page.index(words) for words in said]
        self.assertEqual(at, sorted(at), list(zip(said, at)))
        self.assertNotIn("Step by step", page)

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_the_plot_has_a_dot_a_product_and_kernel(self):
        for count, split in ((1, False), (300, True)):
            result = self.loaded(document(sweep_rows(count, split=split)))
            (picture,) = pictures.pictures(result)
            self.assertEqual("tensor cores" in picture.caption, split)
            figure = picture.draw()
            (axes,) = figure.axes
            dots = [len(drawn.get_offsets()) for drawn in axes.collections]
            self.assertEqual(dots, [count] * (3 if split else 2))
            names = [label.get_text() for label in axes.texts]
            self.assertIn("cuBLAS", names)
            self.assertIn("roofline", names)
            labels = [tick.get_text() for tick in axes.get_yticklabels()]
            self.assertIn("1×", labels)
            svg, _ = pictures.render(picture)
            self.assertLess(len(svg), 130_000)


if __name__ == "__main__":
    unittest.main()
