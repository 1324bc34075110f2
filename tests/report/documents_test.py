"""The report: the documents' tables and pictures are filled and kept."""

import unittest

from report_support import HAVE_MATPLOTLIB, InFolder, document, ladder, reductions, sgemm_row

from kernelwright_report import counters, text


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
        self.assertEqual(shown, "**4.00 TFLOP/s** at 4096; at 4096 4.00× its parent, 50.0 % of peak, 80.0 % of cuBLAS. Try it: `./dev rung r02`.")

    def test_a_rung_of_another_file(self):
        """A walk whose last rungs were measured in a run of their own names that run's file."""
        self.write(document([sgemm_row("r01_slow", 4096, gflops=1500.0)]), "results/dev/end.json")
        self.write("<!-- machine: results/dev/sgemm.json -->\n<!-- end -->\n"
                   "<!-- rung: results/dev/end.json r01_slow -->\n<!-- end -->\n", "README.md")  # fmt: skip
        self.assertEqual(self.run_main("docs", "--root", self.folder)[0], 0)
        shown = (self.folder / "README.md").read_text().splitlines()[-2].replace(text.THIN, " ")
        self.assertIn("**1.50 TFLOP/s** at 4096", shown)
        self.write("<!-- rung: r01_slow -->\n<!-- end -->\n", "README.md")
        code, _, err = self.run_main("docs", "--root", self.folder)
        self.assertEqual(code, 2)
        self.assertIn("it has neither", err)

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
        self.assertIn("| [r01_tree](r01_tree.cu) | a tree | 100 | ±0.0 % | 0.164 | 0.0 % | 1.00× | – |", page)
        self.assertIn("**25.0 µs, 671 GB/s** at 2²²; 67.1 % of read bandwidth, 4.00× its parent, 4.00× the first rung.", page)
        self.assertIn("**100 µs, 0.0410 GB/s** at 2¹⁰", page)
        self.assertIn("Try it: `./dev rung reduce/r01`.", page)
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
        self.assertIn("| kernel | issue | FMA units |\n", page)  # no column without a value
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


if __name__ == "__main__":
    unittest.main()
