"""The report: what it accepts, what it refuses and how, and that the documents' tables are kept."""

import contextlib
import csv
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "report"))

from kernelwright_report import counters, docs, pictures, results, tables, tables_reduce, text, theme  # noqa: E402
from kernelwright_report.__main__ import main  # noqa: E402
from kernelwright_report.reductions import length_near  # noqa: E402

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
if os.environ.get("CI") == "true" and not HAVE_MATPLOTLIB:
    sys.exit("matplotlib is missing; in CI that is a failure: ./dev setup installs it")

SPEEDS = {"r01_slow": 1000.0, "r02_better": 4000.0, "sgemm_own": 4500.0, "cublas": 5000.0}  # GFLOP/s
ROLES = {"sgemm_own": "production", "cublas": "peer"}


def sgemm_row(kernel, size, **changes):
    gflops = SPEEDS[kernel]
    time_us = 2.0 * size**3 / gflops / 1e3
    row = {
        "op": "sgemm", "kernel": kernel, "role": ROLES.get(kernel, "rung"), "m": size, "n": size, "k": size,
        "op_a": "N", "op_b": "N", "lda": size, "ldb": size, "ldc": size, "alpha": 1.0, "beta": 0.0, "batch": 1,
        "layout": "row_major", "math": "fp32", "path": kernel, "input": "uniform", "l2": "hot", "timing": "events",
        "launch": {"grid": [1, 1, 1], "block": [256, 1, 1], "shared_bytes": 0},
        "time_us": {"min": time_us, "median": time_us, "mean": time_us, "max": time_us, "iqr": 0.0, "repeats": 3},
        "gflops": gflops, "gbs": 1.0, "of_peak": gflops / 8000, "peer": "cublas", "vs_peer": gflops / 5000,
        "vs_previous": 4.0 if kernel == "r02_better" else None, "sm_clock_mhz": None, "power_w": None,
        "error": {"max": 3.0, "rms": 0.5, "mean_signed": 0.0, "bound": 32.0}, "c_first": 0.0, "c_last": 0.0,
        "verified": True,
    }  # fmt: skip
    return {**row, **changes}


def untimed(row, verified):
    return {**row, "time_us": None, "gflops": None, "of_peak": None, "vs_peer": None, "verified": verified}


def document(rows, command="kernelwright bench sgemm", kind="cuda", **changes):
    device = {"name": "Test device", "kind": kind, "sm_count": 4, "measured_fp32_tflops": 8.0}
    device["measured_read_gbs"] = 1000.0
    software = {"kernelwright": "0.1.0", "driver": "1.2"}
    return {"schema": 1, "command": command, "device": device, "software": software, "rows": rows, **changes}


REDUCE_TIMES = {"r01_tree": 100.0, "r02_better": 25.0, "reduce_own": 20.0, "cub": 22.0}  # us, at any n
REDUCE_ROLES = {"reduce_own": "production", "cub": "peer"}


def reduce_row(kernel, n, **changes):
    time_us = REDUCE_TIMES[kernel]
    row = {
        "op": "reduce", "kernel": kernel, "role": REDUCE_ROLES.get(kernel, "rung"), "n": n, "dtype": "float32",
        "reduce_op": "sum", "shape": "whole", "rows": None, "cols": None, "ld": None, "segments": None,
        "lengths": None, "misalign": 0, "correction": None, "math": "fp32", "path": kernel, "input": "uniform",
        "l2": "cold", "timing": "graph", "launch": None,
        "time_us": {"min": time_us, "median": time_us, "mean": time_us, "max": time_us, "iqr": 0.0, "repeats": 3},
        "gflops": None, "gbs": 4e-3 * n / time_us, "of_peak": 4e-3 * n / time_us / 1000, "peer": "cub",
        "vs_peer": REDUCE_TIMES["cub"] / time_us, "vs_previous": 4.0 if kernel == "r02_better" else None,
        "sm_clock_mhz": None, "power_w": None,
        "error": {"max": 0.5, "rms": 0.5, "mean_signed": 0.0, "bound": 1.0}, "c_first": 0.0, "c_last": 0.0,
        "verified": True,
    }  # fmt: skip
    return {**row, **changes}


def reductions(lengths=(1024, 4096, 2**22)):
    rows = [reduce_row(kernel, n) for n in lengths for kernel in REDUCE_TIMES]
    return document(rows, command="kernelwright bench reduce --l2 cold")


