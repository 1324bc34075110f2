"""The documents' figures: values in sentences are filled in, and what nobody fills in or marks is refused."""

import re
import unittest

from report_support import ROOT, InFolder, document, ladder, reductions, sgemm_row

from kernelwright_report import check, docs, marks, text, values
from kernelwright_report.project import Project
from kernelwright_report.results import ResultError


class Values(InFolder):
    def setUp(self):
        super().setUp()
        self.write(ladder((512, 4096)), "results/h200/sgemm.json")
        self.write(reductions(), "results/h200/reduce.json")
        self.write("kernel,vgprs,note\namd_01_naive,14,-\namd_02_tile,28,-\n", "results/gfx908/isa.csv")
        self.write(
            "# first\nj 1x8192x8192   64.91 0.999\n# second\nj 1x8192x8192 66.00 1,001\n", "results/h200/tried.txt"
        )
        self.project = Project(self.folder, True)

    def value(self, arguments):
        return values.value(self.project, arguments).replace(text.THIN, " ")

    def test_what_a_row_has(self):
        for arguments, shown in (
            ("sgemm time(r01, 4096)", "137 ms"),
            ("sgemm time(r01, 4096) as ms .1", "137.4 ms"),
            ("sgemm time(r01, 512) as µs bare", "268"),
            ("sgemm gflops(sgemm_own, 4096)", "4.50 TFLOP/s"),
            ("sgemm gflops(sgemm_own, 4096) as GFLOP/s", "4 500 GFLOP/s"),
            ("sgemm of_peak(r01, 4096)", "12.5 %"),
            ("sgemm vs_peer(r02, 4096)", "0.80×"),
            ("sgemm vs_peer(r02, 4096) as %", "80.0 %"),
            ("sgemm error(r02, 4096)", "3.0"),
            ("sgemm field(vs_previous, r02, 4096) as × .1", "4.0×"),
            ("sgemm time(r01, 4096, input=uniform, l2=hot)", "137 ms"),
            ("sgemm peak()", "8.00 TFLOP/s"),
            ("sgemm sms()", "4"),
            ("sgemm says(name)", "Test device"),
            ("sgemm says(kernelwright)", "0.1.0"),
            ("sgemm block(r01, 512)", "256"),
            ("results/h200/sgemm.json vs_peer(r02, 4096)", "0.80×"),
            ("reduce gbs(reduce_own, 2^22)", "839 GB/s"),
            ("reduce time(reduce_own, 4096)", "20.0 µs"),
        ):
            self.assertEqual(self.value(arguments), shown, arguments)

    def test_what_two_rows_are_to_each_other(self):
        for arguments, shown in (
            ("sgemm ratio(r02, r01, 4096)", "4.00×"),
            ("sgemm gain(sgemm_own, r02, 4096)", "+12.5 %"),
            ("sgemm gain(r02, cublas, 4096)", "−20.0 %"),
            ("sgemm change(cublas, r02, 4096)", "−20.0 %"),
            ("sgemm time(r01, 4096) / time(r02, 4096)", "4.00×"),
            ("sgemm (1 - time(cublas, 4096) / time(r02, 4096)) as %", "20.0 %"),
            ("sgemm gflops(r02, 512) - gflops(r01, 512)", "3.00 TFLOP/s"),
        ):
            self.assertEqual(self.value(arguments), shown, arguments)

    def test_over_a_sweep(self):
        self.write(document([sgemm_row("r01_slow", 128, gflops=500.0), sgemm_row("r01_slow", 256), sgemm_row("r01_slow", 512)]),
                   "results/h200/sweep.json")  # fmt: skip
        for arguments, shown in (
            ("sweep range(gflops(r01)) as TFLOP/s 2", "0.50 to 1.0 TFLOP/s"),
            ("sweep range(gflops(r01, 256..512))", "1.00 TFLOP/s"),
            ("sweep min(gflops(r01)) as GFLOP/s", "500 GFLOP/s"),
            ("sweep max(time(r01))", "268 µs"),
            ("sweep count(time(r01))", "3"),
            ("sweep mean(gflops(r01, 128..256)) as bare", "0.750"),
            ("sweep place_of_min(gflops(r01))", "128"),
            ("sweep place_of_max(time(r01))", "512"),
        ):
            self.assertEqual(self.value(arguments), shown, arguments)

    def test_tables_and_logs(self):
        for arguments, shown in (
            ("gfx908/isa cell(amd_02, vgprs)", "28"),
            ('gfx908/isa cell("-", 14, vgprs)', "14"),
            ('tried log("j 1x8192x8192 #") as µs', "64.9 µs"),
            ('tried log("# second", "j 1x8192x8192 #") as µs', "66.0 µs"),
            ('tried log("# second", "66.00 #") as bare', "1 001"),
            ('tried log("j 1x8192x8192 * #") as bare', "1.00"),
            ("tried distinct(2)", "1"),
            ('tried (log("j 1x8192x8192 #") / log("# second", "j 1x8192x8192 #") - 1) as +%', "−1.7 %"),
            ('tried log("j 1x8192x8192 #") / log("# second", "j 1x8192x8192 #")', "0.98×"),
        ):
            self.assertEqual(self.value(arguments), shown, arguments)

    def test_counters(self):
        def line(launch, function, metric, value):
            return f'"{launch}","{function}","{metric}","{value}"\n'

        issue, reads = "smsp__issue_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed_op_shared_ld.sum"
        passes = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
        warps = "sm__warps_active.avg.pct_of_peak_sustained_active"
        self.write('rung("r01_slow", nullptr, r01_slow, "slow"),\n', "ladder/sgemm/rungs.cu")
        self.write(
            '"ID","Kernel Name","Metric Name","Metric Value"\n'
            + line(0, "slow<0>(Sgemm)", issue, "12.5") + line(0, "slow<0>(Sgemm)", reads, "2,000,000")
            + line(0, "slow<0>(Sgemm)", passes, "8,000,000") + line(1, "two<Plain, 0>(Sgemm)", issue, "40")
            + line(2, "two<Padded, 0>(Sgemm)", issue, "50") + line(2, "two<Padded, 0>(Sgemm)", warps, "34.04") + line(3, "slow<0>(Sgemm)", issue, "99"),
            "results/h200/sgemm-counters.csv",
        )  # fmt: skip
        for arguments, shown in (
            ("sgemm-counters issue(r01)", "12.5 %"),
            ("sgemm-counters wavefronts(r01)", "4.00"),
            ("sgemm-counters reads(r01)", "8.00"),
            ('sgemm-counters issue("<Plain, 0>")', "40.0 %"),
            ("sgemm-counters issue(3)", "99.0 %"),
            ("sgemm-counters occupancy(Padded)", "34.0 %"),
            (f'sgemm-counters counter(r01, "{reads}") as 2', "2 000 000"),
        ):
            self.assertEqual(self.value(arguments), shown, arguments)
        for arguments, pattern in (
            ("sgemm-counters issue(two)", "kernel 'two' is not among r01_slow"),
            ("sgemm-counters issue(7)", "launch 7 is not there; the last is 3"),
            ("sgemm-counters stall_mio(r01)", "r01 has no smsp__average_warps_issue_stalled_mio"),
            ("sgemm-counters time(r01)", "no 'time' for such a file"),
        ):
            with self.assertRaisesRegex(ResultError, pattern, msg=arguments):
                self.value(arguments)

    def test_what_is_not_there_is_an_error_that_says_so(self):
        for arguments, pattern in (
            ("none time(r01, 4096)", "no such .json"),
            ("sgemm time(r0, 4096)", "ambiguous among r01_slow, r02_better"),
            ("sgemm time(r09, 4096)", "not among r01_slow"),
            ("sgemm time(4096)", "which kernel"),
            ("sgemm time(r01)", "2 figures where one is wanted"),
            ("sgemm time(r01, 777)", "no row of r01_slow at 777"),
            ("sgemm time(r01, 4096, input=normal)", "no row"),
            ("sgemm watts(r01, 4096)", "no 'watts'"),
            ("sgemm time(r01, 4096) as furlong", "format 'furlong'"),
            ("sgemm time(r01, 4096", "not an expression"),
            ("sgemm __import__('os')", "no '__import__'"),
            ("sgemm (lambda: 1)()", "not understood"),
            ("sgemm", "a file and an expression"),
            ("sgemm says(cublas)", "says no cublas"),
            ("gfx908/isa cell(amd_02, note)", "not a number"),
            ('tried log("nowhere #")', "'nowhere #' is not in it"),
            ("reduce empty_kernel()", "does not say"),
        ):
            with self.assertRaisesRegex(ResultError, pattern, msg=arguments):
                self.value(arguments)


