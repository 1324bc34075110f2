"""Result files of level 3: operations come apart, are counted as BLAS counts them, and have a page."""

import unittest

from report_support import InFolder, document, sgemm_row

from kernelwright_report import results

OPS = ("ssyrk", "ssyrkx", "ssyr2k", "ssymm", "strmm", "strsm", "ctrsm")


class Level3(InFolder):
    def rows(self, op):
        side = None if op.startswith("ssyr") else "left"
        forms = [{"uplo": uplo, "side": side, "unit_diagonal": False} for uplo in ("lower", "upper")]
        kernels = ("sgemm_own", "cublas")
        return [sgemm_row(k, size, op=op, **form) for size in (256, 512) for k in kernels for form in forms]

    def test_each_routine_is_a_result_of_its_own(self):
        found = results.load(self.write(document([row for op in OPS for row in self.rows(op)])))
        self.assertEqual([result.op for result in found], list(OPS))
        n = 256
        wanted = {"ssyrk": n * (n + 1) * n, "ssyr2k": 2 * n * (n + 1) * n, "ssymm": 2 * n**3, "strsm": n**3, "ctrsm": 4 * n**3}
        flops = {result.op: result.rows[0].shape.flops for result in found}
        self.assertEqual({op: flops[op] for op in wanted}, wanted)

    def test_a_page_shows_them(self):
        file = self.write(document(self.rows("ssyrk"), command="kernelwright bench level3"))
        code, _, _ = self.run_main(file, "-o", self.folder / "out")
        self.assertEqual(code, 0)
        page = (self.folder / "out" / "index.html").read_text(encoding="utf-8")
        self.assertIn("Update of a triangle (ssyrk)", page)


if __name__ == "__main__":
    unittest.main()
