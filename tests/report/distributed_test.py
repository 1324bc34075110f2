"""Files of `bench distributed` in the report: the page, the documents' table and plots, what they refuse."""

import unittest
from pathlib import Path

from report_support import HAVE_MATPLOTLIB, InFolder, document, ladder, sgemm_row

from kernelwright_report import distributed, doc_pictures, doc_tables, headline, pictures, results, sections
from kernelwright_report.project import Project

SPANS = [
    {"rank": 0, "what": "product", "step": 0, "begin_us": 10.0, "end_us": 60.0},
    {"rank": 0, "what": "copy", "step": 1, "begin_us": 12.0, "end_us": 30.0},
    {"rank": 1, "what": "product", "step": 0, "begin_us": 11.0, "end_us": 62.0},
    {"rank": 1, "what": "copy", "step": 1, "begin_us": 13.0, "end_us": 13.0},
]


def row(size, math="fp32_split", **changes):
    own = {
        "kernel": "kernelwright_split" if math == "fp32_split" else "kernelwright", "role": "production", "math": math,
        "timing": "alone", "gpus": 2, "grid": "2x1", "panel_k": 16384, "one_gpu_us": 1e-7 * size**3, "speedup": 1.9,
        "time_us": {"min": 1.0, "median": 1e-7 * size**3 / 1.9, "mean": 1.0, "max": 1.0, "iqr": 0.0, "repeats": 3},
        "gflops": 4e5, "products_us": 5e-8 * size**3, "transfers_us": 100.0, "predicted_us": 1e-7 * size**3 / 1.8,
        "predicted_speedup": 1.8, "vs_peer": None, "of_peak": None,
    }  # fmt: skip
    return {**sgemm_row("cublas", size), "peer": None, **own, **changes}


def rows(**changes):
    return [row(8192, **changes), row(16384, **changes), row(4096, "fp32", **changes)]


class Distributed(InFolder):
    def test_a_line_a_product_with_its_prediction(self):
        result = self.loaded(document(rows()))
        self.assertEqual(result.kind, "distributed")
        lines = [[cell.text for cell in line] for line in distributed.table(result).rows]
        self.assertEqual(lines[0][:3] + lines[0][5:6], ["8192", "fp32_split", "2 × 1", "1.90"])
        self.assertEqual(lines[0][-1], "+5.6 %")
        self.assertIn("0 of 3 are within 5 %, the farthest is +5.6 % off.", distributed.table(result).caption)
        near = self.loaded(document([*rows(), row(2048, predicted_us=1e-7 * 2048**3 / 1.9 * 0.98)]))
        self.assertIn("1 of 4 are within 5 %", distributed.table(near).caption)
        self.assertEqual(distributed.table(near).rows[-1][-1].text, "−2.0 %")
        with self.assertRaisesRegex(results.ResultError, "not of several devices"):
            distributed.table(self.loaded(ladder()))

    def test_the_page_has_table_and_headlines(self):
        result = self.loaded(document(rows()))
        self.assertIn("over several devices", sections.section(result, "two", self.folder, None, draw=False))
        said = {line.said.split(":")[0]: line.figure for line in headline.headlines(result, 4096)}
        self.assertEqual(said["one GPU on 2, fp32_split at 16384"], "1.90×")

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_the_plots_show_what_was_recorded(self):
        none = self.loaded(document(rows()))
        self.assertEqual([picture.name for picture in pictures.pictures(none)], ["speedups"])
        result = self.loaded(document([row(8192, timeline=SPANS), row(4096, timeline=SPANS[:2])]))
        self.assertEqual(distributed.with_timeline(result).m, 8192)
        drawn = {picture.name: pictures.render(picture)[0] for picture in pictures.pictures(result)}
        for name in ("measured", "predicted", "8192 fp32_split"):
            self.assertIn(name, drawn["speedups"])
        for name in ("products", "copies from other ranks", "rank 1"):
            self.assertIn(name, drawn["timeline"])
        self.assertNotIn("rank 2", drawn["timeline"])

    def test_documents(self):
        project = Project(Path("."), check=True)
        project.known["result", "file.json"] = self.loaded(document(rows()))
        self.assertIn("16384", doc_tables.table(project, Path("x.md"), ["file.json", "distributed"]))
        with self.assertRaisesRegex(results.ResultError, "plot 'timeline' is not among those of file.json: speedups"):
            doc_pictures.plot(project, Path("x.md"), ["file.json", "timeline"])


if __name__ == "__main__":
    unittest.main()