class InSentences(InFolder):
    def setUp(self):
        super().setUp()
        self.write(ladder(), "results/h200/sgemm.json")

    def docs(self, page, *more, name="README.md"):
        self.write(page, name)
        return self.run_main("docs", *more, "--root", self.folder)

    def test_filled_in_and_then_fresh(self):
        mark = "<!-- value: sgemm time(r01, 4096) -->"
        code, out, _ = self.docs(f"It takes {mark}<!-- end --> and {mark}9 s<!-- end -->.\n")
        self.assertEqual((code, out), (0, "written: README.md\n"))
        page = (self.folder / "README.md").read_text()
        self.assertEqual(page, f"It takes {mark}137\u202fms<!-- end --> and {mark}137\u202fms<!-- end -->.\n")
        self.assertEqual(self.docs(page, "--check")[0], 0)
        self.assertEqual(self.docs(page.replace("137", "138", 1), "--check")[:2], (1, "stale: README.md\n"))

    def test_a_value_waits_for_no_file(self):
        code, _, err = self.docs("<!-- value: none time(r01) --><!-- end -->\n", "--check")
        self.assertEqual(code, 2)
        self.assertRegex(err, "README.md: <!-- value: none time.*no such")

    def test_marks_that_are_wrong(self):
        for page, pattern in (
            ("a <!-- value: sgemm time(r01, 4096) --> b\n", "line 1: .*without its <!-- end -->"),
            ("\na <!-- end -->\n", "line 2: <!-- end --> without an opening"),
            ("<!-- valeu: sgemm time(r01) --><!-- end -->\n", "'valeu' is unknown; there are: table"),
            ("<!-- value: sgemm time(r01) -->1 <!-- constant -->2<!-- end -->\n", "its <!-- end --> is missing"),
        ):
            code, _, err = self.docs(page, "--check")
            self.assertEqual(code, 2, page)
            self.assertRegex(err, pattern)

    def test_typed_figures_are_refused(self):
        for figure in ("12.3 µs", "162 us", "38 ms", "2 s", "56 TFLOP/s", "31 GFLOP/s", "4 535 GB/s", "4.6 TB/s", "7 %", "7%",
                       "40 per cent", "1.2×", "3 ×", "5 times", "1.33 of cuBLAS", "54.1", "700 W", "128 registers", "273 instructions",
                       "48 to 50 TFLOP/s", "558 million passes", "a factor of 8",
                       "38 instead of <!-- value: sgemm time(r01, 4096) -->137\u202fms<!-- end -->"):  # fmt: skip
            code, out, _ = self.docs(f"It is {figure}.\n", "--check")
            self.assertEqual(code, 1, figure)
            self.assertRegex(out, "README.md:1: .* is typed by hand", figure)

    def test_shapes_versions_and_code_are_no_figures(self):
        page = ("Tiles of 128×256×32, 8 x 16 outputs, 16-byte loads, m = 4096, k = 2⁻²⁴, CUDA 13.0, cuBLAS 13.1.0, version\n"
                "0.1.0, §3.1, `--budget 60 ms`, 4 KiB, 128 x 128 tiles, [r07](https://x.org/1.5%20), sm_90a, 2²⁵ elements.\n"
                "```sh\nsleep 5 s\n```\n")  # fmt: skip
        self.assertEqual(self.docs(page, "--check"), (0, "", ""))

    def test_marks_explain_a_figure(self):
        for mark in ("prediction", "constant", "published: S2", "published: datasheet"):
            self.assertEqual(self.docs(f"It is <!-- {mark} -->7 %<!-- end -->.\n", "--check")[0], 0, mark)
            self.assertEqual(
                self.docs(f"<!-- {mark} -->\nIt is 7 %.\n\nAnd 9 %.\n<!-- end -->\n", "--check")[0], 0, mark
            )
        self.assertRegex(self.docs("<!-- published -->7 %<!-- end -->\n", "--check")[1], "does not say by whom")
        page = "It was <!-- unrecorded -->7 %<!-- end -->.\n"
        self.assertRegex(self.docs(page, "--check")[1], "is for docs/experiments/ only")
        self.docs("", "--check")
        self.assertEqual(self.docs(page, "--check", name="docs/experiments/reduce.md")[0], 0)

    def test_paths_that_are_not_there(self):
        self.write("//\n", "src/sgemm/thin.cu")
        for page, pattern in (
            ("[a](src/sgemm/thick.cu)", "link to src/sgemm/thick.cu, which is not there"),
            ("`src/select.cpp`", "src/select.cpp is not there"),
            ("# One & two\n[a](#one-two)", "has no heading #one-two"),
            ("`src/<op>/select.cpp`", "src/<op>/select.cpp is not there"),
        ):
            code, out, _ = self.docs(f"{page}\n", "--check")
            self.assertEqual(code, 1, page)
            self.assertRegex(out, pattern)
        self.assertEqual(self.docs("# One `k` [two](src)\n[a](#one-k-two)\n", "--check"), (0, "", ""))
        page = "[a](src/sgemm/thin.cu#x) `src/<op>/<kernel>.cu` `src/sgemm/thin` <!-- example -->`src/mine.cu`<!-- end -->\n"
        self.assertEqual(self.docs(page, "--check"), (0, "", ""))

    def test_a_picture_names_what_is_there(self):
        self.write("//\n", "src/select.hpp")
        svg = '<svg xmlns="http://www.w3.org/2000/svg"><text>{}</text></svg>'
        self.write(svg.format("src/select.hpp"), "docs/img/way.svg")
        page = "![way](docs/img/way.svg)\n"
        self.assertEqual(self.docs(page, "--check")[0], 0)
        self.assertEqual(self.docs("", "--check")[:2], (1, "docs/img/way.svg: no document shows it.\n"))
        self.write(svg.format("src/&lt;op&gt;/select.cpp"), "docs/img/way.svg")
        code, out, _ = self.docs(page, "--check")
        self.assertEqual((code, out), (1, "docs/img/way.svg: src/<op>/select.cpp is not there.\n"))

    def test_seeds_are_linked_where_first_named(self):
        self.write("## S1\n## S2\n", "docs/sources.md")
        for page, code in (("S1 says", 1), ("[S1](docs/sources.md#s1) says, and S1's", 0), ("S1, [S1](docs/sources.md#s1)", 1),
                           ("[S1](docs/sources.md#s1) and S2", 1), ("`S1`", 0), ("CUDA's S11 and xS1", 0)):  # fmt: skip
            self.assertEqual(self.docs(f"{page}\n", "--check")[0], code, page)

    def test_paths_of_somebodys_machine(self):
        for path, code in (("/{}/anna/build/kernelwright", 1), ("(/{}/x", 1), ("~/{}/x", 0), ("/usr/{}/cuda/bin", 0),
                           ("https://x.org/{}/page", 0), ("src/{}/x", 0)):  # fmt: skip
            path = path.format("home")
            self.write(f"==PROF== Connected ({path})\n", "results/h200/counters.csv")
            got, out, _ = self.docs("", "--check")
            self.assertEqual(got, code, path)
            self.assertEqual("results/h200/counters.csv:1" in out, bool(code), path)


