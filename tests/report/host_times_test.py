"""Files of the host's times in the report: the page, the documents' table, what they refuse."""

import unittest
from pathlib import Path

from report_support import InFolder, document, ladder, sgemm_row

from kernelwright_report import doc_tables, host_times, pictures, results, sections, tables
from kernelwright_report.project import Project


def host_row(kernel, size, us, **changes):
    row = sgemm_row("cublas" if kernel == "cublas" else "sgemm_own", size)
    time = {"min": us, "median": us, "mean": us, "max": us, "iqr": 0.2, "repeats": 9}
    none = dict.fromkeys(("gflops", "gbs", "of_peak"))
    return {**row, "kernel": kernel, "timing": "enqueue", "time_us": time, **none, **changes}


def host_rows():
    return [
        host_row("kernelwright", 64, 3.5, path="small_64x64"), host_row("kernelwright_split", 64, 3.6, path="small_64x64"),
        host_row("cublas", 64, 7.5), host_row("kernelwright", 2048, 4.0, path="stream_128x256"),
        host_row("kernelwright_split", 2048, 13.0, path="hopper_fp16x3"), host_row("cublas", 2048, 3.9),
    ]  # fmt: skip


class HostTimes(InFolder):
    def test_a_line_a_size_with_the_least_marked(self):
        result = self.loaded(document(host_rows()))
        self.assertEqual(result.kind, "host")
        table = host_times.table(result)
        self.assertEqual(table.header, ["m × n × k", "computed by", "kernelwright", "kernelwright split", "cuBLAS"])
        lines = [[cell.text for cell in row] for row in table.rows]
        self.assertEqual([line[:2] for line in lines], [["64", "small_64x64"], ["2048", "stream_128x256, hopper_fp16x3"]])
        self.assertTrue(lines[1][3].startswith("13.0\u202fµs ±"), lines[1])
        self.assertEqual([[cell.mark for cell in row[2:]] for row in table.rows], [["best", "", ""], ["", "", "best"]])

    def test_a_kernel_that_was_not_measured_at_a_size(self):
        table = host_times.table(self.loaded(document(host_rows()[:-1])))
        self.assertEqual(table.rows[1][4].text, "–")

    def test_the_page_has_the_table_and_no_plot(self):
        result = self.loaded(document(host_rows()))
        self.assertEqual(pictures.pictures(result), [])
        page = sections.section(result, "host-time", self.folder, None, draw=True)
        self.assertIn("the host&#x27;s time of a call", page)
        self.assertIn("13.0\u202fµs", page)

    def test_a_time_of_the_device_still_needs_its_rate(self):
        with self.assertRaisesRegex(results.ResultError, "it has a time but no 'gflops'"):
            self.loaded(document([host_row("cublas", 64, 7.5, timing="graph")]))

    def test_tables_of_documents_are_of_their_kind(self):
        project = Project(Path("."), check=True)
        for data, kind in ((host_rows(), "sweep"), (ladder(), "host-time")):
            result = self.loaded(document(data) if isinstance(data, list) else data)
            project.known["result", "file.json"] = result
            with self.assertRaisesRegex(results.ResultError, f"table '{kind}' does not show file.json"):
                doc_tables.table(project, Path("x.md"), ["file.json", kind])
        project.known["result", "file.json"] = self.loaded(document(host_rows()))
        self.assertIn("13.0\u202fµs", doc_tables.table(project, Path("x.md"), ["file.json", "host-time"]))
        self.assertIn("kernelwright", tables.rows_csv(project.known["result", "file.json"]))


if __name__ == "__main__":
    unittest.main()
