"""The report: tables of the AMD ladder."""

import unittest

from report_support import InFolder, document, ladder, sgemm_row

from kernelwright_report import amd, results, text

ISA = (
    "kernel,instructions,fma,mfma,fma_under_global_loads,fma_under_shared_reads,global_load_dwordx4,other_global_loads,"
    "ds_read_b128,ds_read2,other_ds_reads,ds_writes,s_waitcnt,s_barrier,vgprs,agprs,scratch_bytes,lds_bytes,waves_per_simd\n"
    "r01_slow,386,256,0,64,0,2,0,32,0,0,8,29,2,125,0,0,8192,2\n"
    "r02_better,589,512,32,512,128,2,9,32,0,0,3,22,1,128,4,40,16384,1\n"
)


class AmdLadder(InFolder):
    def setUp(self):
        super().setUp()
        self.write(ladder(), "results/dev/sgemm-amd.json")
        self.write("kernel,ms\nr01_slow,387.9\n", "ladder/sgemm_amd/published.csv")
        rows = ('rung("r01_slow", nullptr, slow, "the first idea"),\n'
                'rung("r02_better", "r01_slow", tile<Form::wide>, "the second"),\n')  # fmt: skip
        self.write(rows, "ladder/sgemm_amd/rungs.cu")
        self.write("// kernel\n", "ladder/sgemm_amd/slow.cu")
        self.write("// kernel\n", "ladder/sgemm_amd/tile.cu")
        self.write("## S2\n", "docs/sources.md")

    def page(self, mark):
        page = f"Of [S2](../../docs/sources.md#s2).\n\n<!-- {mark} -->\n<!-- end -->\n"
        self.write(page, "ladder/sgemm_amd/README.md")
        code, _, err = self.run_main("docs", "--root", self.folder)
        self.assertEqual((code, err), (0, ""))
        return (self.folder / "ladder/sgemm_amd/README.md").read_text().replace(text.THIN, " ")

    def test_published_times_stand_beside_the_measured_ones(self):
        page = self.page("table: results/dev/sgemm-amd.json amd-ladder 4096")
        self.assertIn("| kernel | idea | MI100, published | time | ± | TFLOP/s | of peak | over the step before | of cuBLAS |", page)
        self.assertIn("| [r01_slow](slow.cu) | the first idea | 388 ms | 137 ms | ±0.0 % | 1.00 | 12.5 % | – | 20.0 % |", page)
        self.assertIn("| [r02_better](tile.cu) | the second | – | 34.4 ms | ±0.0 % | 4.00 | 50.0 % | 4.00× r01 | 80.0 % |", page)

    def test_published_columns_beside_ours(self):
        self.write("kernel,ms,speedup,rocblas_ratio,tflops,tflops_ratio\nr01_slow,387.9,,,,\nr02_better,17.76,1.44,0.25,7.74,0.335\n",
                   "ladder/sgemm_amd/published.csv")  # fmt: skip
        page = self.page("table: results/dev/sgemm-amd.json amd-published 4096")
        self.assertIn("| [r01_slow](slow.cu) | 388 | – | – | – | – | 137 | – | 20.0 % | 1.00 | 12.5 % |", page)
        self.assertIn("| [r02_better](tile.cu) | 17.8 | 1.44× | 25.0 % | 7.74 | 33.5 % | 34.4 | 4.00× | 80.0 % | 4.00 | 50.0 % |", page)

    def test_instruction_counts(self):
        self.write(ISA, "results/dev/amd-isa.csv")
        page = self.page("table: results/dev/amd-isa.csv isa")
        self.assertIn("| [r01_slow](slow.cu) | 386 | 256 | 0 | 25.0 % | 0.0 % | 2 | 0 | 32 | 0 | 0 | 29 | 125 | 8192 | 0 | 2 |", page)
        self.assertIn("| 100.0 % | 25.0 % | 2 | 9 | 32 | 0 | 0 | 22 | 128 + 4 | 16384 | 40 | 1 |", page)

    def test_files_of_another_kind_are_refused(self):
        for content in ("kernel,ms\nr01_slow,1\n", "kernel\n", ISA.replace("256,0,64", "many,0,64")):
            with self.assertRaisesRegex(results.ResultError, "tools/amd_isa.py"):
                amd.isa(content)

    def test_a_result_without_published_times(self):
        result = self.loaded(document([sgemm_row("r02_better", 4096)]))
        table = amd.ladder(result, result.shape_near(4096), {}, {})
        self.assertEqual([cell.text for cell in table.rows[0][:3]], ["r02_better", "", text.NONE])


if __name__ == "__main__":
    unittest.main()