class OfThisProject(unittest.TestCase):
    """The project's own documents."""

    @classmethod
    def setUpClass(cls):
        cls.project = Project(ROOT, True)
        cls.pages = {path: path.read_text(encoding="utf-8") for path in cls.project.documents()}

    def generated(self, kinds):
        for path, page in self.pages.items():
            for mark in marks.flat(marks.parse(page)):
                if mark.kind in kinds:
                    yield path, page, mark

    def test_a_changed_digit_of_a_figure_is_stale(self):
        """Each digit of each figure that stands in prose, one after the other."""
        changed = 0
        for path, page, mark in self.generated(("value", "rung")):
            figure, opening = page[mark.start : mark.end], mark.body - mark.start
            self.assertEqual(docs.filled(self.project, path, figure), figure, path)
            for digit in re.finditer(r"\d", page[mark.body : mark.body_end]):
                at = opening + digit.start()
                spoilt = figure[:at] + str((int(digit[0]) + 1) % 10) + figure[at + 1 :]
                self.assertEqual(docs.filled(self.project, path, spoilt), figure, f"{path}: {spoilt}")
                changed += 1
        self.assertGreater(changed, 100)

    def test_a_changed_digit_is_found_in_the_whole_document(self):
        for path, page in self.pages.items():
            found = [mark for mark in marks.flat(marks.parse(page)) if mark.kind == "value"]
            for mark in found[:1]:
                at = mark.body + re.search(r"\d", page[mark.body : mark.body_end]).start()
                spoilt = page[:at] + str((int(page[at]) + 1) % 10) + page[at + 1 :]
                self.assertEqual(docs.filled(self.project, path, spoilt), page, path)

    def test_a_figure_without_its_mark_is_refused(self):
        """Each value that shows a unit or a decimal, its marks taken away."""
        refused = 0
        for path, page in self.pages.items():
            name, found = path.relative_to(ROOT).as_posix(), marks.parse(page)
            for mark in found:
                shown = page[mark.body : mark.body_end]
                if (
                    mark.kind == "value"
                    and " says(" not in mark.arguments
                    and re.search(r"\d\.\d|\d[×\u202f]\D", shown)
                ):
                    line = (
                        page[page.rfind("\n", 0, mark.start) + 1 : mark.start] + shown + page[mark.end : mark.end + 1]
                    )
                    self.assertNotEqual(check.typed_figures(line), [], f"{name}: {mark.text}")
                    refused += 1
        self.assertGreater(refused, 50)

    def test_a_figure_more_is_refused_in_every_document(self):
        for path, page in self.pages.items():
            name = path.relative_to(ROOT).as_posix()
            before = check.document(self.project, name, page)
            self.assertEqual(before, [], name)
            self.assertEqual(len(check.document(self.project, name, f"{page}\nIt takes 12.3 µs.\n")), 1, name)


if __name__ == "__main__":
    unittest.main()
