"""The report: which result files it takes, which it refuses and how, and the tables that it makes of them."""

import csv
import io
import unittest

from report_support import SPEEDS, InFolder, document, ladder, reduce_row, reductions, sgemm_row, untimed

from kernelwright_report import results, tables, tables_errors, tables_reduce, text, theme
from kernelwright_report.reductions import length_near


class Loading(InFolder):
    def refused(self, data, pattern):
        with self.assertRaisesRegex(results.ResultError, pattern):
            self.loaded(data)

    def test_bad_files_are_named(self):
        with self.assertRaisesRegex(results.ResultError, "no such file.*--json"):
            results.load(self.folder / "absent.json")
        self.refused("{", "r.json: not JSON")
        self.refused("[]", "expected one object")
        self.refused({"schema": 2}, "schema 2, this report reads schema 1")
        self.refused(document([]), "no rows")
        self.refused(document([1]), "row 0: expected an object, found 1")
        self.refused({**ladder(), "device": {"kind": "cuda"}}, "device.name is missing")

    def test_bad_rows_are_named(self):
        row = sgemm_row("cublas", 512)
        self.refused(document([{name: row[name] for name in row if name != "kernel"}]), "row 0: 'kernel' is missing")
        self.refused(
            document([{**row, "gflops": "fast"}]), r"row 0 \(cublas\): 'gflops' is \"fast\", expected a number"
        )
        self.refused(document([{**row, "m": True}]), "'m' is true, expected a whole number")
        self.refused(document([{**row, "m": 1.5}]), "'m' is 1.5, expected a whole number")
        self.refused(document([{**row, "verified": 1}]), "'verified' is 1, expected true or false")
        self.refused(document([{**row, "role": "hero"}]), 'role "hero" is not one of rung')
        self.refused(document([{**row, "time_us": {"median": "1"}}]), "time_us.median")
        self.refused(document([{**row, "time_us": {"median": 0}}]), "expected more than 0")
        self.refused(document([{**row, "gflops": None}]), "a time but no 'gflops'")

    def test_an_unverified_row_has_no_time(self):
        self.refused(document([sgemm_row("cublas", 512, verified=False)]), "not verified, yet it has a time")

    def test_a_measurement_stands_once(self):
        row = sgemm_row("cublas", 512)
        self.refused(document([row, row]), r"rows 0 and 1 are the same measurement \(cublas at 512\)")
        self.assertEqual(len(self.loaded(document([row, {**row, "l2": "cold"}])).rows), 2)

    def test_operations_come_apart(self):
        row = sgemm_row("cublas", 512)
        found = results.load(self.write(document([row, {**row, "op": "scale_add"}])))
        self.assertEqual([(result.op, len(result.rows)) for result in found], [("sgemm", 1), ("scale_add", 1)])

    def test_a_reduction_must_say_what_it_is(self):
        for name in ("n", "dtype", "reduce_op", "shape"):
            self.refused(
                document([{**reduce_row("cub", 64), name: None}]), rf"\(cub\): it is a reduction but has no '{name}'"
            )
        self.refused(document([reduce_row("cub", 64, gbs=None)]), "a time but no 'gbs'")
        row = reduce_row("cub", 64)
        self.refused(document([row, row]), r"same measurement \(cub at sum of float32: 64\)")
        others = [{"dtype": "int8"}, {"reduce_op": "max"}, {"misalign": 1}, {"shape": "segments", "segments": 4}]
        self.assertEqual(len(self.loaded(document([row, *({**row, **other} for other in others)])).shapes), 5)

    def test_reductions_of_another_version(self):
        row = reduce_row("cub", 64, reduce_op="argmedian", dtype="float8")
        self.assertEqual(self.loaded(document([row])).shapes[0].label, "argmedian of float8: 64")
        self.refused(document([{**row, "shape": "segments"}]), r"\(cub\): a reduction of segments has no 'segments'")
        self.refused(document([{**row, "shape": "cube"}]), 'shape "cube" is not one of whole, rows')

    def test_numbers_that_no_plot_can_hold(self):
        row = sgemm_row("cublas", 512)
        for value, said in (
            (float("inf"), "Infinity, expected a finite"),
            (float("nan"), "NaN, expected a finite"),
            (-1, "-1, expected 0 or more"),
            (1e300, "at most 1e\\+18"),
            (10**400, "a number of 401 digits"),
        ):
            self.refused(document([{**row, "gflops": value}]), rf"row 0 \(cublas\): 'gflops' is .*{said}")
        self.refused({**ladder(), "interrupted": 1}, "'interrupted' is 1, expected true or false")
        self.refused({**ladder(), "command": [1]}, r"'command' is \[1\], expected a text")

    def test_order_is_the_ladder_then_the_library_then_the_vendor(self):
        data = ladder()
        data["rows"].reverse()
        self.assertEqual(self.loaded(data).kernels, ["r01_slow", "r02_better", "sgemm_own", "cublas"])

    def test_kinds(self):
        self.assertEqual(self.loaded(ladder()).kind, "bench")
        self.assertEqual(self.loaded(document(ladder()["rows"], kind="host-simt")).kind, "verify")
        rows = [untimed(sgemm_row("r01_slow", 64), True)]
        self.assertEqual(self.loaded(document(rows)).kind, "verify")
        accuracy = document(rows, command="kernelwright accuracy sgemm")
        self.assertEqual(self.loaded(accuracy).kind, "accuracy")

    def test_what_was_not_measured_is_said(self):
        data = ladder()
        data["rows"] = [row for row in data["rows"] if (row["kernel"], row["m"]) != ("r01_slow", 4096)]
        data["rows"] = [untimed(row, False) if row["kernel"] == "r02_better" else row for row in data["rows"]]
        self.assertEqual(
            self.loaded(data).notes(),
            ["r01_slow was not measured at 4096.", "r02_better failed verification at 512, 4096: no time."],
        )