def ladder(sizes=(512, 4096)):
    return document([sgemm_row(kernel, size) for size in sizes for kernel in SPEEDS])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, data, name="r.json"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return path

    def loaded(self, data):
        (result,) = results.load(self.write(data))
        return result

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()


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
        self.refused(document([{**row, "gflops": "fast"}]), r"row 0 \(cublas\): 'gflops' is \"fast\", expected a number")
        self.refused(document([{**row, "m": True}]), "'m' is true, expected a whole number")
        self.refused(document([{**row, "m": 1.5}]), "'m' is 1.5, expected a whole number")
        self.refused(document([{**row, "verified": 1}]), "'verified' is 1, expected true or false")
        self.refused(document([{**row, "role": "hero"}]), "role 'hero' is not one of rung")
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
            self.refused(document([{**reduce_row("cub", 64), name: None}]), rf"\(cub\): it is a reduction but has no '{name}'")
        self.refused(document([reduce_row("cub", 64, gbs=None)]), "a time but no 'gbs'")
        row = reduce_row("cub", 64)
        self.refused(document([row, row]), r"same measurement \(cub at sum of float32: 64\)")
        others = [{"dtype": "int8"}, {"reduce_op": "max"}, {"misalign": 1}, {"shape": "segments", "segments": 4}]
        self.assertEqual(len(self.loaded(document([row, *({**row, **other} for other in others)])).shapes), 5)

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
            self.loaded(data).not_timed(),
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

    def test_ladder_table(self):
        table = tables.ladder(self.loaded(ladder()), self.loaded(ladder()).shape_near(4096))
        cells = {row[0].text: [cell.text for cell in row[2:]] for row in table.rows}
        thin = text.THIN
        self.assertEqual(cells["r02 better"], ["4.00", f"50.0{thin}%", "4.00×", f"80.0{thin}%"])
        self.assertEqual(cells["cuBLAS"], ["5.00", f"62.5{thin}%", "–", "–"])

    def test_reduce_ladder_table(self):
        result = self.loaded(reductions())
        table = tables_reduce.ladder(result, length_near(result, None))
        self.assertTrue(table.caption.startswith("sum of float32: 2²²"), table.caption)
        cells = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
        thin = text.THIN
        self.assertEqual(cells["r01 tree"], ["100", "168", f"16.8{thin}%", "1.00×", "–"])
        self.assertEqual(cells["r02 better"], ["25.0", "671", f"67.1{thin}%", "4.00×", "4.00×"])
        self.assertEqual(cells["CUB"], ["22.0", "763", f"76.3{thin}%", "4.55×", "–"])
        self.assertEqual(length_near(result, 1024).n, 1024)
        self.assertEqual(length_near(result, 1000).n, 2**22)

    def test_reductions_beside_their_peer(self):
        table = tables_reduce.by_length(self.loaded(reductions()))
        self.assertEqual(table.header[:5], ["n", "kernel", "µs", "CUB, µs", "over CUB"])
        shown = [[cell.text for cell in row[:5]] for row in table.rows]
        self.assertEqual(shown[0], ["2¹⁰", "reduce own", "20.0", "22.0", "1.10×"])
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
        self.assertEqual([row[5].text for row in table.rows], ["–"] * 3)

    def test_chosen_size_falls_back_to_the_largest(self):
        result = self.loaded(ladder((128, 256)))
        self.assertEqual(result.shape_near(4096).label, "256")
        self.assertEqual(result.shape_near(128).label, "128")

    def test_verified_table_shows_failures(self):
        rows = [untimed(sgemm_row("r01_slow", size), size != 33) for size in (32, 33)]
        table = tables.verified(self.loaded(document(rows, kind="host-simt")))
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


