"""Row-wise operations in the report: shares of two copies, PyTorch's times from another process."""

import unittest

from report_support import InFolder, document

from kernelwright_report import rowwise

MIB = 1 << 20


def drawn_row(kernel, rows, cols, us, **changes):
    """Of float32; a copy of 4 GiB has 4000 GB/s."""
    gbs = 8e-3 * rows * cols / us
    row = {
        "op": "softmax", "kernel": kernel, "role": "production" if kernel == "kernelwright" else "peer", "n": rows * cols,
        "dtype": "float32", "rows": rows, "cols": cols, "ld": cols, "misalign": 0, "in_place": False, "residual": False,
        "math": "fp32", "path": kernel, "input": "uniform", "l2": "cold", "timing": "graph", "launch": None,
        "time_us": {"min": us, "median": us, "mean": us, "max": us, "iqr": 0.0, "repeats": 3}, "gflops": None, "gbs": gbs,
        "of_peak": gbs / 4000, "peer": None, "vs_peer": None, "vs_previous": None, "sm_clock_mhz": None, "power_w": None,
        "error": {"max": 0.5, "rms": 0.5, "mean_signed": 0.0, "bound": 8.0}, "c_first": 0.0, "c_last": 0.0, "verified": True,
    }  # fmt: skip
    return {**row, **changes}


def us_of(rows, cols, share):
    return 8e-3 * rows * cols / 4000 / share


def rows():
    short, long = (1 << 16, 256), (12, 2 << 20)  # 128 MiB of rows of 1 KiB, 192 MiB of rows of 8 MiB
    return [
        drawn_row("kernelwright", *short, us_of(*short, 0.8)), drawn_row("copy", *short, us_of(*short, 0.9)),
        drawn_row("pytorch", *short, 90.0, beside_us=60.0),
        drawn_row("kernelwright", *long, us_of(*long, 0.7)), drawn_row("copy", *long, us_of(*long, 0.98)),
        drawn_row("kernelwright", 1024, 1024, us_of(1024, 1024, 0.2)),  # too small for a bar
    ]  # fmt: skip


def texts(table):
    return [[cell.text.replace("\u202f", " ") for cell in line] for line in table.rows]


class RowwiseRows(InFolder):
    def measured(self):
        return rowwise.measured(self.loaded(document(rows())))

    def test_each_call_has_the_copy_of_its_rows_and_its_bar(self):
        short, long, small = self.measured()
        self.assertAlmostEqual(short.of_copy, 0.8 / 0.9)
        self.assertAlmostEqual(short.ratio, 1.5)
        self.assertEqual((short.bar, long.bar), (0.85, 0.60))
        self.assertEqual((long.ratio, small.of_copy), (None, None))

    def test_the_summary_counts_by_both_copies(self):
        table = rowwise.summary_table(self.loaded(document(rows())))
        short, long, everything = texts(table)
        self.assertEqual(short[:10], ["softmax", "rows up to 4 MiB", "1", "85.0 %", "80.0 %", "80.0 %", "1", "88.9 %", "88.9 %", "0"])
        self.assertEqual(long[4:10], ["70.0 %", "70.0 %", "0", "71.4 %", "71.4 %", "0"])
        self.assertEqual((everything[0], everything[2], everything[6], everything[9]), ("all", "2", "1", "0"))

    def test_files_without_copies_have_the_other_share_alone(self):
        alone = [row for row in rows() if row["kernel"] != "copy"]
        for line in texts(rowwise.summary_table(self.loaded(document(alone)))):
            self.assertEqual(line[7:10], ["–", "–", "–"])

    def test_a_line_a_call(self):
        short, long, small = texts(rowwise.table(self.loaded(document(rows()))))
        self.assertEqual(short[7:], ["80.0 %", "88.9 %", "1.50×"])
        self.assertEqual(small[8:], ["–", "–"])


if __name__ == "__main__":
    unittest.main()