class Writing(InFolder):
    def test_numbers(self):
        shown = [text.number(value) for value in (None, 0, 0.01234, 1, 12.345, 999.96, 51234.5)]
        thin = text.THIN
        self.assertEqual(shown, ["–", "0", "0.0123", "1.00", "12.3", "1" + thin + "000", "51" + thin + "234"])
        self.assertEqual(text.microseconds(4.3), f"4.30{thin}µs")
        self.assertEqual(text.microseconds(2682), f"2.68{thin}ms")
        self.assertEqual(text.microseconds(1.2e6), f"1.20{thin}s")

    def test_sweep_marks_the_best_of_each_size(self):
        data = ladder()
        for row in data["rows"]:
            if (row["kernel"], row["m"]) == ("r01_slow", 512):
                row["time_us"]["median"], row["gflops"] = 1.0, 268000.0
        table = tables.sweep(self.loaded(data))
        best = [(row[0].text, title) for row in table.rows for cell, title in zip(row, table.header) if cell.mark]
        self.assertEqual(best, [("r01 slow", "512"), ("cuBLAS", "4096")])

    def test_products_beside_the_vendors(self):
        library = {"path": "stream_64x128", "vs_peer": 1.25}
        timed = [sgemm_row("sgemm_own", 512, **library), sgemm_row("cublas", 512, peer=None, vs_peer=None)]
        data = document([*timed, untimed(sgemm_row("sgemm_own", 4096, **library), False)])
        table = tables.products(self.loaded(data))
        self.assertEqual(table.header[-1], "over cuBLAS")
        shown = [[cell.text for cell in row] for row in table.rows]
        self.assertEqual([(row[0], row[1], row[-1]) for row in shown], [("512", "stream_64x128", "1.25×")])

    def test_ladder_table(self):
        table = tables.ladder(self.loaded(ladder()), self.loaded(ladder()).shape_near(4096))
        cells = {row[0].text: [cell.text for cell in row[3:]] for row in table.rows}
        thin = text.THIN
        self.assertEqual(cells["r02 better"], ["4.00", f"50.0{thin}%", "4.00× r01", f"80.0{thin}%"])
        self.assertEqual(cells["cuBLAS"], ["5.00", f"62.5{thin}%", "–", "–"])

    def test_reduce_ladder_table(self):
        result = self.loaded(reductions())
        table = tables_reduce.ladder(result, length_near(result, None))
        self.assertTrue(table.caption.startswith("sum of float32: 2²²"), table.caption)
        cells = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
        thin = text.THIN
        self.assertEqual(cells["r01 tree"], ["100", f"±0.0{thin}%", "168", f"16.8{thin}%", "1.00×", "–"])
        self.assertEqual(cells["r02 better"], ["25.0", f"±0.0{thin}%", "671", f"67.1{thin}%", "4.00×", "4.00× r01"])
        self.assertEqual(cells["CUB"], ["22.0", f"±0.0{thin}%", "763", f"76.3{thin}%", "4.55×", "–"])
        self.assertEqual(length_near(result, 1024).n, 1024)
        self.assertEqual(length_near(result, 1000).n, 2**22)

    def test_the_step_before_is_the_one_that_the_ratio_fits(self):
        data = ladder()
        for row in data["rows"]:
            if row["kernel"] == "sgemm_own":
                row["vs_previous"] = 4.5  # over r01_slow, not over the row above
            if row["kernel"] == "cublas":
                row["vs_previous"] = 7.0  # over nothing that is here
        result = self.loaded(data)
        self.assertEqual(result.parents, {"r02_better": "r01_slow", "sgemm_own": "r01_slow"})
        table = tables.ladder(result, result.shape_near(4096))
        self.assertEqual([row[5].text for row in table.rows], ["–", "4.00× r01", "4.50× r01", "7.00×"])

    def test_a_step_with_a_bound_of_its_own_says_so(self):
        rows = [sgemm_row(kernel, 512) for kernel in ("r01_slow", "cublas")]
        wide = {"error": {"max": 34714.0, "bound": 131333.0}, "gflops": 9000.0, "time_us": {"median": 1.0}}
        result = self.loaded(document([*rows, sgemm_row("r02_better", 512, **wide)]))
        self.assertEqual(result.own_bounds, {"r02_better": (131333.0, 32.0)})
        shown = {row[0].text: [cell.text for cell in row[1:]] for row in tables_errors.largest(result).rows}
        thin = text.THIN
        self.assertEqual(
            shown["r02 better"],
            ["1 of 1", f"34{thin}714", f"131{thin}333", "its own: less exact, by design (others 32)"],
        )
        self.assertEqual(shown["cuBLAS"], ["1 of 1", "3.0", "32", ""])
        exact = [sgemm_row("r01_slow", 512), sgemm_row("sgemm_own", 512, error={"max": 0.0, "bound": 1.0})]
        exact.append(sgemm_row("cublas", 512))
        self.assertEqual(self.loaded(document(exact)).own_bounds, {}, "one that is more exact makes none less exact")
        sweep = tables.sweep(result)
        self.assertEqual([row[0].text for row in sweep.rows if row[1].mark == "best"], ["cuBLAS"])
        self.assertIn("r02 better is less exact", sweep.caption)

    def test_spread_is_half_the_interquartile_range(self):
        times = {"min": 9.9, "median": 10.0, "max": 14.0, "iqr": 3.0, "repeats": 5}
        result = self.loaded(document([sgemm_row("cublas", 512, time_us=times)]))
        row = result.rows[0]
        self.assertEqual(text.plus_minus(row.spread), f"±15{text.THIN}%")
        self.assertEqual((row.time_range.low, row.time_range.high), (0.99, 1.15))
        alone = self.loaded(document([sgemm_row("cublas", 512, time_us={**times, "repeats": 1})]))
        self.assertEqual(text.plus_minus(alone.rows[0].spread), text.NONE)

    def test_the_library_beside_the_vendor(self):
        table = tables.beside(self.loaded(ladder()))
        self.assertEqual(table.header, ["size", "sgemm own", "over cuBLAS", "cuBLAS"])
        thin = text.THIN
        self.assertEqual(
            [cell.text for cell in table.rows[0]], ["512", f"4.50 ±0.0{thin}%", "0.90×", f"5.00 ±0.0{thin}%"]
        )

    def test_steps_are_shown_where_most_kernels_are(self):
        rows = [sgemm_row(kernel, size) for size in (128, 512) for kernel in SPEEDS]
        result = self.loaded(document([*rows, sgemm_row("cublas", 1536), sgemm_row("sgemm_own", 1536)]))
        self.assertEqual(result.shape_near(4096).label, "512")

    def test_short_names_are_of_one_kernel(self):
        names = ["r07_conflict_free", "amd_03_1_fragments", "amd_03_thread_tile", "async_tile", "cublas"]
        rows = [{**sgemm_row("cublas", 64), "kernel": name} for name in names]
        result = self.loaded(document(rows))
        shown = ["r07", "amd_03_1", "amd_03_thread", "async_tile", "cublas"]
        self.assertEqual([result.short_name(name) for name in names], shown)

    def test_reductions_beside_their_peer(self):
        table = tables_reduce.by_length(self.loaded(reductions()))
        self.assertEqual(table.header[:6], ["n", "kernel", "µs", "±", "CUB, µs", "over CUB"])
        shown = [[cell.text for cell in row[:6]] for row in table.rows]
        self.assertEqual(shown[0], ["2¹⁰", "reduce own", "20.0", f"±0.0{text.THIN}%", "22.0", "1.10×"])
        self.assertEqual([row[0] for row in shown], ["2¹⁰", "2¹²", "2²²"])

    def test_reductions_without_a_peer(self):
        rows = [
            reduce_row("reduce_own", 1000, dtype="int8", misalign=1),
            reduce_row("reduce_own", 6144, shape="rows", rows=64, cols=96, ld=100),
            reduce_row("reduce_own", 6144, shape="segments", segments=1000, lengths="one_to_32"),
        ]
        table = tables_reduce.types(self.loaded(document(rows)))
        thin = text.THIN
        self.assertEqual(
            [[cell.text for cell in row[:3]] for row in table.rows],
            [["sum", "float32", "rows of 64×96 in 100"],
             ["sum", "float32", f"1{thin}000 segments, one to 32"],
             ["sum", "int8", f"1{thin}000, 1 past"]],
        )  # fmt: skip
        self.assertEqual([row[6].text for row in table.rows], ["–"] * 3)

    def test_chosen_size_falls_back_to_the_largest(self):
        result = self.loaded(ladder((128, 256)))
        self.assertEqual(result.shape_near(4096).label, "256")
        self.assertEqual(result.shape_near(128).label, "128")

    def test_verified_table_shows_failures(self):
        rows = [untimed(sgemm_row("r01_slow", size), size != 33) for size in (32, 33)]
        table = tables_errors.verified(self.loaded(document(rows, kind="host-simt")))
        self.assertEqual([cell.text for cell in table.rows[0]], ["r01 slow", "1 of 2", "3.0", "✗ 3.0"])

    def test_csv_has_every_field_of_every_row(self):
        lines = list(csv.DictReader(io.StringIO(tables.rows_csv(self.loaded(ladder())))))
        self.assertEqual(len(lines), 8)
        self.assertEqual(lines[0]["time_us.repeats"], "3")
        self.assertEqual(lines[0]["launch.block"], "256x1x1")

    def test_html_is_escaped(self):
        table = tables.Table("<caption>", ["a<b"], [[tables.Cell("<script>")]])
        self.assertNotRegex(tables.to_html(table), "<script>|<caption><|a<b")

    def test_no_colour_is_used_twice(self):
        light = [colour for _, colour, _ in theme.exchanges()]
        self.assertEqual(len(light), len(set(light)))


if __name__ == "__main__":
    unittest.main()