class Documents(InFolder):
    def setUp(self):
        super().setUp()
        self.write(ladder(), "results/dev/sgemm.json")
        self.write('      rung("r01_slow", nullptr, r01_slow, "the first idea"),\n', "ladder/sgemm/rungs.cu")
        self.write("// kernel\n", "ladder/sgemm/r01_slow.cu")

    def fill(self, mark, name="README.md"):
        self.write(f"before\n<!-- {mark} -->\nold\n<!-- end -->\nafter\n", name)
        return self.run_main("docs", "--root", self.folder)

    def test_tables_are_filled_and_then_fresh(self):
        code, out, _ = self.fill("table: results/dev/sgemm.json ladder 4096", "ladder/sgemm/README.md")
        self.assertEqual((code, out), (0, "written: ladder/sgemm/README.md\n"))
        page = (self.folder / "ladder/sgemm/README.md").read_text()
        self.assertRegex(page, r"\| \[r01_slow\]\(r01_slow.cu\) \| the first idea \|")
        self.assertRegex(page, r"(?s)^before\n<!-- table.*<!-- end -->\nafter\n$")
        self.assertNotIn("old", page)
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder)[:2], (0, ""))

    def test_a_stale_table_fails_the_check_and_is_left_alone(self):
        self.fill("table: results/dev/sgemm.json sweep")
        self.write(ladder((512, 8192)), "results/dev/sgemm.json")
        before = (self.folder / "README.md").read_text()
        code, out, err = self.run_main("docs", "--check", "--root", self.folder)
        self.assertEqual((code, out), (1, "stale: README.md\n"))
        self.assertIn("./dev docs", err)
        self.assertEqual((self.folder / "README.md").read_text(), before)

    def test_machine_line(self):
        self.fill("machine: results/dev/sgemm.json")
        page = (self.folder / "README.md").read_text()
        self.assertRegex(page, "Measured on Test device; 4 multiprocessors; .*driver 1.2; .*L2 hot")
        self.assertIn("`kernelwright bench sgemm`", page)

    def test_a_rung_in_one_line(self):
        self.write("<!-- machine: results/dev/sgemm.json -->\n<!-- end -->\n<!-- rung: r02_better -->\n<!-- end -->\n",
                   "README.md")  # fmt: skip
        self.assertEqual(self.run_main("docs", "--root", self.folder)[0], 0)
        shown = (self.folder / "README.md").read_text().splitlines()[-2].replace(text.THIN, " ")
        self.assertEqual(shown, "**4.00 TFLOP/s** at 4096; at 4096 4.00× its parent, 50.0 % of peak, 80.0 % of cuBLAS.")

    def test_marks_of_reductions(self):
        self.write(reductions(), "results/dev/reduce.json")
        self.write('rung("r00_cpu_loop", nullptr, x, "of a product"),\nrung("r01_tree", nullptr, y, "no"),\n',
                   "ladder/sgemm/rungs.cu")  # fmt: skip
        self.write('rung("r01_tree", nullptr, r01_tree, "a tree"),\n', "ladder/reduce/rungs.cu")
        self.write("// kernel\n", "ladder/sgemm/r01_tree.cu")
        self.write("// kernel\n", "ladder/reduce/r01_tree.cu")
        marks = ["table: results/dev/reduce.json reduce ladder 4096", "table: results/dev/reduce.json reduce vs-cub",
                 "table: results/dev/reduce.json reduce shapes", "table: results/dev/reduce.json reduce types",
                 "machine: results/dev/reduce.json", "rung: r02_better", "rung: r01_tree 1024"]  # fmt: skip
        self.write("".join(f"<!-- {mark} -->\n<!-- end -->\n" for mark in marks), "ladder/reduce/README.md")
        self.assertEqual(self.run_main("docs", "--root", self.folder)[0], 0)
        page = (self.folder / "ladder/reduce/README.md").read_text().replace(text.THIN, " ")
        self.assertIn("| [r01_tree](r01_tree.cu) | a tree | 100 | 0.164 | 0.0 % | 1.00× | – |", page)
        self.assertIn("**25.0 µs, 671 GB/s** at 2²²; 67.1 % of read bandwidth, 4.00× its parent, 4.00× the first rung.", page)
        self.assertIn("**100 µs, 0.0410 GB/s** at 2¹⁰", page)
        code, _, err = self.fill("table: results/dev/reduce.json ladder")
        self.assertEqual(code, 2)
        self.assertIn("'ladder' is of sgemm, but results/dev/reduce.json holds reduce", err)

    def test_a_table_of_counters(self):
        def line(launch, function, metric, value):
            return f'"{launch}","{function}","{metric}","{value}"\n'

        fma, all_of_them = "smsp__inst_executed_pipe_fma.sum", "smsp__inst_executed.sum"
        issue = "smsp__issue_active.avg.pct_of_peak_sustained_active"
        slow, vendor = "void unnamed>::slow_tile<0>(Sgemm)", "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128>(T1)"
        self.write(
            "==PROF== Connected\n" + '"ID","Kernel Name","Metric Name","Metric Value"\n'
            + line(0, slow, fma, "1,500") + line(0, slow, all_of_them, "2,000") + line(0, slow, issue, "12.5")
            + line(1, "fill_kernel(float*)", issue, "99") + line(2, slow, issue, "77") + line(3, vendor, issue, "90"),
            "results/dev/counters.csv",
        )  # fmt: skip
        self.fill("table: results/dev/counters.csv counters")
        page = (self.folder / "README.md").read_text().replace(text.THIN, " ")
        self.assertIn("| [r01_slow](ladder/sgemm/r01_slow.cu) | 12.5 % | 75.0 % |\n", page)  # the first launch
        self.assertRegex(page, r"\| \S*cublas\S* \| 90.0 % \| – \|\n")
        self.assertIn("| kernel | issue | FFMA |\n", page)  # no column without a value
        self.assertNotIn("99.0", page)

    def test_kernels_by_the_names_that_ncu_gives_them(self):
        names = ["r01_naive_coalesced", "r09_fake_double_buffer", "r10_double_buffer", "async_tile"]
        for function, kernel in (
            ("unnamed>::naive_coalesced(Sgemm)", "r01_naive_coalesced"),
            ("void kw::<unnamed>::double_buffer<0>(kw::Sgemm)", "r10_double_buffer"),
            ("void kw::on_cuda::(anonymous namespace)::async_tile<(kw::Op)0, (kw::Op)1>(kw::Sgemm)", "async_tile"),
            ("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)", "cublas"),
            ("void cub::CUB_300001_SM_900::detail::reduce::DeviceReduceSingleTileKernel<policy>(float *)", "cub"),
            ("void cub::DeviceSegmentedReduceKernel<cub::policy, float *>(float *)", "cub"),
            ("void kw::<unnamed>::fill<1>(kw::Sgemm)", None),
        ):
            self.assertEqual(counters.kernel_of(function, names), kernel)

    def test_a_file_without_counters(self):
        self.write("no launches were profiled\n", "results/dev/counters.csv")
        code, _, err = self.fill("table: results/dev/counters.csv counters")
        self.assertEqual(code, 2)
        self.assertIn("no counters in it", err)

    def test_spread(self):
        self.fill("table: results/dev/sgemm.json spread 512")
        self.assertRegex((self.folder / "README.md").read_text(), r"cublas.*\| 1.00× \| 3 \|")

    def test_errors_name_the_document_and_the_mark(self):
        for mark, pattern in (
            ("table: results/dev/none.json sweep", "none.json: no such file.*kernelwright bench"),
            ("table: results/dev/sgemm.json pie", "table 'pie' is unknown; there are: ladder"),
            ("table: results/dev/sgemm.json ladder big", "size must be a whole number"),
            ("table: results/dev/sgemm.json reduce shapes", "'reduce shapes' is of reduce, but .* holds sgemm"),
            ("table: results/dev/sgemm.json reduce", "table 'reduce' is unknown"),
            ("plot: results/dev/sgemm.json pie", "plot 'pie' is not among those .*by-size"),
        ):
            code, _, err = self.fill(mark)
            self.assertEqual(code, 2)
            self.assertRegex(err, rf"README.md: <!-- {mark} -->: .*{pattern}")

    def test_an_empty_mark_may_wait_for_its_file(self):
        self.write("<!-- table: results/dev/none.json sweep -->\n<!-- end -->\n", "README.md")
        code, out, _ = self.run_main("docs", "--check", "--root", self.folder)
        self.assertEqual(code, 0)
        self.assertRegex(out, "^empty: README.md: results/dev/none.json: no such file")

    def test_an_unclosed_mark_is_an_error(self):
        self.write("<!-- table: results/dev/sgemm.json sweep -->\n", "README.md")
        code, _, err = self.run_main("docs", "--root", self.folder)
        self.assertEqual(code, 2)
        self.assertIn("without its <!-- end -->", err)

    def test_without_marks_nothing_changes(self):
        self.write("no marks\n", "README.md")
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder), (0, "", ""))

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_pictures_follow_their_data(self):
        self.fill("plot: results/dev/sgemm.json steps")
        light, dark = (self.folder / f"docs/img/dev-sgemm-steps{end}.svg" for end in ("", "-dark"))
        first = light.read_text()
        self.assertNotEqual(first, dark.read_text())
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder)[0], 0)
        light.unlink()
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder)[0], 1)
        self.run_main("docs", "--root", self.folder)
        self.assertEqual(light.read_text(), first, "the same data must draw the same picture")
        self.write(ladder((512, 8192)), "results/dev/sgemm.json")
        self.assertEqual(self.run_main("docs", "--check", "--root", self.folder)[0], 1)


@unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
class Page(InFolder):
    def test_every_kind_of_file_on_one_page(self):
        scale_rows = [
            sgemm_row("sgemm_own", size, op="scale_add", k=None, gbs=900.0) for size in (64, 128)
        ]
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

    def test_sizes_that_are_not_square(self):
        rows = [sgemm_row(kernel, 64, n=96, op_a="T") for kernel in SPEEDS]
        result = self.loaded(document(rows))
        self.assertEqual(result.shapes[0].label, "64×96×64 TN")
        names = [picture.name for picture in pictures.pictures(result)]
        self.assertEqual(names, ["by-size", "of-peak", "steps"])
        for picture in pictures.pictures(result):
            pictures.render(picture)


class Committed(unittest.TestCase):
    """What lies in results/ must be readable by this version."""

    def test_every_result_file_loads(self):
        for path in sorted((ROOT / "results").glob("**/*.json")):
            with self.subTest(path=path.name):
                results.load(path)

    def test_every_rung_has_its_idea(self):
        for op in ("sgemm", "reduce"):
            found = docs.Project(ROOT, True).ideas(op)
            files = {path.stem for path in (ROOT / "ladder" / op).glob("r[0-9][0-9]_*.c*")}
            self.assertEqual(files - set(found), set())


if __name__ == "__main__":
    unittest.main()
